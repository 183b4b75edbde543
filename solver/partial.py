"""Searches for goals that leave pieces free: shortest solutions, or the best found in time.

Half of the time goes to IDA* over the pieces that matter, length by length, with proof. The rest
goes to two-phase, which solves the cube towards one fitting cube after another. On a robot, the
first half does not end with the shortest solutions: longer ones may take less time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from solver import _native, two_phase
from solver.cost import moves_of, turns_of
from solver.cube.cube import AnyCube, Cube
from solver.cube.metrics import length as count_moves
from solver.errors import InvalidRequest, SearchError
from solver.mask import Mask, draw_fitting
from solver.solution import PROVEN, Request, SearchClock, Solution

ALGORITHM = "partial"
"""The name of this search in answers."""

REPLACES = ("two-phase", "optimal")
"""Algorithms that this search replaces if the goal leaves pieces free."""

LONG_NODES = 20_000_000
JOINT_PAYS_S = 10.0
"""After a length with more than LONG_NODES nodes, and with more than this many seconds left, the
next lengths get a joint table, which takes a second or two."""

MOST_LENGTHS = 30

TRIES = 24
"""Number of cubes to solve towards in the second half, as far as its time allows."""
LEAST_TRY_S = 0.01

_MOST_KERNELS = 4
_kernels: OrderedDict[tuple[str, tuple[int, ...]], _native.PartialGoal] = OrderedDict()


def search(cube: AnyCube, request: Request, mask: Mask) -> list[Solution]:
    """Return the best solutions found that make ``cube`` fit ``mask``.

    Raises InvalidRequest if this search cannot meet the request, SearchError if it was stopped
    before any solution.
    """
    assert isinstance(cube, Cube)
    if request.algorithm not in REPLACES:
        raise InvalidRequest(
            f"{request.algorithm} does not search for goals that leave pieces free",
            f"use one of {', '.join(REPLACES)}",
        )
    if request.centres is not None:
        raise InvalidRequest("Centres stay upright only with goals that are whole cubes")
    return _PartialSearch(cube, request, mask).run()


@dataclass
class _PartialSearch:
    """One search: its solutions so far, best first, and its proofs."""

    cube: Cube
    request: Request
    mask: Mask
    found: list[Solution] = field(default_factory=list)
    lower_bound: int = 0
    nodes: int = 0
    is_proven: bool = False
    kernel: _native.PartialGoal = field(init=False)

    def __post_init__(self) -> None:
        cost = self.request.cost
        self.start = None if cost is None else two_phase.ready_from(cost)
        self.metric = self.request.metric if self.start is None else self.start.metric
        self.kernel = _prepare(self.metric, self.mask)
        self.watch = SearchClock()

    def run(self) -> list[Solution]:
        self._try_lengths(self.request.time_limit / 2)
        if not self._is_over():
            self._try_cubes()
        if not self.found:
            raise SearchError("The search was stopped before it found a solution.")
        return [self._complete(solution) for solution in self.found]

    def _left_s(self) -> float:
        return self.request.time_limit - self.watch.cpu_s()

    def _is_over(self) -> bool:
        cancel, target = self.request.cancel, self.request.target
        is_full = len(self.found) >= self.request.solutions
        return (
            (self.is_proven and is_full)
            or (is_full and target is not None and self.found[-1].length <= target)
            or (cancel is not None and cancel.is_set())
        )

    def _try_lengths(self, limit_s: float) -> None:
        """Search for solutions of all lengths in turn, until ``limit_s`` seconds are used."""
        for length in range(self.kernel.bound(self.cube.states), MOST_LENGTHS):
            self.lower_bound = length if not self.found else self.lower_bound
            self.is_proven = self._is_beyond(length)
            if self._is_over():
                return
            result = self.kernel.search(
                self.cube.states,
                length=length,
                time_limit=max(0.0, limit_s - self.watch.cpu_s()),
                solutions=self.request.solutions,
                model=None if self.start is None else self.start.model,
                cancel=self.request.cancel,
            )
            self.nodes += result.nodes
            for one in result.solutions:
                self._keep(self._describe(tuple(one.composites), one.length, one.cost))
            if not result.is_complete:
                return
            if result.nodes > LONG_NODES and limit_s - self.watch.cpu_s() > JOINT_PAYS_S:
                self.kernel = _extend(self.metric, self.mask)
        self.is_proven = True

    def _is_beyond(self, length: int) -> bool:
        """Return whether no solution of ``length`` or more can be better than the best found."""
        if not self.found:
            return False
        if self.start is None:
            return length > self.found[0].length
        best_us = self.found[0].cost_us
        return best_us is not None and self.start.models.least_us(length) >= best_us

    def _try_cubes(self) -> None:
        """Solve towards cubes that fit; at least one if nothing was found yet."""
        left_s = max(0.0, self._left_s())
        each_s = max(left_s / TRIES, LEAST_TRY_S)
        for goal in self._list_goals():
            left_s = self._left_s()
            if self._is_over() or (self.found and left_s <= 0.0):
                return
            request = replace(
                self.request,
                algorithm="two-phase",
                goal=None,
                on_better=None,
                time_limit=max(0.0, min(each_s, left_s)),
            )
            for found in two_phase.search(goal.inverse * self.cube, request):
                self._keep(found)

    def _list_goals(self) -> Iterator[Cube]:
        yield self.mask.example
        rng = np.random.default_rng(0)
        for _ in range(10 * TRIES):
            goal = draw_fitting(self.mask.placements, rng)
            if goal is not None:
                yield goal

    def _keep(self, found: Solution) -> None:
        if any(found.moves == other.moves for other in self.found):
            return
        best = self._rank(self.found[0]) if self.found else None
        self.found = sorted([*self.found, found], key=self._rank)[: self.request.solutions]
        is_better = best is None or self._rank(self.found[0]) < best
        if is_better and self.request.on_better is not None:
            self.request.on_better(self._complete(self.found[0]))

    def _rank(self, found: Solution) -> int:
        return found.length if found.cost_us is None else found.cost_us

    def _describe(self, composites: tuple[int, ...], length: int, cost: int) -> Solution:
        is_timed = self.start is not None
        if is_timed:
            length = count_moves(turns_of(composites), self.request.metric)
        return Solution(
            state=self.cube.facelets(),
            algorithm=ALGORITHM,
            metric=self.request.metric,
            moves=moves_of(composites),
            length=length,
            optimal=False,
            lower_bound=0,
            search_s=0.0,
            cpu_s=0.0,
            cost_us=cost if is_timed else None,
            composites=composites,
        )

    def _complete(self, found: Solution) -> Solution:
        """Return a solution with the figures of the whole search."""
        is_timed = self.start is not None
        lower_bound = 0 if is_timed else min(self.lower_bound, self.found[0].length)
        extra: dict[str, object] = {"nodes": self.nodes}
        if self.start is not None and found.cost_us is not None:
            least_us = self.start.models.least_us(self.lower_bound)
            extra["exhausted"] = PROVEN if self.is_proven else False
            extra["lower_bound_us"] = self.found[0].cost_us if self.is_proven else least_us
        return replace(
            found,
            state=self.cube.facelets(),
            algorithm=ALGORITHM,
            optimal=not is_timed and found.length == lower_bound,
            lower_bound=lower_bound,
            search_s=self.watch.clock_s(),
            cpu_s=self.watch.cpu_s(),
            extra=extra,
        )


def _prepare(metric: str, mask: Mask) -> _native.PartialGoal:
    """Return the kernel's goal; the last few goals are cached with their tables."""
    key = metric, mask.locations
    kernel = _kernels.get(key) or _native.PartialGoal(*key)
    _keep_kernel(key, kernel)
    return kernel


def _extend(metric: str, mask: Mask) -> _native.PartialGoal:
    """Return the kernel's goal with one more joint table, or unchanged if there is none."""
    kernel = _prepare(metric, mask)
    if (more := kernel.with_joint()) is None:
        return kernel
    _keep_kernel((metric, mask.locations), more)
    return more


def _keep_kernel(key: tuple[str, tuple[int, ...]], kernel: _native.PartialGoal) -> None:
    _kernels[key] = kernel
    _kernels.move_to_end(key)
    while len(_kernels) > _MOST_KERNELS:
        _kernels.popitem(last=False)
