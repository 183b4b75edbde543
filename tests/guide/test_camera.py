"""The dialog of the camera, with a robot whose camera sees given pictures."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robot.api.client import DaemonError, RequestError
from robot.calibration.step import STEPS
from robot.guide import camera
from robot.guide.camera import EVERY_S
from robot.guide.dialogs import step_dialog
from robot.guide.texts import GuideText
from robot.machine.scanner import as_jpeg
from tests.rig.guide import DialogRig, FakeCalibrationClient
from vision.frame import Frame

PICTURE = "/maintenance/picture"
QUAD = "cameras.top.views.U.quad"
NOTHING = base64.b64encode(as_jpeg(Frame(np.zeros((480, 640, 3), np.uint8), "top", 0))).decode()


class FakeTimer:
    """A timer that rings on request."""

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self.seconds, self.ring = seconds, ring
        self.is_waiting = self.daemon = False

    def start(self) -> None:
        assert self.daemon, "it does not keep the guide from ending"
        self.is_waiting = True

    def cancel(self) -> None:
        self.is_waiting = False


class CameraRig(DialogRig):
    """The dialog of the camera, and the timers that take its pictures."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, client: FakeCalibrationClient) -> None:
        self.timers: list[FakeTimer] = []
        monkeypatch.setattr(camera.threading, "Timer", self.make_timer)
        self.client = client
        super().__init__(client.session, step_dialog(STEPS["camera"]))

    def make_timer(self, seconds: float, ring: Callable[[], None]) -> FakeTimer:
        self.timers.append(FakeTimer(seconds, ring))
        return self.timers[-1]

    def look(self) -> list[str]:
        """Take the next picture; return the advice."""
        timer = self.timers[-1]
        assert timer.is_waiting
        timer.is_waiting = False
        timer.ring()
        return [*self.settle().contents.advice]

    @property
    def outline(self) -> Any:
        return self.state.contents.outline

    @property
    def shown(self) -> tuple[str, str, int]:
        return self.outline.camera, self.outline.face, self.outline.chosen


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> CameraRig:
    """Return a rig with a cubotino's camera; the calibrated face is slightly off the real one."""
    client = FakeCalibrationClient()
    quad = client.session.profile.cameras[0].views[0].quad
    client.values[QUAD] = [[x + 0.05, y] for x, y in quad]
    return CameraRig(monkeypatch, client)


def test_pictures_are_taken_again_and_again(rig):
    assert [timer.seconds for timer in rig.timers] == [0]
    assert "pixels off the face" in rig.look()[0]
    assert [timer.seconds for timer in rig.timers] == [0, EVERY_S]
    rig.client.failures[PICTURE] = RequestError(400, "bad-request", "no such camera")
    rig.look()
    assert (rig.notice, rig.timers[-1].seconds) == (("no such camera", "bad"), EVERY_S)
    assert len(rig.pictures) == 1
    rig.client.failures[PICTURE] = DaemonError("gone")
    rig.look()
    assert len(rig.timers) == 3, "the next task reports it"


def test_cameras_faces_and_corners_are_shown_in_turn(monkeypatch):
    rig = CameraRig(monkeypatch, FakeCalibrationClient("six-motor"))
    rig.client.trials[PICTURE] = {"jpeg": NOTHING}
    first, second = (one.name for one in rig.client.session.profile.cameras)
    assert rig.actions == ["find", "corner", "camera", "face", "keep", "undo", "back"]
    assert rig.shown == (first, "U", 0)
    assert rig.look() != []
    rig.press("corner")
    assert rig.shown == (first, "U", 1)
    rig.press("face")
    assert (rig.shown, rig.state.contents.advice) == ((first, "R", 0), ())
    rig.press("face", "face", "camera")
    assert rig.shown == (second, "D", 0)
    assert (rig.look(), rig.pictures[1:]) == ([], []), "a picture of the camera before"
    assert rig.look() != []
    rig.press("camera", *["corner"] * 4)
    assert rig.shown == (first, "U", 0)


def test_the_frame_is_found_in_the_latest_picture_moved_and_kept(rig):
    assert rig.actions == ["find", "corner", "keep", "undo", "back"]
    before = rig.outline.corners
    rig.press("find", "keep")
    assert rig.notice == (GuideText.NOT_MOVED, ""), "no picture yet"
    rig.client.trials[PICTURE] = {"jpeg": NOTHING}
    rig.look()
    rig.press("find")
    assert (rig.notice[1], rig.outline.corners) == ("bad", before)
    del rig.client.trials[PICTURE]
    rig.look()
    rig.press("find", "keep")
    assert rig.notice == (GuideText.KEPT, "good")
    found = np.array(rig.client.values[QUAD])
    true = rig.client.session.profile.cameras[0].views[0].quad
    assert np.abs(found - true).max() < 0.01
    rig.press("corner", "shift ArrowRight", "far ArrowDown", "shift ArrowUp", "shift nowhere")
    rig.press("keep")
    moved = (np.array(rig.client.values[QUAD][1]) - found[1]) * (640, 480)
    assert moved == pytest.approx([1, 7], abs=0.02)
    assert len([timer for timer in rig.timers if timer.is_waiting]) == 1, "there is one clock"
    keys = {action.key: action.do for action in rig.state.actions}
    assert (keys["ArrowUp"], keys["Shift+ArrowLeft"]) == ("shift ArrowUp", "far ArrowLeft")


@pytest.mark.parametrize("corner", [0, 3])
@pytest.mark.parametrize(("x", "y"), [(0, 1), (0.25, 0.5)])
def test_a_corner_is_put_somewhere(rig, corner, x, y):
    rig.press("put", corner=corner, x=x, y=y)
    put = rig.outline
    assert (put.corners[corner], put.chosen) == ([x, y], corner)
    rig.press("put", corner=1)
    rig.press("no-such-thing", corner=1, x=0.5, y=0.5)
    assert rig.outline == put


def test_before_its_cameras_are_known_it_does_nothing(monkeypatch):
    monkeypatch.setattr("tests.rig.guide.ManualExecutor.submit", lambda *_: None)
    rig = CameraRig(monkeypatch, FakeCalibrationClient())
    rig.press("camera", "keep")
    assert (rig.state.contents.outline, rig.timers) == (None, [])
