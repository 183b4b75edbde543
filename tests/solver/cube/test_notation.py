from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.cube.cube import Cube
from solver.cube.notation import Move, face_turns, length, parse_moves
from solver.errors import BadNotation

MOVES = st.builds(
    lambda face, quarters, block: Move(face, quarters, *block),
    st.sampled_from("URFDLB"),
    st.integers(1, 3),
    st.sampled_from([(1, 1), (1, 2), (1, 3), (2, 2), (3, 3)]),
)


@given(st.lists(MOVES))
def test_what_is_written_is_read_back(moves):
    assert parse_moves(" ".join(map(str, moves))) == tuple(moves)
    assert [move.inverse.inverse for move in moves] == moves


def test_all_spellings_are_understood():
    moves = parse_moves("R2' r Rw2 3Rw' 2L x’ M2E' S U3")
    assert " ".join(map(str, moves)) == "R2 Rw Rw2 3Rw' 2L x' M2 E' S U'"
    assert parse_moves("") == ()


@pytest.mark.parametrize(
    ("text", "place"),
    [("R U Q", "character 5"), ("R+", "character 2"), ("2M", "character 1"), ("0R", "character 1")],
)
def test_a_wrong_move_is_named_with_its_place(text, place):
    with pytest.raises(BadNotation, match=place):
        parse_moves(text)


def test_a_move_deeper_than_the_cube_is_refused():
    with pytest.raises(BadNotation, match="only 3"):
        parse_moves("4Rw")[0].layers(3)
    with pytest.raises(BadNotation, match="middle layer"):
        parse_moves("M")[0].layers(4)


@given(st.lists(MOVES, max_size=12))
def test_a_sequence_and_its_inverse_cancel(moves):
    back = [move.inverse for move in reversed(moves)]
    assert Cube.from_moves([*moves, *back]).is_solved


@pytest.mark.parametrize(
    ("text", "turns"),
    [("x U", "F"), ("M", "R L'"), ("Rw U", "L F"), ("y R2 y' R'", "B2 R'"), ("E S", "U D' R L'")],
)
def test_face_turns_name_faces_by_their_centres(text, turns):
    plain = face_turns(parse_moves(text))
    assert Cube.from_moves(plain) == Cube.from_moves(turns)
    assert all(move.first == move.last == 1 for move in plain)


@pytest.mark.parametrize(
    ("text", "size", "htm", "qtm", "axial", "axial_qtm"),
    [
        ("", 3, 0, 0, 0, 0),
        ("R U2 F'", 3, 3, 4, 3, 4),
        ("R L U D2 R", 3, 5, 6, 3, 4),
        ("R2 L U", 3, 3, 4, 2, 3),
        ("M x y", 3, 2, 2, 1, 1),
        ("R y R", 3, 2, 2, 2, 2),
        ("R x L'", 3, 2, 2, 1, 1),
        ("Rw 2R2 U'", 4, 3, 4, 2, 3),
    ],
)
def test_lengths(text, size, htm, qtm, axial, axial_qtm):
    moves = parse_moves(text)
    found = [length(moves, metric, size) for metric in ("htm", "qtm", "axial", "axial-qtm")]
    assert found == [htm, qtm, axial, axial_qtm]


def test_an_unknown_metric_is_refused():
    with pytest.raises(BadNotation, match="'moves' is not a metric"):
        length(parse_moves("R"), "moves")
