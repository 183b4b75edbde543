"""The camera's picture, live in the terminal, with advice and the places of the faces in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from robot.calibration.steps.camera import Image, QuadEditor, frames_of, take_picture
from robot.cli.guide.screens import StepScreen
from robot.text.terminal import picture_cells
from solver.errors import CubistError
from vision.locate.view_check import OddView

EVERY_S = 0.5


class CameraScreen(StepScreen):
    """Picture, advice, and frames whose corners can be moved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "keep", "Keep"),
        Binding("f", "find", "Find"),
        Binding("tab", "corner", "Corner", priority=True),
        Binding("up", "shift(0,-1)", "Move", key_display="←→"),
        Binding("down", "shift(0,1)", show=False),
        Binding("left", "shift(-1,0)", show=False),
        Binding("right", "shift(1,0)", show=False),
        Binding("c", "camera", "Camera"),
        Binding("v", "view", "Face"),
        Binding("shift+up", "shift(0,-8)", show=False),
        Binding("shift+down", "shift(0,8)", show=False),
        Binding("shift+left", "shift(-8,0)", show=False),
        Binding("shift+right", "shift(8,0)", show=False),
    ]

    def __init__(self, heading: str, guidance: str) -> None:
        super().__init__(heading, guidance)
        self._frames: list[list[QuadEditor]] = []
        self._camera = self._view = self._corner = 0
        self._image: Image | None = None
        self._looking = False

    def contents(self) -> Iterator[Widget]:
        """The picture and the advice."""
        yield ImageWidget(id="picture")
        yield Static("", id="advice")

    def on_mount(self) -> None:
        """Show the first camera."""
        super().on_mount()
        self.kept()

    def kept(self) -> None:
        """See :meth:`StepScreen.kept`."""
        self.attempt("", partial(frames_of, self.session), self._show_cameras)

    def _show_cameras(self, frames: list[list[QuadEditor]]) -> None:
        self._frames = frames
        self._choose(self._camera, self._view)
        self._refresh()

    @property
    def _frame(self) -> QuadEditor:
        return self._frames[self._camera][self._view]

    def _choose(self, camera: int, view: int) -> None:
        self._camera = camera % len(self._frames)
        self._view = view % len(self._frames[self._camera])
        self._corner = 0

    def _refresh(self) -> None:
        """Look again, beside whatever else is done, unless the last look is not there yet."""
        if self._frames and not self._looking:
            self._looking = True
            self.run_worker(partial(self._look, self._frame.camera), thread=True)

    def _look(self, camera: str) -> None:
        try:
            _, image = take_picture(self.session, camera)
        except CubistError as error:
            self.app.call_from_thread(self._looked, None, str(error))
        else:
            self.app.call_from_thread(self._looked, image, "")

    def _looked(self, image: Image | None, trouble: str) -> None:
        self._looking = False
        if not self.is_attached:
            return
        self.set_timer(EVERY_S, self._refresh)
        if image is None:
            self.say(trouble, "bad")
        else:
            self._show(image)

    def _show(self, image: Image) -> None:
        self._image = image
        self.query_one(ImageWidget).show(self._frame.drawn(image, self._corner))
        lines = [f"camera {self._frame.camera}, face {self._frame.view.site}"]
        lines += self._frame.advice(image)
        self.query_one("#advice", Static).update("\n".join(lines))

    def action_camera(self) -> None:
        """Show the next camera."""
        self._choose(self._camera + 1, 0)

    def action_view(self) -> None:
        """Show the next face that this camera sees."""
        self._choose(self._camera, self._view + 1)

    def action_corner(self) -> None:
        """Move the next corner."""
        self._corner = (self._corner + 1) % 4

    def action_shift(self, right: int, down: int) -> None:
        """Move the corner by pixels."""
        if self._image is not None:
            self._frame.corners[self._corner] += (right, down)
            self._show(self._image)

    def action_find(self) -> None:
        """Put the frame on the face in the picture."""
        if self._image is None:
            return
        try:
            self._frame.find(self._image)
        except OddView as odd:
            self.say(str(odd), "bad")
        else:
            self._show(self._image)

    def action_keep(self) -> None:
        """Keep where the corners are."""
        values = self._frame.values() if self._frames else {}
        if values:
            self.attempt("keeping", partial(self.session.keep, values), self._saved)
        else:
            self.say("the frame is where it was", "good")

    def _saved(self, _: bool) -> None:
        self.say("kept", "good")
        self.kept()


class ImageWidget(Widget):
    """Shows an image as large as there is room, in its proportions."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id)
        self._image: Image | None = None
        self._lines: list[Strip] = []
        self._drawn_for = (0, 0)

    def show(self, image: Image) -> None:
        """Show uint8[H, W, 3], RGB."""
        self._image = image
        self._drawn_for = (0, 0)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """See Textual: one line of characters."""
        size = (self.size.width, self.size.height)
        if self._drawn_for != size:
            self._drawn_for, self._lines = size, self._strips(*size)
        return self._lines[y] if y < len(self._lines) else Strip.blank(size[0])

    def _strips(self, columns: int, rows: int) -> list[Strip]:
        if self._image is None or not columns or not rows:
            return []
        lines = picture_cells(self._image, columns, rows)
        return [Strip([Segment(*cell) for cell in line]) for line in lines]
