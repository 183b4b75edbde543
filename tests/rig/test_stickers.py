"""The cube of stickers, against the cube library."""

from hypothesis import given
from hypothesis import strategies as st

from solver.cube.cube import Cube
from solver.cube.notation import parse_moves
from tests.rig.stickers import Stickers


@given(st.lists(st.sampled_from(["U", "R2", "F'", "D", "L'", "B2"]), max_size=20))
def test_turns_agree_with_the_cube(moves: list[str]) -> None:
    model = Stickers(Cube.solved().facelets(), 3)
    for move in parse_moves(" ".join(moves)):
        model.turn(move.face, move.quarters)
    seen = "".join(model.at(site) for site in "URFDLB")
    assert seen == Cube.solved().apply(" ".join(moves)).facelets()


def test_rotations_and_holds_move_faces_to_other_sites() -> None:
    held = Stickers(Cube.solved().facelets(), 3, "LB")
    assert (set(held.at("U")), set(held.at("F"))) == ({"L"}, {"B"})
    rolled = Stickers(Cube.solved().facelets(), 3)
    rolled.rotate("x", 1)
    assert set(rolled.at("U")) == {"F"} and rolled.is_solved
