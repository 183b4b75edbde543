"""The daemon's eyes: cameras of the profile, and each look as colours of a cube's face."""

from __future__ import annotations

from collections.abc import Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.daemon.ports import BadOrder, Look, MotionFault, NotReadable, ViewPoint
from robot.planner import Look as PlannedLook
from robot.settings.profile import RobotProfile, View
from solver.orientation import site_facelets
from vision.camera import CameraFault
from vision.frame import Camera, Frame
from vision.hdr import measure
from vision.locate import FaceGrid, NoFace, locate_face
from vision.sticker_colours import FaceColours

SITES = "URFDLB"
JPEG_QUALITY = 92
GLANCE_SIZE = (80, 60)


class Sight:
    """:class:`robot.daemon.ports.Eyes` of a profile; ``cameras`` by their names there."""

    def __init__(self, profile: RobotProfile, cameras: Mapping[str, Camera]) -> None:
        self._cameras = dict(cameras)
        self._size = profile.cube.size
        self._views: dict[tuple[str, str], View] = {
            (camera.name, view.site): view for camera in profile.cameras for view in camera.views
        }

    def settle(self) -> None:
        """See :meth:`robot.daemon.ports.Eyes.settle`."""
        for camera in self._cameras.values():
            with _explained():
                camera.settle()

    def look(self, view: ViewPoint) -> Look:
        """See :meth:`robot.daemon.ports.Eyes.look`."""
        planned: PlannedLook = view.step
        camera = self._cameras[planned.camera]
        with _explained():
            frame = camera.capture()
            grid = self._grid(camera, frame, self._views[planned.camera, planned.site])
            seen = measure(camera, frame, grid.quads, fit=grid.fit)
        colours = as_cube_face(seen, planned, self._size)
        return Look(
            face=planned.face,
            camera=planned.camera,
            picture=encoded(frame),
            colours=colours,
            grid=turned(grid, planned),
            whole=not planned.hidden,
        )

    def glance(self) -> tuple[int, NDArray[np.float32]]:
        """See :meth:`robot.daemon.ports.Eyes.glance`."""
        with _explained():
            frame = next(iter(self._cameras.values())).capture()
        return frame.time_us, small_and_grey(frame.image)

    def picture(self, camera: str | None) -> bytes:
        """See :meth:`robot.daemon.ports.Eyes.picture`."""
        name = camera if camera is not None else next(iter(self._cameras), "")
        if name not in self._cameras:
            known = ", ".join(self._cameras) or "none"
            raise BadOrder(f"camera: there is no {name!r}; there is {known}")
        with _explained():
            return encoded(self._cameras[name].capture())

    def close(self) -> None:
        """See :meth:`robot.daemon.ports.Eyes.close`."""
        for camera in self._cameras.values():
            camera.close()

    def _grid(self, camera: Camera, frame: Frame, view: View) -> FaceGrid:
        """The site's stickers as the site is drawn: at the calibrated places, or, when the camera
        says that those do not hold for its frames, where a face is found."""
        if getattr(camera, "calibrated", True):
            height, width = frame.image.shape[:2]
            return FaceGrid.of_corners(np.array(view.quad) * (width, height), self._size)
        try:
            return locate_face(frame.image, sizes=(self._size,))
        except NoFace as error:
            raise NotReadable(f"camera {camera.name}: {error}") from error


def as_cube_face(seen: FaceColours, look: PlannedLook, size: int) -> FaceColours:
    """From the site's drawing to the drawing of the face that is there, turned as it is held."""
    hidden = np.isin(np.arange(1, size * size + 1), sorted(look.hidden))
    order = _order(look, size)
    positions = None if seen.positions is None else seen.positions[order]
    return FaceColours(
        seen.linear_rgb[order],
        seen.spread[order],
        seen.saturated[order],
        (seen.valid & ~hidden)[order],
        seen.camera,
        seen.time_us,
        seen.fit,
        positions,
    )


def turned(grid: FaceGrid, look: PlannedLook) -> FaceGrid:
    """The grid of a site as the face that is there is drawn."""
    n = grid.size
    clockwise = [0, n - 1, n * n - 1, n * (n - 1)]
    first = clockwise.index(int(_order(look, n)[0]))
    return FaceGrid.of_corners(np.roll(grid.corners, -first, axis=0), n, grid.fit)


def _order(look: PlannedLook, size: int) -> NDArray[np.intp]:
    """For each sticker of the cube's face its number in the site's drawing."""
    count = size * size
    site = SITES.index(look.site)
    place = site_facelets(look.orientation, size)[site * count : (site + 1) * count] % count
    return np.argsort(place)


def small_and_grey(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """uint8[H, W, 3] RGB as a picture to compare with others: float32[60, 80], 0..255."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return cv2.resize(grey, GLANCE_SIZE, interpolation=cv2.INTER_AREA).astype(np.float32)


def encoded(frame: Frame) -> bytes:
    """The frame as JPEG, for the record."""
    bgr = cv2.cvtColor(frame.image, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return data.tobytes()


def decoded(picture: bytes) -> NDArray[np.uint8]:
    """What :func:`encoded` made a JPEG of: uint8[H, W, 3], RGB."""
    bgr = cv2.imdecode(np.frombuffer(picture, dtype=np.uint8), cv2.IMREAD_COLOR)
    if bgr is None:
        raise ValueError("no JPEG")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), dtype=np.uint8)


class _explained:  # noqa: N801  # used like a function: `with _explained():`
    """A camera's failure becomes a named fault of the robot."""

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Translate."""
        if isinstance(error, CameraFault):
            raise MotionFault(error.trouble, str(error)) from error
