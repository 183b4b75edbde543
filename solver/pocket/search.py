"""The 2x2x2 by textbook searches, which tell what they cost, and by complete tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from solver import _native, tables
from solver.cube.notation import length
from solver.cube.pieces import States
from solver.cube.pocket import PocketCube
from solver.cube.turns import moves_of
from solver.solution import Request, Solution, Stopwatch, answer

TABLES = "the distances of all 2x2x2"

Textbook = Callable[[States, str], _native.PocketResult]


def search_bfs(cube: PocketCube, request: Request) -> list[Solution]:
    """Breadth-first from the cube until it is solved."""
    return _textbook(_native.pocket_bfs, cube, request)


def search_bfs_pruned(cube: PocketCube, request: Request) -> list[Solution]:
    """Breadth-first without what the pruning tables show to be too far from solved."""
    return _textbook(_native.pocket_bfs_pruned, cube, request)


def search_ida_star(cube: PocketCube, request: Request) -> list[Solution]:
    """Depth-first, deeper and deeper, cut by corner-permutation and corner-orientation tables."""
    return _textbook(_native.pocket_ida_star, cube, request)


def search_exact(cube: PocketCube, request: Request) -> list[Solution]:
    """A shortest solution from the distances of all positions, or the fastest on a robot."""
    if request.cost is not None:
        from solver.pocket.robot import search_fastest

        return search_fastest(cube, request)
    with tables.making(TABLES, request):
        table = distances(request.metric)
    watch = Stopwatch()
    moves = moves_of(table.solve(cube.relative.states))
    bound = length(moves, request.metric, cube.size)
    extra = {"memory_bytes": table.bytes}
    return [answer(cube, request, moves, watch, lower_bound=bound, extra=extra)]


@cache
def distances(metric: str) -> _native.PocketTable:
    """The distance from solved of all 3674160 positions, in ``htm`` or ``qtm``."""
    return tables.build(TABLES, lambda progress: _native.PocketTable(metric, progress))


def _textbook(search: Textbook, cube: PocketCube, request: Request) -> list[Solution]:
    watch = Stopwatch()
    result = search(cube.relative.states, request.metric)
    moves = moves_of(result.turns)
    bound = length(moves, request.metric, cube.size)
    extra = {"nodes": result.nodes, "memory_bytes": result.bytes}
    return [answer(cube, request, moves, watch, lower_bound=bound, extra=extra)]
