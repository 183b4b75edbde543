"""The turned centres of a 3x3x3: they show on cubes with a picture or a logo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from heapq import heappop, heappush

from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.legality import permutation_parity
from solver.cube.notation import Move, face_turns, parse_moves
from solver.cube.orientation import all_orientations
from solver.errors import InvalidRequest

CentreTurns = tuple[int, ...]
"""Clockwise quarter turns, 0 to 3, of the centres of U R F D L B."""

UPRIGHT: CentreTurns = (0,) * len(FACES)


def count_turns(moves: Iterable[Move]) -> CentreTurns:
    """Return how far ``moves`` turn each centre against the pieces around it."""
    turned = dict.fromkeys(FACES, 0)
    for move in face_turns(moves):
        turned[move.face] = (turned[move.face] + move.quarters) % 4
    return tuple(turned.values())


def add_turns(first: CentreTurns, second: CentreTurns) -> CentreTurns:
    """Return the turns of both, one after the other."""
    return tuple((a + b) % 4 for a, b in zip(first, second, strict=True))


def turn_upright(cube: Cube, turned: CentreTurns) -> CentreTurns:
    """Return the turns that a solution of ``cube`` must make to leave ``turned`` centres upright.

    Every quarter turn exchanges corners and turns a centre, so both are odd or both even. Raises
    InvalidRequest where they are not: some centre is turned by a quarter of which nobody spoke.
    """
    if sum(turned) % 2 != permutation_parity(cube.corners[:, 0]):
        raise InvalidRequest(
            "With these centres no turns solve the cube and leave all of them upright",
            'Name each centre that is turned now, as in --centres-turned "U2 R"',
        )
    return tuple(-quarters % 4 for quarters in turned)


def turn_centres(wanted: CentreTurns) -> tuple[Move, ...]:
    """Return moves that turn centres by ``wanted``, an even sum, and leave all else as it is."""
    moves: list[Move] = []
    ways = _find_ways()
    while wanted != UPRIGHT:
        moves += (way := ways[wanted])
        wanted = add_turns(wanted, tuple(-quarters % 4 for quarters in count_turns(way)))
    return tuple(moves)


_TURN_ONLY_CENTRES = ("(U R L U2 R' L')2", "[M' E M, U]", "[M' E M, U2]", "[M E2 M', U]")
"""A half turn of U; U against R, by a quarter and by a half; U against D."""


@cache
def _find_ways() -> dict[CentreTurns, tuple[Move, ...]]:
    """Return the first part of the shortest way to every turn of the centres, by Dijkstra."""
    parts = {part: count_turns(part) for part in _list_parts()}
    costs, ways = {UPRIGHT: 0}, dict[CentreTurns, tuple[Move, ...]]()
    waiting = [(0, UPRIGHT)]
    while waiting:
        cost, reached = heappop(waiting)
        for part, turns in parts.items():
            following, longer = add_turns(reached, turns), cost + len(part)
            if longer < costs.get(following, longer + 1):
                costs[following], ways[following] = longer, part
                heappush(waiting, (longer, following))
    return ways


def _list_parts() -> Iterator[tuple[Move, ...]]:
    """Yield what turns only centres, seen from all sides, forwards and backwards."""
    for text in _TURN_ONLY_CENTRES:
        for held in all_orientations():
            turns = [
                replace(move, face=held.site_of(move.face))
                for move in face_turns(parse_moves(text))
            ]
            yield tuple(turns)
            yield tuple(turn.inverse for turn in reversed(turns))


def name_turns(turned: CentreTurns) -> dict[str, int]:
    """Return the centres that are not upright: quarter turns 1, 2 or -1 by face."""
    signed = zip(FACES, turned, strict=True)
    return {face: quarters - 4 * (quarters == 3) for face, quarters in signed if quarters}
