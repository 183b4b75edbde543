"""Shallow scrambles of cubes of any size: a breadth-first database and IDA* with it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from solver.cube.facelets import FACES
from solver.cube.notation import join_half_turns
from solver.cube.pieces import PieceCube
from solver.cube.sticker_cube import StickerCube
from solver.errors import IllegalCube, SearchError
from solver.nxn import database as nxn_database
from solver.nxn.turns import counted_moves
from solver.solution import Progress, Request, SearchClock, Solution, answer, seconds_of

LONGEST = 40
"""Solutions longer than this are not looked for, whatever the time."""


def search(cube: PieceCube | StickerCube, request: Request) -> list[Solution]:
    """A shortest solution in turns of blocks of layers.

    ``request.depth`` is the depth of the database. Raises SearchError ("not found within the
    limit") when the time ends first, IllegalCube for stickers that are no cube's.
    """
    moves = counted_moves(cube.size, request.metric)
    database = nxn_database.load(cube.size, request)
    watch = SearchClock()
    stickers = np.array([FACES.index(letter) for letter in cube.facelets()], dtype=np.uint8)
    try:
        found = database.solve(
            stickers, LONGEST, seconds_of(request), request.cancel, _listener(request)
        )
    except ValueError as error:
        raise IllegalCube(
            "no corner is coloured like the one at DLB", {"kind": "impossible-piece", "slot": "DLB"}
        ) from error
    if found.turns is None:
        raise SearchError(
            f"A solution was not found within the limit: none has fewer than {found.lower_bound} "
            f"turns. A deeper database (now {database.depth}) or more time may find it."
        )
    chosen = join_half_turns(moves[turn] for turn in found.turns)
    extra = {"nodes": found.nodes, "database_depth": database.depth, "states": len(database)}
    return [answer(cube, request, chosen, watch, lower_bound=found.lower_bound, extra=extra)]


def _listener(request: Request) -> Callable[[int, int], None]:
    watch = SearchClock()

    def listen(depth: int, nodes: int) -> None:
        if request.progress is not None:
            rate = nodes / max(watch.clock_s(), 1e-3)
            text = f"no solution of fewer than {depth} turns"
            request.progress(Progress(text, depth=depth, nodes=nodes, rate=rate))

    return listen
