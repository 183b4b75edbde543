"""cameras of the profile, and each look as colours of a cube's face."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.faults import MotionFault
from robot.machine.interfaces import FaceImage, InvalidRequest, NotReadable, ViewPoint
from robot.planner import FaceView
from robot.settings.profile import RobotProfile, View
from solver.cube.orientation import site_facelets
from vision.calibrate.places import references_from_json, references_to_json
from vision.cameras.base import CameraFault
from vision.cameras.photographs import decode_photo
from vision.decide.reader import CubeReading, Unreadable
from vision.explain.drawing import png
from vision.explain.explain import PHOTO_ROOM, explain
from vision.frame import Camera, Frame
from vision.locate.face import FaceGrid, NoFace, locate_face
from vision.locate.six_faces import CubeLooks
from vision.locate.view_check import OddView, face_in_view
from vision.measure.colour_space import ColourReferences
from vision.measure.hdr import measure
from vision.measure.sticker_colours import FACES, FaceColours, StickerColours

KEY = "colours"
"""Where a profile, and so a calibration, keeps them."""


def stored_colours(profile: RobotProfile) -> ColourReferences | None:
    """What the profile says of its cube's colours; None when it says nothing."""
    if profile.colours is None:
        return None
    return references_from_json(profile.colours.model_dump_json())


def as_values(references: ColourReferences) -> dict[str, Any]:
    """The colours as calibrated values."""
    return {KEY: json.loads(references_to_json(references))}


def odd_view(look: FaceImage, size: int) -> OddView | None:
    """What a look shows instead of one face of a cube of ``size`` layers; None: such a face.

    A face of which the robot itself hides a part may be one, for all that can be told.
    """
    if not look.whole:
        return None
    try:
        face_in_view(decoded(look.picture), size, look.grid)
    except OddView as odd:
        return odd
    return None


def usual_oddity(looks: Sequence[FaceImage], size: int) -> OddView | None:
    """What is odd about most of the looks in which anything is."""
    found = [odd for look in looks if (odd := odd_view(look, size)) is not None]
    if not found:
        return None
    (trouble, _), *_ = Counter(odd.trouble for odd in found).most_common(1)
    return next(odd for odd in found if odd.trouble == trouble)


def explanation(
    looks: Sequence[FaceImage], colours: StickerColours, outcome: CubeReading | Unreadable
) -> bytes:
    """A PNG of a reading or refusal; with the pictures, the last of each face, if all are there."""
    last = {look.face: look for look in looks}
    seen = _seen(last.values(), colours) if set(last) == set(FACES) else None
    return png(explain(colours, outcome, seen))


def _seen(looks: Collection[FaceImage], colours: StickerColours) -> CubeLooks:
    small = {look.face: _as_drawn(look) for look in looks}
    frames = {face: frame for face, (frame, _) in small.items()}
    return CubeLooks(frames, {face: grid for face, (_, grid) in small.items()}, colours)


def _as_drawn(look: FaceImage) -> tuple[Frame, FaceGrid]:
    """A picture and its grid no larger than they are drawn: six whole ones would take 40 MB."""
    image, grid = decode_photo(look.picture, f"look at {look.face}"), look.grid
    height, width = image.shape[:2]
    scale = min(1.0, PHOTO_ROOM[0] / width, PHOTO_ROOM[1] / height)
    if scale < 1:
        size = (round(width * scale), round(height * scale))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
        corners = grid.corners * (size[0] / width, size[1] / height)
        grid = FaceGrid.of_corners(corners, grid.size, grid.fit)
    return Frame(image, look.camera, look.colours.time_us), grid


SITES = "URFDLB"
JPEG_QUALITY = 92
GLANCE_SIZE = (80, 60)


class Scanner:
    """:class:`robot.machine.interfaces.Scanner` of a profile; ``cameras`` by their names there."""

    def __init__(self, profile: RobotProfile, cameras: Mapping[str, Camera]) -> None:
        self._cameras = dict(cameras)
        self._size = profile.cube.size
        self._views: dict[tuple[str, str], View] = {
            (camera.name, view.site): view for camera in profile.cameras for view in camera.views
        }

    def settle(self) -> None:
        """See :meth:`robot.machine.interfaces.Scanner.settle`."""
        for camera in self._cameras.values():
            with _explained():
                camera.settle()

    def look(self, view: ViewPoint) -> FaceImage:
        """See :meth:`robot.machine.interfaces.Scanner.look`."""
        planned: FaceView = view.step
        camera = self._cameras[planned.camera]
        with _explained():
            frame = camera.capture()
            grid = self._grid(camera, frame, self._views[planned.camera, planned.site])
            seen = measure(camera, frame, grid.quads, fit=grid.fit)
        colours = as_cube_face(seen, planned, self._size)
        return FaceImage(
            face=planned.face,
            camera=planned.camera,
            picture=encoded(frame),
            colours=colours,
            grid=turned(grid, planned),
            whole=not planned.hidden,
        )

    def glance(self) -> tuple[int, NDArray[np.float32]]:
        """See :meth:`robot.machine.interfaces.Scanner.glance`."""
        with _explained():
            frame = next(iter(self._cameras.values())).capture()
        return frame.time_us, small_and_grey(frame.image)

    def picture(self, camera: str | None) -> bytes:
        """See :meth:`robot.machine.interfaces.Scanner.picture`."""
        name = camera if camera is not None else next(iter(self._cameras), "")
        if name not in self._cameras:
            known = ", ".join(self._cameras) or "none"
            raise InvalidRequest(f"camera: there is no {name!r}; there is {known}")
        with _explained():
            return encoded(self._cameras[name].capture())

    def close(self) -> None:
        """See :meth:`robot.machine.interfaces.Scanner.close`."""
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


def as_cube_face(seen: FaceColours, look: FaceView, size: int) -> FaceColours:
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


def turned(grid: FaceGrid, look: FaceView) -> FaceGrid:
    """The grid of a site as the face that is there is drawn."""
    n = grid.size
    clockwise = [0, n - 1, n * n - 1, n * (n - 1)]
    first = clockwise.index(int(_order(look, n)[0]))
    return FaceGrid.of_corners(np.roll(grid.corners, -first, axis=0), n, grid.fit)


def _order(look: FaceView, size: int) -> NDArray[np.intp]:
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
