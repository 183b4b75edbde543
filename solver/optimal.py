"""Shortest solutions of the 3x3x3, with the proof that nothing shorter exists.

An IDA* in the kernel goes deeper turn by turn. Once that gets slow, two-phase looks for a short
solution: IDA* then only has to undercut it or, far more often, to prove that it cannot be undercut.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from solver import _native, tables, two_phase
from solver.answer import Stopwatch, answer
from solver.cube import Cube
from solver.errors import BadNotation, SearchFailed
from solver.notation import Move, length, parse_moves
from solver.solution import Progress, Request, Solution
from solver.turns import moves_of

TABLE_VERSION = 1
"""Changes whenever the kernel would fill a table otherwise."""

KINDS = {"default": 1, "large": 24}
"""How many orders of the middle edges a table tells apart: 39 MB and 850 MB."""

LONGEST = {"htm": 20, "qtm": 26}
"""No cube needs more turns."""

EASY = {"htm": 14, "qtm": 17}
"""Solutions up to this length are found within a second."""

SHORT_SOLUTION_S = {"default": 3.0, "large": 1.5}
"""Seconds that each thread looks for a short solution by two-phase."""


def search(cube: Cube, request: Request) -> list[Solution]:
    """A shortest solution, or the best known when time ran out before it was proven to be one.

    Raises SearchFailed when no solution at all was found in time.
    """
    return [_Search(cube, request).run()]


class _Search:
    def __init__(self, cube: Cube, request: Request) -> None:
        self.cube = cube
        self.request = request
        self.table = kernel(request)
        self.watch = Stopwatch()
        self.nodes = 0
        self.bound = 0
        self.best: tuple[Move, ...] | None = None

    def run(self) -> Solution:
        metric = self.request.metric
        easy = self._deepen(EASY[metric])
        if not easy and self.bound > EASY[metric]:
            self._look_for_short_solution()
            self._deepen(LONGEST[metric] if self.best is None else self._length() - 1)
        if self.best is None:
            raise SearchFailed(
                f"No solution has fewer than {self.bound} turns; time ran out before the shortest "
                "was found. Give the search more time, or use the large tables."
            )
        extra = {"nodes": self.nodes, "tables": self.request.tables}
        return answer(
            self.cube, self.request, self.best, self.watch, lower_bound=self.bound, extra=extra
        )

    def _deepen(self, longest: int) -> bool:
        """Look for a solution of at most ``longest`` turns; whether there is one."""
        options = _native.OptimalOptions(
            self.bound, longest, self._left(), self.request.threads, self.request.cancel
        )
        report = self.table.solve(self.request.metric, self.cube.states, options, self._listener())
        self.nodes += report.nodes
        self.bound = report.lower_bound
        if report.turns is not None:
            self.best = moves_of(report.turns)
        return report.turns is not None

    def _look_for_short_solution(self) -> None:
        seconds = min(SHORT_SOLUTION_S[self.request.tables], self._left() / 2)
        asked = replace(
            self.request, time_limit=seconds, solutions=1, target=self.bound, on_better=None
        )
        try:
            found = two_phase.search(self.cube, asked)[0]
        except SearchFailed:
            return
        self.best = parse_moves(" ".join(found.moves))

    def _length(self) -> int:
        return length(self.best or (), self.request.metric)

    def _left(self) -> float:
        """Seconds by the clock still allowed; just above 0 when none are."""
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


_kernels: dict[tuple[str, int], _native.OptimalTable] = {}


def kernel(request: Request) -> _native.OptimalTable:
    """The table for the request's metric and choice of tables, made and stored if need be.

    Raises BadNotation for tables of another name, SearchFailed when making them was cancelled.
    """
    if request.tables not in KINDS:
        raise BadNotation(f"Tables are {' or '.join(KINDS)}, not {request.tables!r}.")
    key = request.metric, KINDS[request.tables]
    if key not in _kernels:
        table = _bytes(request, *key)
        large = key[1] > KINDS["default"]
        _kernels[key] = _native.OptimalTable(
            key[1], tables.in_huge_pages(table) if large else table
        )
    return _kernels[key]


def _bytes(request: Request, metric: str, kinds: int) -> tables.Bytes:
    name = f"optimal-{metric}-{kinds}"
    threads = os.cpu_count() or 1

    return tables.load(
        name,
        TABLE_VERSION,
        _native.optimal_size(kinds),
        lambda data, progress: _native.make_optimal(metric, kinds, data, threads, progress),
        progress=tables.reporter(name, request),
    )


def forget() -> None:
    """Drop the tables from memory; the next search loads them again."""
    _kernels.clear()
