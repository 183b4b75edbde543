"""The 3x3x3 that remains after reductions: aims for its solution, and the time for each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple, Self

from solver import two_phase
from solver.cost import BlockTurnCosts, turns_of
from solver.cube.cube import Cube
from solver.cube.metrics import length
from solver.cube.notation import Move
from solver.solution import Request, SearchClock

FIRST_LOOK_S = 0.01
"""Seconds for the 3x3x3 of each reduction before the best ones get more."""

LONGEST_LOOK_S = 3.0
"""Maximum seconds for a 3x3x3; more finds hardly anything shorter."""

ONLY_LOOK_S = 0.2
"""Maximum seconds for the 3x3x3 of an only reduction, whose other phases are so long that more
does not matter."""

BETWEEN_LOOKS_S = 0.003
"""Seconds to prepare the search of a 3x3x3."""

SHARE_OF_ROUND = 0.4
"""Share of the remaining time for the searches of one round; the rest is for longer ones."""

WIDER = 4
"""Number of reductions of which one is searched again, and factor by which that takes longer."""

WORSE = 1.02
"""Factor on the least cost so far; more expensive solutions are not searched for."""

Phases = tuple[tuple[Move, ...], ...]


@dataclass(frozen=True)
class Reduction:
    """Moves by phase, after which the cube is the 3x3x3 ``cube``."""

    phases: Phases
    cube: Cube

    @property
    def moves(self) -> tuple[Move, ...]:
        """Moves of all phases."""
        return tuple(chain.from_iterable(self.phases))


class Finish(NamedTuple):
    """Moves that solve the 3x3x3 of a reduction, and the cost of both together by the aim."""

    moves: tuple[Move, ...]
    cost: int


class Shortest:
    """The aim of few moves in the request's metric."""

    choice = 1

    def __init__(self, request: Request, size: int) -> None:
        self._metric, self._size = request.metric, size

    def cost(self, moves: Iterable[Move]) -> int:
        """Return the number of moves in the metric."""
        return length(moves, self._metric, self._size)

    def last_phase(
        self,
        reduction: Reduction,
        request: Request,
        seconds: float,
        threads: int,
        below: int | None = None,
    ) -> Finish | None:
        """Return a short solution of the 3x3x3; None if the time was too short for any."""
        del below
        found = _solve(reduction, request, seconds, threads)
        if found is None:
            return None
        moves, _ = found
        return Finish(moves, self.cost((*reduction.moves, *moves)))


class Fastest:
    """The aim of a short time on a robot."""

    choice = 4
    """Factor by which more reductions are kept than for the shortest solutions."""

    def __init__(self, costs: BlockTurnCosts) -> None:
        self._costs = costs

    def cost(self, moves: Iterable[Move]) -> int:
        """Return the time on the robot in microseconds."""
        return self._costs.time_us(moves)

    def last_phase(
        self,
        reduction: Reduction,
        request: Request,
        seconds: float,
        threads: int,
        below: int | None = None,
    ) -> Finish | None:
        """Return a fast solution of the 3x3x3; None if the time was too short for any.

        Its cost is a little too high if its first turn is on the axis of the last turn before it.
        It is less than ``below``, which shortens the search.
        """
        before_us, model = self._costs.after(reduction.moves)
        if below is not None and below <= before_us:
            return None
        limit_us = two_phase.NO_LIMIT if below is None else below - before_us
        start = two_phase.ready_from(model)
        found = _solve(reduction, request, seconds, threads, start, limit_us)
        if found is None:
            return None
        moves, cost_us = found
        return Finish(moves, before_us + cost_us)


def _solve(
    reduction: Reduction,
    request: Request,
    seconds: float,
    threads: int,
    start: two_phase.Start | None = None,
    below: int = two_phase.NO_LIMIT,
) -> tuple[tuple[Move, ...], int] | None:
    """Return moves and cost of the best solution of the 3x3x3; None if there was no time."""
    kernel = two_phase.kernel("htm" if start is None else start.metric)
    best = two_phase.find_one(
        kernel,
        reduction.cube,
        request,
        seconds=seconds,
        threads=threads,
        start=start,
        below=below,
    )
    if best is None:
        return None
    return turns_of(best.composites), best.cost


Aim = Shortest | Fastest


def solve_reductions(
    request: Request, aim: Aim, reductions: Iterator[Reduction], watch: SearchClock
) -> Iterator[tuple[Phases, int]]:
    """Yield whole solutions with their approximate costs.

    It searches the 3x3x3 of many reductions briefly first, then the best ones for longer, and so on
    with further reductions while there is time. It yields at least one unless the search is
    cancelled, even if the time is over.
    """
    with _Probes(request, aim, watch) as looks:
        while chosen := list(islice(reductions, looks.most(FIRST_LOOK_S))):
            yield from looks.rounds(chosen)
            if not looks.may_go_on():
                return


class _Probes:
    """Searches of the 3x3x3 of reductions, on several threads."""

    def __init__(self, request: Request, aim: Aim, watch: SearchClock) -> None:
        self._request, self._aim, self._watch = request, aim, watch
        self._least: int | None = None
        self._pool = ThreadPoolExecutor(request.threads) if request.threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def most(self, seconds: float) -> int:
        """Return the number of reductions that get ``seconds`` each in the next round."""
        looks = SHARE_OF_ROUND * self._left_s() / (seconds + BETWEEN_LOOKS_S)
        return max(1, int(looks * self._request.threads))

    def may_go_on(self) -> bool:
        """Return whether there is time left or no solution yet; False if cancelled."""
        return not self._is_cancelled() and (self._least is None or self._left_s() >= FIRST_LOOK_S)

    def rounds(self, reductions: list[Reduction]) -> Iterator[tuple[Phases, int]]:
        """Yield solutions from ever longer searches of the best of these."""
        seconds, left = FIRST_LOOK_S, reductions
        while left and self.may_go_on():
            ranked = []
            for reduction, last in self._look_at(left, seconds):
                if last is None:
                    continue
                self._least = last.cost if self._least is None else min(self._least, last.cost)
                yield (*reduction.phases, last.moves), last.cost
                ranked.append((last.cost, reduction))
            seconds *= WIDER
            count = max(1, min(len(left) // WIDER, self.most(seconds)))
            best = [reduction for _, reduction in sorted(ranked, key=lambda one: one[0])]
            left = (best or left)[:count]
            if seconds > (ONLY_LOOK_S if len(reductions) == 1 else LONGEST_LOOK_S):
                return

    def _look_at(
        self, reductions: list[Reduction], seconds: float
    ) -> Iterator[tuple[Reduction, Finish | None]]:
        """Yield each reduction with its result, while there is time; several run at once."""
        threads = max(1, self._request.threads // len(reductions))

        def look(reduction: Reduction) -> Finish | None:
            longest_s = min(seconds, max(self._left_s(), FIRST_LOOK_S))
            below = None if self._least is None else int(WORSE * self._least)
            return self._aim.last_phase(reduction, self._request, longest_s, threads, below)

        for reduction, last in self._look_in_order(look, reductions):
            yield reduction, last
            if not self.may_go_on():
                return

    def _look_in_order(
        self, look: Callable[[Reduction], Finish | None], reductions: list[Reduction]
    ) -> Iterator[tuple[Reduction, Finish | None]]:
        if self._pool is None:
            yield from ((one, look(one)) for one in reductions)
            return
        rest = iter(reductions)
        begun: deque[tuple[Reduction, Future[Finish | None]]] = deque()
        for reduction in islice(rest, self._request.threads):
            begun.append((reduction, self._pool.submit(look, reduction)))
        while begun:
            reduction, future = begun.popleft()
            last = future.result()
            if (following := next(rest, None)) is not None:
                begun.append((following, self._pool.submit(look, following)))
            yield reduction, last

    def _left_s(self) -> float:
        return self._request.time_limit - self._watch.cpu_s() / self._request.threads

    def _is_cancelled(self) -> bool:
        return self._request.cancel is not None and self._request.cancel.is_set()
