"""The content of a view, and the reason for photographs that cannot be read.

One face, no cube, two cubes, another cube, a hand in front, focus, light and framing: the reason
given is the one that is true of all pictures.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from tests.rig.pictures import (
    as_pixel,
    empty_place,
    in_the_left_part,
    seated,
    side_by_side,
    with_hand,
)
from tests.rig.scans import FOLDERS
from tests.rig.scenes import RenderedCube, is_true, render_cube
from tests.rig.spoilt import FLAWS, spoil, told
from vision.decide.causes import explain_views, find_flaw, likeliest_cause, require_face
from vision.decide.six_faces import locate_cube, read_located
from vision.frame import Frame
from vision.locate import advice
from vision.locate.advice import Matter, advise, edge_width
from vision.locate.face import FaceGrid, NoFace, SearchResult
from vision.locate.six_faces import scan_folder
from vision.locate.view_check import OddView, face_in_view
from vision.reasons import Reason, ViewTrouble

Face = tuple[RenderedCube, np.ndarray, np.ndarray]
"""A cube, the picture of one of its faces, and the corners of the face in it."""
View = tuple[np.ndarray, int, FaceGrid | None]
"""A picture, the expected size, and the calibrated position."""


def trouble_in(picture: np.ndarray, size: int, place: FaceGrid | None = None) -> str:
    try:
        face_in_view(picture, size, place)
    except OddView as odd:
        return odd.trouble
    return "face"


@pytest.fixture(scope="module")
def faces() -> list[Face]:
    cubes = [
        render_cube(seed, (2, 3, 3, 4, 5)[seed % 5], faces="UR") for seed in range(930_000, 930_008)
    ]
    return [(cube, cube.frames[face].image, cube.corners[face]) for cube in cubes for face in "UR"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def views_of(expected: str, face: Face, rng: np.random.Generator) -> Iterator[View]:
    """Yield views of a face in which this is to be found."""
    cube, picture, corners = face
    size, place = cube.size, seated(corners, cube.size, rng)
    match expected:
        case "face":  # a robot that denies the cube it holds would be worse than one that looks
            yield picture, size, place
        case ViewTrouble.NO_CUBE:
            room = empty_place(int(picture[0, 0, 0]))
            yield from ((room, size, place), (room, size, None))
        case ViewTrouble.COVERED:
            for reach in (0.6, 0.8, 1.1):
                yield with_hand(picture, corners, rng, reach), size, place
        case ViewTrouble.WRONG_SIZE:
            other = int(rng.choice([other for other in (2, 3, 4, 5) if other != size]))
            yield from ((picture, other, seated(corners, other, rng)), (picture, other, None))
        case ViewTrouble.TWO_CUBES:
            both = side_by_side(picture, render_cube(31, 3, faces="F").frames["F"].image)
            yield both, size, seated(in_the_left_part(corners), size, rng)


@pytest.mark.parametrize(
    ("expected", "least"),
    [
        ("face", 1.0),
        (ViewTrouble.NO_CUBE, 0.8),
        (ViewTrouble.COVERED, 0.88),
        (ViewTrouble.WRONG_SIZE, 0.8),
        (ViewTrouble.TWO_CUBES, 0.85),
    ],
)
def test_views_are_told_by_what_they_show(expected, least, faces, rng):
    counts = Counter(trouble_in(*view) for face in faces for view in views_of(expected, face, rng))
    assert counts[expected] >= least * counts.total(), counts
    assert expected == "face" or counts["face"] <= 3, counts
    assert expected != ViewTrouble.NO_CUBE or counts["face"] == 0


def test_a_face_beside_its_place_is_found(faces):
    """Displace the face by more than half a sticker, as if badly seated."""
    found = 0
    for cube, picture, corners in faces:
        aside = corners + 0.6 * FaceGrid.from_corners(corners, cube.size).pitch
        with contextlib.suppress(OddView):
            face = face_in_view(picture, cube.size, FaceGrid.from_corners(aside, cube.size))
            found += bool(np.abs(face.corners - corners).max() < 0.3 * face.pitch)
    assert found >= 12, f"{found} of 16"


def test_the_covered_stickers_are_named(rng):
    cube = render_cube(31, 3, max_tilt=5, faces="F")
    picture, corners = cube.frames["F"].image.copy(), cube.corners["F"]
    place = seated(corners, 3, rng, slack=0.0)
    right = int(place.centres[0, 0] + 0.4 * place.pitch)
    picture[:, :right] = (190, 140, 110)
    with pytest.raises(OddView, match="a hand, or something else") as refusal:
        face_in_view(picture, 3, place)
    assert refusal.value.stickers == (1, 4, 7)


def test_what_is_known_to_be_beside_the_face_is_no_other_cube(rng):
    cube = render_cube(31, 3, max_tilt=5, faces="F")
    picture, left = cube.frames["F"].image, in_the_left_part(cube.corners["F"])
    both = side_by_side(picture, picture)
    right = left + np.array([both.shape[1] // 2, 0])
    place, other = (seated(corners, 3, rng, slack=0.0) for corners in (left, right))
    with pytest.raises(OddView) as refusal:
        face_in_view(both, 3, place)
    assert refusal.value.trouble is ViewTrouble.TWO_CUBES
    assert face_in_view(both, 3, place, [other]) is place


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
        assert found is not None and found.trouble == flaw.cause
        assert set(found.faces) <= set(faces)
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
    with pytest.raises(OddView, match="a 3x3x3 is in view where a 4x4x4 is expected") as refusal:
        locate_cube(cube.frames, 4)
    assert refusal.value.size == 3


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


def upright(left: float, top: float, width: float, height: float, size: int = 3) -> FaceGrid:
    corners = [[left, top], [left + width, top], [left + width, top + height], [left, top + height]]
    return FaceGrid.from_corners(corners, size)


def slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.exp(0.3 * x - 0.4 * y)


def spot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.exp(-1.5 * (x**2 + y**2) + 0.8 * x * y)


@pytest.mark.parametrize(("light", "size"), [(slope, 2), (slope, 3), (slope, 5), (spot, 7)])
def test_light_that_falls_off_is_measured_and_glare_on_a_sticker_is_not(light, size):
    """Use one colour everywhere, so that nothing but light changes."""
    rows, columns = np.mgrid[0:400, 0:400] / 400.0 - 0.5
    srgb = 255 * (1.055 * (0.45 * light(columns, rows)) ** (1 / 2.4) - 0.055)
    image = np.repeat(np.round(srgb).astype(np.uint8)[..., None], 3, axis=2)
    grid = upright(-0.5, -0.5, 400, 400, size)
    at = np.array([1 / 6, 1 / 2, 5 / 6]) - 0.5
    expected = light(at[None, :], at[:, None])
    found = advice.falloff(Frame(image, "", 0), grid)
    assert found == pytest.approx(expected / expected.max(), abs=0.04)
    image[20:50, 20:35] = 255
    assert size < 7 or advice.falloff(Frame(image, "", 0), grid) == pytest.approx(found, abs=0.04)


def plain_face(side: int = 300) -> tuple[np.ndarray, FaceGrid]:
    """Return a 3x3x3's face seen straight on, 640 x 480, and its grid; borders: a tenth sticker."""
    colours = [(230, 230, 225), (180, 20, 30), (10, 130, 60), (235, 205, 25), (230, 95, 20)]
    image = np.full((480, 640, 3), 40, dtype=np.float64)
    cell = side // 3
    left, top = 320 - side // 2, 240 - side // 2
    image[top : top + side, left : left + side] = 10
    for number in range(9):
        y, x = top + cell * (number // 3), left + cell * (number % 3)
        inset = cell // 10
        image[y + inset : y + cell - inset, x + inset : x + cell - inset] = colours[number % 5]
    return 0.75 * (image / 255) ** 2.2, upright(left - 0.5, top - 0.5, 3 * cell, 3 * cell)


def photographed(linear: np.ndarray) -> Frame:
    noise = np.random.default_rng(1).normal(0, 1.5, linear.shape)
    srgb = 255 * np.clip(linear, 0, 1) ** (1 / 2.2) + noise
    return Frame(np.clip(srgb, 0, 255).astype(np.uint8), "test", 0)


def matters(linear: np.ndarray, grid: FaceGrid) -> dict[Matter, str]:
    return {advice.matter: advice.text for advice in advise(photographed(linear), grid)}


def shaded(linear: np.ndarray, x: int, y: int) -> np.ndarray:
    """Return the picture with the quarter that has this corner in shadow."""
    mask = np.ones((480, 640))
    mask[y : y + 240, x : x + 320] = 0.2
    return linear * cv2.GaussianBlur(mask, (0, 0), 70)[..., None]


def shining(linear: np.ndarray, x: int, y: int) -> np.ndarray:
    """Return the picture with a reflection at a point."""
    columns, rows = np.meshgrid(np.arange(640), np.arange(480))
    spot = np.exp(-(((columns - x) / 50) ** 2 + ((rows - y) / 50) ** 2))
    return np.clip(linear + 1.2 * spot[..., None], 0, 1)


LINEAR, GRID = plain_face()


@pytest.mark.parametrize(
    ("linear", "told"),
    [
        (shaded(LINEAR, 0, 240), "the lower left is in shadow"),
        (shaded(LINEAR, 320, 0), "the upper right is in shadow"),
        (shining(LINEAR, 220, 140), "reflection at the upper left"),
        (shining(LINEAR, 320, 240), "reflection at the middle"),
        (LINEAR * 0.04, "dark"),
        (LINEAR * 2.5, "too bright"),
    ],
)
def test_bad_light_is_reported_with_its_place(linear, told):
    assert told in matters(linear, GRID)[Matter.LIGHT]


def test_blur_is_reported_in_proportion():
    widths = []
    for sigma in (0.5, 2.0, 6.0, 10.0):
        blurred = cv2.GaussianBlur(LINEAR, (0, 0), sigma)
        widths.append(edge_width(photographed(blurred), GRID))
        assert (Matter.FOCUS in matters(blurred, GRID)) == (sigma > 4)
    assert widths == sorted(widths)


def test_bad_framing_is_reported():
    assert "10 pixels wide" in matters(*plain_face(side=30))[Matter.FRAMING]
    assert "edge of the picture" in matters(*plain_face(side=474))[Matter.FRAMING]
    squeezed = np.array([[1, 0, 0], [0, 0.6, 96], [0, 0, 1.0]])
    flat = cv2.warpPerspective(LINEAR, squeezed, (640, 480))
    aside = FaceGrid(3, squeezed @ GRID.homography, 1.0, 1.0)
    assert "more squarely" in matters(flat, aside)[Matter.FRAMING]
