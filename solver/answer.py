"""What the searches other than two-phase have in common when they answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from solver.cube.notation import Move, length
from solver.solution import Request, Solution


class Searchable(Protocol):
    """Any cube a search may be asked about."""

    @property
    def size(self) -> int:
        """Layers along an edge."""

    def facelets(self) -> str:
        """The cube's letters, named in every answer."""


class Stopwatch:
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
    watch: Stopwatch,
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
