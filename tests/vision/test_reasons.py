"""The reason given for unreadable photographs is the one that is true of all of them."""

from __future__ import annotations

import json

import cv2
import pytest

from tests.rig.pictures import as_pixel
from tests.rig.scans import FOLDERS
from tests.rig.scenes import RenderedCube, is_true, render_cube
from tests.rig.spoilt import FLAWS, spoil, told
from vision.decide.causes import explain_views, find_flaw, likeliest_cause, require_face
from vision.decide.six_faces import locate_cube, read_located
from vision.locate.face import FaceGrid, NoFace, SearchResult
from vision.locate.six_faces import scan_folder
from vision.locate.view_check import OddView
from vision.reasons import Reason, ViewTrouble


@pytest.fixture(scope="module")
def cube() -> RenderedCube:
    return render_cube(810_001, 3, max_tilt=10)


READ_ALL_THE_SAME = {"dark-all"}
"""Flaws that leave this cube readable."""


@pytest.mark.parametrize(
    "flaw",
    # A flaw in every picture takes twice the time and has the same result.
    [pytest.param(flaw, marks=[pytest.mark.long] * flaw.every, id=flaw.name) for flaw in FLAWS],
)
def test_the_true_cause_and_its_picture_are_named(flaw, cube):
    spoilt, faces = spoil(cube, flaw, 3)
    outcome, found = told(spoilt)
    assert (
        outcome == "right" if flaw.name in READ_ALL_THE_SAME else outcome in ("refused", "unsure")
    )
    if outcome != "right":
        assert found is not None and (found.trouble, set(found.faces) <= set(faces)) == (
            flaw.cause,
            True,
        )
        assert str(found).startswith(f"picture {', '.join(found.faces)}: ")


@pytest.mark.parametrize(
    ("seed", "name"),
    [
        # Walls of the colour of skin, one with the lamp's light falling off over it.
        (850_003, "cut"),
        (850_000, "empty"),
        # The last whole stickers end farther from the picture's edge than they are long.
        (850_004, "cut"),
        # A dark wall with something bright in front of it.
        (850_007, "empty"),
        # White stickers of a 4x4x4 lie on the borders of a 3x3x3.
        (850_001, "size"),
    ],
)
def test_what_looks_like_another_cause_is_told_from_it(seed, name):
    flaw = next(flaw for flaw in FLAWS if flaw.name == name)
    _, found = told(spoil(render_cube(seed, 3, max_tilt=25), flaw, seed)[0])
    assert found is not None and found.trouble == flaw.cause


def test_a_size_that_the_cube_does_not_have_is_the_reason(cube):
    with pytest.raises(OddView, match="a 3x3x3 is in view where a 4x4x4 is expected"):
        locate_cube(cube.frames, 4)


def test_a_reflection_is_named_with_its_row_and_column(cube):
    place = FaceGrid.from_corners(cube.corners["F"], 3)
    picture = cube.frames["F"].image.copy()
    x, y = as_pixel(place.centres[5])
    half = int(0.6 * place.pitch)
    picture[y - half : y + half, x - half : x + half] = 255
    found = find_flaw(picture, 3, place)
    assert found is not None and found.trouble is ViewTrouble.REFLECTION
    assert 6 in found.stickers and found.where["columns"].endswith("3")
    assert find_flaw(cube.frames["F"].image, 3, place) is None


def test_a_face_at_the_edge_of_the_picture_is_not_cut_off_where_the_others_show_it(cube):
    place = FaceGrid.from_corners(cube.corners["F"], 3)
    picture = cube.frames["F"].image[: int(place.corners[:, 1].max()) + 2]
    searches = {face: SearchResult(picture, 3, place) for face in "URDLB"}
    alone = {"F": SearchResult(picture, 3)}
    found = likeliest_cause(alone, ["F"])
    assert found is not None and found.trouble is ViewTrouble.CUT_OFF
    assert likeliest_cause(searches | alone, ["F"]) is None


def test_one_picture_alone_is_no_cube_of_another_size(cube):
    """Show four of nine stickers like a 2x2x2: no cube changes its size."""
    searches = {
        face: SearchResult(frame.image, 3, FaceGrid.from_corners(cube.corners[face], 3))
        for face, frame in cube.frames.items()
    }
    odd = OddView(ViewTrouble.WRONG_SIZE, Reason.of("seen-other-size", seen=2, size=3), size=2)
    assert explain_views(searches, {"F": odd}) is None
    every = explain_views(searches, dict.fromkeys(searches, odd))
    assert every is not None and every.trouble is ViewTrouble.WRONG_SIZE


def test_what_a_calibrated_camera_shows_is_weighed(cube):
    place = FaceGrid.from_corners(cube.corners["F"], 3)
    picture = cube.frames["F"].image.copy()
    x, y = as_pixel(place.centres[4])
    cv2.circle(picture, (x, y), int(1.2 * place.pitch), (255, 255, 255), -1)
    with pytest.raises(OddView, match="a reflection lies on row 1-3, column 1-3") as refusal:
        require_face(picture, 3, place)
    assert refusal.value.trouble is ViewTrouble.REFLECTION
    assert require_face(cube.frames["F"].image, 3, place) is place


@pytest.mark.skipif(len(FOLDERS) < 2, reason="no real scans beside the checkout")
def test_a_picture_of_nothing_that_suits_another_cube_is_not_believed():
    """Put a room in place of a face, which was once confidently read as another 2x2x2."""
    folder = FOLDERS[0] / "images" / "2x2x2-random-03_2019-03-01"
    scan = scan_folder(folder)
    known = json.loads((folder / "expected.json").read_text())["expected_dbl_normalised"]
    corners = {face: grid.corners for face, grid in scan.grids.items()}
    photos = RenderedCube(2, known, dict(scan.frames), corners)
    empty = next(flaw for flaw in FLAWS if flaw.name == "empty")
    spoilt, faces = spoil(photos, empty, 1)
    with pytest.raises(NoFace, match=f"picture {faces}: no cube is in view"):
        read_located(locate_cube(spoilt.frames))
    assert is_true(read_located(locate_cube(photos.frames)).facelets, known)
