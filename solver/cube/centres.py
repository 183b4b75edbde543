"""The turned centres of a 3x3x3, which show on cubes with a picture or a logo."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.legality import permutation_parity
from solver.cube.notation import Move, face_turns, parse_moves
from solver.errors import InvalidRequest

CentreTurns = tuple[int, ...]
"""Clockwise quarter turns, 0 to 3, of the centres of U R F D L B."""

ALONE = (
    "U R L U2 R' L' U R L U2 R' L'",
    "R L' F2 B2 R L' U R L' F2 B2 R L' D'",
    "M E M' U M E' M' U'",
)
"""Turns that leave all pieces in place. They turn the centre of U by a half, those of U and D by a
quarter in opposite directions, or those of U and L."""


def count_turns(moves: Iterable[Move]) -> CentreTurns:
    """Return the turns that ``moves`` give each centre, relative to the pieces around it."""
    turned = dict.fromkeys(FACES, 0)
    for move in face_turns(moves):
        turned[move.face] = (turned[move.face] + move.quarters) % 4
    return tuple(turned.values())


def add_turns(first: CentreTurns, second: CentreTurns) -> CentreTurns:
    """Return the turns of both, one after the other."""
    return tuple((a + b) % 4 for a, b in zip(first, second, strict=True))


def turn_upright(cube: Cube, turned: CentreTurns) -> CentreTurns:
    """Return the turns that a solution of ``cube`` must make to leave ``turned`` centres upright.

    Raises InvalidRequest if there are none; see :func:`require_possible`.
    """
    require_possible(cube, turned)
    return tuple(-quarters % 4 for quarters in turned)


def require_possible(cube: Cube, turned: CentreTurns) -> None:
    """Raise InvalidRequest if no solution of ``cube`` turns the centres like this, or back.

    Every quarter turn exchanges corners and turns a centre, so both are odd or both even. If not,
    some centre has a quarter turn that is missing in ``turned``.
    """
    if sum(turned) % 2 != permutation_parity(cube.corners[:, 0]):
        raise InvalidRequest(
            "With these centres no turns solve the cube and leave all of them upright",
            'Name each centre that is turned now, as in --centres-turned "U2 R"',
        )


def name_turns(turned: CentreTurns) -> dict[str, int]:
    """Return the centres that are not upright: quarter turns 1, 2 or -1 by face."""
    signed = zip(FACES, turned, strict=True)
    return {face: quarters - 4 * (quarters == 3) for face, quarters in signed if quarters}


def write_turns(turned: CentreTurns) -> str:
    """Return moves that turn centres like this, as :func:`count_turns` reads them."""
    ends = ("", "", "2", "'")
    written = zip(FACES, turned, strict=True)
    return " ".join(face + ends[quarters] for face, quarters in written if quarters)


def turn_alone(turned: CentreTurns) -> tuple[Move, ...]:
    """Return moves that turn the centres by an even number of quarters and move nothing else."""
    moves: list[Move] = []
    while any(turned):
        rests = {
            tuple((q - done) % 4 for q, done in zip(turned, effect, strict=True)): ways
            for effect, ways in _centres_alone().items()
        }
        turned = min(rests, key=_count_left)
        moves += rests[turned]
    return tuple(moves)


@cache
def _centres_alone() -> dict[CentreTurns, tuple[Move, ...]]:
    """Return :data:`ALONE` in all 24 ways to hold the cube, by their turns of the centres."""
    held = [
        f"{up} {side}" for up in ("", "x", "x2", "x'", "z", "z'") for side in ("", "y", "y2", "y'")
    ]
    texts = [f"{rotations} {moves}" for moves in ALONE for rotations in held]
    return {count_turns(moves): face_turns(moves) for moves in map(parse_moves, texts)}


def _count_left(turned: CentreTurns) -> int:
    """Return the remaining quarters; odd ones count twice, as they are turned in pairs."""
    return sum(min(q, 4 - q) + q % 2 for q in turned)
