"""The body against facts about cubes, not against the program's own cube."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.twin.cube import NORMALS, SITES, CubeBody, scrambled

SOLVED = "".join(letter * 9 for letter in SITES)


def turned(moves: str, size: int = 3) -> CubeBody:
    body = CubeBody("".join(letter * size * size for letter in SITES))
    for move in moves.split():
        body.turn(move[0], {"": 1, "2": 2, "'": -1}[move[1:]])
    return body


@pytest.mark.parametrize(
    ("moves", "facelets"),
    [
        ("R", "UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB"),
        ("U", "UUUUUUUUUBBBRRRRRRRRRFFFFFFDDDDDDDDDFFFLLLLLLLLLBBBBBB"),
        ("F", "UUUUUULLLURRURRURRFFFFFFFFFRRRDDDDDDLLDLLDLLDBBBBBBBBB"),
        ("D", "UUUUUUUUURRRRRRFFFFFFFFFLLLDDDDDDDDDLLLLLLBBBBBBBBBRRR"),
        # The superflip, as everybody writes it.
        (
            "U R2 F B R B2 R U2 L B2 R U' D' R2 F R' L B2 U2 F2",
            "UBULURUFURURFRBRDRFUFLFRFDFDFDLDRDBDLULBLFLDLBUBRBLBDB",
        ),
    ],
)
def test_turns_as_everybody_knows_them(moves: str, facelets: str) -> None:
    assert turned(moves).facelets() == facelets


def test_pocket_cube_turns() -> None:
    assert turned("R", 2).facelets() == "UFUFRRRRFDFDDBDBLLLLUBUB"


@given(st.text(alphabet="URFDLB", min_size=1, max_size=12), st.integers(1, 3))
def test_a_turn_undone_is_no_turn(sites: str, quarters: int) -> None:
    body = CubeBody(SOLVED)
    for site in sites:
        body.turn(site, quarters)
    for site in reversed(sites):
        body.turn(site, -quarters)
    assert body.facelets() == SOLVED
    assert body.solved


def test_facelets_read_back() -> None:
    body = scrambled(3, 7)
    assert CubeBody(body.facelets()).facelets() == body.facelets()
    assert not body.solved
    assert scrambled(3, 7).facelets() == body.facelets() != scrambled(3, 8).facelets()


def test_rotation_keeps_the_cube_solved_and_names_its_faces() -> None:
    body = CubeBody(SOLVED)
    body.rotate(NORMALS["R"], 1)
    assert body.solved
    # The front goes up.
    assert body.face_at("U") == "F"
    assert body.facelets()[4] == "F"
    assert body.held_upright().facelets() == SOLVED


def test_repainting_leaves_the_original() -> None:
    body = scrambled(3, 1)
    before = "".join(body.letters)
    other = "B" if before[0] != "B" else "U"
    painted = body.with_stickers({0: other})
    assert "".join(body.letters) == before
    assert "".join(painted.letters) == other + before[1:]
    assert painted.facelets() != body.facelets()
    assert np.array_equal(painted.places, body.places)


@pytest.mark.parametrize("facelets", ["", "U" * 53, "X" * 54])
def test_what_is_no_cube_is_refused(facelets: str) -> None:
    with pytest.raises(ValueError, match="facelets"):
        CubeBody(facelets)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_hub_follows_the_whole_cube_and_no_face_turn_of_its_own(size: int) -> None:
    body = CubeBody("".join(letter * size * size for letter in SITES))
    assert np.array_equal(body.core, np.eye(3))
    for face in SITES if size % 2 else "URF":
        body.turn(face, 1)
    assert np.array_equal(body.core, np.eye(3))
    body.rotate(NORMALS["U"], 1)
    assert [body.face_at(site) for site in SITES] == list("UBRDFL")
