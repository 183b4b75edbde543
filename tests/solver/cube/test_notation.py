"""Move sequences: reading, writing, counting and simplifying them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.cost import AXES, composite_index, composite_of, merge_moves, moves_of
from solver.cube.cube import Cube
from solver.cube.metrics import length
from solver.cube.notation import Move, face_turns, parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation

MOVES = st.builds(
    lambda face, quarters, block: Move(face, quarters, *block),
    st.sampled_from("URFDLB"),
    st.integers(1, 3),
    st.sampled_from([(1, 1), (1, 2), (1, 3), (2, 2), (3, 3)]),
)


@settings(max_examples=50)
@given(st.lists(MOVES, max_size=15))
def test_what_is_written_is_read_back_and_its_inverse_cancels_it(moves):
    assert parse_moves(" ".join(map(str, moves))) == tuple(moves)
    assert [move.inverse.inverse for move in moves] == moves
    assert Cube.from_moves([*moves, *back(moves)]).is_solved


@st.composite
def spelled_moves(draw: st.DrawFn) -> tuple[str, list[Move]]:
    """Draw one move in one of its spellings."""
    letter = draw(st.sampled_from("URFDLB"))
    first, last = draw(st.sampled_from([(1, 1), (1, 2), (1, 3), (2, 2), (3, 3), (2, 4)]))
    quarters = draw(st.integers(1, 3))
    layers = f"{first}-{last}" if 1 < first < last else str(max(last, first))
    stem = {
        (1, 1): [letter, f"1{letter}"],
        (1, 2): [f"{letter}w", letter.lower(), f"2{letter}w"],
    }.get((first, last), [layers + letter] if first == last else [f"{layers}{letter}w"])
    endings = {1: ["", "1", "3'", "¹"], 2: ["2", "2'", "'2", "²"], 3: ["'", "3", "i", "ʼ", "’"]}
    text = draw(st.sampled_from(stem)) + draw(st.sampled_from(endings[quarters]))
    return text, [Move(letter, quarters, first, last)]


def back(moves: list[Move]) -> list[Move]:
    return [move.inverse for move in reversed(moves)]


Written = tuple[str, list[Move]]


def combined(parts: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    """Return sequences, repetitions, commutators and conjugates of ``parts``."""

    def joined(
        text: str, meant: Callable[[list[Move], list[Move]], list[Move]]
    ) -> st.SearchStrategy[Written]:
        return st.builds(lambda a, b: (text.format(a[0], b[0]), meant(a[1], b[1])), parts, parts)

    return st.one_of(
        joined("{}, {}", lambda a, b: a + b),
        joined("{} // {}\n", lambda a, b: a),
        joined("( {} )'", lambda a, b: back(a)),
        joined("[({}), ({})]", lambda a, b: a + b + back(a) + back(b)),
        joined("[({}) : ({})]", lambda a, b: a + b + back(a)),
        st.builds(lambda a, times: (f"({a[0]}){times}", a[1] * times), parts, st.integers(1, 3)),
    )


@settings(max_examples=200)
@given(st.recursive(spelled_moves(), combined, max_leaves=6))
def test_every_spelling_and_bracket_is_read_as_it_is_meant(written):
    text, moves = written
    assert parse_moves(text, 6) == tuple(moves)
    assert parse_moves(" ".join(map(str, moves)), 6) == tuple(moves)


@pytest.mark.parametrize(
    ("text", "size", "read"),
    [
        ("M2E'S x’ y2'", 3, "M2 E' S x' y2"),
        ("F3R1U3D3B1", 3, "F' R U' D' B"),
        ("F3R1U3D3B1", 7, "F' R U' D' B"),
        ("U3Rw", 3, "U' Rw"),
        ("R2U'F2", 3, "R2 U' F2"),
        ("R10U", 12, "R 10U"),
        ("R U ^(F B') L", 3, "R U L B F'"),
        ("", 3, ""),
    ],
)
def test_moves_without_blanks_and_on_the_inverse(text, size, read):
    assert " ".join(map(str, parse_moves(text, size))) == read


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("U3Rw", "'U3 Rw' or 'U 3Rw'"),
        ("y3Rw", "'y3 Rw' or 'y 3Rw'"),
        ("R2U", "'R2 U' or 'R 2U'"),
        ("(R U", "character 1 is not closed by '\\)'"),
        ("[R U]", "no comma and no colon"),
        ("(R)x3", "rotation or 'times'"),
        ("(R) x3", "rotation or 'times'"),
        ("(R U)3Rw", "'3 R' or the move '3R'"),
        ("[R, U]2L", "'2 L' or the move '2L'"),
        ("(R U)'2R", "'2 R' or the move '2R'"),
        ("(R U)*", "'\\*' at character 6"),
        ("(R U)0", "'0' at character 6"),
        ("[R, U, D]", "more than two parts"),
        ("[F: R, U]", "more than two parts"),
        ("(R U)99999", "more than 20,000 moves"),
        ("((R U)900)900", "more than 20,000 moves"),
        ("[" * 90, "nested brackets"),
        ("R (U Q)", "'Q\\)' at character 6"),
        *(("R U Q", "character 5"), ("R+", "character 2"), ("2M", "character 1")),
        ("0R", "character 1"),
        ("R" * 20_001, "more than 20,000 moves; a shorter sequence does"),
    ],
)
def test_what_could_mean_two_things_or_nothing_is_refused(text, reason):
    with pytest.raises(BadNotation, match=reason):
        parse_moves(text, 6)


@pytest.mark.parametrize("block", [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)])
def test_every_block_of_a_3x3x3_turns_as_its_stickers_do(block):
    for move in (Move(face, quarters, *block) for face in "URFDLB" for quarters in (1, 2, 3)):
        moves = [*parse_moves("R U2 F"), move]
        shown = StickerCube.solved(3).apply(moves)
        assert Cube.from_moves(moves) == Cube.from_facelets(shown.letters)


@pytest.mark.parametrize(
    ("text", "turns"),
    [("x U", "F"), ("M", "R L'"), ("Rw U", "L F"), ("y R2 y' R'", "B2 R'"), ("E S", "U D' R L'")],
)
def test_face_turns_name_faces_by_their_centres(text, turns):
    plain = face_turns(parse_moves(text))
    assert Cube.from_moves(plain) == Cube.from_moves(turns)
    assert all(move.first == move.last == 1 for move in plain)


@pytest.mark.parametrize(
    ("text", "size", "lengths"),
    [
        ("", 3, {"htm": 0, "qtm": 0, "axial": 0, "axial-qtm": 0}),
        ("R U2 F'", 3, {"htm": 3, "qtm": 4, "axial": 3, "axial-qtm": 4}),
        ("R L U D2 R", 3, {"htm": 5, "qtm": 6, "axial": 3, "axial-qtm": 4}),
        ("R2 L U", 3, {"htm": 3, "qtm": 4, "axial": 2, "axial-qtm": 3}),
        ("M x y", 3, {"htm": 2, "qtm": 2, "axial": 1, "axial-qtm": 1, "obtm": 2}),
        ("R y R", 3, {"htm": 2, "qtm": 2, "axial": 2, "axial-qtm": 2}),
        ("R x L'", 3, {"htm": 2, "qtm": 2, "axial": 1, "axial-qtm": 1}),
        ("Rw 2R2 U'", 4, {"htm": 3, "qtm": 4, "axial": 2, "axial-qtm": 3}),
        ("R Rw2 3Rw'", 4, {"obtm": 3}),
        ("2R 3R", 4, {"obtm": 4}),
        ("4R x 4Rw", 4, {"obtm": 1}),
        ("M", 5, {"obtm": 2}),
        ("R x U", 5, {"obtm": 2}),
        ("Rw 2R 3Rw2 x U M 4Rw'", 5, {"obtm": 8}),
    ],
)
def test_the_length_in_each_metric(text, size, lengths):
    """Count an inner layer alone as two turns of outer blocks."""
    moves = parse_moves(text)
    assert {metric: length(moves, metric, size) for metric in lengths} == lengths
    with pytest.raises(BadNotation, match="'moves' is not a metric"):
        length(moves, "moves", size)


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


def test_composites_have_numbers():
    suffixes = ("", "", "2", "'")
    numbers = set()
    for axis, first, second in product(range(3), range(4), range(4)):
        if first or second:
            number = composite_index(axis, first, second)
            numbers.add(number)
            assert composite_of(number) == (axis, first, second)
            turns = zip(AXES[axis], (first, second), strict=True)
            assert moves_of([number]) == tuple(face + suffixes[q] for face, q in turns if q)
    assert numbers == set(range(45))


def test_as_many_moves_as_can_be_performed_are_read():
    assert len(parse_moves("R" * 20_000)) == 20_000
