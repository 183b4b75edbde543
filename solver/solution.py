"""Requests to a search, and its solutions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from solver._native import CancelFlag
from solver.cost import BlockTurnCosts, CostModel
from solver.cube.metrics import length
from solver.cube.notation import Move
from solver.goal import Goal

__all__ = [
    "FOREVER_S",
    "PROVEN",
    "CancelFlag",
    "Progress",
    "Request",
    "SearchClock",
    "Searchable",
    "Solution",
    "answer",
    "seconds_of",
]


PROVEN = "proven"
"""The value of ``exhausted`` for a search after which nothing better can be found."""


@dataclass(frozen=True)
class Solution:
    """Moves that solve a cube.

    ``length`` and ``lower_bound`` are counted in ``metric``; ``optimal``: no solution is shorter.
    ``search_s`` is the time by the clock, ``cpu_s`` the processor time over all threads. With a
    cost model, ``cost_us`` is the cost of the moves on that robot. ``composites`` are the moves as
    numbers of :func:`solver.cost.composite_of`. ``phases`` are the moves by phase, if the algorithm
    has phases, and ``phase_names`` their names, if any. ``extra`` has the algorithm's own figures
    (``nodes``, ...). ``cut_by_clock``: the computer was so busy that the clock ended the search, or
    a part of it, before it had its processor time.
    """

    state: str
    algorithm: str
    metric: str
    moves: tuple[str, ...]
    length: int
    optimal: bool
    lower_bound: int
    search_s: float
    cpu_s: float
    cost_us: int | None = None
    composites: tuple[int, ...] | None = None
    phases: tuple[tuple[str, ...], ...] | None = None
    phase_names: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    cut_by_clock: bool = False


@dataclass(frozen=True)
class Progress:
    """Progress of a long search or of table generation; unknown figures are None.

    ``text`` is the same in all reports of one task. ``making``: tables are being made, which ends
    with ``done`` 1; ``remaining_s`` is the time until then.
    """

    text: str
    done: float | None = None
    making: bool = False
    remaining_s: float | None = None
    depth: int | None = None
    nodes: int | None = None
    rate: float | None = None


@dataclass(frozen=True)
class Request:
    """A request to a search.

    ``time_limit`` is in seconds of one thread's processor time. With ``cost``, the search looks for
    the cheapest solution on that robot, else for the shortest in ``metric``; ``block_costs`` are
    the same for cubes of 4 and more layers. The search ends early with ``target`` or fewer moves,
    or when ``cancel`` is set. It keeps ``solutions`` distinct ones. It passes each new best one to
    ``on_better`` at once, on the thread that found it. ``tables`` is ``default``, ``medium`` or
    ``large`` and ``depth`` a limit, for the algorithms that have them. ``goal``: the arrangement to
    reach (None: solved). ``centres``: clockwise quarter turns that the centres of U R F D L B shall
    make, modulo 4, for searches that support it.
    """

    algorithm: str = "two-phase"
    metric: str = "htm"
    cost: CostModel | None = None
    block_costs: BlockTurnCosts | None = None
    time_limit: float = 1.0
    threads: int = 1
    solutions: int = 1
    target: int | None = None
    tables: str = "default"
    depth: int | None = None
    cancel: CancelFlag | None = None
    on_better: Callable[[Solution], None] | None = None
    progress: Callable[[Progress], None] | None = None
    goal: Goal | None = None
    centres: tuple[int, ...] | None = None


class Searchable(Protocol):
    """Any cube that a search accepts."""

    @property
    def size(self) -> int:
        """Layers along an edge."""

    def facelets(self) -> str:
        """Return the cube's letters, which every answer names."""


class SearchClock:
    """A clock of elapsed time and of processor time over all threads, since it was made."""

    def __init__(self) -> None:
        self._clock = time.perf_counter()
        self._cpu = time.process_time()

    def clock_s(self) -> float:
        """Return the elapsed seconds."""
        return time.perf_counter() - self._clock

    def cpu_s(self) -> float:
        """Return the seconds of processor time of this process."""
        return time.process_time() - self._cpu


FOREVER_S = 1e8
"""Seconds that stand for no limit; in nanoseconds they still fit 64 bits."""


def seconds_of(request: Request) -> float:
    """Return the request's time limit as the kernel takes it: finite."""
    return min(request.time_limit, FOREVER_S)


def answer(
    cube: Searchable,
    request: Request,
    moves: Iterable[Move],
    watch: SearchClock,
    *,
    lower_bound: int = 0,
    phases: Iterable[Iterable[Move]] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Solution:
    """Return the solution ``moves``, optimal if no longer than ``lower_bound`` in the metric."""
    found = tuple(moves)
    count = length(found, request.metric, cube.size)
    return Solution(
        state=cube.facelets(),
        algorithm=request.algorithm,
        metric=request.metric,
        moves=tuple(map(str, found)),
        length=count,
        optimal=count <= lower_bound,
        lower_bound=min(lower_bound, count),
        search_s=watch.clock_s(),
        cpu_s=watch.cpu_s(),
        phases=None if phases is None else tuple(tuple(map(str, phase)) for phase in phases),
        extra=dict(extra or {}),
    )
