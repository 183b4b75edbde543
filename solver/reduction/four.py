"""Reductions of the 4x4x4 by the kernel's three phases, with their table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver import _native, tables
from solver.processors import processors
from solver.solution import Request

TABLE_VERSION = 1
"""Changes whenever the kernel would fill the table otherwise."""

PHASES = ("centres", "centres apart", "centres and edges", "3x3x3")

SHARE = 0.5
"""Of the time for the reductions; the rest is for the 3x3x3."""

LEAST_S, MOST_S = 0.05, 60.0

REDUCTIONS_A_SECOND = 60
CANDIDATES = 200
"""Ends of the second phase that the third starts from in a second; more of them with its root."""

Turns = list[tuple[int, int, int, int]]

_reducers: list[_native.FourReducer] = []


def reducer(request: Request) -> _native.FourReducer:
    """The kernel's phases with their table, made or loaded when first asked for."""
    if not _reducers:
        size = _native.four_size()
        what = f"the tables of 4x4x4 reduction ({size / 1e6:.0f} MB)"
        with tables.making(what, request):
            if not _reducers:  # another thread may have loaded it meanwhile
                _reducers.append(_native.FourReducer(_table(size)))
    return _reducers[0]


def reductions(stickers: NDArray[np.uint8], left_s: float, request: Request) -> list[list[Turns]]:
    """Turns by phase of many reductions, the shorter ones first; none only when cancelled.

    ``left_s`` is the time for these and for the 3x3x3 after them.
    """
    seconds = min(max(left_s, LEAST_S), MOST_S)
    return reducer(request).reductions(
        stickers,
        time_limit=SHARE * seconds,
        candidates=int(CANDIDATES * seconds**0.5),
        count=max(1, int(REDUCTIONS_A_SECOND * seconds)),
        cancel=request.cancel,
    )


def _table(size: int) -> NDArray[np.uint8]:
    threads = processors()
    return tables.load(
        "reduction-4",
        TABLE_VERSION,
        size,
        lambda data, progress: _native.make_four(data, threads, progress),
    )
