"""The face as a measuring instrument, by corners that are known to the hundredth of a degree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.auto import cube_pose, face_watch
from robot.calibration.auto.face_watch import (
    BORDER,
    LIFTED,
    MOST_LOOKS,
    OTHER_FACE,
    SAME_DEGREES,
    SAME_PLACE,
    UNIT_SQUARE,
    FacePose,
    RotationGauge,
    are_two_faces,
    nearest_quarter,
    off_square,
    view_from_above,
)
from robot.calibration.auto.finding import CalibrationError
from robot.settings import load_profile
from vision.locate.face import FaceGrid
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
    assert off_square(UNIT_SQUARE * 1.03) == pytest.approx(0.03)
    assert off_square(np.roll(spun(30.0) * 0.9, 2, axis=0)) == pytest.approx(
        0.1 * np.abs(spun(30.0)).max()
    )
    assert one.degrees(grown, 0.0) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("degrees", "near", "found"),
    [(10, 0, 10), (10, 90, 100), (10, 56, 100), (10, 54, 10), (10, -36, -80), (80, 0, -10)],
)
def test_quarters_look_alike(degrees: float, near: float, found: float) -> None:
    assert nearest_quarter(degrees, near) == found


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
    assert one.turned(first, later, degrees) == pytest.approx(degrees)
    assert one.turned(first, later, degrees + 170) == pytest.approx(degrees)
    assert one.turned(first, later, degrees + 360) == pytest.approx(degrees + 360)
    assert one.turned(first, (in_picture(corners), stickers(2)), degrees) is None
    lifted = corners.copy()
    lifted[1] *= 1.2
    assert one.turned(first, (in_picture(lifted), shown), degrees) is None


def test_faces_differ_from_a_mean_difference_on_however_turned() -> None:
    colours = stickers() * 0.5
    turned = np.rot90(colours.reshape(3, 3, 3), 3).reshape(-1, 3)
    assert not are_two_faces(colours, turned)
    assert not are_two_faces(colours, turned + 0.95 * OTHER_FACE)
    assert are_two_faces(colours, turned + 1.05 * OTHER_FACE)


@pytest.mark.parametrize(
    ("half", "turn"),
    # A corner is at sqrt(2) times half the face; down to 4.8 and up to 475.2 there are 233.6.
    [(150.0, 45.0), (233.7, 0.0), (172.0, 28.0), (200.0, 10.0)],
)
def test_a_face_turns_within_the_picture(half: float, turn: float) -> None:
    one = watch()
    one._plane = np.array([[1 / half, 0, -320 / half], [0, 1 / half, -240 / half], [0, 0, 1]])
    margin = BORDER * SIZE[0]
    room = 240 - margin
    expected = next(
        (d - 1 for d in range(1, 46) if half * np.abs(spun(d)).max() > room),
        45,
    )
    assert one.turn_in_view == expected
    assert abs(expected - turn) <= 10
    one.zero = 3.0
    off = [
        d - 1
        for d in range(1, 46)
        if max(np.abs(spun(s * d + 3)).max() for s in (1, -1)) * half > room
    ]
    assert one.turn_in_view == (off[0] if off else 45)


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


def test_a_face_is_the_same_within_a_part_of_a_degree() -> None:
    same = face_watch._is_same
    assert same(seen(0.0), seen(SAME_DEGREES * 0.99)) and same(seen(0.1), seen(0.0))
    assert not same(seen(0.0), seen(SAME_DEGREES)) and not same(seen(1.0), seen(0.0))
    assert same(None, None) and not same(None, seen(0.0)) and not same(seen(0.0), None)


def test_how_far_a_face_is_turned_does_not_depend_on_where_it_is() -> None:
    for degrees in (-40.0, 0.0, 12.5):
        for off in (0.0, 0.7):
            assert face_watch.degrees_of(spun(degrees) + off) == pytest.approx(degrees)


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


def test_the_first_face_seen_is_where_degrees_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = SimpleNamespace(profile=CUBOTINO)
    camera: Any = SimpleNamespace(name="top", resolution=SIZE)
    view: Any = SimpleNamespace(quad=(in_picture(UNIT_SQUARE) / SIZE).tolist())
    one = RotationGauge(session, camera, view, 1)
    odd = OddView("a hand", "face-covered")
    lifted = spun(0.0)
    lifted[0] += 2 * LIFTED
    shown = (odd, in_picture(spun(10.0)), in_picture(spun(25.0)), in_picture(lifted))
    Picture(monkeypatch, *shown)
    assert one._glance(0.0) is None
    first = one._glance(0.0)
    assert first is not None and first.degrees == pytest.approx(0.0, abs=1e-4)
    assert first.corners == pytest.approx(in_picture(spun(10.0)))
    later = one._glance(90.0)
    assert later is not None and later.degrees == pytest.approx(105.0, abs=1e-3)
    assert one._glance(0.0) is None


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


CAMERA: Any = SimpleNamespace(name="top", resolution=SIZE)
SQUARE = in_picture(UNIT_SQUARE)
PITCH = FaceGrid.from_corners(SQUARE, 3).pitch


def test_distances_are_in_stickers() -> None:
    grid = FaceGrid.from_corners(SQUARE, 3)
    assert pytest.approx(2 * HALF / 3) == PITCH
    moved = SQUARE.copy()
    moved[2] += (0.3 * PITCH, 0.4 * PITCH)
    assert cube_pose._apart(np.roll(moved, 1, axis=0), grid) == pytest.approx(0.5)
    small = in_picture(UNIT_SQUARE * 0.5)
    found = {"U": moved, "R": small}
    quads = {"U": SQUARE, "R": small}
    assert cube_pose._miss(found, quads, 3) == pytest.approx(0.8)  # type: ignore[arg-type]
    assert cube_pose._as_drawn(np.roll(moved, 3, axis=0), SQUARE) == pytest.approx(moved)


def test_faces_of_one_cube_are_near_it_and_in_view() -> None:
    for part, is_one in ((0.14, True), (0.16, False)):
        found: Any = {"U": SQUARE + np.array([part * PITCH, 0])}
        if is_one:
            cube_pose._check(CAMERA, found, {"U": SQUARE}, 3)
        else:
            with pytest.raises(CalibrationError, match=f"up to {part * PITCH:.0f} pixels off"):
                cube_pose._check(CAMERA, found, {"U": SQUARE}, 3)
    low, high = SQUARE.min(axis=0), SIZE - SQUARE.max(axis=0)
    for axis in (0, 1):
        for room, way in ((low, -1), (high, 1)):
            for over, whole in ((0.24 * PITCH, True), (0.26 * PITCH, False)):
                shift = np.zeros(2)
                shift[axis] = way * (room[axis] + over)
                quads: Any = {"U": SQUARE + shift}
                if whole:
                    cube_pose._check(CAMERA, quads, quads, 3)
                else:
                    with pytest.raises(CalibrationError, match="as a whole"):
                        cube_pose._check(CAMERA, quads, quads, 3)


def test_no_further_face_is_looked_for_once_there_cannot_be_enough() -> None:
    asked: list[int] = []

    class Faces:
        def __init__(self, *seen: bool) -> None:
            self.seen = list(seen)
            asked.clear()

        def near(self, hint: FaceGrid) -> Any:
            asked.append(1)
            return hint if self.seen.pop(0) else None

    hints: Any = {"U": SQUARE, "R": SQUARE + 5, "F": SQUARE + 9}
    for seen_, found, tries in (
        ((True, True, True), "URF", 3),
        ((False, True, True), "RF", 3),
        ((False, False, True), "", 2),
        ((True, False, True), "UF", 3),
        ((True, False, False), "U", 3),
    ):
        near = cube_pose._near(Faces(*seen_), hints, 3)  # type: ignore[arg-type]
        assert ("".join(near), len(asked)) == (found, tries)
        assert all((corners == hints[site]).all() for site, corners in near.items())


def test_a_face_by_itself_is_that_of_the_site_it_is_nearest_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: Any = {"U": SQUARE, "R": SQUARE + 150}
    for fit, off, site in (
        (0.6, 40.0, "U"),
        (0.59, 40.0, None),
        (0.9, 110.0, "R"),
        (0.9, -1.9 * PITCH, "U"),
        (0.9, -2.1 * PITCH, None),
    ):
        grid = FaceGrid.from_corners(np.roll(SQUARE + off, 1, axis=0), 3)
        worse = SimpleNamespace(fit=min(fit, 0.55), corners=SQUARE, pitch=PITCH)
        better = SimpleNamespace(fit=fit, corners=grid.corners, pitch=PITCH)
        monkeypatch.setattr(cube_pose, "locate_grids", lambda *_, g=[worse, better]: g)
        found = cube_pose._first_face(None, drawn, 3)  # type: ignore[arg-type]
        assert (found and [*found]) == ([site] if site else None), (fit, off)
        if found is not None and site is not None:
            assert found[site] == pytest.approx(SQUARE + off)  # type: ignore[index]
