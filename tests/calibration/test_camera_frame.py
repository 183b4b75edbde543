"""The frame drawn into a camera's picture, and which of its corners is chosen."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.step import STEPS, Row
from robot.calibration.steps import camera
from robot.calibration.steps.camera import CameraAdvice, QuadEditor
from robot.machine.scanner import as_jpeg
from robot.settings import load_profile
from robot.twin.cube import scrambled
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio
from solver.errors import InvalidRequest
from vision.frame import Frame
from vision.locate.face import FaceGrid
from vision.locate.view_check import OddView, ViewTrouble


def top_frame() -> QuadEditor:
    profile = load_profile("cubotino")
    return QuadEditor(profile.cameras[0], profile.cameras[0].views[0], 3)


IMAGE = np.zeros((8, 8, 3), np.uint8)


class Seen:
    """What is in view: a face with these corners, or something odd."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, corners: Any) -> None:
        self.corners, self.odd = corners, False
        self.advice: list[Any] = []
        monkeypatch.setattr(camera, "face_in_view", self.face)
        monkeypatch.setattr(camera, "advise", lambda *_, **__: self.advice)

    def face(self, image: Any, size: int, grid: Any = None) -> Any:
        assert image is IMAGE and size == 3
        if self.odd:
            raise OddView(ViewTrouble.COVERED, "a hand")
        return SimpleNamespace(corners=self.corners)


def test_advice_is_about_what_is_in_view_then_the_frame_then_light_and_focus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = top_frame()
    seen = Seen(monkeypatch, frame.corners.copy())
    assert frame.advice(IMAGE) == ["all is well: one face, in focus, evenly lit"]
    seen.advice = [SimpleNamespace(matter="light", text="more of it")]
    assert frame.advice(IMAGE) == ["light: more of it"]
    pitch = FaceGrid.from_corners(frame.corners, 3).pitch
    for part, told in ((0.24, False), (0.26, True)):
        seen.corners = np.add(frame.corners, (part * pitch, 0.0))
        lines = frame.advice(IMAGE)
        assert (len(lines) == 2) is told
        assert lines[-1] == "light: more of it"
    assert lines[0] == f"framing: the frame is up to {0.26 * pitch:.0f} pixels off the face"
    seen.odd = True
    (line,) = frame.advice(IMAGE)
    assert line.startswith("in view: a hand")


@pytest.mark.parametrize("name", ["cubotino", "four-arm", "six-motor", "five-motor"])
def test_a_robot_as_drawn_needs_no_advice(name: str) -> None:
    """A camera at the cube's corner sees three faces at an angle, and jaws hold a cube's edges."""
    profile = load_profile(name)
    studio = Studio(SimulatedRobot(profile, scrambled(3, 1)))
    for settings in profile.cameras:
        image = studio.shoot(settings.name).image
        for view in settings.views:
            assert QuadEditor(settings, view, 3).advice(image) == [camera.ALL_IS_WELL]


class Cameras:
    """A session with a profile's cameras, whose pictures are jpegs of one colour."""

    def __init__(self, name: str) -> None:
        self.profile = self.calibrated = load_profile(name)
        self.asked: list[Any] = []

    def perform(self, trial: Any, **asked: Any) -> Any:
        self.asked.append((trial.name, asked))
        jpeg = as_jpeg(Frame(np.full((480, 640, 3), 90, np.uint8), "top", 0))
        return SimpleNamespace(jpeg=base64.b64encode(jpeg).decode())


def test_a_camera_s_view_is_taken_once_with_advice_for_each_face() -> None:
    session: Any = Cameras("six-motor")
    camera = session.profile.cameras[1]
    view = CameraAdvice(session, camera.name)
    rows = [row for row in view.measure() if isinstance(row, Row)]
    assert [row.cells[0] for row in rows] == [f"face {one.site}:" for one in camera.views]
    assert view.document["views"].keys() == {one.site for one in camera.views}
    assert session.asked == [("picture", {"camera": camera.name})]
    assert view.draw().shape == (480, 640, 3)
    list(view.measure())
    assert len(session.asked) == 1, "one picture"
    assert not view.keeps


def test_a_face_that_no_camera_sees_has_no_place() -> None:
    session: Any = Cameras("cubotino")
    with pytest.raises(InvalidRequest, match="place R: camera top sees U"):
        list(CameraAdvice(session, "top", "R").measure())


def test_without_anybody_each_camera_is_looked_at_after_homing() -> None:
    session: Any = Cameras("six-motor")
    found = STEPS["camera"].unattended_measurements(session, {})
    assert len(list(found)) == len(session.profile.cameras)
    assert [name for name, _ in session.asked] == ["home"] * len(session.profile.cameras)
