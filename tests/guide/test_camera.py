"""The dialog of the camera, with cameras that see what they are told to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.api.client import DaemonError
from robot.calibration.step import STEPS
from robot.guide import camera
from robot.guide.camera import EVERY_S, CameraDialog
from robot.guide.state import Outline
from robot.guide.texts import GuideText
from solver.errors import CubistError
from tests.rig.guide import DialogRig, FakeCalibrationClient
from vision.locate.view_check import OddView, ViewTrouble

IMAGE = np.zeros((4, 6, 3), np.uint8)
QUAD = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]


class FakeQuad:
    """The frame of one face; ``done`` is what was done to it."""

    def __init__(self, name: str, site: str) -> None:
        self.camera, self.view = name, SimpleNamespace(site=site)
        self.corners = np.zeros((4, 2))
        self.done: list[object] = []
        self.odd = False
        self.quad = QUAD

    def advice(self, image: Any) -> list[str]:
        assert image is IMAGE
        return [f"{self.view.site} is dark"]

    def find(self, image: Any) -> None:
        assert image is IMAGE
        if self.odd:
            raise OddView(ViewTrouble.COVERED, "no face there")
        self.done.append("found")

    def move_to(self, corner: int, x: float, y: float) -> None:
        self.done.append((corner, x, y))

    def values(self) -> dict[str, object]:
        return {self.view.site: len(self.done)} if self.done else {}


class FakeTimer:
    """Rings on request."""

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self.seconds, self.ring = seconds, ring
        self.is_waiting = self.daemon = False

    def start(self) -> None:
        assert self.daemon, "it does not keep the guide from ending"
        self.is_waiting = True

    def cancel(self) -> None:
        self.is_waiting = False


class CameraRig(DialogRig):
    """The dialog in front of two cameras, the first of which sees two faces."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.quads = [[FakeQuad("left", "U"), FakeQuad("left", "R")], [FakeQuad("right", "D")]]
        self.timers: list[FakeTimer] = []
        self.asked: list[str] = []
        self.trouble: Exception | None = None
        monkeypatch.setattr(camera, "frames_of", lambda session: self.quads)
        monkeypatch.setattr(camera, "take_picture", self.take)
        monkeypatch.setattr(camera.threading, "Timer", self.make_timer)
        self.client = FakeCalibrationClient()
        super().__init__(self.client.session, partial(CameraDialog, step=STEPS["camera"]))

    def make_timer(self, seconds: float, ring: Callable[[], None]) -> FakeTimer:
        self.timers.append(FakeTimer(seconds, ring))
        return self.timers[-1]

    def take(self, session: object, name: str) -> tuple[bytes, Any]:
        self.asked.append(name)
        if self.trouble is not None:
            raise self.trouble
        return f"jpeg of {name}".encode(), IMAGE

    def look(self) -> list[str]:
        """Take the next picture; return the advice."""
        timer = self.timers[-1]
        assert timer.is_waiting
        timer.is_waiting = False
        timer.ring()
        return [*self.settle().contents.advice]

    @property
    def outline(self) -> Outline:
        assert self.state.contents.outline is not None
        return self.state.contents.outline


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> CameraRig:
    return CameraRig(monkeypatch)


def test_pictures_are_taken_again_and_again(rig: CameraRig) -> None:
    assert rig.outline == Outline("left", "U", QUAD, 0)
    assert [timer.seconds for timer in rig.timers] == [0]
    assert rig.look() == ["U is dark"]
    assert rig.pictures == [b"jpeg of left"]
    assert [timer.seconds for timer in rig.timers] == [0, EVERY_S]
    rig.look()
    assert rig.asked == ["left", "left"]


def test_cameras_faces_and_corners_are_shown_in_turn(rig: CameraRig) -> None:
    assert rig.actions == ["find", "corner", "camera", "face", "keep", "undo", "back"]
    rig.look()
    assert rig.press("corner").contents.outline == Outline("left", "U", QUAD, 1)
    rig.press("face")
    assert (rig.outline.face, rig.outline.chosen, rig.state.contents.advice) == ("R", 0, ())
    rig.press("face", "face")
    assert rig.look() == ["R is dark"]
    rig.press("camera")
    assert (rig.outline.camera, rig.outline.face) == ("right", "D")
    assert "face" not in rig.actions
    rig.press("face", "camera", *["corner"] * 4)
    assert rig.outline == Outline("left", "U", QUAD, 0)


def test_a_single_camera_with_one_face_has_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = CameraRig(monkeypatch)
    rig.quads = [[FakeQuad("left", "U")]]
    rig.press("undo")
    assert rig.actions == ["find", "corner", "keep", "undo", "back"]


def test_a_picture_of_the_camera_before_is_not_shown(rig: CameraRig) -> None:
    rig.press("camera")
    assert (rig.look(), rig.asked, rig.pictures) == ([], ["left"], [])
    assert rig.look() == ["D is dark"]


def test_the_face_is_found_in_the_latest_picture(rig: CameraRig) -> None:
    rig.press("find")
    quad = rig.quads[0][0]
    assert quad.done == [], "no picture yet"
    rig.look()
    quad.odd = True
    rig.press("find")
    assert rig.notice == ("no face there", "bad")
    quad.odd = False
    rig.press("find")
    assert (rig.notice, quad.done) == (("", ""), ["found"])
    rig.press("face", "find")
    assert rig.quads[0][1].done == [], "that was the other face's picture"


@pytest.mark.parametrize("corner", [0, 3])
@pytest.mark.parametrize(("x", "y"), [(0, 1), (0.25, 0.5)])
def test_a_corner_is_put_somewhere(rig: CameraRig, corner: int, x: float, y: float) -> None:
    rig.press("put", corner=corner, x=x, y=y)
    assert (rig.quads[0][0].done, rig.outline.chosen) == ([(corner, x, y)], corner)
    rig.press("put", corner=1)
    rig.press("no-such-thing", corner=1, x=0.5, y=0.5)
    assert len(rig.quads[0][0].done) == 1


def test_arrow_keys_move_the_chosen_corner_by_pixels(rig: CameraRig) -> None:
    rig.press("corner", "shift ArrowRight", "shift ArrowDown", "far ArrowDown", "shift ArrowUp")
    rig.press("far ArrowLeft", "shift nowhere")
    assert rig.quads[0][0].corners.tolist() == [[0, 0], [-7, 8], [0, 0], [0, 0]]
    keys = {action.key: action.do for action in rig.state.actions}
    assert (keys["ArrowUp"], keys["Shift+ArrowLeft"]) == ("shift ArrowUp", "far ArrowLeft")


def test_a_frame_is_kept_once_it_has_moved(rig: CameraRig) -> None:
    rig.press("keep")
    assert rig.notice == (GuideText.NOT_MOVED, "")
    rig.press("put", corner=1, x=0.5, y=0.5)
    rig.press("keep")
    assert (rig.notice, rig.client.values) == ((GuideText.KEPT, "good"), {"U": 1})
    assert len(rig.timers) == 1, "there is still one clock"


def test_a_camera_that_fails_is_asked_again(rig: CameraRig) -> None:
    rig.trouble = CubistError("no such camera")
    rig.look()
    assert (rig.notice, rig.timers[-1].seconds) == (("no such camera", "bad"), EVERY_S)
    rig.trouble = DaemonError("gone")
    rig.look()
    assert len(rig.timers) == 2, "the next task reports it"


@pytest.mark.parametrize("trouble", [None, CubistError("no such camera")])
def test_a_dialog_that_was_left_takes_no_pictures(
    rig: CameraRig, trouble: CubistError | None
) -> None:
    (timer,) = rig.timers
    rig.guide.later(lambda: rig.guide.open(CameraDialog(rig.guide, STEPS["camera"])))
    rig.settle()
    rig.guide.later(rig.guide.back)
    rig.settle()
    assert not rig.timers[1].is_waiting
    rig.trouble = trouble
    rig.timers[1].ring()  # it had begun to
    rig.settle()
    assert (rig.pictures, rig.notice, rig.timers[0]) == ([], ("", ""), timer)


def test_before_its_cameras_are_known_it_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.rig.guide.ManualExecutor.submit", lambda *_: None)
    rig = CameraRig(monkeypatch)
    rig.press("camera", "keep")
    assert (rig.state.contents.outline, rig.timers) == (None, [])


def test_the_frame_of_a_real_picture_is_found_moved_and_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timers: list[FakeTimer] = []
    monkeypatch.setattr(
        camera.threading,
        "Timer",
        lambda seconds, ring: timers.append(FakeTimer(seconds, ring)) or timers[-1],
    )
    client = FakeCalibrationClient()
    key = "cameras.top.views.U.quad"
    true = client.session.profile.cameras[0].views[0].quad
    client.values[key] = [[x + 0.05, y] for x, y in true]
    rig = DialogRig(client.session, partial(CameraDialog, step=STEPS["camera"]))
    timers[-1].ring()
    assert "pixels off the face" in rig.settle().contents.advice[0]
    rig.press("find", "keep")
    found = np.array(client.values[key])
    assert np.abs(found - true).max() < 0.01
    rig.press("corner", "shift ArrowRight", "far ArrowDown", "keep")
    moved = (np.array(client.values[key][1]) - found[1]) * (640, 480)
    assert moved == pytest.approx([1, 8], abs=0.02)
