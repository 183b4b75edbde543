"""The second opinion itself, against the cube library."""

import numpy as np

from solver.cube.cube import Cube
from solver.cube.notation import parse_moves


def test_turns_agree_with_the_cube(stickers):
    rng = np.random.default_rng(3)
    moves = "".join(rng.choice(["U ", "R2 ", "F' ", "D ", "L' ", "B2 "], 40))
    model = stickers(Cube.solved().facelets(), 3)
    for move in parse_moves(moves):
        model.turn(move.face, move.quarters)
    seen = "".join(model.at(site) for site in "URFDLB")
    assert seen == Cube.solved().apply(moves).facelets()


def test_holding_puts_the_named_faces_up_and_front(stickers):
    model = stickers(Cube.solved().facelets(), 3, "LB")
    assert (set(model.at("U")), set(model.at("F"))) == ({"L"}, {"B"})


def test_a_rotation_x_brings_the_front_up(stickers):
    model = stickers(Cube.solved().facelets(), 3)
    model.rotate("x", 1)
    assert set(model.at("U")) == {"F"}
