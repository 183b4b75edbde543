"""Solutions of the 2x2x2 by textbook searches, which report their costs, and by complete tables.

On a robot the kernel searches for the fastest motion: over all positions if the mechanism has few
states, with bounds if it has many.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from solver import _native, tables
from solver.cost import COMPOSITES, IMPOSSIBLE, CostModel, TurnCosts, composite_index, composite_of
from solver.cube.metrics import length
from solver.cube.notation import FACE_TURNS, moves_of
from solver.cube.pieces import States
from solver.cube.pocket import PocketCube
from solver.errors import InvalidRequest, SearchError
from solver.processors import processors
from solver.solution import CancelFlag, Request, SearchClock, Solution, answer, seconds_of

TABLES = "the distances of all 2x2x2"

Textbook = Callable[[States, str], _native.PocketResult]


def search_bfs(cube: PocketCube, request: Request) -> list[Solution]:
    """Search breadth-first from the cube until it is solved."""
    return _textbook(_native.pocket_bfs, cube, request)


def search_bfs_pruned(cube: PocketCube, request: Request) -> list[Solution]:
    """Search breadth-first, without positions too far from solved by the pruning tables."""
    return _textbook(_native.pocket_bfs_pruned, cube, request)


def search_ida_star(cube: PocketCube, request: Request) -> list[Solution]:
    """Search depth-first, ever deeper, cut by corner-permutation and corner-orientation tables."""
    return _textbook(_native.pocket_ida_star, cube, request)


def search_exact(cube: PocketCube, request: Request) -> list[Solution]:
    """Return a shortest solution, by the distances of all positions, or the fastest on a robot."""
    if request.cost is not None:
        return search_fastest(cube, request)
    with tables.making(TABLES, request):
        table = distances(request.metric)
    watch = SearchClock()
    moves = moves_of(table.solve(cube.relative.states))
    bound = length(moves, request.metric, cube.size)
    extra = {"memory_bytes": table.bytes}
    return [answer(cube, request, moves, watch, lower_bound=bound, extra=extra)]


@cache
def distances(metric: str) -> _native.PocketTable:
    """Return the distances from solved of all 3674160 positions, in ``htm`` or ``qtm``."""
    return tables.build(TABLES, lambda progress: _native.PocketTable(metric, progress))


def _textbook(search: Textbook, cube: PocketCube, request: Request) -> list[Solution]:
    watch = SearchClock()
    result = search(cube.relative.states, request.metric)
    moves = moves_of(result.turns)
    bound = length(moves, request.metric, cube.size)
    extra = {"nodes": result.nodes, "memory_bytes": result.bytes}
    return [answer(cube, request, moves, watch, lower_bound=bound, extra=extra)]


Times = NDArray[np.uint32]

STEPS_BYTES = 25_000_000
"""Maximum size of a complete table; making it takes four times as much memory in addition."""

STEPS_FORMAT = 1
"""Version of tables of steps. It changes whenever the kernel would fill one differently."""

BALL_BYTES = 32_000_000
"""Memory in which the search keeps the positions solved fastest, besides 15 MB to find them."""


class Kernel(Protocol):
    """A search for the fastest turns of a relative 2x2x2."""

    @property
    def bytes(self) -> int:
        """Memory of its tables."""

    def fastest(
        self, states: States, first: Times, seconds: float, cancel: CancelFlag | None
    ) -> _native.FastestResult:
        """Return the fastest solution, or the best one found in time; ``first`` as in CostModel."""


def search_fastest(cube: PocketCube, request: Request) -> list[Solution]:
    """Return the fastest solution for ``request.cost``; ``extra["proven"]``: none is faster.

    ``request.cost`` belongs to a mechanism compiled for a 2x2x2, which turns only U, R and F.
    Raises SearchError if it does not, or if time ran out before any solution was found.
    """
    cost, robot = _cost_of(request), ready_kernel(request)
    watch = SearchClock()
    found = robot.fastest(cube.relative.states, cost.first, seconds_of(request), request.cancel)
    if found.cost is None:
        raise SearchError(f"No solution was found within {request.time_limit} s.")
    extra = {"nodes": found.nodes, "memory_bytes": robot.bytes, "proven": found.proven}
    solution = answer(cube, request, moves_of(found.turns), watch, extra=extra)
    composites = tuple(_composite(turn) for turn in found.turns)
    return [replace(solution, cost_us=found.cost, composites=composites)]


def ready_kernel(request: Request) -> Kernel:
    """Return the search for ``request.cost`` with its tables; raises as :func:`search_fastest`."""
    cost = _cost_of(request)
    with tables.making(f"the tables of the 2x2x2 for {cost.turns.name}", request):
        return kernel(cost.turns)


def _cost_of(request: Request) -> CostModel:
    """Return ``request.cost``; raises SearchError unless it is that of a 2x2x2."""
    cost = request.cost
    if cost is None:
        raise SearchError("The fastest solution needs a robot; name one with --robot.")
    other = [index for index in range(COMPOSITES) if composite_of(index)[2] != 0]
    if (cost.first[other] != IMPOSSIBLE).any():
        name = cost.turns.name
        raise SearchError(f"The costs of {name} are those of a 3x3x3; set cube.size to 2.")
    return cost


@lru_cache(maxsize=1)
def kernel(costs: TurnCosts) -> Kernel:
    """Return the search for a mechanism, which serves every start."""
    return ByTable(costs) if steps_bytes(costs) else BySearch(costs)


def steps_bytes(costs: TurnCosts) -> int:
    """Return the size of a mechanism's complete table; 0 if it would be too large."""
    size = _native.pocket_steps_size(costs.states)
    return size if size <= STEPS_BYTES else 0


def table_bytes(costs: TurnCosts) -> int:
    """Return a mechanism's bytes on disk; the bounds of a search are in memory only."""
    size = steps_bytes(costs)
    return size and size + tables.HEADER_SIZE


class ByTable:
    """A search that follows a table of the fastest next step, which is kept on disk."""

    def __init__(self, costs: TurnCosts) -> None:
        self.steps = _steps(costs)

    @property
    def bytes(self) -> int:
        """Size of the table."""
        return self.steps.bytes

    def fastest(
        self, states: States, first: Times, seconds: float, cancel: CancelFlag | None
    ) -> _native.FastestResult:
        """Return the fastest solution; it needs neither time nor cancelling."""
        del seconds, cancel
        return self.steps.solve(states, first)


class BySearch:
    """A search with bounds, for mechanisms with many states."""

    def __init__(self, costs: TurnCosts) -> None:
        self._robot = tables.build(
            f"the bounds of the 2x2x2 for {costs.name}",
            lambda report: _native.PocketRobot(costs.next, costs.final, BALL_BYTES, report),
        )

    @property
    def bytes(self) -> int:
        """Size of the bounds."""
        return self._robot.bytes

    def fastest(
        self, states: States, first: Times, seconds: float, cancel: CancelFlag | None
    ) -> _native.FastestResult:
        """Return the fastest solution, or the best one found before time was up."""
        return self._robot.solve(states, first, seconds, cancel)


def _steps(costs: TurnCosts) -> _native.PocketSteps:
    both = costs.next, costs.final
    threads = processors()
    of_costs = f"{costs.name}-{_checksum(costs):08x}"
    data = tables.load(
        f"pocket-{of_costs}",
        STEPS_FORMAT,
        steps_bytes(costs),
        lambda data, progress: _native.make_pocket_steps(*both, data, threads, progress),
    )
    _forget_others(costs.name, of_costs)
    return _native.PocketSteps(*both, data)


def _checksum(costs: TurnCosts) -> int:
    return zlib.crc32(costs.final.tobytes(), zlib.crc32(costs.next.tobytes()))


def _forget_others(name: str, of_costs: str) -> None:
    """Remove tables of this mechanism from before a new calibration or profile."""
    with suppress(OSError, InvalidRequest):
        for path in tables.cache_directory().glob(f"pocket-{name}-????????.v*.table"):
            if not path.name.startswith(f"pocket-{of_costs}."):
                path.unlink(missing_ok=True)


def _composite(turn: int) -> int:
    move = FACE_TURNS[turn]
    return composite_index(move.axis, move.quarters, 0)
