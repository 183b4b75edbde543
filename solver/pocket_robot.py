"""The 2x2x2 soonest on a robot, with proof."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from solver import _native
from solver.answer import Stopwatch, answer, seconds_of
from solver.cost import COMPOSITES, IMPOSSIBLE, CostModel, composite_index, composite_of
from solver.errors import SearchFailed
from solver.pocket import PocketCube
from solver.solution import Request, Solution
from solver.turns import FACE_TURNS, moves_of

TABLE_BYTES = 8_000_000
"""Memory for the times of the positions solved soonest, besides 15 MB to find them by."""


def search_soonest(cube: PocketCube, request: Request) -> list[Solution]:
    """The soonest solution for ``request.cost``; ``extra["proven"]`` says that nothing is sooner.

    ``request.cost`` is that of a mechanism compiled for a 2x2x2, turning U, R and F alone. Raises
    SearchFailed when it is another one or when time ran out before any solution was found.
    """
    if request.cost is None:
        raise SearchFailed("The soonest solution needs a robot; name one with --robot.")
    robot = kernel(request.cost)
    watch = Stopwatch()
    found = robot.solve(cube.relative.states, seconds_of(request), request.cancel)
    if found.cost is None:
        raise SearchFailed(f"No solution was found within {request.time_limit} s.")
    extra = {"nodes": found.nodes, "memory_bytes": robot.bytes, "proven": found.proven}
    solution = answer(cube, request, moves_of(found.turns), watch, extra=extra)
    composites = tuple(_composite(turn) for turn in found.turns)
    return [replace(solution, cost_us=found.cost, composites=composites)]


@lru_cache(maxsize=2)
def kernel(cost: CostModel) -> _native.PocketRobot:
    """The kernel's search on a mechanism, with its table."""
    other = [index for index in range(COMPOSITES) if composite_of(index)[2] != 0]
    if (np.asarray(cost.first)[other] != IMPOSSIBLE).any():
        raise SearchFailed(f"The costs of {cost.name} are those of a 3x3x3; set cube.size to 2.")
    return _native.PocketRobot(cost.first, cost.next, cost.final, TABLE_BYTES)


def _composite(turn: int) -> int:
    move = FACE_TURNS[turn]
    return composite_index(move.axis, move.quarters, 0)
