"""Shortest solutions of the 3x3x3, with the proof that nothing shorter exists.

An IDA* in the kernel goes deeper turn by turn. Once that gets slow, two-phase searches for a short
solution. IDA* then only has to beat it or, far more often, to prove that it cannot be beaten. While
the best known is unusually long, two-phase searches again between the depths, for longer each time:
IDA* may take thirteen times as long to find a shorter one as to prove that none is shorter still.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from solver import _native, tables, two_phase
from solver.cube.cube import Cube
from solver.cube.metrics import length
from solver.cube.notation import Move, moves_of, parse_moves
from solver.errors import BadNotation, SearchError
from solver.processors import processors
from solver.solution import Progress, Request, SearchClock, Solution, answer

TABLE_VERSION = 3
"""Version of the tables. It changes if the kernel fills them differently, as when FAR changes."""

KINDS = {"default": 1, "medium": 6, "large": 24}
"""Number of orders of the middle edges that a table tells apart (41, 227 and 895 MB)."""

FAR = {
    "default": {"htm": 10, "qtm": 12},
    "medium": {"htm": 11, "qtm": 13},
    "large": {"htm": 11, "qtm": 13},
}
"""Distance from which a table no longer tells positions apart, chosen by measurement.

For most positions up to three turns nearer, the table then gives the distance without that of a
neighbour. So the search can also look up inverses.
"""

LONGEST = {"htm": 20, "qtm": 26}
"""Maximum number of turns that any cube needs."""

EASY = {"htm": 14, "qtm": 17}
"""Length up to which solutions are found within a tenth of a second."""

USUAL = {"htm": 18, "qtm": 22}
"""Number of turns in which nearly every cube can be solved."""

SHORT_SOLUTION_S = {"default": 3.0, "medium": 2.0, "large": 1.5}
"""Seconds for which each thread first searches for a short solution by two-phase."""

GROWTH = 13.0
"""Approximate factor between the times of IDA* for two consecutive depths."""

WORTH_LOOKING = 2.0
"""Two-phase searches if the next depth may take more than this many times its own time."""

LOOK_AGAIN = 2.0
"""Time of that search, as a multiple of the time of IDA* for the last depth."""


def search(cube: Cube, request: Request) -> list[Solution]:
    """Return a shortest solution, or the best known if time ran out before a proof.

    Raises SearchError if stopped before any solution was found.
    """
    return [_OptimalSearch(cube, request).run()]


class _OptimalSearch:
    def __init__(self, cube: Cube, request: Request) -> None:
        self.cube = cube
        self.request = request
        self.table = kernel(request)
        self.watch = SearchClock()
        self.nodes = 0
        self.bound = 0
        self.best: tuple[Move, ...] | None = None

    def run(self) -> Solution:
        took = self._deepen(EASY[self.request.metric])
        seconds, looked = SHORT_SOLUTION_S[self.request.tables], 0.0
        while self._is_open() and not self._is_over():
            is_slow = GROWTH * took > WORTH_LOOKING * seconds
            if is_slow and seconds > looked and self._is_unusual():
                self._look_for_short_solution(seconds)
                looked = seconds
            else:
                took = self._deepen(self.bound)
                seconds = max(seconds, LOOK_AGAIN * took)
        if self.best is None:
            self._look_for_short_solution(0.0)
        if self.best is None:
            raise SearchError("The search was stopped before it found a solution.")
        extra = {"nodes": self.nodes, "tables": self.request.tables}
        return answer(
            self.cube, self.request, self.best, self.watch, lower_bound=self.bound, extra=extra
        )

    def _is_open(self) -> bool:
        """Return whether a solution may be shorter than the best."""
        shortest = self.best is not None and self._length() <= self.bound
        return not shortest and self.bound <= LONGEST[self.request.metric]

    def _is_unusual(self) -> bool:
        return self.best is None or self._length() > USUAL[self.request.metric]

    def _is_over(self) -> bool:
        cancel = self.request.cancel
        cancelled = cancel is not None and cancel.is_set()
        return cancelled or self.watch.clock_s() >= self.request.time_limit

    def _deepen(self, longest: int) -> float:
        """Search for at most ``longest`` turns; return each thread's processor time."""
        begun = self.watch.cpu_s()
        options = _native.OptimalOptions(
            self.bound, longest, self._seconds_left(), self.request.threads, self.request.cancel
        )
        report = self.table.solve(self.request.metric, self.cube.states, options, self._listener())
        self.nodes += report.nodes
        self.bound = report.lower_bound
        if report.turns is not None:
            self.best = moves_of(report.turns)
        return (self.watch.cpu_s() - begun) / self.request.threads

    def _look_for_short_solution(self, seconds: float) -> None:
        """Search by two-phase for ``seconds`` of processor time, at most 4 times that by the clock.

        The tables of only one of the two searches are resident at a time.
        """
        self._report_look()
        release_tables()
        asked = replace(
            self.request,
            time_limit=min(seconds, self._seconds_left() / 4),
            solutions=1,
            target=self.bound,
            on_better=None,
        )
        try:
            found = parse_moves(" ".join(two_phase.search(self.cube, asked)[0].moves))
        except SearchError:
            return
        finally:
            two_phase.release_tables()
        if self.best is None or length(found, self.request.metric) < self._length():
            self.best = found

    def _report_look(self) -> None:
        report = self.request.progress
        if report is None:
            return
        known = "looking for a short one" if self.best is None else f"one of {self._length()} known"
        text = f"no solution of {self.bound - 1} turns or fewer, {known}"
        report(Progress(text, depth=self.bound, nodes=self.nodes))

    def _length(self) -> int:
        return length(self.best or (), self.request.metric)

    def _seconds_left(self) -> float:
        """Return the seconds by the clock still allowed; just above 0 when none are."""
        return max(self.request.time_limit - self.watch.clock_s(), 1e-3)

    def _listener(self) -> Callable[[int, int, float], None] | None:
        report = self.request.progress
        if report is None:
            return None
        before = self.nodes

        def listen(depth: int, nodes: int, seconds: float) -> None:
            rate = nodes / max(seconds, 1e-3)
            text = f"no solution of {depth - 1} turns or fewer"
            report(Progress(text, depth=depth, nodes=before + nodes, rate=rate))

        return listen


kernels: dict[tuple[str, str], _native.OptimalTable] = {}
"""Tables in memory, by metric and choice of tables."""
_bytes_of: dict[tuple[str, str], tables.Bytes] = {}


def kernel(request: Request) -> _native.OptimalTable:
    """Return the table for the request's metric and choice of tables, made and stored if needed.

    Raises BadNotation for tables of another name, SearchError if making them was cancelled.
    """
    if request.tables not in KINDS:
        raise BadNotation(f"Tables are {' or '.join(KINDS)}, not {request.tables!r}.")
    key = request.metric, request.tables
    if key not in kernels:
        shape = _native.OptimalShape(KINDS[request.tables], FAR[request.tables][request.metric])
        size = _native.optimal_size(shape)
        what = f"the pruning table of optimal in {request.metric} ({size / 1e6:.0f} MB)"
        with tables.making(what, request):
            table = _load(request, shape)
        if request.tables != "default":
            table = tables.copy_to_huge_pages(table)
        kernels[key], _bytes_of[key] = _native.OptimalTable(shape, table), table
    return kernels[key]


def release_tables() -> None:
    """Release the pages of all tables that are mapped from a file; see tables.release_pages."""
    for table in _bytes_of.values():
        tables.release_pages(table)


def _load(request: Request, shape: _native.OptimalShape) -> tables.Bytes:
    name = f"optimal-{request.metric}-{shape.kinds}"
    threads = processors()

    return tables.load(
        name,
        TABLE_VERSION,
        _native.optimal_size(shape),
        lambda data, progress: _native.make_optimal(request.metric, shape, data, threads, progress),
    )
