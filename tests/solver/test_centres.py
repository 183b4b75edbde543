"""Centres with a picture: a 3x3x3 whose facelets are nine stickers each, every one its own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from solver.cube.centres import count_turns, name_turns, turn_centres, turn_upright
from solver.cube.cube import Cube
from solver.cube.notation import parse_moves
from solver.errors import InvalidRequest
from solver.search import solve_many
from solver.solution import Request
from tests.rig.stickers import replay_moves

PICTURES = "".join(chr(0x100 + number) for number in range(6 * 9 * 9))


def turn_pictures(moves: str) -> str:
    """Return the stickers after moves of outer layers, each three layers of a 9x9x9."""
    wide = " ".join(f"3{move[0]}w{move[1:]}" for move in moves.split())
    return replay_moves(PICTURES, wide, 9).facelets


def check_upright(seed: int, seconds: float) -> int:
    rng = np.random.default_rng(seed)
    turns = ["URFDLB"[rng.integers(6)] + ("", "2", "'")[rng.integers(3)] for _ in range(60)]
    scramble = " ".join(turns)
    cube = Cube.from_moves(scramble)
    wanted = turn_upright(cube, count_turns(parse_moves(scramble)))
    [found] = solve_many(cube, Request(time_limit=seconds, centres=wanted))
    assert turn_pictures(f"{scramble} {' '.join(found.moves)}") == PICTURES
    return found.length


def test_centres_come_back_upright() -> None:
    assert check_upright(1, 0.2) <= 90
    assert turn_pictures("U R L U2 R' L' U R L U2 R' L'") != PICTURES  # which is solved else


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_random_cubes(seed: int) -> None:
    assert check_upright(seed, 0.5) <= 90


def test_every_turn_of_the_centres_has_moves_that_change_nothing_else() -> None:
    for wanted in product(range(4), repeat=6):
        if sum(wanted) % 2 == 0:
            moves = turn_centres(wanted)
            assert count_turns(moves) == wanted and len(moves) <= 68
            assert sum(wanted) or Cube.from_moves(moves).is_solved


def test_turned_centres_are_named_and_the_impossible_is_refused() -> None:
    moves = parse_moves("U R L U2 R' L' U R L U2 R' L'")
    assert Cube.from_moves(moves).is_solved
    assert name_turns(count_turns(moves)) == {"U": 2}
    assert name_turns(count_turns(parse_moves("M D' y B"))) == {"R": 1, "F": -1}
    with pytest.raises(InvalidRequest, match="--centres-turned"):
        turn_upright(Cube.from_moves("R"), (0,) * 6)
