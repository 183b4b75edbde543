"""Scanning with the robot's cameras: pictures, measured colours, the reading and its drawing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.machine.stillness import still_frame
from robot.planner import FaceView
from robot.records.latency import Stopwatch
from robot.settings.base import microseconds
from robot.settings.profile import RobotProfile, View
from robot.text.faults import FAULTS, RobotError, ScanError
from robot.text.messages import Note
from solver.cube.orientation import site_facelets
from solver.errors import InvalidRequest
from solver.files import parse_object
from vision.cameras.base import CameraError
from vision.decide.causes import explain_reading, explain_views, find_flaw
from vision.decide.consistency import repeated_face
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.explain import explain, png
from vision.frame import Camera, Frame
from vision.locate.face import FaceGrid, NoFace, SearchResult, locate_face, shrink_to_cells
from vision.locate.six_faces import CubeScan
from vision.locate.view_check import OddView, face_in_view
from vision.measure.colour_space import (
    USUAL,
    ColourReferences,
    references_from_json,
    references_to_json,
)
from vision.measure.sticker_colours import FACES, FaceColours, StickerColours, merge_faces
from vision.measure.stickers import measure, measure_face

T = TypeVar("T")

COLOURS_KEY = "colours"
"""Key of the colours in a profile, and so in a calibration."""

SITES = "URFDLB"
JPEG_QUALITY = 92
PREVIEW_QUALITY = 80
PREVIEW_WIDTH = 640
GLANCE_SIZE = (80, 60)
PREPARED_PIXELS = 120


@dataclass(frozen=True, eq=False)
class FaceImage:
    """A picture of one cube face, and what was measured in it.

    ``grid`` and ``colours`` follow the cube's drawing, however the cube is held. ``colours`` has
    the learned light evened out. ``raw``: the colours as the camera saw them, if different.
    ``whole``: the robot itself hides no sticker of the face. ``view``: the planned view.
    """

    face: str
    frame: Frame
    colours: FaceColours
    grid: FaceGrid
    whole: bool = True
    view: FaceView | None = None
    raw: FaceColours | None = None

    @property
    def corners(self) -> list[tuple[float, float]]:
        """The corners of the face in fractions of the picture, from its top left clockwise."""
        height, width = self.frame.image.shape[:2]
        found: list[list[float]] = (self.grid.corners / (width, height)).round(4).tolist()
        return [(x, y) for x, y in found]

    def reduce(self) -> FaceImage:
        """Return a copy whose frame is only as large as a check of its cells needs.

        The copy is kept until the cube is read: six frames of 1920x1080 would take 37 MB. The check
        of the view works at that size anyway, and the drawing of the reading needs less.
        """
        image, factor = shrink_to_cells(self.frame.image, self.grid)
        if factor == 1.0:
            return self
        frame = replace(self.frame, image=image)
        return replace(self, frame=frame, grid=self.grid.scale(1.0 / factor))


class Scanner:
    """Takes pictures with a profile's cameras, by their names there, and reads the cube.

    All methods block. A camera's failure raises :class:`RobotError`.
    """

    def __init__(
        self,
        profile: RobotProfile,
        cameras: Mapping[str, Camera],
        stopwatch: Stopwatch | None = None,
    ) -> None:
        self._cameras = dict(cameras)
        self._stopwatch = stopwatch or Stopwatch()
        self._size = profile.cube.size
        self._check_view = profile.policy.check_view
        self.use_colours(profile)
        self._views: dict[tuple[str, str], View] = {
            (camera.name, view.site): view for camera in profile.cameras for view in camera.views
        }
        self._settle_us = {
            camera.name: microseconds(camera.settle_ms) for camera in profile.cameras
        }
        self._explanation: Callable[[], bytes] = bytes
        # A viewer may use a camera at the moment when a job begins to take pictures.
        self._in_use = {name: threading.Lock() for name in self._cameras}
        self._remembered: dict[str, Frame] | None = None

    def use_colours(self, profile: RobotProfile) -> None:
        """Read with the colours and the light of a calibrated profile from now on."""
        self._references = stored_colours(profile)
        self._light = stored_light(profile)

    def prepare(self) -> None:
        """Read a made-up solved cube, so that all is loaded and computed before the first scan."""
        square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * PREPARED_PIXELS
        quads = FaceGrid.from_corners(square, self._size).quads
        seen = {}
        for face, light in zip(FACES, USUAL, strict=True):
            shade = np.round(255 * light ** (1 / 2.2)).astype(np.uint8)
            image = np.tile(shade, (PREPARED_PIXELS, PREPARED_PIXELS, 1))
            seen[face] = measure_face(Frame(image, "", 0), quads)
        with suppress(Unreadable):
            read_cube(StickerColours.from_faces(seen), self._references)

    def settle(self) -> list[Note]:
        """Adapt to the light, then lock exposure and colours until the next call.

        Return notes about what cameras could not find or lock.
        """
        _call_for_all(self._settle, list(self._cameras))
        return [
            Note.of(str(what), camera=name)
            for name, camera in self._cameras.items()
            for what in sorted(getattr(camera, "unsettled", ()))
        ]

    def take(self, looks: Sequence[FaceView], *, moved: bool = False) -> list[FaceImage]:
        """Take and measure the pictures of these views, with all cameras at once.

        ``moved``: the robot has just moved, so wait for a still view, for at most the profile's
        ``settle_ms``.
        """
        cameras = list(dict.fromkeys(view.camera for view in looks))
        taken = _call_for_all(
            lambda camera: self._take_frame(
                [view for view in looks if view.camera == camera], moved=moved
            ),
            cameras,
        )
        by_look = {view: image for images in taken for view, image in images.items()}
        return [by_look[view] for view in looks]

    def _settle(self, camera: str) -> None:
        with self._in_use[camera], _naming_faults():
            self._cameras[camera].settle()

    def _take_frame(self, looks: Sequence[FaceView], *, moved: bool) -> dict[FaceView, FaceImage]:
        camera = looks[0].camera
        limit_us = self._settle_us[camera]
        with self._stopwatch.timing("capture"):
            if moved and limit_us and getattr(self._cameras[camera], "live", True):
                views = [self._views[camera, view.site] for view in looks]
                frame = still_frame(lambda: self._capture(camera), views, limit_us)
            else:
                frame = self._capture(camera)
        return {view: self._measure(frame, view) for view in looks}

    def _measure(self, frame: Frame, view: FaceView) -> FaceImage:
        camera = self._cameras[view.camera]
        with self._in_use[view.camera], _naming_faults():
            with self._stopwatch.timing("locate"):
                grid = self._grid(camera, frame, self._views[view.camera, view.site])
            with self._stopwatch.timing("measure"):
                seen = measure(camera, frame, grid.quads, fit=grid.fit)
        light = self._light.get((view.camera, view.site))
        colours, raw = as_cube_face(seen, view, self._size), None
        if light is not None and getattr(camera, "calibrated", True):
            raw, colours = colours, as_cube_face(seen.even_out(light), view, self._size)
        return FaceImage(
            face=view.face,
            frame=frame,
            colours=colours,
            grid=turn_grid(grid, view),
            whole=not view.hidden,
            view=view,
            raw=raw,
        )

    def glance(self) -> tuple[int, NDArray[np.float32]]:
        """Take a small grey picture with the first camera: us of its clock, float32[H, W]."""
        frame = self._capture(next(iter(self._cameras)))
        return frame.time_us, small_and_grey(frame.image)

    def picture(self, camera: str | None) -> bytes:
        """Take a picture with a camera (default: the first). Return it as JPEG."""
        return as_jpeg(self.frame(camera))

    def frame(self, camera: str | None) -> Frame:
        """Take a picture with a camera (default: the first)."""
        return self._capture(self.camera_named(camera))

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Let :meth:`preview` return pictures taken for other uses, so that it delays none of them.

        Until there is one, it takes its own.
        """
        self._remembered = {}
        try:
            yield
        finally:
            self._remembered = None

    def preview(self, camera: str) -> bytes:
        """Return a camera's current picture as JPEG, no larger than a viewer needs."""
        frame = (self._remembered or {}).get(camera) or self._capture_frame(camera)
        height, width = frame.image.shape[:2]
        factor = PREVIEW_WIDTH / width
        if factor < 1.0:
            size = (PREVIEW_WIDTH, round(height * factor))
            small = cv2.resize(frame.image, size, interpolation=cv2.INTER_AREA)
            frame = replace(frame, image=small.astype(np.uint8, copy=False))
        return as_jpeg(frame, PREVIEW_QUALITY)

    def camera_named(self, camera: str | None) -> str:
        """Return the name of a camera (default: the first). Raise ``InvalidRequest`` if unknown."""
        name = camera if camera is not None else next(iter(self._cameras), "")
        if name not in self._cameras:
            known = ", ".join(self._cameras) or "none"
            raise InvalidRequest(f"camera: {name!r} does not exist; the robot has {known}")
        return name

    def _capture(self, camera: str) -> Frame:
        frame = self._capture_frame(camera)
        if (remembered := self._remembered) is not None:
            remembered[camera] = frame
        return frame

    def _capture_frame(self, camera: str) -> Frame:
        with self._in_use[camera], _naming_faults():
            return self._cameras[camera].capture()

    def check_view(self, taken: Sequence[FaceImage], before: Sequence[FaceImage] = ()) -> None:
        """Raise :class:`ScanError` if a picture shows anything but a face of such a cube.

        ``taken``: images taken at the same time. ``before``: good images of the same cube.
        """
        for image in taken if self._check_view else ():
            same = [other for other in taken if other.frame is image.frame and other is not image]
            odd = odd_view(image, self._size, [other.grid for other in same])
            if odd is None:
                continue
            searches = searches_of([*before, image], self._size)
            found = explain_views(searches, {image.face: odd})
            if found is not None:
                raise scan_error(found, image.face) from odd

    def read(self, images: Sequence[FaceImage]) -> CubeReading:
        """Read the cube from all images, which may include several of a face.

        Raise :class:`ScanError`, or :class:`RobotError` if the cube has slipped.
        """
        faces: dict[str, list[FaceColours]] = {}
        for image in images:
            faces.setdefault(image.face, []).append(image.colours)
        colours = StickerColours.from_faces({f: merge_faces(seen) for f, seen in faces.items()})
        try:
            with self._stopwatch.timing("decide"):
                reading = read_cube(colours, self._references)
            self._explanation = partial(explanation, tuple(images), colours, reading)
        except Unreadable as error:
            self._explanation = partial(explanation, tuple(images), colours, error)
            raise self._refusal(error, images, colours) from error
        if not reading.confident:
            found = explain_reading(reading, searches_of(images, self._size))
            if found is not None:
                reading = replace(reading, reason=found.cause, flaw=found)
        if reading.corrections and not reading.confident:
            corrected = "; ".join(reading.corrections)
            reason = f"the faces do not fit together; perhaps {corrected}"
            raise ScanError(reason, reading.look_again or "")
        if reading.corrections:
            # The robot knows how it holds the cube: a face that is seen turned has slipped.
            raise _slip_fault("; ".join(reading.corrections))
        return reading

    def take_explanation(self) -> Callable[[], bytes]:
        """Return a function that draws the result of the last :meth:`read` as PNG.

        Call it once: the caller owns the pictures from then on.
        """
        drawing, self._explanation = self._explanation, bytes
        return drawing

    def close(self) -> None:
        """Release the cameras. Idempotent."""
        for name, camera in self._cameras.items():
            with self._in_use[name]:
                camera.close()

    def _refusal(
        self, error: Unreadable, images: Sequence[FaceImage], colours: StickerColours
    ) -> ScanError | RobotError:
        """Return the error for unreadable pictures: what is in view instead, if that is clear."""
        again = error.look_again or ""
        found = shown_instead(images, self._size) or explain_reading(
            error, searches_of(images, self._size)
        )
        if found is not None:
            return scan_error(found, again)
        alike = repeated_face(colours)
        if alike is not None and error.look_again in alike:
            return _slip_fault(error.reason)
        remedy = error.assembled.remedy if error.assembled is not None else ""
        return ScanError(error.reason, again, remedy=remedy)

    def _grid(self, camera: Camera, frame: Frame, view: View) -> FaceGrid:
        """Return the site's stickers in the site's drawing.

        They are at their calibrated positions or, if the camera says that its frames do not follow
        these, where a face is found.
        """
        if getattr(camera, "calibrated", True):
            height, width = frame.image.shape[:2]
            return FaceGrid.from_corners(np.array(view.quad) * (width, height), self._size)
        try:
            return locate_face(frame.image, sizes=(self._size,))
        except NoFace as error:
            flaw = find_flaw(frame.image, self._size)
            code = {} if flaw is None else {"code": str(flaw.trouble)}
            raise ScanError(f"camera {camera.name}: {flaw or error}", **code) from error


def _call_for_all(act: Callable[[str], T], cameras: Sequence[str]) -> list[T]:
    """Call ``act`` for all cameras at the same time and return the results."""
    if len(cameras) < 2:
        return [act(camera) for camera in cameras]
    with ThreadPoolExecutor(len(cameras), "camera") as pool:
        return list(pool.map(act, cameras))


def _slip_fault(what: str) -> RobotError:
    code = "cube-slipped"
    return RobotError(code, f"{FAULTS[code].about}: {what}")


def stored_colours(profile: RobotProfile) -> ColourReferences | None:
    """Return the cube's colours from the profile; None without any."""
    if profile.colours is None:
        return None
    return references_from_json(profile.colours.model_dump_json())


def stored_light(profile: RobotProfile) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the learned log light by camera and site, float64[N*N, 3] in the site's drawing."""
    known = {} if profile.colours is None else profile.colours.light
    every = {
        (camera, site): np.array(light)
        for camera, sites in known.items()
        for site, light in sites.items()
    }
    area = profile.cube.size**2
    return {place: light for place, light in every.items() if len(light) == area}


def as_values(references: ColourReferences) -> dict[str, object]:
    """Return the colours as calibrated values."""
    return {COLOURS_KEY: parse_object(references_to_json(references), "colours")}


def odd_view(image: FaceImage, size: int, beside: Sequence[FaceGrid] = ()) -> OddView | None:
    """Return what a picture shows instead of one face of such a cube; None if it shows one.

    ``beside``: other faces of the same cube in the picture. A face that the robot itself hides in
    part counts as one.
    """
    if not image.whole:
        return None
    try:
        face_in_view(image.frame.image, size, image.grid, beside)
    except OddView as odd:
        return odd
    return None


def searches_of(images: Sequence[FaceImage], size: int) -> dict[str, SearchResult]:
    """Return the pictures to compare: the last one of each face that is seen whole."""
    return {
        image.face: SearchResult(image.frame.image, size, image.grid)
        for image in images
        if image.whole
    }


def shown_instead(images: Sequence[FaceImage], size: int) -> OddView | None:
    """Return what the pictures, taken together, show instead of a cube's faces."""
    views = [(image.face, odd) for image in images if (odd := odd_view(image, size)) is not None]
    return explain_views(searches_of(images, size), dict(views)) if views else None


def scan_error(found: OddView, look_again: Sequence[str]) -> ScanError:
    """Return the error for what is in view instead of a cube that can be read."""
    return ScanError(found.cause, found.faces or look_again, found.trouble)


def explanation(
    images: Sequence[FaceImage], colours: StickerColours, outcome: CubeReading | Unreadable
) -> bytes:
    """Return a PNG of a reading or refusal, with the last picture of each face if all are there."""
    last = {image.face: image for image in images}
    if set(last) != set(FACES):
        return png(explain(colours, outcome, None))
    frames = {face: image.frame for face, image in last.items()}
    grids = {face: image.grid for face, image in last.items()}
    return png(explain(colours, outcome, CubeScan(frames, grids, colours)))


def as_cube_face(seen: FaceColours, view: FaceView, size: int) -> FaceColours:
    """Convert colours from the site's drawing to that of the face that is held there."""
    hidden = np.isin(np.arange(1, size * size + 1), sorted(view.hidden))
    order = site_stickers(view, size)
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


def turn_grid(grid: FaceGrid, view: FaceView) -> FaceGrid:
    """Return a site's grid in the drawing of the face that is held there."""
    n = grid.size
    clockwise = [0, n - 1, n * n - 1, n * (n - 1)]
    first = clockwise.index(int(site_stickers(view, n)[0]))
    return FaceGrid.from_corners(np.roll(grid.corners, -first, axis=0), n, grid.fit)


def site_stickers(view: FaceView, size: int) -> NDArray[np.intp]:
    """Return for each sticker of the cube's face its number in the site's drawing."""
    count = size * size
    site = SITES.index(view.site)
    place = site_facelets(view.orientation, size)[site * count : (site + 1) * count] % count
    return np.argsort(place)


def small_and_grey(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Convert uint8[H, W, 3] RGB to a picture for comparison: float32[60, 80], 0..255."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return cv2.resize(grey, GLANCE_SIZE, interpolation=cv2.INTER_AREA).astype(np.float32)


def as_jpeg(frame: Frame, quality: int = JPEG_QUALITY) -> bytes:
    """Return the frame as JPEG, to be written to disk or sent."""
    bgr = cv2.cvtColor(frame.image, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return data.tobytes()


def from_jpeg(jpeg: bytes) -> NDArray[np.uint8]:
    """Return a JPEG's picture, uint8[H, W, 3], RGB. Raise ValueError if it is not a JPEG."""
    bgr = cv2.imdecode(np.frombuffer(jpeg, dtype=np.uint8), cv2.IMREAD_COLOR) if jpeg else None
    if bgr is None:
        raise ValueError("the daemon sent no JPEG")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), dtype=np.uint8)


@contextmanager
def _naming_faults() -> Iterator[None]:
    """Raise a camera's failure as a named fault of the robot."""
    try:
        yield
    except CameraError as error:
        raise RobotError(error.trouble, str(error)) from error
