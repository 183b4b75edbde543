"""Grids of faces by themselves: their geometry, which of several is taken, where one is looked for.

No picture is searched here: what a search finds is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vision.frame import Frame
from vision.locate import face as finding
from vision.locate import six_faces, view_check, windows
from vision.locate.evidence import GridEvidence, gather
from vision.locate.face import FaceGrid, locate_grids
from vision.locate.lattice import Blobs, Lattice, is_proper
from vision.locate.view_check import OddView, ViewTrouble, face_in_view
from vision.locate.windows import Window

NOTHING = np.zeros((480, 640, 3), np.uint8)


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
    oblong = FaceGrid.of_corners([[0, 0], [30, 0], [30, 60], [0, 60]], 3, 0.7)
    assert oblong.pitch == pytest.approx(15)
    assert (oblong.size, oblong.fit, oblong.seen) == (3, 0.7, 1.0)
    assert oblong.corners == pytest.approx(np.array([[0, 0], [30, 0], [30, 60], [0, 60]]))


def test_a_grid_is_scaled_about_the_pictures_corner_not_its_first_pixel() -> None:
    grid = at(100, 50, fit=0.6, seen=0.4)
    twice = grid.scaled(2.0)
    assert twice.corners == pytest.approx(2 * (grid.corners + 0.5) - 0.5)
    assert twice.scaled(0.5).corners == pytest.approx(grid.corners)
    moved = grid.shifted(7, -3)
    assert moved.corners == pytest.approx(grid.corners + np.array([7, -3]))
    for one in (twice, moved):
        assert (one.size, one.fit, one.seen) == (3, 0.6, 0.4)


@pytest.mark.parametrize(
    ("height", "width", "side", "shape", "factor"),
    [
        (480, 640, 640, (480, 640), 1.0),
        (480, 641, 640, (479, 640), 641 / 640),
        (960, 1280, 640, (480, 640), 2.0),
        (1280, 960, 320, (320, 240), 4.0),
        (1, 3000, 640, (1, 640), 3000 / 640),
    ],
)
def test_large_pictures_are_shrunk_by_their_longer_side(
    height: int, width: int, side: int, shape: tuple[int, int], factor: float
) -> None:
    image = np.zeros((height, width, 3), np.uint8)
    small, found = finding._shrunk(image, side)
    assert small.shape[:2] == shape and found == factor


@pytest.mark.parametrize(
    ("pitch", "width", "work"), [(20, 640, 640), (5.0, 640, 640), (8, 1280, 1280), (10, 2000, 2000)]
)
def test_cells_are_judged_with_sixteen_pixels_where_the_picture_has_them(
    pitch: float, width: int, work: int
) -> None:
    image = np.zeros((60, width, 3), np.uint8)
    found, factor = finding.at_working_size(image, at(0, 0, pitch=pitch))
    assert found.shape[1] == work and factor == width / work
    found, _ = finding.at_working_size(np.zeros((60, 3200, 3), np.uint8), at(0, 0, pitch=40))
    assert found.shape[1] == 1280  # sixteen pixels from forty


@pytest.mark.parametrize(
    ("grids", "settled"),
    [
        ([], False),
        ([at(0, 0, fit=0.75)], True),
        ([at(0, 0, fit=0.74)], False),
        ([at(0, 0, fit=0.2), at(0, 0, fit=0.75)], True),
        ([at(0, 0, fit=0.6), at(0, 0, fit=0.5)], True),
        ([at(0, 0, fit=0.6), at(0, 0, fit=0.49)], False),
        ([at(0, 0, fit=0.6), at(0, 0, fit=0.5, size=2, pitch=30)], False),
        ([at(0, 0, fit=0.6), at(3.9, 0, fit=0.5)], True),
        ([at(0, 0, fit=0.6), at(0, 4.1, fit=0.5)], False),
        ([at(0, 0, fit=0.6), at(0, 4.1, fit=0.5), at(0, 0, fit=0.55)], True),
    ],
)
def test_a_search_is_settled_by_one_sure_grid_or_two_alike(
    grids: list[FaceGrid], settled: bool
) -> None:
    assert finding._is_settled(grids) == settled


@pytest.mark.parametrize(
    ("grid", "whole", "is_part"),
    [
        (at(20, 20, size=2), at(0, 0, size=3), True),
        (at(0, 0, size=2), at(0, 0, size=3), True),
        (at(40, 0, size=2), at(0, 0, size=3), False),  # beyond its right
        (at(0, 40, size=2), at(0, 0, size=3), False),
        (at(-20, 0, size=2), at(0, 0, size=3), False),
        (at(0, -20, size=2), at(0, 0, size=3), False),
        (at(0, 0, size=3), at(0, 0, size=3), False),
        (at(0, 0, size=3), at(0, 0, size=2), False),
        (at(4, 0, size=2), at(0, 0, size=3), True),
        (at(0, 6, size=2), at(0, 0, size=3), False),
        (at(0, 0, size=2, fit=1.0), at(0, 0, size=3, fit=0.5), True),
        (at(0, 0, size=2, fit=1.0), at(0, 0, size=3, fit=0.49), False),
    ],
)
def test_a_face_is_a_part_of_a_larger_one_that_is_half_as_good(
    grid: FaceGrid, whole: FaceGrid, is_part: bool
) -> None:
    assert finding._is_part(grid, whole) == is_part
    if whole.size < grid.size:
        return
    kept = [whole, grid] if not is_part else [whole]
    found = finding._without_parts([grid, whole])
    assert {id(one) for one in found} == {id(one) for one in kept}
    assert [one.fit for one in found] == sorted((one.fit for one in found), reverse=True)


class Searches:
    """Stands for searching a picture; notes where it was done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[FaceGrid]) -> None:
        self.done: list[Any] = []
        self._answers = iter(answers)
        monkeypatch.setattr(finding, "_seen_at", self._seen_at)
        monkeypatch.setattr(finding, "_seen_far_away", lambda image, sizes: self._next("far"))

    def _seen_at(self, side: int, image: Any, sizes: Any, *, reflections: bool = False) -> Any:
        return self._next((side, "reflections") if reflections else side)

    def _next(self, what: Any) -> list[FaceGrid]:
        self.done.append(what)
        return list(next(self._answers, []))


EVERYTHING = [640, 320, "far", (640, "reflections")]
WEAK, HOLDS = [at(0, 0, fit=0.49)], [at(90, 90, fit=0.5)]


@pytest.mark.parametrize(
    ("width", "answers", "done"),
    [
        (961, [], EVERYTHING),
        (961, [WEAK, WEAK, WEAK], EVERYTHING),
        (960, [], [640, 320, (640, "reflections")]),
        (321, [], [640, 320, (640, "reflections")]),
        (320, [], [640, (640, "reflections")]),
        (961, [HOLDS], [640]),
        (961, [[], HOLDS], [640, 320]),
        (961, [[], WEAK, HOLDS], [640, 320, "far"]),
    ],
)
def test_a_picture_is_searched_again_until_something_holds(
    width: int, answers: list[list[FaceGrid]], done: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = Searches(monkeypatch, *answers)
    image = np.zeros((60, width, 3), np.uint8)
    found = locate_grids(image)
    assert searches.done == done
    given = [grid for answer in answers for grid in answer]
    assert sorted(grid.fit for grid in found) == sorted(grid.fit for grid in given)
    searches = Searches(monkeypatch, [])
    assert locate_grids(image, thorough=False) == [] and searches.done == [640]


def test_small_faces_are_looked_for_in_squares_that_overlap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[int, int, tuple[int, ...]]] = []
    rows, columns = np.mgrid[0:900, 0:1920]
    image = np.stack([columns // 8, rows // 8, columns * 0], axis=-1).astype(np.uint8)

    def searched(tile: np.ndarray, sizes: Any, *, reflections: bool = False) -> list[FaceGrid]:
        seen.append((8 * int(tile[0, 0, 0]), 8 * int(tile[0, 0, 1]), tile.shape[:2]))
        return [at(5, 6, fit=0.9)] if len(seen) == 6 else [at(1, 1, fit=0.4)]

    monkeypatch.setattr(finding, "_searched", searched)
    grids = finding._seen_far_away(image, (3,))
    starts = [(left, top) for left, top, _ in seen]
    across = [0, 440, 880, 1320]
    assert starts == [(left, 0) for left in across] + [(0, 440), (440, 440)]
    assert [shape for *_, shape in seen[:5]] == [(640, 640)] * 3 + [(640, 600), (460, 640)]
    assert grids[-1].corners[0] == pytest.approx([445, 446])
    assert grids[1].corners[0] == pytest.approx([441, 1])
    # Of a larger picture, shrunk to that: places are those in it.
    seen.clear()
    grids = finding._seen_far_away(np.repeat(np.repeat(image, 2, axis=0), 2, axis=1), (3,))
    assert grids[-1].corners[0] == pytest.approx([2 * 445.5 - 0.5, 2 * 446.5 - 0.5])
    seen.clear()
    finding._seen_far_away(np.zeros((150, 150, 3), np.uint8), (3,))
    assert len(seen) == 1


def nodes(columns: range, rows: range) -> Lattice:
    """A lattice of these nodes, twenty pixels apart."""
    every = np.array([[column, row] for row in rows for column in columns])
    return Lattice(every, np.arange(len(every)), np.diag([20.0, 20.0, 1.0]), 0.0)


@pytest.mark.parametrize(
    ("columns", "rows", "size", "starts"),
    [
        (range(3), range(3), 3, (range(1), range(1))),
        (range(2), range(3), 3, (range(-1, 1), range(1))),
        (range(3), range(2), 4, (range(-1, 1), range(-2, 1))),
        (range(1), range(1), 5, (range(-2, -1), range(-2, -1))),
        (range(5), range(4), 3, (range(3), range(2))),
        (range(-1, 2), range(2, 4), 2, (range(-1, 1), range(2, 3))),
    ],
)
def test_windows_start_where_they_hold_what_was_found(
    columns: range, rows: range, size: int, starts: tuple[range, range]
) -> None:
    assert tuple(map(list, windows._starts(nodes(columns, rows), size))) == tuple(map(list, starts))


@pytest.mark.parametrize(
    ("marks", "fit"),
    [([None] * 3, None), ([0.14, None, 0.1], None), ([0.15, None, 0.1], 0.15), ([0.2, 0.9], 0.9)],
)
def test_near_a_hint_the_best_of_what_may_be_a_face_is_taken(
    marks: list[float | None], fit: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter(marks)
    asked: list[np.ndarray] = []

    def window_at(work: Any, blobs: Any, homography: np.ndarray, size: int) -> Window | None:
        asked.append(homography)
        mark = next(answers, None)
        found = Lattice(np.zeros((1, 2), int), np.zeros(1, int), homography, 0.0)
        return None if mark is None else Window(found, size, (0, 0), mark, 1.0)

    monkeypatch.setattr(finding, "window_at", window_at)
    image = np.zeros((960, 1280, 3), np.uint8)
    hint = at(100, 50, pitch=40)
    found = finding.HintedSearch(image).near(hint)
    assert (None if found is None else found.fit) == fit
    if found is not None:
        assert found.corners == pytest.approx(hint.corners)
    # Nodes are the centres of cells, in the picture as it was searched: at half its size.
    node = asked[0] @ np.array([0, 0, 1.0])
    assert node[:2] == pytest.approx([(120.5 / 2) - 0.5, (70.5 / 2) - 0.5])
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("window", "whole", "is_part"),
    [
        ((2, (1, 1), 0.9), (3, (0, 0), 0.5), True),
        ((2, (0, 0), 0.9), (3, (0, 0), 0.5), True),
        ((2, (0, 0), 0.9), (3, (0, 0), 0.49), False),
        ((3, (0, 0), 0.9), (3, (0, 0), 0.5), False),
        ((2, (2, 0), 0.9), (3, (0, 0), 0.5), False),
        ((2, (0, 2), 0.9), (3, (0, 0), 0.5), False),
        ((2, (-1, 0), 0.9), (3, (0, 0), 0.5), False),
        ((2, (0, -1), 0.9), (3, (0, 0), 0.5), False),
        ((2, (5, 5), 0.9), (3, (5, 4), 0.5), True),
    ],
)
def test_a_window_within_a_larger_one_that_holds_is_a_part(
    window: Any, whole: Any, is_part: bool
) -> None:
    one, other = (
        Window(nodes(range(2), range(2)), size, start, mark, 1.0)
        for size, start, mark in (window, whole)
    )
    assert windows._is_part(one, other) == is_part


def test_patches_fit_a_cell_that_are_not_much_smaller_nor_larger() -> None:
    homography = np.diag([20.0, 10.0, 1.0])
    areas = np.array([49.0, 51, 200, 239, 241])
    for size in (2, 3, 5):
        fits = windows._fits_cell(areas, homography, size).tolist()
        assert fits == [False, True, True, True, False]


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


@pytest.mark.parametrize(
    ("homography", "proper"),
    [
        (np.eye(3), True),
        (np.diag([1e-7, 1, 1]), True),
        (np.diag([1e-13, 1, 1]), False),
        (np.zeros((3, 3)) + np.nan, False),
        (-1000 * np.eye(3), True),
    ],
)
def test_a_homography_that_flattens_the_plane_is_none(homography: np.ndarray, proper: bool) -> None:
    assert is_proper(homography) == proper


def steady(*places: tuple[float, float]) -> FaceGrid | None:
    return six_faces._steady_place([at(*place) for place in places])


def test_a_camera_that_stands_still_has_the_face_in_one_place() -> None:
    found = steady((100, 50), (102, 50), (101, 52))
    assert found is not None
    assert found.corners[0] == pytest.approx([101, 50])
    assert (found.size, found.fit) == (3, 0.05)
    assert steady((100, 50), (100, 50)) is None, "two tell nothing"
    assert steady((100, 50), (100, 50), (100, 50), (200, 50)) is not None, "but one"
    assert steady((100, 50), (100, 50), (100, 50), (200, 50), (0, 9)) is None, "but two"
    assert steady((100, 50), (107.9, 50), (100, 50)) is not None
    assert steady((100, 50), (108.1, 50), (108.1, 50)) is None
    assert steady() is None
    usual = [at(100, 50)] * 3
    assert not six_faces._is_odd(at(108, 50), usual)
    assert six_faces._is_odd(at(108.1, 50), usual)
    assert not six_faces._is_odd(at(300, 50), usual[:2])


@pytest.mark.parametrize(("fits", "doubtful"), [((0.5, 0.5, 0.5), False), ((0.9, 0.4, 0.4), True)])
def test_most_faces_have_to_fit(fits: tuple[float, ...], doubtful: bool) -> None:
    grids = {str(number): at(0, 0, fit=fit) for number, fit in enumerate(fits)}
    assert six_faces._is_doubtful(grids) == doubtful


def test_the_size_that_explains_all_pictures_best_is_taken() -> None:
    found = {"U": [at(0, 0, 3, fit=0.5), at(0, 0, 2, fit=0.9)], "R": [at(0, 0, 3, fit=0.5)]}
    assert six_faces._joint_fit(found, 3) == pytest.approx(np.log(0.25))
    assert six_faces._joint_fit(found, 2) == pytest.approx(np.log(0.9 * 0.05))


@pytest.mark.parametrize(
    ("other", "joined"),
    [
        (at(160, 50), True),  # right of it
        (at(40, 50), True),
        (at(100, 110), True),
        (at(100, -10), True),
        (at(180, 50), True),  # a third of its side away
        (at(182, 50), False),
        (at(160, 72), False),
        (at(160, 110), False),  # only a corner
        (at(100, 50), False),
    ],
)
def test_faces_of_one_cube_share_an_edge(other: FaceGrid, joined: bool) -> None:
    assert view_check._is_joined(at(100, 50), other) == joined


@pytest.mark.parametrize(
    ("found", "overlaps"),
    [(at(100, 50), True), (at(129, 50), True), (at(131, 50), False), (at(80, 30, 2, 60), True)],
)
def test_faces_overlap_where_the_middle_of_one_lies_in_the_other(
    found: FaceGrid, overlaps: bool
) -> None:
    assert view_check._overlap(found, at(100, 50)) == overlaps
    assert view_check._overlap(at(100, 50), found) == overlaps


@pytest.mark.parametrize(
    ("colour", "skin"),
    [
        ((224, 172, 140), True),
        ((110, 70, 50), True),
        ((51, 35, 25), True),
        ((50, 35, 25), False),  # too dark to tell
        ((200, 80, 60), False),
        ((200, 81, 60), True),
        ((200, 180, 120), False),
        ((200, 179, 120), True),
        ((200, 100, 45), False),
        ((200, 100, 46), True),
        ((200, 100, 96), True),
        ((200, 100, 97), False),
        ((20, 160, 60), False),
        ((240, 240, 240), False),
        ((230, 200, 30), False),
    ],
)
def test_colours_of_skin(colour: tuple[int, int, int], skin: bool) -> None:
    assert bool(view_check._is_skin(np.array(colour, dtype=np.uint8))) == skin


def test_cells_with_few_borders_are_hidden() -> None:
    borders = np.arange(5).repeat(2)
    skin = np.tile([False, True], 5)
    cells = view_check._Cells(borders, np.ones(10, dtype=bool), skin)
    assert cells.stickers.tolist() == [False] * 6 + [True] * 4
    assert cells.hidden.tolist() == [True] * 4 + [False, True] + [False] * 4
    uneven = view_check._Cells(borders, np.zeros(10, dtype=bool), skin)
    assert not uneven.stickers.any()


class InView:
    """What is found in a picture, given: grids, cells that look like stickers, skin, rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.grids: list[FaceGrid] = []
        self.others: list[FaceGrid] = []
        self.borders = np.full(9, 4)
        self.skin = np.zeros(9, dtype=bool)
        self.picture_skin, self.rows = 0.0, 0
        cells = type("Cells", (), {"of": lambda image, grid: self.cells()})
        self._cells = view_check._Cells
        monkeypatch.setattr(view_check, "_Cells", cells)
        monkeypatch.setattr(view_check, "locate_grids", lambda image, thorough=True: self.grids)
        monkeypatch.setattr(view_check, "_others", lambda image, faces: self.others)
        monkeypatch.setattr(view_check, "_is_skin", lambda image: np.array([self.picture_skin]))
        monkeypatch.setattr(view_check, "patches_in_rows", lambda image: self.rows)

    def cells(self) -> Any:
        return self._cells(self.borders, np.ones(9, dtype=bool), self.skin)

    def told(self, place: FaceGrid | None = None) -> Any:
        try:
            return face_in_view(NOTHING, 3, place)
        except OddView as odd:
            return odd


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> InView:
    return InView(monkeypatch)


def test_a_face_of_the_size_is_taken_unless_another_is_certain(view: InView) -> None:
    other = at(0, 0, 4, fit=0.6)
    for fit, is_taken in ((0.3, True), (0.29, False)):
        face = at(9, 9, fit=fit)
        view.grids = [other, face]
        told = view.told()
        assert (told is face) == is_taken
        if not is_taken:
            assert (told.trouble, told.size) == (ViewTrouble.WRONG_SIZE, 4)
    view.grids = [at(0, 0, 4, fit=0.59), face]
    assert view.told() is face
    view.grids = [at(0, 0, 4, fit=0.4), at(0, 0, 5, fit=0.3)]
    told = view.told()
    assert told.size == 4
    assert str(told) == "a 4x4x4 is in view where a 3x3x3 is expected"
    view.grids = []
    assert view.told().trouble is ViewTrouble.NO_CUBE


def test_skin_and_patches_in_rows_are_a_hand_on_a_face(view: InView) -> None:
    for skin, rows, trouble in (
        (0.06, 4, ViewTrouble.COVERED),
        (0.05, 4, ViewTrouble.NO_CUBE),
        (0.06, 3, ViewTrouble.NO_CUBE),
    ):
        view.picture_skin, view.rows = skin, rows
        assert view.told().trouble is trouble
    view.grids = [at(0, 0, 4, fit=0.6)]
    assert view.told().trouble is ViewTrouble.WRONG_SIZE


def test_hidden_stickers_are_named_from_one(view: InView) -> None:
    face = at(0, 0, fit=0.9)
    view.grids = [face]
    view.borders[[2]] = 1
    assert view.told() is face  # a ninth is less than 15 %
    view.borders[[2, 5]] = 1, 0
    told = view.told()
    assert (told.trouble, told.stickers) == (ViewTrouble.COVERED, (3, 6))
    assert str(told).startswith("2 of the face's 9 stickers cannot be seen: a hand")
    assert view.told(face).stickers == (3, 6)


def test_where_a_face_is_expected_it_is_there_or_near_or_not(view: InView) -> None:
    place = at(100, 50)
    assert view.told(place) is place
    # 5 of 9 look like stickers: less than 60 %.
    view.borders[:4] = 2
    assert view.told(place) is place  # too poor to tell
    near = at(110, 50, fit=0.6)
    view.grids = [at(100, 50, 4, fit=0.9), near]
    assert view.told(place) is near
    view.grids = [at(100, 50, 4, fit=0.9), at(110, 50, fit=0.59)]
    assert view.told(place).size == 4
    view.grids = [at(100, 50, 4, fit=0.59), at(400, 50, fit=0.9)]
    assert view.told(place) is place
    view.borders[:6] = 2  # 3 of 9: more than 26 %
    assert view.told(place) is place
    view.borders[:7] = 2
    assert view.told(place).trouble is ViewTrouble.NO_CUBE
    view.skin[:3] = True  # 3 of 9: no hand yet
    assert view.told(place).trouble is ViewTrouble.NO_CUBE
    view.skin[:4] = True
    assert view.told(place).trouble is ViewTrouble.COVERED
    view.borders[:] = 4
    view.borders[:3] = 2
    view.skin[:] = False
    view.grids = [near]
    assert view.told(place) is place  # 6 of 9 are enough: nothing is looked for


def test_another_cube_in_view_is_told_and_another_side_is_not(view: InView) -> None:
    face = at(100, 50, fit=0.9)
    view.grids = [face]
    view.others = [at(160, 50)]
    assert view.told() is face
    view.others = [at(160, 50), at(300, 50)]
    told = view.told()
    assert told.trouble is ViewTrouble.TWO_CUBES
    assert str(told) == "two cubes are in view: remove all but the one to read"


def test_what_is_known_is_painted_over_before_others_are_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[np.ndarray] = []

    def located(image: np.ndarray, thorough: bool = True) -> list[FaceGrid]:
        assert not thorough
        seen.append(image)
        return [at(0, 0, fit=0.6), at(0, 0, fit=0.59)]

    monkeypatch.setattr(view_check, "locate_grids", located)
    image = np.full((240, 320, 3), 200, np.uint8)
    found = view_check._others(image, [at(100, 50), at(200, 100)])
    assert [grid.fit for grid in found] == [0.6]
    assert (image == 200).all()
    rows, columns = np.nonzero(seen[0][..., 0] != 200)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (47, 163, 97, 263)
    assert (seen[0][50:110, 100:160] == 0).all() and (seen[0][100:160, 200:260] == 0).all()


def test_pictures_are_named_and_one_in_doubt_is_where_the_others_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = "URFDLB"
    pictures = dict.fromkeys(names, NOTHING)
    grids = {name: at(100, 50, fit=0.9) for name in names}
    asked: list[tuple[str, FaceGrid | None]] = []

    def in_view(name: str, image: Any, size: int, place: FaceGrid | None = None) -> FaceGrid:
        asked.append((name, place))
        raise OddView(ViewTrouble.NO_CUBE, f"picture {name}: no cube")

    monkeypatch.setattr(six_faces, "_in_view", in_view)
    monkeypatch.setattr(six_faces, "_found", lambda pictures, sizes: (grids, 3))
    assert six_faces.locate_cube(pictures).grids == grids and not asked
    del grids["L"]
    with pytest.raises(OddView, match="picture L"):
        six_faces.locate_cube(pictures)
    cube = six_faces.locate_cube(pictures, may_doubt=True)
    assert str(cube.doubt) == "picture L: no cube"
    assert set(cube.grids) == set(names)
    assert cube.grids["L"].corners == pytest.approx(at(100, 50).corners)
    del grids["L"]
    del grids["B"]
    with pytest.raises(OddView, match="picture L"):
        six_faces.locate_cube(pictures, may_doubt=True)


def test_a_picture_without_a_face_is_named_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = dict.fromkeys("URFDLB", NOTHING)
    grids = {name: at(100 * number, 50) for number, name in enumerate("URF")}
    monkeypatch.setattr(six_faces, "_in_view", lambda *_: at(0, 0))
    monkeypatch.setattr(six_faces, "_found", lambda pictures, sizes: (dict(grids), 4))
    with pytest.raises(finding.NoFace, match="picture D, L, B: no face of a 4x4x4 found as in"):
        six_faces.locate_cube(pictures)


def test_six_faces_that_fit_badly_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = dict.fromkeys("URFDLB", NOTHING)
    grids = {name: at(100, 50, fit=0.4) for name in "URFDLB"}
    monkeypatch.setattr(six_faces, "_found", lambda pictures, sizes: (grids, 3))
    asked: list[str] = []
    monkeypatch.setattr(six_faces, "_in_view", lambda name, *_: asked.append(name))
    six_faces.locate_cube(pictures)
    assert asked == list("URFDLB")

    def odd(*_: Any) -> FaceGrid:
        raise OddView(ViewTrouble.COVERED, "a hand", (1, 2), 5)

    monkeypatch.undo()
    monkeypatch.setattr(six_faces, "face_in_view", odd)
    with pytest.raises(OddView, match="picture R: a hand") as told:
        six_faces._in_view("R", NOTHING, 3)
    assert (told.value.trouble, told.value.stickers) == (ViewTrouble.COVERED, (1, 2))
    assert told.value.size == 5


def test_photographs_too_small_for_their_faces_are_decoded_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    files = {face: tmp_path / f"{face}.png" for face in "URFDLB"}
    sides: list[int] = []

    def loaded(path: Any, enough: int = 1200) -> np.ndarray:
        return np.zeros((enough, min(enough, full), 3), np.uint8)

    def looked(frames: dict[str, Frame], size: Any, *, may_doubt: bool) -> Any:
        assert may_doubt == doubts
        sides.append(frames["U"].image.shape[0])
        if len(sides) == 1:
            raise finding.NoFace("too far away")
        return "looks"

    monkeypatch.setattr(six_faces, "MAX_SIDE", 1600)
    monkeypatch.setattr(six_faces, "face_files", lambda folder: files)
    monkeypatch.setattr(six_faces, "load_photo", loaded)
    monkeypatch.setattr(six_faces, "look_at_frames", looked)
    full, doubts = 9000, False
    assert six_faces.look_at_folder(tmp_path) == "looks"
    assert sides == [1200, 1600]
    sides.clear()
    doubts = True
    assert six_faces.look_at_folder(tmp_path, may_doubt=True) == "looks"
    sides.clear()
    monkeypatch.setattr(six_faces, "MAX_SIDE", 1200)
    with pytest.raises(finding.NoFace):
        six_faces.look_at_folder(tmp_path, may_doubt=True)
    assert sides == [1200]
