"""The page of the camera: its picture, live, with advice and the places of the faces in it."""

from __future__ import annotations

import base64
import threading
from collections.abc import Sequence
from functools import partial
from typing import Final

from robot.api.client import DaemonError
from robot.calibration.steps.camera import Image, QuadEditor, frames_of, take_picture
from robot.web.guide.desk import KEPT, Desk, GuideButton, GuidePage
from solver.errors import CubistError
from solver.files import JsonMapping, JsonObject
from vision.locate.view_check import OddView

EVERY_S = 0.4
NOT_MOVED: Final = "the frame is where it was"


class CameraPage(GuidePage):
    """Picture, advice, and a frame whose corners can be moved."""

    def __init__(self, desk: Desk, heading: str, guidance: str) -> None:
        super().__init__(desk, heading, guidance)
        self._frames: list[list[QuadEditor]] = []
        self._camera = self._view = 0
        self._image: Image | None = None
        self._advice: list[str] = []
        self._timer: threading.Timer | None = None
        self._is_left = False

    def opened(self) -> None:
        """Show the first camera."""
        self.kept()

    def kept(self) -> None:
        """See :meth:`GuidePage.kept`."""
        self.desk.attempt("", partial(frames_of, self.desk.session), self._show_cameras)

    def left(self) -> None:
        """See :meth:`GuidePage.left`."""
        self._is_left = True
        if self._timer is not None:
            self._timer.cancel()

    def _show_cameras(self, frames: list[list[QuadEditor]]) -> None:
        begins = not self._frames
        self._frames = frames
        if begins:
            self._look_soon(0)

    @property
    def _frame(self) -> QuadEditor:
        return self._frames[self._camera][self._view]

    def _look_soon(self, seconds: float = EVERY_S) -> None:
        """Look again, beside whatever else is done."""
        if not self._is_left:
            self._timer = threading.Timer(seconds, partial(self._look, self._frame.camera))
            self._timer.daemon = True
            self._timer.start()

    def _look(self, camera: str) -> None:
        """In a thread of its own."""
        try:
            jpeg, image = take_picture(self.desk.session, camera)
        except DaemonError:
            return  # whatever is asked next says so
        except CubistError as error:
            self.desk.later(partial(self._not_seen, str(error)))
        else:
            self.desk.later(partial(self._looked, camera, jpeg, image))

    def _not_seen(self, trouble: str) -> None:
        if not self._is_left:
            self.desk.say(trouble, "bad")
            self._look_soon()

    def _looked(self, camera: str, jpeg: bytes, image: Image) -> None:
        if self._is_left:
            return
        if camera == self._frame.camera:
            self._image = image
            self._advice = self._frame.advice(image)
            self.desk.tell({"picture": base64.b64encode(jpeg).decode()})
        self._look_soon()

    def contents(self) -> JsonObject:
        """The frame, in parts of the picture's width and height, and the advice."""
        if not self._frames:
            return {}
        frame = self._frame
        shown = {"camera": frame.camera, "face": frame.view.site, "corners": frame.quad}
        return {"frame": shown, "advice": self._advice}

    def buttons(self) -> Sequence[GuideButton]:
        """What can be done with the frame."""
        more = [GuideButton("camera", "Other camera")] if len(self._frames) > 1 else []
        if self._frames and len(self._frames[self._camera]) > 1:
            more.append(GuideButton("view", "Other face"))
        return [GuideButton("find", "Find"), *more, GuideButton("keep", "Keep")]

    def press(self, do: str, message: JsonMapping) -> None:
        """Find the face, move a corner, keep the frame, or show another."""
        if not self._frames:
            return
        if do == "camera":
            self._choose(self._camera + 1, 0)
        elif do == "view":
            self._choose(self._camera, self._view + 1)
        elif do == "find":
            self._find()
        elif do == "corner":
            self._move(message)
        elif do == "keep":
            self._keep()

    def _choose(self, camera: int, view: int) -> None:
        self._camera = camera % len(self._frames)
        self._view = view % len(self._frames[self._camera])
        self._image, self._advice = None, []

    def _find(self) -> None:
        if self._image is None:
            return
        try:
            self._frame.find(self._image)
        except OddView as odd:
            self.desk.say(str(odd), "bad")
        else:
            self.desk.say("")

    def _move(self, message: JsonMapping) -> None:
        """A corner, 0 to 3, to a place in parts of the picture."""
        corner = message.get("corner")
        place = [message.get(name) for name in ("x", "y")]
        parts = [part for part in place if isinstance(part, int | float) and 0 <= part <= 1]
        if isinstance(corner, int) and 0 <= corner < 4 and len(parts) == 2:
            self._frame.move_to(corner, *parts)

    def _keep(self) -> None:
        values = self._frame.values()
        if values:
            self.desk.attempt("", partial(self.desk.session.keep, values), self._saved)
        else:
            self.desk.say(NOT_MOVED)

    def _saved(self, _: bool) -> None:
        self.kept()
        self.desk.say(KEPT, "good")
