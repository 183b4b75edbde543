"""The face as a measuring instrument, by corners that are known to the hundredth of a degree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.auto import face_watch
from robot.calibration.auto.face_watch import (
    LIFTED,
    MOST_LOOKS,
    OTHER_FACE,
    SAME_DEGREES,
    SAME_PLACE,
    UNIT_SQUARE,
    FacePose,
    RotationGauge,
    are_two_faces,
    square_error,
    view_from_above,
)
from robot.settings import load_profile
from solver.errors import CalibrationError
from vision.locate.view_check import OddView

CUBOTINO = load_profile("cubotino")
SIZE = (640, 480)
HALF = 100.0
"""Pixels of half a face that is square in the middle of the picture."""


def spun(degrees: float, points: Any = UNIT_SQUARE) -> Any:
    """Turned clockwise in the picture, where down is positive."""
    angle = np.radians(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def in_picture(flat: Any) -> Any:
    return np.asarray(flat) * HALF + np.array(SIZE) / 2


def watch(sign: int = 1, zero: float = 0.0) -> RotationGauge:
    """It looks straight down at a face that is square in the middle."""
    session: Any = SimpleNamespace(profile=CUBOTINO)
    camera: Any = SimpleNamespace(name="top", resolution=SIZE)
    view: Any = SimpleNamespace(quad=(in_picture(UNIT_SQUARE) / SIZE).tolist())
    made = RotationGauge(session, camera, view, sign)
    assert made.profile is CUBOTINO
    grid: Any = SimpleNamespace(corners=np.roll(in_picture(UNIT_SQUARE), 3, axis=0))
    plain = pytest.MonkeyPatch()
    plain.setattr(face_watch, "advise", lambda frame, grid: [SimpleNamespace(text="too dark")])
    made.begin(np.zeros((4, 4, 3), np.uint8), grid)
    plain.undo()
    made.zero = zero
    return made


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("degrees", [-44.0, -10.0, 0.0, 30.0, 44.0])
def test_degrees_are_counted_from_zero_in_the_table_s_sense(sign: int, degrees: float) -> None:
    one = watch(sign, 5.0)
    corners = in_picture(spun(sign * degrees))
    assert one.degrees(corners, degrees - 5) == pytest.approx(degrees - 5)
    assert one.degrees(corners, degrees + 90) == pytest.approx(degrees + 85)
    assert one.degrees(np.roll(corners, 1, axis=0), degrees - 5) == pytest.approx(degrees - 5)
    assert one.corners_at(degrees - 5) == pytest.approx(corners, abs=1e-3)
    assert one.advice == ["too dark"]


def test_a_face_that_is_not_flat_has_no_angle() -> None:
    one = watch()
    for off, flat in ((0.9 * LIFTED, True), (1.4 * LIFTED, False)):
        corners = UNIT_SQUARE.copy()
        corners[0] += off
        assert (one.degrees(in_picture(corners), 0.0) is not None) is flat
    grown = in_picture(UNIT_SQUARE * 1.03)
    assert square_error(UNIT_SQUARE * 1.03) == pytest.approx(0.03)
    assert square_error(np.roll(spun(30.0) * 0.9, 2, axis=0)) == pytest.approx(
        0.1 * np.abs(spun(30.0)).max()
    )
    assert one.degrees(grown, 0.0) == pytest.approx(0.0)


def stickers(seed: int = 1) -> Any:
    return np.random.default_rng(seed).random((9, 3))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("degrees", [-170.0, -90.0, -20.0, 0.0, 50.0, 90.0, 180.0, 265.0])
def test_stickers_tell_whole_turns_apart(sign: int, degrees: float) -> None:
    """A face turned clockwise in the picture; corners are told in the order nearest to upright."""
    one, colours = watch(sign), stickers()
    begun = 3.0
    first = (in_picture(spun(begun)), colours)
    turn = sign * degrees
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
    assert not are_two_faces(colours, turned)
    assert not are_two_faces(colours, turned + 0.95 * OTHER_FACE)
    assert are_two_faces(colours, turned + 1.05 * OTHER_FACE)


def seen(degrees: float) -> FacePose:
    return FacePose(degrees, stickers(), in_picture(spun(degrees)))


def glancing(one: RotationGauge, name: str, found: list[Any]) -> list[int]:
    """Lets a watch see these, one after the other; how many it has taken."""
    taken: list[int] = []

    def glance(_: object) -> Any:
        taken.append(1)
        return found[len(taken) - 1]

    setattr(one, name, glance)
    return taken


def test_a_picture_is_at_rest_once_two_in_a_row_are_the_same() -> None:
    one = watch()
    near, off = SAME_DEGREES * 0.9, SAME_DEGREES * 1.1
    rest = seen(off + near)
    taken = glancing(one, "_glance", [seen(0.0), seen(off), rest, seen(9.0)])
    assert one.look() is rest
    assert len(taken) == 3
    taken = glancing(one, "_glance", [seen(0.0), None, None, seen(0.0)])
    assert one.look() is None
    assert len(taken) == 3, "what covers it twice stays there"
    taken = glancing(one, "_glance", [seen(float(n)) for n in range(40)])
    assert one.look() is None
    assert len(taken) == 1 + MOST_LOOKS


def test_a_level_face_is_where_it_was_seen_before() -> None:
    one = watch()
    steps = [np.array(UNIT_SQUARE) + off for off in (0.0, 0.5, SAME_PLACE * 0.9)]
    taken = glancing(one, "_level_glance", [*steps, steps[1]])
    assert one.level_corners() is steps[2]
    assert len(taken) == 3, "with one between them, which something hid in part"
    taken = glancing(one, "_level_glance", [steps[0], None, steps[0]])
    assert one.level_corners() is steps[0]
    assert len(taken) == 3
    taken = glancing(one, "_level_glance", [steps[0], None, None, steps[0]])
    assert one.level_corners() is None
    assert len(taken) == 3
    taken = glancing(one, "_level_glance", [np.array(UNIT_SQUARE) + n for n in range(40)])
    assert one.level_corners() is None
    assert len(taken) == 1 + MOST_LOOKS


def test_level_corners_are_in_the_order_of_the_first_face() -> None:
    one = watch()
    for turn in range(4):
        corners = np.roll(in_picture(spun(20.0)), turn, axis=0)
        assert one.level(corners) == pytest.approx(spun(20.0), abs=1e-3)


class Picture:
    """What a camera shows one time after the other: a face by its corners, or why there is none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *faces: Any) -> None:
        self.faces, self.taken, self.confirmed = list(faces), 0, True
        monkeypatch.setattr(face_watch, "take_picture", self._take)
        monkeypatch.setattr(face_watch, "face_in_view", self._find)
        monkeypatch.setattr(face_watch, "confirm_grid", self._confirm)
        monkeypatch.setattr(face_watch, "chromaticities", lambda image, grid: (image, grid))
        monkeypatch.setattr(face_watch, "advise", lambda frame, grid: [])

    def _take(self, session: object, camera: str) -> tuple[int, Any]:
        assert camera == "top"
        self.taken += 1
        return 0, np.full((2, 2, 3), self.taken, np.uint8)

    def _find(self, image: Any, size: int) -> Any:
        assert size == 3
        face = self.faces.pop(0)
        if isinstance(face, Exception):
            raise face
        return SimpleNamespace(corners=face)

    def _confirm(self, image: Any, hint: Any) -> Any:
        return SimpleNamespace(corners=hint.corners + 1) if self.confirmed else None


def test_a_face_is_followed_from_where_it_was_last(monkeypatch: pytest.MonkeyPatch) -> None:
    one = watch()
    flat = in_picture(UNIT_SQUARE)
    picture = Picture(monkeypatch, flat, OddView("a hand", "face-covered"), flat + 10)
    assert one._level_glance(follow=True) == pytest.approx(UNIT_SQUARE, abs=1e-4)
    assert picture.taken == 1, "it was seen nowhere yet"
    for more in (1, 2):
        found = one._level_glance(follow=True)
        assert found == pytest.approx(UNIT_SQUARE + more / HALF, abs=1e-4)
    assert len(picture.faces) == 2, "found where it was"
    assert one._level_glance(follow=False) is None
    picture.confirmed = False
    assert one._level_glance(follow=True) == pytest.approx(UNIT_SQUARE + 10 / HALF, abs=1e-4)
    assert picture.taken == 6


def test_the_camera_above_is_the_one_with_a_view_of_u() -> None:
    camera, view = view_from_above(CUBOTINO)
    assert (camera.name, view.site) == ("top", "U")
    with pytest.raises(CalibrationError, match="no camera looks at the cube from above"):
        view_from_above(CUBOTINO.model_copy(update={"cameras": ()}))
