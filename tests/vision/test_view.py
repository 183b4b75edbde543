"""What is in view: one face, no cube, two cubes, another cube, a hand in front."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from tests.rig.pictures import empty_place, in_the_left_part, seated, side_by_side, with_hand
from tests.rig.scenes import FACES, RenderedCube, render_cube
from vision.locate.face import FaceGrid
from vision.locate.six_faces import scan_frames
from vision.locate.view_check import OddView, ViewTrouble, face_in_view

SEEDS = range(930_000, 930_012)


def told(picture, size, place=None) -> str:
    try:
        face_in_view(picture, size, place)
    except OddView as odd:
        return odd.trouble
    return "face"


@pytest.fixture(scope="module")
def cubes() -> list[RenderedCube]:
    return [render_cube(seed, (2, 3, 3, 4, 5)[seed % 5], faces=FACES[:2]) for seed in SEEDS]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def faces(cubes):
    """Pictures of the cubes' faces with the corners, two for each cube."""
    for cube in cubes:
        for face in FACES[:2]:
            yield cube, cube.frames[face].image, cube.corners[face]


def test_a_face_is_no_trouble(cubes, rng):
    """Nor are other sides of the cube: a robot that does not believe in the cube it holds would be
    worse than one that looks.
    """
    for cube, picture, corners in faces(cubes):
        place = seated(corners, cube.size, rng)
        assert face_in_view(picture, cube.size, place) is not None, cube.about


def test_a_face_beside_its_place_is_found(cubes):
    """Seated badly, by half a sticker and more."""
    found = 0
    for cube, picture, corners in faces(cubes):
        aside = corners + 0.6 * FaceGrid.from_corners(corners, cube.size).pitch
        place = seated(aside, cube.size, np.random.default_rng(0))
        try:
            face = face_in_view(picture, cube.size, place)
        except OddView:
            continue
        found += bool(np.abs(face.corners - corners).max() < 0.3 * face.pitch)
    assert found >= 18, f"{found} of 24"


def test_an_empty_place_is_no_cube(cubes, rng):
    counts: Counter[str] = Counter()
    for seed, (cube, _, corners) in enumerate(faces(cubes)):
        counts[told(empty_place(seed), cube.size, seated(corners, cube.size, rng))] += 1
        counts[told(empty_place(seed), cube.size)] += 1
    assert counts["face"] == 0
    assert counts[ViewTrouble.NO_CUBE] >= 40, counts


def test_a_hand_in_front_covers_the_face(cubes, rng):
    counts: Counter[str] = Counter()
    for cube, picture, corners in faces(cubes):
        place = seated(corners, cube.size, rng)
        for reach in (0.6, 0.8, 1.1):
            counts[told(with_hand(picture, corners, rng, reach), cube.size, place)] += 1
    assert counts[ViewTrouble.COVERED] >= 64, counts


def test_the_covered_stickers_are_named(rng):
    cube = render_cube(31, 3, max_tilt=5, faces="F")
    picture, corners = cube.frames["F"].image.copy(), cube.corners["F"]
    place = seated(corners, 3, rng, slack=0.0)
    right = int(place.centres[0, 0] + 0.4 * place.pitch)
    picture[:, :right] = (190, 140, 110)
    with pytest.raises(OddView, match="a hand, or something else") as refusal:
        face_in_view(picture, 3, place)
    assert refusal.value.stickers == (1, 4, 7)


def test_a_cube_of_another_size_is_told(cubes, rng):
    counts: Counter[str] = Counter()
    for cube, picture, corners in faces(cubes):
        other = int(rng.choice([size for size in (2, 3, 4, 5) if size != cube.size]))
        counts[told(picture, other, seated(corners, other, rng))] += 1
        counts[told(picture, other)] += 1
    assert counts["face"] <= 3, counts
    assert counts[ViewTrouble.WRONG_SIZE] >= 40, counts


def test_two_cubes_are_told(cubes, rng):
    counts: Counter[str] = Counter()
    other = render_cube(31, 3, faces="F").frames["F"].image
    for cube, picture, corners in faces(cubes):
        both = side_by_side(picture, other)
        place = seated(in_the_left_part(corners), cube.size, rng)
        counts[told(both, cube.size, place)] += 1
    assert counts[ViewTrouble.TWO_CUBES] >= 21, counts


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


def drawn(*lefts: int) -> np.ndarray:
    """A picture with a 3x3x3's face of many colours at each of these places, 240 pixels wide."""
    image = np.full((480, 960, 3), 120, np.uint8)
    rng = np.random.default_rng(1)
    for left in lefts:
        image[120:360, left : left + 240] = 8
        for row, column in product(range(3), repeat=2):
            y, x = 120 + 80 * row + 6, left + 80 * column + 6
            image[y : y + 68, x : x + 68] = rng.integers(90, 250, 3)
    return image


def test_a_face_that_shares_an_edge_is_of_the_same_cube():
    place = FaceGrid.from_corners([(60, 120), (300, 120), (300, 360), (60, 360)], 3)
    assert told(drawn(60), 3, place) == "face"
    assert told(drawn(60, 300), 3, place) == "face"
    assert told(drawn(60, 600), 3, place) == ViewTrouble.TWO_CUBES
