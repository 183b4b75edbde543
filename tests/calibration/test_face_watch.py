"""The face as a measuring instrument: its turns, tilts, and part beyond a gripper's layer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robot.calibration.auto import face_watch
from robot.calibration.auto.face_watch import (
    LIFTED,
    MOST_LOOKS,
    SAME_DEGREES,
    UNIT_SQUARE,
    RotationGauge,
)
from robot.calibration.auto.far_part import TOWARDS, FarPart
from robot.calibration.auto.fitting import TiltGauge
from robot.settings import load_profile
from robot.settings.base import Site
from robot.text.faults import CalibrationError
from robot.twin.cube import NORMALS, turned
from vision.locate.face import FaceGrid
from vision.locate.view_check import OddView
from vision.reasons import ViewTrouble

SIZE = (640, 480)
HALF = 100.0
"""Pixels of half a face that is square in the middle of the picture."""
PALETTE = [(236, 238, 232), (178, 24, 32), (16, 138, 62), (232, 208, 32), (20, 66, 156)]
NOISE = 4.0
STICKER_PX = 40


def spun(degrees: float, points: Any = UNIT_SQUARE) -> Any:
    """Turn points clockwise in the picture, where down is positive."""
    angle = np.radians(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def in_picture(flat: Any) -> Any:
    return np.asarray(flat) * HALF + np.array(SIZE) / 2


def stickers(seed: int = 1) -> Any:
    return np.random.default_rng(seed).random((9, 3))


class Pictures:
    """A camera that shows one face after the other, given by its corners, or None for none."""

    def __init__(self) -> None:
        self.faces: list[Any] = []
        self.taken, self.follows = 0, True
        self.image = np.full((2, 2, 3), 128, np.uint8)

    def show(self, *faces: Any) -> None:
        """Let the camera see these faces next."""
        self.faces, self.taken = list(faces), 0

    def take(self, *_: object) -> tuple[int, Any]:
        self.taken += 1
        return 0, self.image

    def find(self, *_: object) -> Any:
        face = self.faces.pop(0)
        if face is None:
            raise OddView(ViewTrouble.COVERED, "a hand")
        return SimpleNamespace(corners=in_picture(face))


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Pictures:
    here = Pictures()
    monkeypatch.setattr(face_watch, "take_picture", here.take)
    monkeypatch.setattr(face_watch, "face_in_view", here.find)
    monkeypatch.setattr(face_watch, "confirm_grid", lambda _, hint: hint if here.follows else None)
    monkeypatch.setattr(face_watch, "chromaticities", lambda image, grid: stickers())
    monkeypatch.setattr(face_watch, "advise", lambda frame, grid: [])
    return here


def gauge(zero: float = 0.0) -> RotationGauge:
    """Return a gauge that looks straight down at a square face."""
    square = in_picture(UNIT_SQUARE)
    session: Any = SimpleNamespace(profile=load_profile("cubotino"))
    camera: Any = SimpleNamespace(name="top", resolution=SIZE)
    view: Any = SimpleNamespace(quad=(square / SIZE).tolist())
    made = RotationGauge(session, camera, view)
    grid = FaceGrid.from_corners(np.roll(square, 3, axis=0), 3)
    made.begin(np.full((SIZE[1], SIZE[0], 3), 128, np.uint8), grid)
    made.zero = zero
    return made


@pytest.mark.usefixtures("pictures")
@pytest.mark.parametrize("degrees", [-44.0, -10.0, 0.0, 30.0, 44.0])
def test_degrees_are_counted_from_zero_in_the_table_s_sense(degrees):
    one = gauge(5.0)
    corners = in_picture(spun(-degrees))
    assert one.degrees(corners, degrees - 5) == pytest.approx(degrees - 5)
    assert one.degrees(corners, degrees + 90) == pytest.approx(degrees + 85)
    assert one.degrees(np.roll(corners, 1, axis=0), degrees - 5) == pytest.approx(degrees - 5)
    assert one.corners_at(degrees - 5) == pytest.approx(corners, abs=1e-3)


@pytest.mark.usefixtures("pictures")
@pytest.mark.parametrize(("off", "flat"), [(0.9 * LIFTED, True), (1.4 * LIFTED, False)])
def test_a_face_that_is_not_flat_has_no_angle(off, flat):
    corners = UNIT_SQUARE.copy()
    corners[0] += off
    assert (gauge().degrees(in_picture(corners), 0.0) is not None) is flat


@pytest.mark.usefixtures("pictures")
@pytest.mark.parametrize("degrees", [-170.0, -90.0, -20.0, 0.0, 50.0, 180.0, 265.0])
def test_stickers_tell_whole_turns_apart(degrees):
    """Turn a face clockwise in the picture. Its corners come in the order nearest to upright."""
    one, colours = gauge(), stickers()
    begun, turn = 3.0, -degrees
    first = (in_picture(spun(begun)), colours)
    quarters = round(turn / 90)
    corners = np.roll(spun(begun + turn), quarters, axis=0)
    shown = np.rot90(colours.reshape(3, 3, 3), -quarters).reshape(-1, 3)
    later = (in_picture(corners), shown)
    assert one.measure_turn(first, later, degrees) == pytest.approx(degrees)
    assert one.measure_turn(first, later, degrees + 170) == pytest.approx(degrees)
    assert one.measure_turn(first, later, degrees + 360) == pytest.approx(degrees + 360)
    assert one.measure_turn(first, (in_picture(corners), stickers(2)), degrees) is None
    lifted = corners.copy()
    lifted[1] *= 1.2
    assert one.measure_turn(first, (in_picture(lifted), shown), degrees) is None


def test_a_picture_is_at_rest_once_two_in_a_row_are_the_same(pictures):
    one = gauge()
    near, off = SAME_DEGREES * 0.9, SAME_DEGREES * 1.1
    pictures.show(spun(0.0), spun(off), spun(off + near), spun(9.0))
    rest = one.look()
    assert rest is not None and rest.degrees == pytest.approx(-off - near)
    pictures.show(spun(0.0), None, None, spun(0.0))
    assert one.look() is None
    assert pictures.taken == 3, "what covers it twice stays there"
    pictures.show(*(spun(float(n)) for n in range(40)))
    assert one.look() is None
    assert pictures.taken == 1 + MOST_LOOKS


def test_a_level_face_is_where_it_was_seen_before(pictures):
    one = gauge()
    here, away = UNIT_SQUARE, UNIT_SQUARE + 0.5
    for shown, found, looks in (
        ([here, away, here], here, 3),
        ([here, None, here], here, 3),
        ([here, None, None, here], None, 3),
        ([UNIT_SQUARE + n for n in range(40)], None, 1 + MOST_LOOKS),
        ([UNIT_SQUARE + 0.0045 * n for n in range(13)], UNIT_SQUARE + 0.027, 1 + MOST_LOOKS),
    ):
        pictures.show(*shown)
        corners = one.level_corners()
        assert (corners is None) is (found is None)
        assert found is None or corners == pytest.approx(found, abs=1e-3)
        assert pictures.taken == looks


def test_a_face_that_another_part_hides_is_followed_from_where_it_was(pictures):
    one = gauge()
    pictures.show(UNIT_SQUARE, UNIT_SQUARE, None, None)
    assert one.level_corners(follow=True) is not None
    assert one.level_corners(follow=True) is not None, "found near where it was"
    pictures.follows = False
    pictures.show(None, None)
    assert one.level_corners(follow=True) is None
    assert str(one.lost_face_error("does something hold it?")) == "does something hold it?"


@pytest.mark.parametrize(
    ("picture", "why"),
    [("dark", "does something hold it?"), ("shining", "a reflection lies on"), ("lit", "hold it?")],
)
def test_a_face_that_was_in_light_and_focus_is_not_lost_for_want_of_these(pictures, picture, why):
    """Check the reason that is given: the robot's own arm makes a picture dark, too."""
    one = gauge()
    pictures.image = np.full((SIZE[1], SIZE[0], 3), 0 if picture == "dark" else 128, np.uint8)
    if picture == "shining":
        pictures.image[200:280, 280:340] = 255
    pictures.show(None, None)
    assert one.look() is None
    assert why in str(one.lost_face_error("does something hold it?"))
    if picture == "shining":
        pictures.image = np.full_like(pictures.image, 128)
        pictures.show(UNIT_SQUARE, UNIT_SQUARE)
        assert one.look() is not None
        assert str(one.lost_face_error("no longer square")) == "no longer square"


def seen_in_level_plane(
    site: Site, degrees: float, camera: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Project the corners of a tilted face from a camera onto the plane of the level one."""
    level = np.stack([UNIT_SQUARE[:, 0], np.ones(4), UNIT_SQUARE[:, 1]], axis=1)
    corners = level @ turned(NORMALS[site], degrees / 90).T
    parts = (1 - camera[1]) / (corners[:, 1] - camera[1])
    return np.asarray((camera + (corners - camera) * parts[:, None])[:, [0, 2]])


@given(
    site=st.sampled_from([*TOWARDS]),
    right=st.floats(-1.5, 1.5),
    front=st.floats(-2.5, 2.5),
    height=st.floats(4.0, 9.0),
    degrees=st.floats(-20, 20),
)
@settings(max_examples=20)
def test_a_sweep_shows_where_the_camera_is_and_then_each_tilt(site, right, front, height, degrees):
    camera = np.array([right, height, front])
    sweep = [seen_in_level_plane(site, at, camera) for at in np.linspace(-16, 16, 9)]
    found = TiltGauge(site).fit_camera(sweep)
    assert (found.site, found.height) == (site, pytest.approx(height - 1, abs=0.01))
    corners = seen_in_level_plane(site, degrees, camera)
    assert found.degrees(corners) == pytest.approx(degrees, abs=0.02)
    assert found.misses(corners, degrees) == pytest.approx(0, abs=1e-3)


class View:
    """A camera above a cube's face. The face tilts as a whole, or without the layer at a gripper.

    That layer turns by ``layer`` quarters instead, which shows other stickers.
    """

    def __init__(self, site: Site, size: int) -> None:
        self.profile = SimpleNamespace(cube=SimpleNamespace(size=size))
        self.site, self.size = site, size
        self.tilt, self.layer = 0.0, 0
        self.trembles: Iterator[float] = itertools.repeat(0.0)
        self.random = np.random.default_rng(1)

    def flat_picture(self, reach: float, half_width_px: int) -> Any:
        """See :meth:`RotationGauge.flat_picture`."""
        count = round(2 * reach * half_width_px)
        corners = TiltGauge(self.site).corners(self.tilt + next(self.trembles))
        edge = self.size * STICKER_PX
        drawn = np.float32([(0, 0), (edge, 0), (edge, edge), (0, edge)])
        pixels = np.float32((corners + reach) * half_width_px)
        matrix = cv2.getPerspectiveTransform(drawn, pixels)
        picture = cv2.warpPerspective(
            self.face, matrix, (count, count), borderMode=cv2.BORDER_CONSTANT, borderValue=(90,) * 3
        )
        return np.float32(picture + NOISE * self.random.standard_normal(picture.shape))

    @property
    def face(self) -> Any:
        """Return the stickers on black, uint8[h, w, 3]."""
        size = self.size
        numbers = np.arange(size * size).reshape(size, size) * 2 % len(PALETTE)
        right, down = TOWARDS[self.site]
        line = -1 if right + down > 0 else 0
        if self.layer:
            row = numbers[:, line] if right else numbers[line]
            row[:] = (row + self.layer) % len(PALETTE)
        drawn = np.full((size * STICKER_PX, size * STICKER_PX, 3), 18, np.uint8)
        for y, x in np.ndindex(size, size):
            inner = slice(y * STICKER_PX + 3, (y + 1) * STICKER_PX - 3)
            drawn[inner, x * STICKER_PX + 3 : (x + 1) * STICKER_PX - 3] = PALETTE[numbers[y, x]]
        return drawn


def watched(site: Site = "R", size: int = 3) -> tuple[View, FarPart]:
    view: Any = View(site, size)
    part = FarPart(view, site)
    part.begin()
    return view, part


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("site", TOWARDS)
def test_a_cube_that_tilts_is_told_from_one_that_stays(site, size):
    view, part = watched(site, size)
    for degrees in (-4.0, -2.0, 0.0, 2.0, 4.0):
        view.tilt = degrees
        assert part.degrees() == pytest.approx(degrees, abs=0.25 * abs(degrees) + 0.2)
    view.tilt, view.layer = 0.0, 1
    assert part.degrees() == pytest.approx(0.0, abs=0.2), "only the layer of the gripper turned"


def test_a_cube_that_trembles_is_measured_by_the_middle_and_one_that_moves_is_refused():
    view, part = watched()
    view.trembles = itertools.cycle((-0.5, 0.5))
    assert part.degrees() == pytest.approx(0.0, abs=0.8)
    view.trembles = itertools.cycle((-4.0, 4.0))
    with pytest.raises(CalibrationError, match="keeps moving"):
        part.degrees()
