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
"""The word for a search that leaves nothing better to be found."""


@dataclass(frozen=True)
class Solution:
    """Moves that solve a cube.

    ``length`` and ``lower_bound`` are counted in ``metric``; ``optimal`` says that no solution is
    shorter. ``search_s`` is the time by the clock, ``cpu_s`` the time of the processor over all
    threads. With a cost model, ``cost_us`` is what the moves cost on that robot. ``composites`` are
    the moves as numbers of :func:`solver.cost.composite_of`, ``phases`` the moves by phase where an
    algorithm has phases, ``phase_names`` what these are called where they have names, ``extra`` its
    own figures (``nodes``, ...). ``cut_by_clock``: the computer was so busy that the search, or a
    part of it, ended by the clock before it had its time of the processor.
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
    """Progress of a long search or of making tables; unknown figures are None.

    ``text`` stays the same from the first to the last report of one thing. ``making``: tables are
    being made, which ends with ``done`` 1; ``remaining_s`` is how much longer that takes.
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

    ``time_limit`` is in seconds of one thread's processor time. With ``cost`` the cheapest solution
    on that robot is wanted, else the shortest in ``metric``; ``block_costs`` are the same for cubes
    of 4 and more layers. The search ends early with ``target``
    or fewer moves, or when ``cancel`` is set. ``solutions`` distinct ones are kept. ``on_better``
    sees each new best one while the search goes on, on the thread that found it. ``tables`` is
    ``default``, ``medium`` or ``large`` and ``depth`` a limit, for the algorithms that have them.
    ``goal`` is what the cube is to become; None: solved. ``centres``: how many clockwise quarter
    turns the centres of U R F D L B make, modulo 4, for searches that can see to that.
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
    """Any cube a search may be asked about."""

    @property
    def size(self) -> int:
        """Layers along an edge."""

    def facelets(self) -> str:
        """The cube's letters, named in every answer."""


class SearchClock:
    """Seconds by the clock and of the processor, over all threads, since it was made."""

    def __init__(self) -> None:
        self._clock = time.perf_counter()
        self._cpu = time.process_time()

    def clock_s(self) -> float:
        """Seconds gone by."""
        return time.perf_counter() - self._clock

    def cpu_s(self) -> float:
        """Seconds worked by this process."""
        return time.process_time() - self._cpu


FOREVER_S = 1e8
"""Stands for no limit; in nanoseconds it still fits 64 bits."""


def seconds_of(request: Request) -> float:
    """The request's time limit as the kernel takes it: finite."""
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
    """The solution ``moves``, optimal when no longer than ``lower_bound`` in the metric."""
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
