"""Reductions by the kernel, in phases with exact tables, for each size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from solver import _native, tables
from solver.cost import BlockTurnCosts
from solver.processors import processors
from solver.solution import CancelFlag, Request

LEAST_S, MOST_S = 0.05, 60.0

SORTED_SIZES = (4, 5)
"""Sizes whose reductions the kernel sorts by their time on a robot."""

R = TypeVar("R")

Turns = list[tuple[int, int, int, int]]
Reducer = _native.FourReducer | _native.FiveReducer | _native.SixReducer | _native.SevenReducer


@dataclass(frozen=True)
class PhasedSize:
    """The kernel's phases for a size, and the number of candidates they keep."""

    names: tuple[str, ...]
    load: Callable[[Request], Reducer]
    tables: tuple[_Loaded[_native.FourReducer] | _Loaded[_native.FiveReducer], ...]
    candidates: Callable[[float], float]
    """Number of ends of a phase from which the next one starts, by seconds of search."""
    reductions_a_second: int
    share: float
    """Share of the time for the reductions; the rest is for the 3x3x3."""
    first_s: float
    """Seconds after which a search of the whole time starts again, with more candidates."""


@dataclass
class _Loaded(Generic[R]):
    """The kernel's search with a size's tables, which are made or loaded at the first call."""

    size: int
    version: int
    """Version of the table. It changes whenever the kernel would fill it differently."""
    count_bytes: Callable[[], int]
    make: Callable[[NDArray[np.uint8], int, Callable[[float], bool]], bool]
    build: Callable[[NDArray[np.uint8]], R]
    reducer: R | None = None
    table: tables.Bytes | None = None

    def __call__(self, request: Request) -> R:
        if self.reducer is None:
            with tables.making(self._what(), request):
                if self.reducer is None:  # another thread may have loaded it meanwhile
                    self.table = self._load_table()
                    self.reducer = self.build(self.table)
        return self.reducer

    def _what(self) -> str:
        megabytes = self.count_bytes() / 1e6
        return f"the tables of {self.size}x{self.size}x{self.size} reduction ({megabytes:.0f} MB)"

    def release(self) -> None:
        """Release the table's memory until it is read again."""
        if self.table is not None:
            tables.release_pages(self.table)

    def _load_table(self) -> NDArray[np.uint8]:
        name = f"reduction-{self.size}"
        return tables.load(name, self.version, self.count_bytes(), self._fill)

    def _fill(self, data: NDArray[np.uint8], progress: Callable[[float], bool]) -> bool:
        return self.make(data, processors(), progress)


_four = _Loaded(4, 1, _native.four_size, _native.make_four, _native.FourReducer)
_five = _Loaded(5, 1, _native.five_size, _native.make_five, _native.FiveReducer)


def _six(request: Request) -> _native.SixReducer:
    return _native.SixReducer(_four(request), _five(request))


def _seven(request: Request) -> _native.SevenReducer:
    return _native.SevenReducer(_five(request))


_PHASES_OF_FIVE = (
    "centres",
    "centres apart",
    "edges oriented",
    "four edges",
    "centres and edges",
    "3x3x3",
)

SIZES = {
    4: PhasedSize(
        names=("centres", "centres apart", "centres and edges", "3x3x3"),
        load=_four,
        tables=(_four,),
        candidates=lambda seconds: 200 * seconds**0.5,
        reductions_a_second=60,
        share=0.6,
        first_s=0.2,
    ),
    5: PhasedSize(
        names=_PHASES_OF_FIVE,
        load=_five,
        tables=(_five,),
        candidates=lambda seconds: 70 * seconds**1.5,
        reductions_a_second=15,
        share=0.6,
        first_s=0.8,
    ),
    6: PhasedSize(
        names=("core and bars", *_PHASES_OF_FIVE),
        load=_six,
        tables=(_four, _five),
        candidates=lambda seconds: 100 * seconds,
        reductions_a_second=8,
        share=0.85,
        first_s=1.0,
    ),
    7: PhasedSize(
        names=("core and bars", *_PHASES_OF_FIVE),
        load=_seven,
        tables=(_five,),
        candidates=lambda seconds: 6 * seconds**1.7,
        reductions_a_second=4,
        share=0.85,
        first_s=4.0,
    ),
}


def load(size: int, request: Request) -> Reducer:
    """Return the kernel's phases with their tables, which are made if they are missing."""
    return SIZES[size].load(request)


def release_tables(size: int) -> None:
    """Release the memory of a size's tables until they are read again."""
    for part in SIZES[size].tables:
        part.release()


def table_bytes(size: int) -> int:
    """Return the bytes of a size's tables on disk."""
    return sum(part.count_bytes() + tables.HEADER_SIZE for part in SIZES[size].tables)


def reductions(
    size: int, stickers: NDArray[np.uint8], left_s: float, request: Request, choice: int
) -> list[list[Turns]]:
    """Return turns by phase of many reductions, the shorter ones first; none only if cancelled.

    ``left_s`` is the time for these and for the 3x3x3 after them. ``choice`` is a factor on the
    number that it takes to find a short solution. If the request has a robot's costs, 4x4x4 and
    5x5x5 are reduced to be fast on it, the fastest of them first.
    """
    seconds = min(max(left_s, LEAST_S), MOST_S)
    # More candidates for more threads bring shorter solutions, but not faster ones; those of larger
    # cubes take much memory.
    worked_s = min(request.threads * seconds, MOST_S) if size in SORTED_SIZES else seconds
    chosen_s = worked_s if request.block_costs is None else seconds
    phased = SIZES[size]
    reducer = load(size, request)
    options = _Options(
        time_limit=phased.share * seconds,
        threads=request.threads,
        candidates=max(1, int(phased.candidates(chosen_s))),
        count=max(1, int(choice * phased.reductions_a_second * worked_s)),
        cancel=request.cancel,
    )
    if isinstance(reducer, _native.FourReducer | _native.FiveReducer):
        return reducer.reductions(stickers, **options, times=_times(size, request.block_costs))
    return reducer.reductions(stickers, **options)


def are_sorted(size: int, request: Request) -> bool:
    """Return whether the kernel sorts reductions by their time on the robot."""
    return size in SORTED_SIZES and _times(size, request.block_costs) is not None


class _Options(TypedDict):
    """The kernel's options, the same for all sizes."""

    time_limit: float
    threads: int
    candidates: int
    count: int
    cancel: CancelFlag | None


@lru_cache(maxsize=1)
def _times(size: int, costs: BlockTurnCosts | None) -> _native.BlockTimes | None:
    """Return the times of turns on the request's robot, if there is one."""
    if costs is None:
        return None
    times = costs.turn_times
    if times.states > _native.BLOCK_STATES:
        return None
    return _native.BlockTimes(size, times.next, times.first)
