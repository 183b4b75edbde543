"""The simulated cube compared with facts about cubes: turns, crossing layers, slips, end stops."""

from __future__ import annotations

import numpy as np
import pytest

from robot.twin.cube import NORMALS, SITES, CubeBody, TwistingCube
from robot.twin.violations import Incidents


def solved(size: int = 3) -> CubeBody:
    return CubeBody("".join(letter * size * size for letter in SITES))


SOLVED = solved().facelets()


@pytest.mark.parametrize(
    ("moves", "facelets"),
    [
        ("R", "UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB"),
        ("U", "UUUUUUUUUBBBRRRRRRRRRFFFFFFDDDDDDDDDFFFLLLLLLLLLBBBBBB"),
        ("F", "UUUUUULLLURRURRURRFFFFFFFFFRRRDDDDDDLLDLLDLLDBBBBBBBBB"),
        ("D", "UUUUUUUUURRRRRRFFFFFFFFFLLLDDDDDDDDDLLLLLLBBBBBBBBBRRR"),
        # The superflip in its usual notation.
        (
            "U R2 F B R B2 R U2 L B2 R U' D' R2 F R' L B2 U2 F2",
            "UBULURUFURURFRBRDRFUFLFRFDFDFDLDRDBDLULBLFLDLBUBRBLBDB",
        ),
    ],
)
def test_well_known_sequences_give_their_facelets(moves, facelets):
    body = solved()
    for move in moves.split():
        body.turn(move[0], {"": 1, "2": 2, "'": -1}[move[1:]])
    assert body.facelets() == facelets
    assert CubeBody(facelets).facelets() == facelets


@pytest.mark.parametrize("size", [2, 3, 4])
def test_hub_follows_the_whole_cube_and_no_face_turn_of_its_own(size):
    body = solved(size)
    for face in SITES if size % 2 else "URF":
        body.turn(face, 1)
    assert np.array_equal(body.core, np.eye(3))
    body.rotate(NORMALS["U"], 1)
    assert [body.face_at(site) for site in SITES] == list("UBRDFL")


def twisting(
    corner_cutting: float = 0.1, play: float | None = None
) -> tuple[TwistingCube, Incidents]:
    incidents = Incidents()
    return TwistingCube(solved(), corner_cutting, incidents.report, play), incidents


@pytest.mark.parametrize(
    ("turns", "collide"),
    [
        ([("R", 0.7), ("U", 0.03)], False),  # 0.3 quarters are left of R when U starts
        ([("R", 0.6), ("U", 0.03)], True),
        ([("R", 0.6), ("U", 0.02)], False),  # a servo that creeps to its position
        ([("R", 0.7), ("U", 0.28)], False),
        ([("R", 0.7), ("U", 0.2), ("U", 0.2)], True),
        ([("R", 0.7), ("U", 0.2), ("R", 0.25), ("U", 0.2)], False),
        ([("R", 0.92), ("U", 0.5)], False),
        ([("R", 0.995), ("U", 0.33), ("R", 0.005)], False),  # R ends then, and does not start
    ],
)
def test_a_cube_that_cuts_corners_lets_both_be_off_square_so_far(turns, collide):
    cube, incidents = twisting(0.31, 0.1)
    for turn in turns:
        cube.turn_layer(*turn)
    assert [violation.kind for violation in incidents.violations] == ["layers-collide"] * collide


def test_a_layer_s_stickers_move_on_at_the_half_of_a_quarter():
    cube, _ = twisting()
    cube.turn_layer("R", 0.4)
    assert cube.body.facelets() == SOLVED
    assert cube.pose().layers == (("R", pytest.approx(0.4)),)
    cube.turn_layer("R", 0.2)
    turned = solved()
    turned.turn("R", 1)
    assert cube.body.facelets() == turned.facelets()
    assert cube.pose().layers == (("R", pytest.approx(-0.4)),)
    assert cube.quarters_off_square("R") == pytest.approx(0.4)
    cube.set_square()
    assert cube.quarters_off_square("R") == 0.0 and cube.pose().layers == ()


def test_the_whole_cube_is_off_square_about_one_axis_and_takes_its_layers_along():
    cube, _ = twisting()
    for site, quarters, tilt in (
        ("R", 0.3, ("R", 0.3)),
        ("L", 0.1, ("R", 0.2)),
        ("U", 0.1, ("U", 0.1)),
    ):
        cube.turn_whole(site, quarters)
        assert cube.tilt == (tilt[0], pytest.approx(tilt[1]))
    cube.settle_whole()
    assert cube.tilt == ("U", 0.0)
    assert np.array_equal(cube.pose().whole, np.eye(3))
    cube.turn_layer("F", 0.25)
    for quarters, site in ((1.0, "L"), (-1.0, "F")):
        cube.turn_whole("U", quarters)
        assert cube.pose().layers == ((site, pytest.approx(0.25)),)
