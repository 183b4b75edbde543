"""The dialog of the camera: its live picture, advice, and the frames of the faces in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from robot.api.client import DaemonError
from robot.calibration.step import Step
from robot.calibration.steps.camera import Image, QuadEditor, frames_of, take_picture
from robot.guide.session import Dialog, GuideSession
from robot.guide.state import Action, Contents, DialogPress, Outline
from robot.guide.texts import GuideText
from solver.errors import CubistError
from vision.locate.view_check import OddView

EVERY_S = 0.4
ARROWS = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}
FAR = 8
"""Pixels by which an arrow key with Shift moves a corner; without Shift, one."""


class PictureFeed:
    """Successive pictures of a ``camera``, taken and shown while the robot's tasks run.

    ``show`` gets each in the guide's thread, ``fail`` the reason if one could not be taken. By
    default the guide shows the pictures and ignores failures.
    """

    def __init__(
        self,
        guide: GuideSession,
        camera: str,
        show: Callable[[str, bytes, Image], None] | None = None,
        fail: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.camera = camera
        self._guide, self._fail = guide, fail
        self._show = show or (lambda _, jpeg, image: guide.show_picture(jpeg, image))
        self._timer: threading.Timer | None = None
        self._is_closed = False

    def look_soon(self, seconds: float = EVERY_S) -> None:
        """Take another picture, on another thread."""
        if not self._is_closed:
            self._timer = threading.Timer(seconds, partial(self._look, self.camera))
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Take no more pictures."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _look(self, camera: str) -> None:
        try:
            jpeg, image = take_picture(self._guide.session, camera)
        except DaemonError:
            return  # the next task reports it
        except CubistError as error:
            self._guide.later(partial(self._end_look, partial(self._fail, str(error))))
        else:
            self._guide.later(partial(self._end_look, partial(self._show, camera, jpeg, image)))

    def _end_look(self, conclude: Callable[[], None]) -> None:
        if not self._is_closed:
            conclude()
            self.look_soon()


class CameraDialog(Dialog):
    """The dialog that puts the frame of each face onto the face in the picture."""

    def __init__(self, guide: GuideSession, step: Step) -> None:
        super().__init__(guide, step.title, step.guidance)
        self.name = step.heading
        self._frames: list[list[QuadEditor]] = []
        self._camera = self._face = self._corner = 0
        self._image: Image | None = None
        self._advice: list[str] = []
        self._feed = PictureFeed(guide, "", self._show_picture, partial(guide.say, mood="bad"))

    def open(self) -> None:
        """Show the first camera."""
        self.refresh()

    def refresh(self) -> None:
        """See :meth:`Dialog.refresh`."""
        self.guide.attempt("", partial(frames_of, self.guide.session), self._show_cameras)

    def close(self) -> None:
        """Take no more pictures."""
        self._feed.close()

    def _show_cameras(self, frames: list[list[QuadEditor]]) -> None:
        begins = not self._frames
        self._frames = frames
        if begins:
            self._feed.camera = self._frame.camera
            self._feed.look_soon(0)

    @property
    def _frame(self) -> QuadEditor:
        return self._frames[self._camera][self._face]

    def _show_picture(self, camera: str, jpeg: bytes, image: Image) -> None:
        if camera == self._frame.camera:
            self._image = image
            self._advice = self._frame.advice(image)
            self.guide.show_picture(jpeg, image)

    def contents(self) -> Contents:
        """Return the frame and the advice."""
        if not self._frames:
            return Contents()
        frame = self._frame
        outline = Outline(frame.camera, frame.view.site, frame.quad, self._corner)
        return Contents(outline=outline, advice=tuple(self._advice))

    def actions(self) -> Sequence[Action]:
        """Return the actions on the frame."""
        shown = [
            Action("find", GuideText.FIND, "f"),
            Action("corner", GuideText.OTHER_CORNER, "Tab", short="Corner"),
        ]
        for key in ARROWS:
            label = GuideText.MOVE if key == "ArrowUp" else ""
            shown.append(Action(f"shift {key}", label, key, by_key=True))
            shown.append(Action(f"far {key}", "", f"Shift+{key}", by_key=True))
        if len(self._frames) > 1:
            shown.append(Action("camera", GuideText.OTHER_CAMERA, "c", short="Camera"))
        if self._frames and len(self._frames[self._camera]) > 1:
            shown.append(Action("face", GuideText.OTHER_FACE, "v", short="Face"))
        return [*shown, Action("keep", GuideText.KEEP, "Enter")]

    def act(self, press: DialogPress) -> None:
        """Find the face, move a corner, keep the frame, or show another face."""
        kind, _, key = press.do.partition(" ")
        if not self._frames:
            return
        if press.do == "camera":
            self._choose(self._camera + 1, 0)
        elif press.do == "face":
            self._choose(self._camera, self._face + 1)
        elif press.do == "corner":
            self._corner = (self._corner + 1) % 4
        elif press.do == "find":
            self._find()
        elif press.do == "put":
            self._put(press)
        elif kind in {"shift", "far"} and key in ARROWS:
            right, down = ARROWS[key]
            pixels = FAR if kind == "far" else 1
            self._frame.corners[self._corner] += (pixels * right, pixels * down)
        elif press.do == "keep":
            self._keep()

    def _choose(self, camera: int, face: int) -> None:
        self._camera = camera % len(self._frames)
        self._face = face % len(self._frames[self._camera])
        self._corner = 0
        self._feed.camera = self._frame.camera
        self._image, self._advice = None, []

    def _find(self) -> None:
        if self._image is None:
            return
        try:
            self._frame.find(self._image)
        except OddView as odd:
            self.guide.say(str(odd), "bad")
        else:
            self.guide.say("")

    def _put(self, press: DialogPress) -> None:
        """Put a corner at a place of the picture."""
        if press.corner is not None and press.x is not None and press.y is not None:
            self._corner = press.corner
            self._frame.move_to(press.corner, press.x, press.y)

    def _keep(self) -> None:
        values = self._frame.values()
        if values:
            keep = partial(self.guide.session.keep, values)
            self.guide.attempt("", keep, self._confirm_kept)
        else:
            self.guide.say(GuideText.NOT_MOVED)

    def _confirm_kept(self, _: bool) -> None:
        self.refresh()
        self.guide.say(GuideText.KEPT, "good")
