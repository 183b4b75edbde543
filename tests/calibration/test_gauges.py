"""The face as a measuring instrument: turns and tilts, by corners that are known exactly."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robot.calibration.auto import face_watch
from robot.calibration.auto.face_watch import (
    LIFTED,
    MOST_LOOKS,
    OTHER_FACE,
    SAME_DEGREES,
    UNIT_SQUARE,
    RotationGauge,
    are_two_faces,
    degrees_of,
    nearest_quarter,
    square_error,
    view_from_above,
)
from robot.calibration.auto.fitting import HEIGHTS, USUAL_HEIGHT, TiltGauge
from robot.settings import load_profile
from robot.settings.base import Site
from robot.text.faults import CalibrationError
from robot.twin.cube import NORMALS, turned
from vision.locate.view_check import OddView

CUBOTINO = load_profile("cubotino")
SIZE = (640, 480)
HALF = 100.0
"""Pixels of half a face that is square in the middle of the picture."""

DEGREES = st.floats(-400, 400)
SITES = st.sampled_from(["R", "L", "F", "B"])


def spun(degrees: float, points: Any = UNIT_SQUARE) -> Any:
    """Points turned clockwise in the picture, where down is positive."""
    angle = np.radians(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def in_picture(flat: Any) -> Any:
    return np.asarray(flat) * HALF + np.array(SIZE) / 2


@given(DEGREES, st.floats(-0.2, 0.2), st.floats(-0.2, 0.2), st.integers(0, 3), DEGREES)
def test_the_angle_of_a_square_is_known_up_to_quarter_turns(
    degrees: float, right: float, down: float, first: int, near: float
) -> None:
    corners = np.roll(spun(degrees), first, axis=0) + np.array([right, down])
    found = nearest_quarter(degrees_of(corners), near)
    assert abs(found - near) <= 45 + 1e-6
    assert (found - degrees) / 90 == pytest.approx(round((found - degrees) / 90), abs=1e-6)


class Pictures:
    """What a camera shows one time after the other: a face by its corners, or None for none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.faces: list[Any] = []
        self.taken, self.follows = 0, True
        monkeypatch.setattr(face_watch, "take_picture", self._take)
        monkeypatch.setattr(face_watch, "face_in_view", self._find)
        monkeypatch.setattr(face_watch, "confirm_grid", self._confirm)
        monkeypatch.setattr(face_watch, "chromaticities", lambda image, grid: stickers())
        monkeypatch.setattr(face_watch, "advise", lambda frame, grid: [])

    def show(self, *faces: Any) -> None:
        """Let the camera see these from now on."""
        self.faces, self.taken = list(faces), 0

    def _take(self, session: object, camera: str) -> tuple[int, Any]:
        self.taken += 1
        return 0, np.zeros((2, 2, 3), np.uint8)

    def _find(self, image: Any, size: int) -> Any:
        face = self.faces.pop(0)
        if face is None:
            raise OddView("a hand", "face-covered")
        return SimpleNamespace(corners=in_picture(face))

    def _confirm(self, image: Any, hint: Any) -> Any:
        return hint if self.follows else None


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Pictures:
    return Pictures(monkeypatch)


def gauge(sign: int = 1, zero: float = 0.0) -> RotationGauge:
    """It looks straight down at a face that is square in the middle."""
    session: Any = SimpleNamespace(profile=CUBOTINO)
    camera: Any = SimpleNamespace(name="top", resolution=SIZE)
    view: Any = SimpleNamespace(quad=(in_picture(UNIT_SQUARE) / SIZE).tolist())
    made = RotationGauge(session, camera, view, sign)
    grid: Any = SimpleNamespace(corners=np.roll(in_picture(UNIT_SQUARE), 3, axis=0))
    made.begin(np.zeros((4, 4, 3), np.uint8), grid)
    made.zero = zero
    return made


@pytest.fixture
def _without_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(face_watch, "advise", lambda frame, grid: [])


@pytest.mark.usefixtures("_without_advice")
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("degrees", [-44.0, -10.0, 0.0, 30.0, 44.0])
def test_degrees_are_counted_from_zero_in_the_table_s_sense(sign: int, degrees: float) -> None:
    one = gauge(sign, 5.0)
    corners = in_picture(spun(sign * degrees))
    assert one.degrees(corners, degrees - 5) == pytest.approx(degrees - 5)
    assert one.degrees(corners, degrees + 90) == pytest.approx(degrees + 85)
    assert one.degrees(np.roll(corners, 1, axis=0), degrees - 5) == pytest.approx(degrees - 5)
    assert one.corners_at(degrees - 5) == pytest.approx(corners, abs=1e-3)


@pytest.mark.usefixtures("_without_advice")
def test_a_face_that_is_not_flat_has_no_angle() -> None:
    for off, flat in ((0.9 * LIFTED, True), (1.4 * LIFTED, False)):
        corners = UNIT_SQUARE.copy()
        corners[0] += off
        assert (gauge().degrees(in_picture(corners), 0.0) is not None) is flat
    assert square_error(UNIT_SQUARE * 1.03) == pytest.approx(0.03)


def stickers(seed: int = 1) -> Any:
    return np.random.default_rng(seed).random((9, 3))


@pytest.mark.usefixtures("_without_advice")
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("degrees", [-170.0, -90.0, -20.0, 0.0, 50.0, 180.0, 265.0])
def test_stickers_tell_whole_turns_apart(sign: int, degrees: float) -> None:
    """A face turned clockwise in the picture; its corners come in the order nearest to upright."""
    one, colours = gauge(sign), stickers()
    begun, turn = 3.0, sign * degrees
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


def test_faces_differ_from_a_mean_difference_on_however_turned() -> None:
    colours = stickers() * 0.5
    turned = np.rot90(colours.reshape(3, 3, 3), 3).reshape(-1, 3)
    assert not are_two_faces(colours, turned + 0.95 * OTHER_FACE)
    assert are_two_faces(colours, turned + 1.05 * OTHER_FACE)


def test_a_picture_is_at_rest_once_two_in_a_row_are_the_same(pictures: Pictures) -> None:
    one = gauge()
    near, off = SAME_DEGREES * 0.9, SAME_DEGREES * 1.1
    pictures.show(spun(0.0), spun(off), spun(off + near), spun(9.0))
    rest = one.look()
    assert rest is not None and rest.degrees == pytest.approx(off + near)
    pictures.show(spun(0.0), None, None, spun(0.0))
    assert one.look() is None
    assert pictures.taken == 3, "what covers it twice stays there"
    pictures.show(*(spun(float(n)) for n in range(40)))
    assert one.look() is None
    assert pictures.taken == 1 + MOST_LOOKS


def test_a_level_face_is_where_it_was_seen_before(pictures: Pictures) -> None:
    one = gauge()
    here, away = UNIT_SQUARE, UNIT_SQUARE + 0.5
    for shown, found, looks in (
        ([here, away, here], here, 3),
        ([here, None, here], here, 3),
        ([here, None, None, here], None, 3),
        ([UNIT_SQUARE + n for n in range(40)], None, 1 + MOST_LOOKS),
    ):
        pictures.show(*shown)
        corners = one.level_corners()
        assert (corners is None) is (found is None)
        assert found is None or corners == pytest.approx(found, abs=1e-3)
        assert pictures.taken == looks


def test_a_face_that_another_part_hides_is_followed_from_where_it_was(pictures: Pictures) -> None:
    one = gauge()
    pictures.show(UNIT_SQUARE, UNIT_SQUARE, None, None)
    assert one.level_corners(follow=True) is not None
    assert one.level_corners(follow=True) is not None, "found near where it was"
    pictures.follows = False
    pictures.show(None, None)
    assert one.level_corners(follow=True) is None


def test_the_camera_above_is_the_one_with_a_view_of_u() -> None:
    camera, view = view_from_above(CUBOTINO)
    assert (camera.name, view.site) == ("top", "U")
    with pytest.raises(CalibrationError, match="no camera looks at the cube from above"):
        view_from_above(CUBOTINO.model_copy(update={"cameras": ()}))


def seen_in_level_plane(
    site: Site, degrees: float, camera: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Where rays from a camera to the corners of a tilted face meet the plane of the level one."""
    level = np.stack([UNIT_SQUARE[:, 0], np.ones(4), UNIT_SQUARE[:, 1]], axis=1)
    corners = level @ turned(NORMALS[site], degrees / 90).T
    parts = (1 - camera[1]) / (corners[:, 1] - camera[1])
    return np.asarray((camera + (corners - camera) * parts[:, None])[:, [0, 2]])


@given(
    site=SITES,
    right=st.floats(-1.5, 1.5),
    front=st.floats(-2.5, 2.5),
    height=st.floats(4.0, 9.0),
    degrees=st.floats(-20, 20),
)
@settings(max_examples=20)
def test_a_sweep_shows_where_the_camera_is_and_then_each_tilt(
    site: Site, right: float, front: float, height: float, degrees: float
) -> None:
    camera = np.array([right, height, front])
    sweep = [seen_in_level_plane(site, at, camera) for at in np.linspace(-16, 16, 9)]
    found = TiltGauge(site).fit_camera(sweep)
    assert (found.site, found.height) == (site, pytest.approx(height - 1, abs=0.01))
    corners = seen_in_level_plane(site, degrees, camera)
    assert found.degrees(corners) == pytest.approx(degrees, abs=0.02)
    assert found.misses(corners, degrees) == pytest.approx(0, abs=1e-3)


@given(SITES, st.floats(-25, 25))
@settings(max_examples=20)
def test_corners_of_a_tilted_face_are_where_the_usual_camera_sees_them(
    site: Site, degrees: float
) -> None:
    seen = seen_in_level_plane(site, degrees, np.array([0.0, 1 + USUAL_HEIGHT, 0.0]))
    assert TiltGauge(site).corners(degrees) == pytest.approx(seen, abs=1e-9)


def test_a_miss_is_the_farthest_corner_s() -> None:
    corners = TiltGauge("R").corners(5.0)
    corners[2, 1] += 0.25
    corners[0, 0] -= 0.1
    assert TiltGauge("R").misses(corners, 5.0) == pytest.approx(0.25)


@pytest.mark.parametrize(("height", "kept"), [(90.0, HEIGHTS[1]), (20.0, 20.0)])
def test_heights_that_cannot_be_are_kept_within_bounds(height: float, kept: float) -> None:
    camera = np.array([0.0, 1 + height, 0.0])
    sweep = [seen_in_level_plane("F", at, camera) for at in np.linspace(-16, 16, 9)]
    assert TiltGauge("F").fit_camera(sweep).height == pytest.approx(kept, abs=0.1)
