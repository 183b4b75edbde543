"""Lattices among thousands of patches, as a picture full of texture has them."""

from __future__ import annotations

import tracemalloc

import cv2
import numpy as np
import pytest

from vision.locate.lattice import (
    Blobs,
    edge_strength,
    find_blobs,
    find_lattices,
    fit_homography,
    inverse_of,
    project,
)


def squares(centres: np.ndarray, sides: np.ndarray) -> Blobs:
    """Upright squares with sides in pixels."""
    shapes = np.square(sides)[:, None, None] / 12.0 * np.eye(2)
    return Blobs(centres.astype(np.float64), np.square(sides).astype(np.float64), shapes)


def texture(count: int, seed: int) -> Blobs:
    """A face of nine stickers among squares anywhere, as dense in every picture."""
    rng = np.random.default_rng(seed)
    width = 30.0 * count**0.5
    anywhere = squares(rng.uniform(0, width, (count, 2)), rng.uniform(6, 12, count))
    columns, rows = np.meshgrid(np.arange(3), np.arange(3))
    nodes = np.stack([columns.ravel(), rows.ravel()], axis=-1)
    return anywhere.join_with(squares(width / 2 + 30.0 * nodes, np.full(9, 25.0)))


def test_of_patches_that_share_a_centre_the_largest_stays() -> None:
    """In any order, and however far apart they stand in the list."""
    middles = np.array([[100.0 * number, 50.0] for number in range(40)])
    inner = squares(middles + 1.0, np.full(40, 20.0))
    for side in (21.0, 60.0):
        outer = squares(middles, np.full(40, side))
        for both in (inner.join_with(outer), outer.join_with(inner)):
            assert sorted(both.distinct().centres.tolist()) == middles.tolist()
    beside = squares(middles + np.array([7.0, 0.0]), np.full(40, 21.0))
    assert len(inner.join_with(beside).distinct()) == 80


def test_the_outline_of_a_face_does_not_stand_for_its_middle_sticker() -> None:
    nodes = np.array([[x, y] for y in range(3) for x in range(3)])
    stickers = squares(30.0 * nodes, np.full(9, 27.0))
    outline = squares(np.array([[30.0, 30.0]]), np.array([90.0]))
    assert len(stickers.join_with(outline).distinct()) == 10


def test_a_row_without_patches_leaves_a_lattice_of_the_rows_beside_it() -> None:
    """As a reflection across the middle of a 3x3x3 leaves them."""
    nodes = np.array([[x, y] for y in (0, 2) for x in range(3)])
    blobs = squares(30.0 * nodes, np.full(6, 27.0))
    assert find_lattices(blobs) == []
    (found, *_) = find_lattices(blobs, gaps=True)
    steps = found.nodes - found.nodes.min(axis=0)
    assert sorted(map(tuple, steps.tolist())) == sorted(map(tuple, nodes.tolist()))
    assert np.linalg.norm(found.homography[:2, :2], axis=0) == pytest.approx([30.0, 30.0])


def test_memory_does_not_grow_with_the_pairs_of_patches() -> None:
    blobs = texture(4000, 1)
    tracemalloc.start()
    try:
        assert find_lattices(blobs.distinct())
        assert tracemalloc.get_traced_memory()[1] < 25e6
    finally:
        tracemalloc.stop()


def patches(image: np.ndarray, level: int = 28) -> Blobs:
    return find_blobs(edge_strength(image), level)


def drawn(shape: str, side: int, colour: tuple[int, int, int] = (200, 60, 40)) -> np.ndarray:
    """A shape of that side in the middle of 200 x 200 dark pixels."""
    image = np.full((200, 200, 3), 10, np.uint8)
    low, high = 100 - side // 2, 100 - side // 2 + side
    if shape == "square":
        image[low:high, low:high] = colour
    elif shape == "disc":
        cv2.circle(image, (100, 100), side // 2, colour, -1)
    elif shape == "bar":
        image[100 - side // 10 : 100 + side // 10, low:high] = colour
    elif shape == "lying":  # a parallelogram
        shift = side // 3
        corners = [[low, low], [high, low], [high - shift, high], [low - shift, high]]
        cv2.fillConvexPoly(image, np.array(corners), colour)
    elif shape == "bay":
        image[low:high, low:high] = colour
        image[low : low + side // 3, 100 - side // 6 : 100 + side // 6] = (250, 250, 250)
    return image


@pytest.mark.parametrize(
    ("shape", "count"),
    [("square", 1), ("lying", 1), ("disc", 1), ("bay", 1), ("bar", 0)],
)
def test_patches_are_like_parallelograms(shape: str, count: int) -> None:
    blobs = patches(drawn(shape, 60))
    mine = [i for i, centre in enumerate(blobs.centres) if np.abs(centre - 100).max() < 25]
    inner = [i for i in mine if blobs.areas[i] < 70**2]
    assert (len(inner) > 0) == (count > 0)
    if shape == "square":
        assert blobs.centres[inner[0]] == pytest.approx([99.5, 99.5], abs=0.6)
        assert 50 <= blobs.areas[inner[0]] ** 0.5 <= 60
        shapes = blobs.shapes[inner[0]]
        assert shapes == pytest.approx(np.eye(2) * blobs.areas[inner[0]] / 12, rel=0.05, abs=3)
    if shape == "lying":
        xx, xy, yy = (float(blobs.shapes[inner[0]][i]) for i in ((0, 0), (0, 1), (1, 1)))
        assert xy < -0.2 * yy and xx > yy


@pytest.mark.parametrize(("side", "found"), [(12, True), (100, True), (120, False), (150, False)])
def test_patches_are_of_a_sticker_s_size(side: int, found: bool) -> None:
    """Of less than three tenths of the picture."""
    blobs = patches(drawn("square", side))
    assert bool((np.abs(blobs.areas**0.5 - side) < 6).any()) == found


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_a_step_of_any_channel_is_an_edge(channel: int) -> None:
    image = np.full((40, 40, 3), 100, np.uint8)
    image[:, 20:, channel] = 160
    edges = edge_strength(image)
    assert edges[:, 19:21].min() >= 45 and edges[:, :16].max() == 0 and edges[:, 24:].max() == 0
    colour = [10, 10, 10]
    colour[channel] = 70
    for level, found in ((28, True), (56, False)):
        near = np.abs(patches(drawn("square", 60, tuple(colour)), level).areas ** 0.5 - 56) < 6
        assert near.any() == found


def test_a_homography_is_fitted_to_points_and_leads_there_and_back() -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(-3, 3, (12, 2))
    true = np.array([[30.0, 4.0, 200.0], [-3.0, 28.0, 150.0], [0.02, -0.01, 1.0]])
    targets = project(true, points)
    for count in (6, 12):
        assert fit_homography(points[:count], targets[:count]) == pytest.approx(true, rel=1e-6)
    assert project(inverse_of(true), targets) == pytest.approx(points)
    affine = np.array([[30.0, 4.0, 200.0], [-3.0, 28.0, 150.0], [0, 0, 1.0]])
    for count in (3, 5):
        found = fit_homography(points[:count], project(affine, points[:count]))
        assert found == pytest.approx(affine)
    noisy = project(affine, points) + rng.normal(0, 0.01, (12, 2))
    assert fit_homography(points, noisy) == pytest.approx(affine, abs=0.3)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("angle", [0.0, 20.0, 40.0])
def test_a_face_turned_and_seen_from_aside_is_found_whole(size: int, angle: float) -> None:
    nodes = np.array([[x, y] for y in range(size) for x in range(size)], dtype=np.float64)
    turned = np.deg2rad(angle)
    turn = np.array([[np.cos(turned), -np.sin(turned)], [np.sin(turned), np.cos(turned)]])
    across = turn @ np.diag([40.0, 30.0])
    homography = np.eye(3)
    homography[:2, :2], homography[:2, 2] = across, (300, 200)
    centres = project(homography, nodes)
    shape = across @ across.T * 0.81 / 12
    count = size * size
    areas = np.full(count, 0.81 * abs(np.linalg.det(across)))
    blobs = Blobs(centres, areas, np.repeat(shape[None], count, axis=0))
    found = find_lattices(blobs)[0]
    assert sorted(found.blobs.tolist()) == list(range(count))
    steps = found.nodes - found.nodes.min(axis=0)
    assert sorted(map(tuple, steps.tolist())) == sorted(map(tuple, nodes.astype(int).tolist()))
    assert project(found.homography, found.nodes.astype(float)) == pytest.approx(
        centres[found.blobs], abs=1e-6
    )
    assert found.residual < 1e-9
    # Columns point to the right, rows down.
    (a, b), (c, d) = found.homography[:2, :2].tolist()
    assert a > 0 and a * d - b * c > 0


@pytest.mark.parametrize(("ratio", "together"), [(2.1, True), (2.3, False)])
def test_patches_of_one_face_are_about_as_large(ratio: float, together: bool) -> None:
    nodes = np.array([[x, y] for y in range(3) for x in range(3)])
    sides = np.full(9, 24.0)
    sides[8] = 24.0 / ratio**0.5
    found = find_lattices(squares(30.0 * nodes, sides))[0]
    assert (8 in found.blobs) == together
    sides[8] = 24.0 * ratio**0.5
    found = find_lattices(squares(30.0 * nodes, sides))[0]
    assert (8 in found.blobs) == together


@pytest.mark.parametrize(("off", "taken"), [(0.15, True), (0.25, False)])
def test_a_patch_off_its_node_is_no_part_of_the_lattice(off: float, taken: bool) -> None:
    nodes = np.array([[x, y] for y in range(4) for x in range(4)], dtype=np.float64)
    centres = 30.0 * nodes
    centres[15] += 30.0 * off
    found = find_lattices(squares(centres, np.full(16, 25.0)))[0]
    assert (15 in found.blobs) == taken
    assert (found.residual > 1e-3) == taken
