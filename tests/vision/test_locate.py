"""Finding faces: rendered photographs whose truth is known, and pictures without a cube."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rig.pictures import expose, random_exposure, random_room
from tests.rig.scenes import (
    FACES,
    LIGHTS,
    RenderedCube,
    is_right,
    render_cube,
    render_plain_face,
    render_scene,
)
from vision.locate.face import confirm_grid, locate_face, locate_grids
from vision.locate.six_faces import scan_frames


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_faces_of_every_size_are_found_without_being_told_the_size(size):
    right = 0
    for seed in range(1000, 1003):
        cube = render_cube(seed, size)
        for face in FACES:
            grids = locate_grids(cube.frames[face].image)
            right += bool(grids) and is_right(grids[0], cube, face)
    assert right >= 16, f"{right} of 18"


@pytest.mark.parametrize(
    ("seed", "hidden"),
    [
        (100_047, "D"),  # a reflection hides the common property of the four stickers
        (1_203_500, ""),  # tilted by 34 degrees; another side is nearly as visible
    ],
)
def test_six_pictures_show_where_the_face_is_that_one_does_not(seed, hidden):
    cube = render_cube(seed, 2)
    assert not hidden or not locate_grids(cube.frames[hidden].image, (2,), thorough=False)
    grids = scan_frames(cube.frames).grids
    assert all(is_right(grids[face], cube, face) for face in FACES)


def test_pictures_without_a_cube_have_no_face():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        room = random_room(rng, (640, 480))
        exposure = random_exposure(rng, np.random.default_rng(seed + 1), (320, 240, 100))
        grids = locate_grids(expose(room, exposure, rng))
        assert all(grid.fit < 0.4 for grid in grids), seed


def covered(cube: RenderedCube, face: str, share: float) -> np.ndarray:
    """Return the face's photograph with its lower part hidden behind something grey."""
    image = cube.frames[face].image.copy()
    low, high = cube.corners[face].min(axis=0), cube.corners[face].max(axis=0)
    image[int(high[1] - share * (high[1] - low[1])) :] = 90
    return image


def test_a_face_half_covered_is_not_taken_for_a_smaller_one():
    taken = 0
    for seed in range(8):
        cube = render_cube(3000 + seed, 3, stickerless=False, max_tilt=10, faces="F")
        taken += any(grid.fit > 0.6 for grid in locate_grids(covered(cube, "F", 0.36)))
    # If glare also hides one of the three columns, nobody could tell.
    assert taken <= 1


def test_a_face_cut_by_the_edge_of_the_picture_is_not_read_a_row_off():
    taken = 0
    for seed in range(8):
        cube = render_cube(4000 + seed, 3, stickerless=False, max_tilt=10, faces="F")
        image = cube.frames["F"].image
        top = int(cube.corners["F"][:2, 1].max())
        height = int(cube.corners["F"][2:, 1].min()) - top
        grids = locate_grids(image[top + height // 3 :])
        taken += bool(grids) and grids[0].fit >= 0.7
    # If a logo and glare also hide the rest of a column, nobody could tell.
    assert taken <= 1


def test_a_hint_from_another_picture_finds_what_glare_hides():
    cube = render_cube(5003, 2, stickerless=False, max_tilt=10, faces="UR")
    hint = locate_face(cube.frames["U"].image, (2,))
    image = cube.frames["R"].image.copy()
    top_left, top_right = cube.corners["R"][0], cube.corners["R"][1]
    y, x = np.ogrid[: image.shape[0], : image.shape[1]]
    middle, radius = (top_left + top_right) / 2, 0.45 * hint.pitch
    spot = np.exp(-(((x - middle[0]) ** 2 + (y - middle[1] - radius) ** 2) / radius**2))
    image = np.clip(image + 400 * spot[..., None], 0, 255).astype(np.uint8)
    grid = confirm_grid(image, hint)
    assert grid is not None
    assert is_right(grid, cube, "R")
    assert confirm_grid(np.full_like(image, 80), hint) is None


def shining(cube: RenderedCube, face: str) -> np.ndarray:
    """Return the face's photograph with a reflection right across the middle row of three."""
    image = cube.frames[face].image
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    to_face = cv2.getPerspectiveTransform(cube.corners[face].astype(np.float32), unit)
    y, x = np.mgrid[: image.shape[0], : image.shape[1]].astype(np.float32)
    places = cv2.perspectiveTransform(np.stack([x, y], axis=-1).reshape(-1, 1, 2), to_face)
    beyond = np.abs(places[:, 0, 1].reshape(y.shape) - 0.5) - 1 / 6
    light = np.exp(-np.square(np.maximum(beyond, 0) / 0.01))
    return np.clip(image + 400 * light[..., None], 0, 255).astype(np.uint8)


@pytest.mark.parametrize("seed", [7000, 7001, 7002])
def test_a_reflection_across_a_whole_row_leaves_the_rows_beside_it(seed):
    cube = render_cube(seed, 3, stickerless=False, max_tilt=8, faces="F")
    grids = locate_grids(shining(cube, "F"), (3,))
    assert grids and is_right(grids[0], cube, "F")


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(16, 16), (17, 200), (640, 16), (90, 70)]))
def test_noise_of_any_shape_never_breaks_the_locator(seed, shape):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    for grid in locate_grids(image):
        assert np.isfinite(grid.quads).all()
        assert 0 <= grid.fit <= 1


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        ("shine", (19, 20, 21)),
        ("hand", (10, 12, 16, 22)),
        ("white-wall", (0, 2, 4, 23)),
        ("orange-yellow", (18, 20, 23)),
        ("far", (1, 4, 7)),
        ("white-body", (106, 133, 144)),
    ],
)
def test_faces_are_found_where_people_photograph_them(kind, seeds):
    """Find faces that a single search misses: one scale, dark lines, no reflections.

    The first three are on a white wall, where it does not miss them.
    """
    for seed in seeds:
        face = FACES[seed % 6]
        cube = render_scene(kind, seed, 2 + seed % 2, face)
        (grid, *_) = locate_grids(cube.frames[face].image)
        assert is_right(grid, cube, face), cube.about


@pytest.mark.parametrize("light", LIGHTS)
def test_a_stickerless_face_of_one_colour_is_found_by_the_gaps_of_its_pieces(light):
    """Use light in which no step between pieces reaches the initial threshold for edges."""
    for seed in (0, 4, 7):
        cube = render_plain_face(seed, light, 9)
        (grid, *_) = locate_grids(cube.frames["F"].image)
        assert is_right(grid, cube, "F"), cube.about
