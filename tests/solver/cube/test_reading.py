"""States as people write them, compared with an independent model of turned stickers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.cube.cube import Cube
from solver.cube.orientation import all_orientations, upright
from solver.cube.reading import UPRIGHT, parse_state, read_state
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, CubistError, IllegalCube

TURNS = [
    f"{turn}{suffix}" for turn in ("U", "R", "F", "Rw", "Uw", "x", "y") for suffix in ("", "2")
]
COLOURS = str.maketrans("URFDLB", "WRGYOB")
CENTRED = "UUUUUUUUURRRRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB"


def take_back(moves: list[str]) -> str:
    return " ".join(move if move.endswith("2") else f"{move}'" for move in reversed(moves))


def draw_nets(letters: str, size: int) -> list[str]:
    """Draw U above, D below F in a row of L F R B, and with B upside down below D."""
    area = size * size
    faces = {name: letters[at * area : (at + 1) * area] for at, name in enumerate("URFDLB")}
    rows = {n: [f[i : i + size] for i in range(0, area, size)] for n, f in faces.items()}
    beside = [" | ".join(" ".join(rows[face][row]) for face in "LFRB") for row in range(size)]
    above = [" " * 9 + row for row in rows["U"]]
    cross = [above, ["".join(rows[f][at] for f in "LFR") for at in range(size)], rows["D"]]
    upside_down = [row[::-1] for row in rows["B"][::-1]]
    return [
        "\r\n".join([*above, *beside, "", *rows["D"], ""]),
        "\n".join(row for part in (*cross, upside_down) for row in part),
    ]


@settings(max_examples=60)
@given(size=st.sampled_from([2, 3, 4, 5]), moves=st.lists(st.sampled_from(TURNS), max_size=8))
def test_a_cube_is_read_however_it_is_held_and_written(replay, size, moves):
    letters = replay(str(StickerCube.solved(size)), " ".join(moves), size)
    colours = letters.translate(COLOURS)
    scramble = "--scramble " + " ".join(moves)
    writings = [letters, letters.lower(), scramble, *draw_nets(letters, size)]
    for writing in (*writings, colours, colours.lower(), *draw_nets(colours, size)):
        given_cube = read_state(writing, size)
        assert given_cube.cube.apply(take_back(moves)).is_solved
    assert [read_state(writing, size).facelets for writing in writings] == [letters] * 5


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_way_a_cube_is_held_is_named_by_the_faces_at_u_and_f(size):
    solved = str(StickerCube.solved(size))
    for held in all_orientations():
        letters = "".join(held.face_at(face) * size * size for face in "URFDLB")
        found = read_state(letters)
        assert (found.held, found.cube.is_solved, found.facelets) == (held, True, letters)
        assert upright(letters, held, size) == solved
    assert read_state(solved.translate(COLOURS)).held == UPRIGHT


@pytest.mark.parametrize(
    ("letters", "held", "moves"),
    [
        # muodov/kociemba 48 and 57: a solved cube seen from other sides
        ("FFFFFFFFFUUUUUUUUURRRRRRRRRBBBBBBBBBDDDDDDDDDLLLLLLLLL", "FR", ""),
        ("BBBBBBBBBLLLLLLLLLDDDDDDDDDFFFFFFFFFRRRRRRRRRUUUUUUUUU", "BD", ""),
        # hkociemba/RubiksCube-TwophaseSolver 17, OptimalSolver 1: centres moved by slices
        ("UBUUBUUBURRRRRRRRRFUFFUFFUFDFDDFDDFDLLLLLLLLLBDBBDBBDB", "BU", "M'"),
        ("UBUUBUUBURRRFUFRRRFUFLLLFUFDFDDFDDFDLLLBDBLLLBDBRRRBDB", "BL", "E' M'"),
        # adrianliaw/python-rubik 6: an inner layer turned by a half, and a wide turn
        ("UDUUDUUDURRRRRRRRRFBFFBFFBFDUDDUDDUDLLLLLLLLLBFBBFBBFB", "DB", "M2"),
        ("FBBFBBLLBURRBRRBDFFFLRUURUUDRRDFFDUUUUDLLFLLFDDRDDBLLB", "BU", "F' Rw2 U Rw'"),
    ],
)
def test_states_that_other_programs_call_illegal(letters, held, moves):
    found = read_state(letters)
    assert (found.held.name, found.facelets) == (held, letters)
    assert found.cube.apply(moves).is_solved


@pytest.mark.parametrize(
    ("text", "size", "reason"),
    [
        (CENTRED.replace("R", "D", 1), 3, "colour R appears 8 times"),
        (CENTRED.translate(COLOURS).replace("W", "Y", 1), 3, "colour W appears 8 times"),
        ("WYWWRRRRGGGGYWYYOOOOBBBB", 2, "no cube has corners of these colours"),
        ("WRWWRWRRGGGGYYYYOOOOBBBB", 2, "RUB, which is seen at URB; U is W, R is R, F is G"),
        (CENTRED[:13] + "F" + CENTRED[14:22] + "R" + CENTRED[23:], 3, "no way to hold a cube"),
        ("W" * 8 + "R" + "R" * 8 + "W" + "W" * 4 + "GGGGGGGG", 3, "54 facelets, not 30"),
        (CENTRED.translate(COLOURS).replace("B", "X", 1), 3, "7 different letters, B G O R W X Y"),
        ("w" * 27 + "W" * 27, 3, "1 different letters"),
        ("1" * 54, 3, "Facelet 1 is '1'"),
        ("SOLVED", None, "54 facelets, not 6. Give 54 letters"),
        (CENTRED, 2, "not 54. A cube of 3 layers has that many.$"),
        ("R U R' U'", None, "If these are moves, write them after --scramble"),
        ("--scramble R++ D++", 3, "character 2"),
    ],
)
def test_impossible_cubes_are_refused_with_the_reason(text, size, reason):
    with pytest.raises(CubistError, match=reason):
        read_state(text, size)


def test_centres_that_show_one_colour_twice_are_named():
    letters = list(CENTRED.translate(COLOURS))
    letters[4], letters[36] = "O", "W"
    with pytest.raises(IllegalCube, match="U and L are both O"):
        read_state("".join(letters))


def test_comments_and_lines_reach_the_reader_of_moves():
    assert parse_state("--scramble (R U)2 // twice\n F") == Cube.from_moves("R U R U F")
    assert parse_state("\ufeff--scramble 'R U'") == Cube.from_moves("R U")
    with pytest.raises(BadNotation, match="'U 3Rw'"):  # on a cube of 6 layers
        parse_state("--scramble U3Rw", 6)
