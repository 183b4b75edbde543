from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.cost import AXES, composite_index, composite_of, merge_moves, moves_of
from solver.cube.cube import Cube
from solver.cube.notation import FACE_TURNS, Move, face_turns, join_half_turns, length, parse_moves
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


@pytest.mark.parametrize(
    ("moves", "merged"),
    [
        ("R U U' R", "R2"),
        ("R U2 U2 R'", ""),
        ("D D", "D2"),
        ("D U D", "U D2"),
        ("D' U", "U D'"),
        ("R L R2 L'", "R'"),
        ("3Rw Rw 3Rw", "Rw 3Rw2"),
        ("R U R", "R U R"),
        ("F B2 F2 B2 F", ""),
        ("F2 U F F", "F2 U F2"),
    ],
)
def test_turns_of_one_axis_in_a_row_are_made_one(moves, merged):
    assert merge_moves(moves.split()) == tuple(merged.split())


def test_composites_are_told_by_their_number():
    numbers = set()
    for axis, faces in enumerate(AXES):
        for first in range(4):
            for second in range(4):
                if (first, second) == (0, 0):
                    continue
                number = composite_index(axis, first, second)
                numbers.add(number)
                assert composite_of(number) == (axis, first, second)
                signs = ("", "", "2", "'")
                turned = [
                    face + signs[q] for face, q in zip(faces, (first, second), strict=True) if q
                ]
                assert moves_of([number]) == tuple(turned)
    assert numbers == set(range(45))


@pytest.mark.parametrize(
    ("text", "size", "obtm"),
    [
        ("R Rw2 3Rw'", 4, 3),
        ("2R", 4, 2),
        ("3R", 4, 2),
        ("4R", 4, 1),
        ("x 4Rw", 4, 0),
        ("M", 5, 2),
        ("M", 3, 2),
        ("R x U", 5, 2),
    ],
)
def test_inner_layers_alone_are_two_outer_block_turns(text, size, obtm):
    assert length(parse_moves(text), "obtm", size) == obtm


def test_moves_know_what_they_turn():
    outer, middle, whole = parse_moves("B2 M x'")
    assert outer == Move("B", 2) == Move("B", 2, 1, 1)
    assert (outer.axis, outer.quarter_turns, outer.is_rotation) == (2, 2, False)
    assert (middle.axis, middle.quarter_turns, middle.is_rotation) == (1, 1, False)
    assert (whole.axis, whole.quarter_turns, whole.is_rotation) == (1, 1, True)
    assert [middle.layers(size) for size in (3, 5, 7)] == [(2, 2), (3, 3), (4, 4)]
    assert (outer.layers(5), whole.layers(5), Move("R", 1, 2, 0).layers(5)) == (
        (1, 1),
        (1, 5),
        (2, 5),
    )
    assert Move("R", 1, 5, 5).layers(5) == (5, 5)
    assert not Move("R", 1, 2, 0).is_rotation and not Move("R", 1, 1, 1).is_rotation
    assert [str(move.inverse) for move in (outer, middle, whole)] == ["B2", "M'", "x"]


def test_quarter_turns_in_a_row_are_half_turns():
    assert join_half_turns(parse_moves("R R U U2 F F F L' L'")) == parse_moves("R2 U U2 F2 F L2")
    assert [str(move) for move in FACE_TURNS[:4]] == ["U", "U2", "U'", "R"]


def test_as_many_moves_as_can_be_performed_are_read():
    assert len(parse_moves("R" * 20_000)) == 20_000
    with pytest.raises(BadNotation, match=r"more than 20,000 moves; a shorter sequence does"):
        parse_moves("R" * 20_001)
