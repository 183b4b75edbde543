"""Finding faces in pictures, and the parts of the search by themselves.

Rendered photographs have a known truth. Lattices are hidden among thousands of patches, as in a
picture full of texture.
"""

from __future__ import annotations

import tracemalloc

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
from vision.locate import windows
from vision.locate.evidence import GridEvidence, Pyramid, gather
from vision.locate.face import confirm_grid, locate_face, locate_grids
from vision.locate.lattice import Blobs, Lattice, edge_strength, find_blobs, find_lattices, project
from vision.locate.six_faces import scan_frames


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


def test_a_face_half_covered_is_not_taken_for_a_smaller_one():
    taken = 0
    for seed in range(8):
        cube = render_cube(3000 + seed, 3, stickerless=False, max_tilt=10, faces="F")
        image, rows = cube.frames["F"].image.copy(), cube.corners["F"][:, 1]
        top, bottom = rows.min(), rows.max()
        image[int(bottom - 0.36 * (bottom - top)) :] = 90
        taken += any(grid.fit > 0.6 for grid in locate_grids(image))
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


def squares(centres: np.ndarray, sides: np.ndarray | float) -> Blobs:
    """Return upright squares with sides in pixels."""
    areas = np.square(np.broadcast_to(sides, len(centres))).astype(np.float64)
    return Blobs(centres.astype(np.float64), areas, areas[:, None, None] / 12.0 * np.eye(2))


def nodes(columns: int) -> np.ndarray:
    """Return column and row of the nodes of a lattice, row by row."""
    every = [[x, y] for y in range(columns) for x in range(columns)]
    return np.array(every, dtype=np.float64)


def placed(lattice: Lattice) -> list[list[int]]:
    """Return the nodes of a lattice, counted from its first column and row."""
    return sorted((lattice.nodes - lattice.nodes.min(axis=0)).tolist())


def test_a_row_without_patches_leaves_a_lattice_of_the_rows_beside_it():
    """Remove the patches that a reflection across the middle of a 3x3x3 hides."""
    seen = nodes(3)[[0, 1, 2, 6, 7, 8]]
    blobs = squares(30.0 * seen, 27.0)
    assert find_lattices(blobs) == []
    (found, *_) = find_lattices(blobs, gaps=True)
    assert placed(found) == sorted(seen.tolist())
    assert np.linalg.norm(found.homography[:2, :2], axis=0) == pytest.approx([30.0, 30.0])


def test_memory_does_not_grow_with_the_pairs_of_patches():
    """Search a face of nine stickers among 4000 squares anywhere."""
    rng = np.random.default_rng(1)
    width = 30.0 * 4000**0.5
    anywhere = squares(rng.uniform(0, width, (4000, 2)), rng.uniform(6, 12, 4000))
    blobs = anywhere.join_with(squares(width / 2 + 30.0 * nodes(3), 25.0))
    tracemalloc.start()
    try:
        assert find_lattices(blobs.distinct())
        assert tracemalloc.get_traced_memory()[1] < 25e6
    finally:
        tracemalloc.stop()


def drawn(shape: str, side: int, colour: tuple[int, int, int] = (200, 60, 40)) -> np.ndarray:
    """Return a shape of that side in the middle of 200 x 200 dark pixels."""
    image = np.full((200, 200, 3), 10, np.uint8)
    low, high = 100 - side // 2, 100 - side // 2 + side
    third = side // 3
    if shape == "disc":
        cv2.circle(image, (100, 100), side // 2, colour, -1)
    elif shape == "bar":
        image[100 - side // 10 : 100 + side // 10, low:high] = colour
    elif shape == "parallelogram":
        corners = [[low, low], [high, low], [high - third, high], [low - third, high]]
        cv2.fillConvexPoly(image, np.array(corners), colour)
    else:
        image[low:high, low:high] = colour
    if shape == "bay":
        image[low : low + third, 100 - side // 6 : 100 + side // 6] = (250, 250, 250)
    return image


@pytest.mark.parametrize(
    ("shape", "side", "found"),
    [
        ("square", 60, True),
        ("parallelogram", 60, True),
        ("disc", 60, True),
        ("bay", 60, True),
        ("bar", 60, False),
        # Stickers are smaller than three tenths of the picture.
        ("square", 12, True),
        ("square", 100, True),
        ("square", 120, False),
    ],
)
def test_patches_are_like_parallelograms_of_a_stickers_size(shape, side, found):
    blobs = find_blobs(edge_strength(drawn(shape, side)), 28)
    near = (np.abs(blobs.centres - 100).max(axis=1) < 25) & (blobs.areas**0.5 < side + 10)
    assert near.any() == found
    if found and shape == "square":
        (first, *_) = np.flatnonzero(near)
        assert blobs.centres[first] == pytest.approx([99.5, 99.5], abs=0.6)
        assert side - 10 <= blobs.areas[first] ** 0.5 <= side
        shapes = np.eye(2) * blobs.areas[first] / 12
        assert blobs.shapes[first] == pytest.approx(shapes, rel=0.05, abs=3)
    if shape == "parallelogram":
        (first, *_) = np.flatnonzero(near)
        (xx, xy), (_, yy) = blobs.shapes[first].tolist()
        assert xy < -0.2 * yy and xx > yy


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_a_step_of_any_channel_is_an_edge(channel):
    image = np.full((40, 40, 3), 100, np.uint8)
    image[:, 20:, channel] = 160
    edges = edge_strength(image)
    assert edges[:, 19:21].min() >= 45 and edges[:, :16].max() == 0 and edges[:, 24:].max() == 0
    colour = [10, 10, 10]
    colour[channel] = 70
    for level, found in ((28, True), (56, False)):
        blobs = find_blobs(edge_strength(drawn("square", 60, tuple(colour))), level)
        assert (np.abs(blobs.areas**0.5 - 56) < 6).any() == found


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("angle", [0.0, 20.0, 40.0])
def test_a_face_turned_and_seen_from_aside_is_found_whole(size, angle):
    cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    across = np.array([[cos, -sin], [sin, cos]]) @ np.diag([40.0, 30.0])
    count = size * size
    centres = nodes(size) @ across.T + (300, 200)
    areas = np.full(count, 0.81 * abs(np.linalg.det(across)))
    shapes = np.repeat((across @ across.T * 0.81 / 12)[None], count, axis=0)
    found = find_lattices(Blobs(centres, areas, shapes))[0]
    assert sorted(found.blobs.tolist()) == list(range(count))
    assert placed(found) == sorted(nodes(size).tolist())
    laid = project(found.homography, found.nodes.astype(float))
    assert laid == pytest.approx(centres[found.blobs], abs=1e-6)
    assert found.residual < 1e-9
    # Columns point to the right, rows down.
    (a, b), (c, d) = found.homography[:2, :2].tolist()
    assert a > 0 and a * d - b * c > 0


@pytest.mark.parametrize(
    ("off", "area", "taken"),
    [
        (0.15, 1.0, True),
        (0.25, 1.0, False),  # off its node
        (0.0, 2.1, True),
        (0.0, 1 / 2.1, True),
        (0.0, 2.3, False),  # not about as large as the others
        (0.0, 1 / 2.3, False),
    ],
)
def test_patches_of_one_face_stand_on_nodes_and_are_about_as_large(off, area, taken):
    centres, sides = 30.0 * nodes(4), np.full(16, 24.0)
    centres[15] += 30.0 * off
    sides[15] *= area**0.5
    found = find_lattices(squares(centres, sides))[0]
    assert (15 in found.blobs) == taken
    assert (found.residual > 1e-3) == (taken and off > 0)


def stickers(size: int, left: int, top: int) -> np.ndarray:
    """Return a picture of a face of many colours, 32 pixels each, on black, in a grey room."""
    image = np.full((240, 320, 3), 120, np.uint8)
    image[top : top + 32 * size, left : left + 32 * size] = 8
    rng = np.random.default_rng(1)
    for column, row in nodes(size).astype(int):
        y, x = top + row * 32 + 2, left + column * 32 + 2
        image[y : y + 28, x : x + 28] = rng.integers(90, 250, 3)
    return image


def laid(left: float, top: float) -> np.ndarray:
    """Return the homography of nodes 32 pixels apart."""
    return np.array([[32.0, 0, left], [0, 32.0, top], [0, 0, 1]])


FACE = stickers(3, 100, 60)


def evidence(image: np.ndarray = FACE, reflections: bool = False) -> GridEvidence:
    return gather(Pyramid(image), laid(115.5, 75.5), (0, 0), (2, 2), reflections=reflections)


def test_cells_of_a_face_look_like_stickers_and_nothing_beside_it_does():
    found = evidence()
    assert found.first == (-2, -2)
    face = np.zeros((7, 7), dtype=bool)
    face[2:5, 2:5] = True
    looks = found.stickers()
    assert (looks[face] > 0.95).all() and (looks[~face] < 0.05).all()
    assert (found.even == 1).all() and found.inside.all()
    upright, level = np.zeros((7, 8), dtype=bool), np.zeros((8, 7), dtype=bool)
    upright[2:5, 2:6] = level[2:6, 2:5] = True
    assert (found.upright[upright] > 0.95).all() and (found.upright[~upright] == 0).all()
    assert (found.level[level] > 0.95).all()


def test_a_sticker_of_two_colours_is_not_even_unless_a_reflection_may_lie_on_it():
    image = FACE.copy()
    cell = image[94:122, 134:162]
    cell[:] = (60, 90, 150)
    cell[:, 14:] = (255, 255, 255)
    plain, lit = evidence(image), evidence(image, reflections=True)
    assert (plain.even[3, 3], lit.even[3, 3]) == (0, pytest.approx(0.8))
    for beside in ((0, 0, 0), (255, 90, 20)):  # no reflection: darker, or lacks a channel
        cell[:, 14:] = beside
        assert evidence(image, reflections=True).even[3, 3] < 0.8 + 1e-6
    others = np.ones((7, 7), dtype=bool)
    others[3, 3] = False
    assert (lit.even[others] == plain.even[others]).all()


def test_the_window_on_the_face_is_marked_and_what_goes_on_past_it_is_not():
    picture, homography = Pyramid(stickers(4, 80, 40)), laid(95.5, 55.5)
    blobs = squares(32.0 * nodes(4) + np.array([95.5, 55.5]), 28.0)
    lattice = Lattice(nodes(4).astype(int), np.arange(16), homography, 0.0)
    (best, *rest) = windows.find_windows(picture, blobs, lattice, (2, 3, 4, 5))
    assert (best.size, best.start, best.seen) == (4, (0, 0), 1.0)
    assert best.mark > 0.95
    assert all(window.mark < 0.3 for window in rest)
    (three, *_) = windows.find_windows(picture, blobs, lattice, (3,))
    assert three.mark < 0.1  # another row follows beside it
    for off, found in ((0.0, True), (0.25, True), (0.35, False)):
        hinted = laid(95.5 + 32 * off, 55.5)
        near = windows.window_at(picture, blobs, hinted, 4)
        assert (near is not None) == found
        if near is not None:
            assert near.mark > 0.95 and near.start == (0, 0)
            assert near.lattice.homography == pytest.approx(homography)
