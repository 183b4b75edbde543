"""The content of a view: one face, no cube, two cubes, another cube, a hand in front."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from tests.rig.pictures import empty_place, in_the_left_part, seated, side_by_side, with_hand
from tests.rig.scenes import RenderedCube, render_cube
from vision.locate.face import FaceGrid
from vision.locate.six_faces import scan_frames
from vision.locate.view_check import OddView, ViewTrouble, face_in_view

Face = tuple[RenderedCube, np.ndarray, np.ndarray]
"""A cube, the picture of one of its faces, and the corners of the face in it."""
View = tuple[np.ndarray, int, FaceGrid | None]
"""A picture, the expected size, and the calibrated position."""


def told(picture: np.ndarray, size: int, place: FaceGrid | None = None) -> str:
    try:
        face_in_view(picture, size, place)
    except OddView as odd:
        return odd.trouble
    return "face"


@pytest.fixture(scope="module")
def faces() -> list[Face]:
    """Return two faces of each of eight cubes."""
    cubes = [
        render_cube(seed, (2, 3, 3, 4, 5)[seed % 5], faces="UR") for seed in range(930_000, 930_008)
    ]
    return [(cube, cube.frames[face].image, cube.corners[face]) for cube in cubes for face in "UR"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def a_face(face: Face, rng: np.random.Generator) -> Iterator[View]:
    """Yield a view of a face whose cube may show other sides.

    A robot that denies the cube it holds would be worse than one that looks.
    """
    cube, picture, corners = face
    yield picture, cube.size, seated(corners, cube.size, rng)


def no_cube(face: Face, rng: np.random.Generator) -> Iterator[View]:
    cube, picture, corners = face
    room = empty_place(int(picture[0, 0, 0]))
    yield room, cube.size, seated(corners, cube.size, rng)
    yield room, cube.size, None


def hands(face: Face, rng: np.random.Generator) -> Iterator[View]:
    cube, picture, corners = face
    place = seated(corners, cube.size, rng)
    for reach in (0.6, 0.8, 1.1):
        yield with_hand(picture, corners, rng, reach), cube.size, place


def another_size(face: Face, rng: np.random.Generator) -> Iterator[View]:
    cube, picture, corners = face
    other = int(rng.choice([size for size in (2, 3, 4, 5) if size != cube.size]))
    yield picture, other, seated(corners, other, rng)
    yield picture, other, None


def two_cubes(face: Face, rng: np.random.Generator) -> Iterator[View]:
    cube, picture, corners = face
    other = render_cube(31, 3, faces="F").frames["F"].image
    place = seated(in_the_left_part(corners), cube.size, rng)
    yield side_by_side(picture, other), cube.size, place


@pytest.mark.parametrize(
    ("views", "expected", "least"),
    [
        (a_face, "face", 1.0),
        (no_cube, ViewTrouble.NO_CUBE, 0.8),
        (hands, ViewTrouble.COVERED, 0.88),
        (another_size, ViewTrouble.WRONG_SIZE, 0.8),
        (two_cubes, ViewTrouble.TWO_CUBES, 0.85),
    ],
)
def test_views_are_told_by_what_they_show(views, expected, least, faces, rng):
    counts = Counter(told(*view) for face in faces for view in views(face, rng))
    assert counts[expected] >= least * counts.total(), counts
    assert expected == "face" or counts["face"] <= 3, counts
    assert views is not no_cube or counts["face"] == 0


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


def test_photographs_of_another_cube_say_so():
    cube = render_cube(32, 2)
    with pytest.raises(OddView, match="a 2x2x2 is in view where a 4x4x4") as refusal:
        scan_frames(cube.frames, 4)
    assert refusal.value.size == 2
