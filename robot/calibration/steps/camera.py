"""The step "camera": a camera's picture, advice to improve it, and the faces' places in it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robot.calibration.step import (
    STEPS,
    Bench,
    Measurement,
    Result,
    Row,
    Script,
    Session,
    Step,
    Trial,
)
from robot.calibration.steps.home import HOMING
from robot.machine.scanner import from_jpeg
from robot.records.documents import ApiDocument, ApiRequest
from robot.settings.profile import CameraSettings, View
from solver.errors import InvalidRequest
from solver.files import JsonObject
from vision.decide.causes import require_face
from vision.frame import Frame
from vision.locate.advice import advise
from vision.locate.face import FaceGrid
from vision.locate.view_check import OddView

Image = NDArray[np.uint8]
Corners = NDArray[np.float64]

OFF_PITCHES = 0.25
"""Distance of a corner from the detected face, in stickers, above which the advice says that the
frame is off. The middles of stickers are measured, and jaws beside a face shift its apparent
corners."""

ALL_IS_WELL = "all is well: one face, in focus, evenly lit"

FRAME, CHOSEN = (255, 255, 0), (255, 0, 255)


class CameraRequest(ApiRequest):
    """The name of a camera (default: the first)."""

    camera: str | None = Field(default=None, max_length=64)


class CameraJpeg(ApiDocument):
    """A camera's picture: JPEG in base64."""

    jpeg: str


def _picture(bench: Bench, asked: CameraRequest) -> CameraJpeg:
    taken = bench.machine.scanner.picture(asked.camera)
    return CameraJpeg(jpeg=base64.b64encode(taken).decode())


PICTURE = Trial(
    "picture", "What a camera sees", CameraRequest, CameraJpeg, _picture, "GET", renews=False
)


def nearest_turn(corners: Corners, wanted: Corners) -> Corners:
    """Return corners beginning with the one that puts them nearest to ``wanted``."""
    turns = (np.roll(corners, shift, axis=0) for shift in range(4))
    return min(turns, key=lambda turned: float(np.abs(turned - wanted).sum()))


class QuadEditor:
    """The frame of a face in a camera's picture: four corners that should lie on its edges.

    ``corners``: float64[4, 2] in pixels.
    """

    def __init__(self, camera: CameraSettings, view: View, size: int) -> None:
        self.camera, self.view, self._size = camera.name, view, size
        self._resolution = camera.resolution
        self._is_alone = len(camera.views) == 1
        self.corners: Corners = np.asarray(np.array(view.quad) * camera.resolution)

    def advice(self, image: Image) -> list[str]:
        """Return advice on the view, framing, light and focus, or one line if all is well.

        ``image``: uint8[H, W, 3], RGB.
        """
        grid = FaceGrid.from_corners(self.corners, self._size)
        try:
            require_face(image, self._size, grid)
        except OddView as odd:
            return [f"in view: {odd}"]
        found = advise(Frame(image, "", 0), grid, squarely=self._is_alone)
        lines = [f"{one.matter}: {one.text}" for one in found]
        off = self._distance(image) if self._is_alone else None  # else it may be another face's
        if off is not None and off > OFF_PITCHES * grid.pitch:
            lines.insert(0, f"framing: the frame is up to {off:.0f} pixels off the face")
        return lines or [ALL_IS_WELL]

    def find(self, image: Image) -> None:
        """Put the corners on the face in a picture, numbered as they are.

        Raises :class:`vision.locate.view_check.OddView`.
        """
        self.corners = self._locate(image)

    def move_to(self, corner: int, x: float, y: float) -> None:
        """Put one of the corners, 0 to 3, at a place in the picture, as fractions of its size."""
        self.corners[corner] = np.array((x, y)) * self._resolution

    def _locate(self, image: Image) -> Corners:
        found = np.asarray(require_face(image, self._size).corners, dtype=np.float64)
        return nearest_turn(found, self.corners)

    def _distance(self, image: Image) -> float | None:
        """Return the largest distance of a corner from the face, in pixels; None without a face."""
        try:
            found = self._locate(image)
        except OddView:
            return None
        return float(np.linalg.norm(found - self.corners, axis=1).max())

    def draw(self, image: Image) -> Image:
        """Return the picture with the frame in it, see :func:`draw_quad`."""
        return draw_quad(image, self.corners / self._resolution)

    @property
    def key(self) -> str:
        """The key of the frame in the calibration."""
        return f"cameras.{self.camera}.views.{self.view.site}.quad"

    @property
    def quad(self) -> list[list[float]]:
        """Return the corners as calibrated: fractions of the picture's width and height."""
        parts = np.clip(self.corners / self._resolution, 0, 1)
        return [[round(float(x), 5), round(float(y), 5)] for x, y in parts]

    def values(self) -> JsonObject:
        """Return the corners as calibrated values; empty if they are already in force."""
        is_there = np.allclose(self.quad, self.view.quad, atol=1e-5)
        return {} if is_there else {self.key: self.quad}


def draw_quad(
    image: Image, quad: Sequence[Sequence[float]] | Corners, chosen: int | None = None
) -> Image:
    """Return a copy of a picture with a frame in it, the ``chosen`` corner marked.

    ``quad``: four corners as fractions of the picture's width and height.
    """
    picture = image.copy()
    height, width = image.shape[:2]
    thickness = max(2, width // 160)
    corners = np.round(np.array(quad) * (width, height)).astype(np.int32)
    cv2.polylines(picture, [corners], True, FRAME, thickness)
    if chosen is not None:
        x, y = corners[chosen].tolist()
        cv2.circle(picture, (x, y), 3 * thickness, CHOSEN, -1)
    return picture


def frames_of(session: Session) -> list[list[QuadEditor]]:
    """Return the calibrated frames of all faces that each camera sees."""
    profile = session.calibrated
    size = profile.cube.size
    return [[QuadEditor(camera, view, size) for view in camera.views] for camera in profile.cameras]


def take_picture(session: Session, camera: str | None) -> tuple[bytes, Image]:
    """Take a picture. Return the JPEG, and uint8[H, W, 3], RGB."""
    jpeg = base64.b64decode(session.perform(PICTURE, camera=camera).jpeg)
    return jpeg, from_jpeg(jpeg)


class CameraAdvice(Measurement):
    """The check of a camera, with advice; ``place``: the site of a face to find instead."""

    name = "camera"
    columns = ("", "")

    def __init__(
        self, session: Session, camera: str | None = None, place: str | None = None
    ) -> None:
        super().__init__(session)
        self._camera, self._place = camera, place
        self.keeps = place is not None
        self.jpeg = b""
        self.image: Image | None = None

    def take(self) -> Image:
        """Take the picture; return uint8[H, W, 3], RGB."""
        self.jpeg, self.image = take_picture(self.session, self._camera)
        return self.image

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        image = self.take() if self.image is None else self.image
        frames = self._frames()
        if self._place is not None:
            self._find(frames, image, self._place)
            return
        advice = {frame.view.site: frame.advice(image) for frame in frames}
        self.result = Result(
            document={"camera": frames[0].camera, "views": advice},
            is_found=all(lines == [ALL_IS_WELL] for lines in advice.values()),
        )
        for site, lines in advice.items():
            for line in lines:
                yield Row((f"face {site}:", line))

    def draw(self) -> Image:
        """Return the picture with the frames of all faces."""
        picture = self.take() if self.image is None else self.image
        for frame in self._frames():
            picture = frame.draw(picture)
        return picture

    def _frames(self) -> list[QuadEditor]:
        return next(
            frames
            for frames in frames_of(self.session)
            if self._camera in {None, *(frame.camera for frame in frames)}
        )

    def _find(self, frames: list[QuadEditor], image: Image, site: str) -> None:
        by_site = {frame.view.site: frame for frame in frames}
        if site not in by_site:
            sees = f"camera {frames[0].camera} sees {', '.join(by_site)}"
            raise InvalidRequest(f"place {site}: {sees}")
        frame = by_site[site]
        before = [list(corner) for corner in frame.view.quad]
        frame.find(image)
        self.result = Result(
            values={frame.key: frame.quad},
            document={"key": frame.key, "before": before, "after": frame.quad},
            text=f"{frame.key}: {frame.quad}",
        )


def _check_cameras(session: Session, _: Mapping[str, int]) -> Iterator[CameraAdvice]:
    for camera in session.profile.cameras:
        session.perform(HOMING)  # moves the actuators out of the picture
        yield CameraAdvice(session, camera.name)


STEPS["camera"] = Step(
    name="camera",
    title="Camera: picture, focus, light, where the faces are",
    guidance=(
        "The frame must lie on the edges of the cube's face. Find puts it there automatically. "
        "Move a corner with the arrow keys, farther with Shift. Keep saves the frame."
    ),
    trials=[PICTURE],
    unattended=_check_cameras,
    keeps=lambda key, _: key.startswith("cameras."),
    minutes=lambda *_: 1.0,
    is_done=lambda profile, found: all(
        f"cameras.{camera.name}.views.{view.site}.quad" in found.values
        for camera in profile.cameras
        for view in camera.views
    ),
)
