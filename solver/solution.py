"""What a search is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from solver._native import CancelFlag
from solver.cost import CostModel

__all__ = ["CancelFlag", "Progress", "Request", "Solution"]


@dataclass(frozen=True)
class Solution:
    """Moves that solve a cube.

    ``length`` and ``lower_bound`` are counted in ``metric``; ``optimal`` says that no solution is
    shorter. ``search_s`` is the time by the clock, ``cpu_s`` the time of the processor over all
    threads. With a cost model, ``cost_us`` is what the moves cost on that robot. ``composites`` are
    the moves as numbers of :func:`solver.cost.composite_of`, ``phases`` the moves by phase where an
    algorithm has phases, ``extra`` its own figures (``nodes``, ...).
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
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """How far a long search or the making of tables is; unknown figures are None.

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
    """What is wanted of a search.

    ``time_limit`` is in seconds of one thread's processor time. With ``cost`` the cheapest solution
    on that robot is wanted, else the shortest in ``metric``. The search ends early with ``target``
    or fewer moves, or when ``cancel`` is set. ``solutions`` distinct ones are kept. ``on_better``
    sees each new best one while the search goes on, on the thread that found it. ``tables`` is
    ``default`` or ``large`` and ``depth`` a limit, for the algorithms that have them.
    """

    algorithm: str = "two-phase"
    metric: str = "htm"
    cost: CostModel | None = None
    time_limit: float = 1.0
    threads: int = 1
    solutions: int = 1
    target: int | None = None
    tables: str = "default"
    depth: int | None = None
    cancel: CancelFlag | None = None
    on_better: Callable[[Solution], None] | None = None
    progress: Callable[[Progress], None] | None = None
