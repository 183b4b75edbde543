"""The guide's page of the camera, with cameras that see what they are told to."""

from __future__ import annotations

import base64
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.api.client import DaemonError
from robot.web.guide import camera
from robot.web.guide.camera import EVERY_S, NOT_MOVED, CameraPage
from robot.web.guide.desk import KEPT
from solver.errors import CubistError
from tests.web.test_guide_pages import QuickDesk
from vision.locate.view_check import OddView, ViewTrouble

IMAGE = np.zeros((4, 6, 3), np.uint8)


class Frame:
    """One face's frame in a picture."""

    def __init__(self, name: str, site: str) -> None:
        self.camera, self.view = name, SimpleNamespace(site=site)
        self.done: list[object] = []
        self.odd = False

    @property
    def quad(self) -> list[object]:
        return [self.view.site, len(self.done)]

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
        return {self.view.site: self.quad} if self.done else {}


class Timer:
    """Rings when it is told to."""

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self.seconds, self.ring = seconds, ring
        self.is_waiting = self.daemon = False

    def start(self) -> None:
        assert self.daemon, "it does not keep the guide from ending"
        self.is_waiting = True

    def cancel(self) -> None:
        self.is_waiting = False


class CameraDesk(QuickDesk):
    """A desk before two cameras, the first of which sees two faces."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.frames = [[Frame("left", "U"), Frame("left", "R")], [Frame("right", "D")]]
        self.timers: list[Timer] = []
        self.pictures: list[Any] = []
        self.asked: list[str] = []
        self.trouble: Exception | None = None
        monkeypatch.setattr(camera, "frames_of", lambda session: self.frames)
        monkeypatch.setattr(camera, "take_picture", self.take)
        monkeypatch.setattr(camera.threading, "Timer", self.timer)
        self.open(CameraPage(self, "Camera", "look"))

    def _tell(self, document: dict[str, Any]) -> None:
        if "picture" in document:
            self.pictures.append(document["picture"])
        else:
            super()._tell(document)

    def timer(self, seconds: float, ring: Callable[[], None]) -> Timer:
        self.timers.append(Timer(seconds, ring))
        return self.timers[-1]

    def take(self, session: object, name: str) -> tuple[bytes, Any]:
        assert session is self.session
        self.asked.append(name)
        if self.trouble is not None:
            raise self.trouble
        return f"jpeg of {name}".encode(), IMAGE

    def later(self, event: Callable[[], None]) -> None:
        event()

    def rings(self) -> dict[str, Any]:
        """The camera looks again."""
        timer = self.timers[-1]
        assert timer.is_waiting
        timer.is_waiting = False
        timer.ring()
        return self.shown()

    def press(self, do: str, **more: object) -> dict[str, Any]:
        self.page.press(do, more)
        return self.shown()


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> CameraDesk:
    return CameraDesk(monkeypatch)


def test_it_looks_again_and_again_with_advice_and_the_faces_place(desk: CameraDesk) -> None:
    shown = desk.shown()
    assert shown["frame"] == {"camera": "left", "face": "U", "corners": ["U", 0]}
    assert shown["advice"] == []
    assert [timer.seconds for timer in desk.timers] == [0]
    assert desk.rings()["advice"] == ["U is dark"]
    assert desk.pictures == [base64.b64encode(b"jpeg of left").decode()]
    assert [timer.seconds for timer in desk.timers] == [0, EVERY_S]
    desk.rings()
    assert desk.asked == ["left", "left"]


def test_cameras_and_faces_are_gone_through_in_turn(desk: CameraDesk) -> None:
    all_four = ["find", "camera", "view", "keep"]
    labels = ["Find", "Other camera", "Other face", "Keep"]
    buttons = desk.shown()["buttons"][:-2]
    assert [(one["do"], one["label"], one["moves"]) for one in buttons] == [
        (do, label, False) for do, label in zip(all_four, labels, strict=True)
    ]
    desk.rings()
    shown = desk.press("view")
    assert (shown["frame"]["face"], shown["advice"]) == ("R", [])
    assert desk.press("view")["frame"]["face"] == "U"
    desk.press("view")
    assert desk.rings()["advice"] == ["R is dark"]
    shown = desk.press("camera")
    assert shown["frame"] == {"camera": "right", "face": "D", "corners": ["D", 0]}
    assert [one["do"] for one in shown["buttons"][:-2]] == ["find", "camera", "keep"]
    assert desk.press("view")["frame"]["face"] == "D"
    assert desk.press("camera")["frame"]["face"] == "U", "its first face"


def test_one_camera_with_one_face_has_no_other(desk: CameraDesk) -> None:
    desk.frames = [[Frame("left", "U")]]
    desk.page.kept()
    assert [one["do"] for one in desk.shown()["buttons"][:-2]] == ["find", "keep"]


def test_a_picture_of_the_camera_before_is_not_shown(desk: CameraDesk) -> None:
    desk.press("camera")
    shown = desk.rings()
    assert (desk.asked, desk.pictures, shown["advice"]) == (["left"], [], [])
    assert desk.rings()["advice"] == ["D is dark"]
    assert desk.asked == ["left", "right"]


def test_the_face_is_found_in_the_picture_seen(desk: CameraDesk) -> None:
    desk.press("find")
    frame = desk.frames[0][0]
    assert frame.done == [], "no picture yet"
    desk.rings()
    frame.odd = True
    shown = desk.press("find")
    assert (shown["message"], shown["mood"]) == ("no face there", "bad")
    frame.odd = False
    assert desk.press("find")["message"] == ""
    assert frame.done == ["found"]
    desk.press("view")
    desk.press("find")
    assert desk.frames[0][1].done == [], "that was the other face's picture"


@pytest.mark.parametrize("corner", [0, 3])
@pytest.mark.parametrize(("x", "y"), [(0, 1), (0.25, 0.5)])
def test_a_corner_is_moved(desk: CameraDesk, corner: int, x: float, y: float) -> None:
    desk.press("corner", corner=corner, x=x, y=y)
    assert desk.frames[0][0].done == [(corner, x, y)]


@pytest.mark.parametrize(
    "odd",
    [
        {"corner": -1},
        {"corner": 4},
        {"corner": "1"},
        {"corner": None},
        {"x": -0.1},
        {"x": 1.1},
        {"y": "0"},
        {"y": None},
    ],
)
def test_a_corner_is_not_moved_to_nowhere(desk: CameraDesk, odd: dict[str, object]) -> None:
    desk.press("corner", **({"corner": 1, "x": 0.5, "y": 0.5} | odd))
    desk.press("no-such-thing", corner=1, x=0.5, y=0.5)
    assert desk.frames[0][0].done == []


def test_a_frame_that_was_moved_is_kept(desk: CameraDesk) -> None:
    shown = desk.press("keep")
    assert (shown["message"], shown["mood"], desk.session.kept) == (NOT_MOVED, "", [])
    desk.press("corner", corner=1, x=0.5, y=0.5)
    shown = desk.press("keep")
    assert (shown["message"], shown["mood"]) == (KEPT, "good")
    assert desk.session.kept == [{"U": ["U", 1]}]
    assert len(desk.timers) == 1, "one clock goes on"


def test_a_camera_that_cannot_is_said_and_asked_again(desk: CameraDesk) -> None:
    desk.trouble = CubistError("no such camera")
    shown = desk.rings()
    assert (shown["message"], shown["mood"]) == ("no such camera", "bad")
    assert desk.timers[-1].seconds == EVERY_S
    desk.trouble = DaemonError("gone")
    desk.say("")
    assert desk.rings()["message"] == ""
    assert len(desk.timers) == 2, "whatever is asked next says so"


@pytest.mark.parametrize("trouble", [None, CubistError("no such camera")])
def test_a_page_that_was_left_looks_no_more(desk: CameraDesk, trouble: CubistError | None) -> None:
    (timer,) = desk.timers
    desk.back()
    assert not timer.is_waiting
    desk.trouble = trouble
    timer.ring()  # it had begun to
    assert (desk.pictures, desk.shown()["message"], desk.timers) == ([], "", [timer])


def test_before_its_cameras_are_known_it_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuickDesk, "attempt", lambda *_: None)
    desk = CameraDesk(monkeypatch)
    shown = desk.press("camera")
    assert "frame" not in shown
    assert [one["do"] for one in shown["buttons"][:-2]] == ["find", "keep"]
    assert desk.timers == []
