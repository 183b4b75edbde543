"""The camera's picture, live in the terminal, with advice and the places of the faces in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from robot.cli.guide.picture import Picture
from robot.cli.guide.screens import StepScreen
from robot.cli.terminal_picture import Image
from robot.cli.view_advice import found_quad, view_advice, with_quads
from robot.settings.profile import CameraSettings, View
from solver.errors import CubistError
from vision.locate.view_check import OddView

EVERY_S = 0.5

Corners = NDArray[np.float64]


class CameraScreen(StepScreen):
    """Picture, advice, and quadrilaterals whose corners can be moved."""

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

    name_of_step = "camera"
    help_text = (
        "The frame has to lie on the edges of the cube's face. f finds the face by itself; Tab "
        "chooses a corner, the arrow keys move it (with Shift far), Enter keeps the frame."
    )

    def __init__(self) -> None:
        super().__init__()
        self._cameras: tuple[CameraSettings, ...] = ()
        self._camera = self._view = self._corner = 0
        self._corners: Corners = np.zeros((4, 2))
        self._image: Image | None = None
        self._looking = False

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        yield Picture(id="picture")
        yield Static("", id="advice")

    def on_mount(self) -> None:
        """Show the first camera."""
        super().on_mount()
        self.kept()

    def kept(self) -> None:
        """See :meth:`StepScreen.kept`."""
        self.attempt("", lambda: self.session.calibrated.cameras, self._show_cameras)

    def _show_cameras(self, cameras: tuple[CameraSettings, ...]) -> None:
        self._cameras = cameras
        self._choose(self._camera, self._view)
        self._refresh()

    @property
    def _settings(self) -> CameraSettings:
        return self._cameras[self._camera]

    @property
    def _shown_view(self) -> View:
        return self._settings.views[self._view]

    def _choose(self, camera: int, view: int) -> None:
        self._camera = camera % len(self._cameras)
        self._view = view % len(self._settings.views)
        self._corners = np.array(self._shown_view.quad) * self._settings.resolution
        self._corner = 0

    def _refresh(self) -> None:
        """Look again, beside whatever else is done, unless the last look is not there yet."""
        if self._cameras and not self._looking:
            self._looking = True
            self.run_worker(partial(self._look, self._settings.name), thread=True)

    def _look(self, camera: str) -> None:
        try:
            image = self.session.picture(camera)
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
        drawn = with_quads(image, self._corners, self._corner)
        self.query_one(Picture).show(drawn)
        lines = [f"camera {self._settings.name}, face {self._shown_view.site}"]
        lines += view_advice(image, self._corners, self.session.profile.cube.size)
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
        self._corners[self._corner] += (right, down)
        if self._image is not None:
            self._show(self._image)

    def action_find(self) -> None:
        """Put the frame on the face in the picture."""
        if self._image is None:
            return
        try:
            size = self.session.profile.cube.size
            self._corners = found_quad(self._image, self._corners, size)
        except OddView as odd:
            self.say(str(odd), "bad")
        else:
            self._show(self._image)

    def action_keep(self) -> None:
        """Keep where the corners are."""
        parts = np.clip(self._corners / self._settings.resolution, 0, 1)
        if np.allclose(parts, self._shown_view.quad, atol=1e-5):
            self.say("the frame is where it was", "good")
            return
        quad: list[Any] = [[round(float(x), 5), round(float(y), 5)] for x, y in parts]
        key = f"cameras.{self._settings.name}.views.{self._shown_view.site}.quad"
        self.attempt("keeping", partial(self.session.keep, {key: quad}), self._saved)

    def _saved(self, _: None) -> None:
        self.say("kept", "good")
        self.kept()
