"""Reductions in phases that have exact tables: by the kernel, size by size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from solver import _native, tables
from solver.processors import processors
from solver.solution import Request

SHARE = 0.6
"""Of the time for the reductions; the rest is for the 3x3x3."""

LEAST_S, MOST_S = 0.05, 60.0

Turns = list[tuple[int, int, int, int]]
Reducer = _native.FourReducer | _native.FiveReducer


@dataclass(frozen=True)
class PhasedSize:
    """How a size is reduced: the kernel's phases, and how many candidates they carry."""

    size: int
    names: tuple[str, ...]
    table_version: int
    """Changes whenever the kernel would fill the table otherwise."""
    table_size: Callable[[], int]
    make: Callable[[NDArray[np.uint8], int, Callable[[float], bool]], bool]
    load: Callable[[NDArray[np.uint8]], Reducer]
    candidates: Callable[[float], float]
    """Ends of a phase that the next one starts from, by seconds."""
    reductions_a_second: int
    first_s: float
    """After which a search of the whole time begins anew, with more candidates."""


SIZES = {
    4: PhasedSize(
        size=4,
        names=("centres", "centres apart", "centres and edges", "3x3x3"),
        table_version=1,
        table_size=_native.four_size,
        make=_native.make_four,
        load=_native.FourReducer,
        candidates=lambda seconds: 200 * seconds**0.5,
        reductions_a_second=60,
        first_s=0.2,
    ),
    5: PhasedSize(
        size=5,
        names=(
            "centres",
            "centres apart",
            "edges oriented",
            "four edges",
            "centres and edges",
            "3x3x3",
        ),
        table_version=1,
        table_size=_native.five_size,
        make=_native.make_five,
        load=_native.FiveReducer,
        candidates=lambda seconds: 70 * seconds**1.5,
        reductions_a_second=15,
        first_s=0.8,
    ),
}

_reducers: dict[int, Reducer] = {}


def reducer(size: int, request: Request) -> Reducer:
    """The kernel's phases with their table, made or loaded when first asked for."""
    if size not in _reducers:
        phased = SIZES[size]
        count = phased.table_size()
        what = f"the tables of {size}x{size}x{size} reduction ({count / 1e6:.0f} MB)"
        with tables.making(what, request):
            if size not in _reducers:  # another thread may have loaded it meanwhile
                _reducers[size] = phased.load(_table(phased, count))
    return _reducers[size]


def reductions(
    size: int, stickers: NDArray[np.uint8], left_s: float, request: Request
) -> list[list[Turns]]:
    """Turns by phase of many reductions, the shorter ones first; none only when cancelled.

    ``left_s`` is the time for these and for the 3x3x3 after them.
    """
    seconds = min(max(left_s, LEAST_S), MOST_S)
    phased = SIZES[size]
    return reducer(size, request).reductions(
        stickers,
        time_limit=SHARE * seconds,
        candidates=max(1, int(phased.candidates(seconds))),
        count=max(1, int(phased.reductions_a_second * seconds)),
        cancel=request.cancel,
    )


def _table(phased: PhasedSize, size: int) -> NDArray[np.uint8]:
    return tables.load(
        f"reduction-{phased.size}",
        phased.table_version,
        size,
        partial(_make, phased),
    )


def _make(phased: PhasedSize, data: NDArray[np.uint8], progress: Callable[[float], bool]) -> bool:
    return phased.make(data, processors(), progress)
