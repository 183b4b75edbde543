"""The independent models that solutions are judged by: turns of any size, costs by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from solver.cube.cube import Cube
from tests.rig.any_size import replay_moves
from tests.rig.timed_turns import cheapest_within, cost_of, random_model


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_turns_have_the_orders_that_everybody_knows(size: int) -> None:
    solved = "".join(face * size * size for face in "URFDLB")
    for moves, order in (("U", 4), ("R U R' U'", 6), ("R2 U2", 6), ("x y", 3)):
        shown = [solved]
        for _ in range(order):
            shown.append(replay_moves(shown[-1], moves, size))
        assert shown[-1] == solved
        assert shown[1] != solved


def test_a_turn_takes_the_top_row_of_the_right_face_to_the_front() -> None:
    numbered = "".join(chr(65 + k) for k in range(54))
    assert replay_moves(numbered, "U", 3)[18:21] == numbered[9:12]


def test_costs_add_up_along_the_cheapest_states() -> None:
    model = random_model(1, 1, blocked=0.0)
    first, second = 0, 20
    expected = model.first[first, 0] + model.turns.next[0, second, 0, 0] + model.turns.final[1, 0]
    assert cost_of(model, (first, second)) == expected
    assert cost_of(model, ()) == 0
    single = [cost_of(model, (c,)) for c in range(45) if c // 15 == 0]
    cube = Cube.from_moves("U")
    assert cheapest_within(model, cube, 1) in single
    assert cheapest_within(model, cube, 2) <= cheapest_within(model, cube, 1)
    assert np.isfinite(expected)
