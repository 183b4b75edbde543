"""Grids of faces by themselves: their geometry, which of several is taken, where one is looked for.

No picture is searched here: what a search finds is given.
"""

from __future__ import annotations

import numpy as np
import pytest

from vision.locate import face as finding
from vision.locate import windows
from vision.locate.evidence import GridEvidence, gather
from vision.locate.face import FaceGrid
from vision.locate.lattice import Blobs, Lattice


def at(
    left: float, top: float, size: int = 3, pitch: float = 20.0, fit: float = 1.0, seen: float = 1.0
) -> FaceGrid:
    """An upright face with this corner, in pixels."""
    return FaceGrid(size, np.array([[pitch, 0, left], [0, pitch, top], [0, 0, 1.0]]), fit, seen)


def test_a_grid_has_corners_cells_and_centres_row_by_row() -> None:
    grid = at(100, 50, size=3, pitch=20)
    assert grid.corners.tolist() == [[100, 50], [160, 50], [160, 110], [100, 110]]
    assert grid.quads.shape == (9, 4, 2)
    assert grid.quads[0].tolist() == [[100, 50], [120, 50], [120, 70], [100, 70]]
    assert grid.quads[5].tolist() == [[140, 70], [160, 70], [160, 90], [140, 90]]
    assert grid.centres[[0, 1, 3, 8]].tolist() == [[110, 60], [130, 60], [110, 80], [150, 100]]
    assert grid.pitch == pytest.approx(20)
    oblong = FaceGrid.from_corners([[0, 0], [30, 0], [30, 60], [0, 60]], 3, 0.7)
    assert oblong.pitch == pytest.approx(15)
    assert (oblong.size, oblong.fit, oblong.seen) == (3, 0.7, 1.0)
    assert oblong.corners == pytest.approx(np.array([[0, 0], [30, 0], [30, 60], [0, 60]]))


def test_a_grid_is_scaled_about_the_pictures_corner_not_its_first_pixel() -> None:
    grid = at(100, 50, fit=0.6, seen=0.4)
    twice = grid.scale(2.0)
    assert twice.corners == pytest.approx(2 * (grid.corners + 0.5) - 0.5)
    assert twice.scale(0.5).corners == pytest.approx(grid.corners)
    moved = grid.shift_by(7, -3)
    assert moved.corners == pytest.approx(grid.corners + np.array([7, -3]))
    for one in (twice, moved):
        assert (one.size, one.fit, one.seen) == (3, 0.6, 0.4)


@pytest.mark.parametrize(
    ("pitch", "width", "work"), [(20, 640, 640), (5.0, 640, 640), (8, 1280, 1280), (10, 2000, 2000)]
)
def test_cells_are_judged_with_sixteen_pixels_where_the_picture_has_them(
    pitch: float, width: int, work: int
) -> None:
    image = np.zeros((60, width, 3), np.uint8)
    found, factor = finding.shrink_to_cells(image, at(0, 0, pitch=pitch))
    assert found.shape[1] == work and factor == width / work
    found, _ = finding.shrink_to_cells(np.zeros((60, 3200, 3), np.uint8), at(0, 0, pitch=40))
    assert found.shape[1] == 1280  # sixteen pixels from forty


def nodes(columns: range, rows: range) -> Lattice:
    """A lattice of these nodes, twenty pixels apart."""
    every = np.array([[column, row] for row in rows for column in columns])
    return Lattice(every, np.arange(len(every)), np.diag([20.0, 20.0, 1.0]), 0.0)


def stickers(size: int, pitch: int, left: int, top: int, gap: int = 4) -> np.ndarray:
    """A picture of a face of many colours on black, in a grey room."""
    image = np.full((240, 320, 3), 120, np.uint8)
    side = size * pitch
    image[top : top + side, left : left + side] = 8
    rng = np.random.default_rng(1)
    for row in range(size):
        for column in range(size):
            y, x = top + row * pitch + gap // 2, left + column * pitch + gap // 2
            image[y : y + pitch - gap, x : x + pitch - gap] = rng.integers(90, 250, 3)
    return image


def evidence(reflections: bool = False, image: np.ndarray | None = None) -> GridEvidence:
    picture = stickers(3, 32, 100, 60) if image is None else image
    homography = np.array([[32.0, 0, 100 + 15.5], [0, 32.0, 60 + 15.5], [0, 0, 1]])
    return gather(picture, homography, (0, 0), (2, 2), reflections=reflections)


def test_cells_of_a_face_look_like_stickers_and_nothing_beside_it_does() -> None:
    found = evidence()
    assert found.first == (-2, -2)
    assert (found.even.shape, found.upright.shape) == ((7, 7), (7, 8))
    assert (found.level.shape, found.inside.shape) == ((8, 7), (7, 7))
    looks = found.stickers()
    face = np.zeros((7, 7), dtype=bool)
    face[2:5, 2:5] = True
    assert (looks[face] > 0.95).all() and (looks[~face] < 0.05).all()
    assert (found.even == 1).all()
    assert (found.upright[2:5, 2:6] > 0.95).all() and (found.level[2:6, 2:5] > 0.95).all()
    assert (found.upright[2:5, [0, 1, 6, 7]] == 0).all()
    assert (found.upright[[0, 1, 5, 6]] == 0).all() and (found.level[:, [0, 1, 5, 6]] == 0).all()
    # The cell above the picture's edge: 60 pixels are less than two cells.
    assert found.inside[1:].all() and found.inside[0].all()
    outside = np.array([[32.0, 0, 40.0], [0, 32.0, 200.0], [0, 0, 1]])
    inside = gather(stickers(3, 32, 100, 60), outside, (0, 0), (2, 2)).inside
    assert inside.tolist() == [[column > 0 and row < 4 for column in range(7)] for row in range(7)]
    beyond = np.array([[32.0, 0, 64.0], [0, 32.0, 64.0], [0, 0, 1]])
    inside = gather(np.zeros((160, 192, 3), np.uint8), beyond, (0, 0), (2, 2)).inside
    # Pixel 0 is inside, that after the last is not.
    assert inside.tolist() == [[column < 6 and row < 5 for column in range(7)] for row in range(7)]


def test_a_sticker_of_two_colours_is_not_even_unless_a_reflection_may_lie_on_it() -> None:
    image = stickers(3, 32, 100, 60)
    cell = image[60 + 34 : 60 + 62, 100 + 34 : 100 + 62]
    cell[:] = (60, 90, 150)
    cell[:, 14:] = (255, 255, 255)
    plain, lit = evidence(image=image), evidence(reflections=True, image=image)
    assert plain.even[3, 3] == 0
    assert lit.even[3, 3] == pytest.approx(0.8)
    cell[:, 14:] = (0, 0, 0)  # darker is no reflection
    dark = evidence(reflections=True, image=image).even[3, 3]
    cell[:, 14:] = (255, 90, 20)  # nor what lacks a channel
    odd = evidence(reflections=True, image=image).even[3, 3]
    assert dark <= 0.8 and odd < 0.8
    others = np.ones((7, 7), dtype=bool)
    others[3, 3] = False
    assert (lit.even[others] == plain.even[others]).all()


def test_the_window_on_the_face_is_marked_and_what_goes_on_past_it_is_not() -> None:
    image = stickers(4, 32, 80, 40)
    homography = np.array([[32.0, 0, 80 + 15.5], [0, 32.0, 40 + 15.5], [0, 0, 1]])
    every = np.array([[column, row] for row in range(4) for column in range(4)])
    centres = 32.0 * every + np.array([95.5, 55.5])
    blobs = Blobs(centres, np.full(16, 784.0), np.full((16, 2, 2), 65.0) * np.eye(2))
    lattice = Lattice(every, np.arange(16), homography, 0.0)
    (best, *rest) = windows.find_windows(image, blobs, lattice, (2, 3, 4, 5))
    assert (best.size, best.start, best.seen) == (4, (0, 0), 1.0)
    assert best.mark > 0.95
    assert all(window.mark < 0.3 for window in rest)
    (three, *_) = windows.find_windows(image, blobs, lattice, (3,))
    assert three.mark < 0.1  # a row goes on beside it
    near = windows.window_at(image, blobs, homography + np.diag([0, 0, 0.0]), 4)
    assert near is not None and near.mark > 0.95 and near.start == (0, 0)
    moved = homography.copy()
    moved[:2, 2] += 0.25 * 32
    again = windows.window_at(image, blobs, moved, 4)
    assert again is not None
    assert again.lattice.homography == pytest.approx(homography)
    moved[:2, 2] += 0.1 * 32
    assert windows.window_at(image, blobs, moved, 4) is None
    grid = finding._face_grid(best)
    assert grid.corners[0] == pytest.approx([79.5, 39.5])
    assert grid.corners[2] == pytest.approx([207.5, 167.5])
