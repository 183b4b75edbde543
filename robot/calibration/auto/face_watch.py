"""Measures angles of the face that a camera sees, in degrees instead of pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.calibration.step import Session
from robot.calibration.steps.camera import Corners, Image, nearest_turn, take_picture
from robot.settings import RobotProfile
from robot.settings.profile import CameraSettings, View
from robot.text.faults import CalibrationError
from vision.decide.causes import find_flaw
from vision.frame import Frame
from vision.locate.advice import advise
from vision.locate.face import FaceGrid, confirm_grid
from vision.locate.view_check import OddView, face_in_view
from vision.measure.stickers import measure_face

Floats = NDArray[np.float64]

UNIT_SQUARE = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=np.float64)
MOST_LOOKS = 12
"""Maximum number of pictures to take while waiting for two equal ones in a row."""
SAME_DEGREES = 0.15
MOST_TREMBLING = 3.0
"""Maximum range of angles of a face that trembles, in degrees. Beyond it the face is moving."""
SAME_PLACE = 0.004
"""Maximum difference of corners at rest, in half widths: a quarter of a degree of tilt."""
LIFTED = 0.06
"""Deviation of the corners from a rotated square, in half widths, above which the face is not flat
on the table."""
BORDER = 0.01
"""Minimum distance from the picture's border, as a fraction of its width."""
OTHER_FACE = 0.12
"""Mean difference of the stickers' chromaticities above which it is another face."""
OTHER_STICKER = 0.15
"""Chromaticity difference above which a sticker is a different one. One sticker may differ because
of a reflection."""


@dataclass(frozen=True, eq=False)
class FacePose:
    """The angle of a flat face, and its appearance.

    ``degrees``: angle by which the robot's table would have turned it. ``colours``: chromaticities
    of its stickers, float64[n * n, 3], row by row from the first of its ``corners``.
    """

    degrees: float
    colours: Floats
    corners: Corners


class RotationGauge:
    """One camera that looks at one face from above.

    Angles count from ``zero`` degrees beyond the first face that it sees, whose quadrilateral
    defines the plane of measurement. They are angles of the part that turns the cube, clockwise as
    seen from below, so they fall as the face turns clockwise in the picture.
    """

    def __init__(self, session: Session, camera: CameraSettings, view: View) -> None:
        self._session = session
        self.profile = session.profile
        self._camera = camera.name
        self._size = self.profile.cube.size
        self._resolution = camera.resolution
        self._usual = np.asarray(np.array(view.quad) * camera.resolution)
        self._plane: Floats | None = None
        self._level_grid: FaceGrid | None = None
        self.zero = 0.0
        self.advice: list[str] = []
        self._first: tuple[Image | None, FaceGrid | None] = None, None
        self._lost: Image | None = None

    def look(self, near: float = 0.0) -> FacePose | None:
        """Wait until the picture is still, and return the face; None if something covers it.

        A face looks the same after a quarter turn, so the angle returned is the one nearest to
        ``near``.
        """
        before = self._glance(near)
        seen = [] if before is None else [before]
        for _ in range(MOST_LOOKS):
            after = self._glance(near)
            if _is_same(before, after):
                return after
            before = after
            seen += [] if after is None else [after]
        return self._steady(seen)

    def _steady(self, seen: list[FacePose]) -> FacePose | None:
        """Return the median of pictures of a face that trembles: servos hunt, cameras shake. None
        if most do not show the face, or if it moves."""
        angles = [one.degrees for one in seen]
        if len(seen) <= MOST_LOOKS / 2 or max(angles) - min(angles) > MOST_TREMBLING:
            return None
        return replace(seen[-1], degrees=float(np.median(angles)))

    def lost_face_error(self, text: str) -> CalibrationError:
        """Return the error for a lost face: a flaw of the picture, if any, else ``text``."""
        image, place = self._first
        flaw = None if self._lost is None else find_flaw(self._lost, self._size, place, image)
        if flaw is not None:
            return CalibrationError(f"the camera no longer sees a whole face: {flaw}")
        return CalibrationError(text)

    def level_corners(self, follow: bool = False) -> Floats | None:
        """Return the corners of the face on top, in the plane of the level face.

        float64[4, 2] in half widths, measured once the picture is still; None if something covers
        the face. It may be tilted, but must be turned less than an eighth from the first face seen.
        ``follow``: look near the last position first, because something that looks like a part of
        the face hides another part.
        """
        earlier: list[Floats] = []
        was_covered = False
        for _ in range(MOST_LOOKS + 1):
            corners = self._level_glance(follow)
            if corners is None and was_covered:
                return None
            was_covered = corners is None
            if corners is None:
                continue
            # Compare with all earlier pictures, because a partly hidden face may be found in two
            # alternating places.
            if any(np.abs(corners - one).max() < SAME_PLACE for one in earlier):
                return corners
            earlier.append(corners)
        if len(earlier) <= MOST_LOOKS / 2 or np.ptp(earlier, axis=0).max() > LIFTED:
            return None
        return np.asarray(np.median(earlier, axis=0), dtype=np.float64)

    def _level_glance(self, follow: bool) -> Floats | None:
        grid = self._followed_grid() if follow else self._grid()[1]
        if grid is None:
            return None
        self._level_grid = grid
        return self.level(np.asarray(grid.corners, dtype=np.float64))

    def _followed_grid(self) -> FaceGrid | None:
        """Return the face near its last position or, if it is not there, anywhere."""
        if self._level_grid is not None:
            _, image = take_picture(self._session, self._camera)
            grid = confirm_grid(image, self._level_grid)
            if grid is not None:
                return grid
        return self._grid()[1]

    def level(self, corners: Floats) -> Floats:
        """Convert corners from the picture to the plane of the level face.

        float64[4, 2] in half widths, in the order of the level face's corners.
        """
        return nearest_turn(self._plane_corners(corners), UNIT_SQUARE)

    def flat_picture(self, reach: float, half_width_px: int) -> NDArray[np.float32]:
        """Take a picture, and return the level face's plane as seen from straight above.

        float32[n, n, 3]. ``reach``: half widths of the face from its middle to the edges.
        """
        assert self._plane is not None
        _, image = take_picture(self._session, self._camera)
        to_pixels = np.array(
            [[half_width_px, 0, reach * half_width_px], [0, half_width_px, reach * half_width_px]]
        )
        count = round(2 * reach * half_width_px)
        matrix = np.vstack([to_pixels, [0, 0, 1]]) @ self._plane
        return np.asarray(cv2.warpPerspective(image, matrix, (count, count)), dtype=np.float32)

    def _plane_corners(self, corners: Floats) -> Floats:
        assert self._plane is not None
        flat = cv2.perspectiveTransform(corners[None], self._plane)[0]
        return np.asarray(flat, dtype=np.float64)

    def _grid(self) -> tuple[Image, FaceGrid | None]:
        _, image = take_picture(self._session, self._camera)
        try:
            grid = face_in_view(image, self._size)
        except OddView:
            self._lost = image
            return image, None
        self._lost = None
        return image, grid

    def _glance(self, near: float) -> FacePose | None:
        image, grid = self._grid()
        if grid is None:
            return None
        if self._plane is None:
            self.begin(image, grid)
        degrees = self.degrees(np.asarray(grid.corners, dtype=np.float64), near)
        if degrees is None:
            # A blurred picture may shift a corner: look where the face should be.
            expected = FaceGrid.from_corners(self.corners_at(near), self._size)
            grid = confirm_grid(image, expected)
            if grid is None:
                return None
            degrees = self.degrees(np.asarray(grid.corners, dtype=np.float64), near)
        corners = np.asarray(grid.corners, dtype=np.float64)
        return None if degrees is None else FacePose(degrees, chromaticities(image, grid), corners)

    def begin(self, image: Image, grid: FaceGrid) -> None:
        """Set the zero and the plane of measurement from a face in a picture, and note advice."""
        first = nearest_turn(np.asarray(grid.corners, dtype=np.float64), self._usual)
        matrix, _ = cv2.findHomography(first, UNIT_SQUARE)
        self._plane = np.asarray(matrix, dtype=np.float64)
        self._first = image, grid
        self.advice = [str(one.text) for one in advise(Frame(image, "", 0), grid)]

    def degrees(self, corners: Floats, near: float) -> float | None:
        """Return the angle of a face with these corners in the picture; None if it is not flat."""
        flat = self._plane_corners(corners)
        if square_error(flat) > LIFTED:
            return None
        return nearest_quarter(-degrees_of(flat) - self.zero, near)

    def measure_turn(
        self, first: tuple[Floats, Floats], later: tuple[Floats, Floats], near: float
    ) -> float | None:
        """Return the degrees by which a face has turned between two pictures, by its stickers.

        ``first`` and ``later`` are corners and chromaticities, in the same order. Among angles that
        differ by whole turns, return the one nearest to ``near``. None if the face is not flat or
        is another one.
        """
        before, after = (self._plane_corners(corners) for corners, _ in (first, later))
        if square_error(after) > LIFTED:
            return None
        side = round(len(first[1]) ** 0.5)
        stickers = later[1].reshape(side, side, 3)
        # The corner after the first becomes the first as the stickers turn counterclockwise.
        off = [np.abs(first[1] - np.rot90(stickers, k).reshape(-1, 3)).mean() for k in range(4)]
        quarters = int(np.argmin(off))
        if off[quarters] > OTHER_FACE:
            return None
        degrees = _angle(before) - _angle(np.roll(after, -quarters, axis=0))
        return degrees + 360 * round((near - degrees) / 360)

    @property
    def turn_in_view(self) -> float:
        """Return the degrees in either direction up to which the picture shows the whole face.

        At most an eighth of a turn: beyond that the corners repeat.
        """
        margin = BORDER * self._resolution[0]
        low, high = np.full(2, margin), np.array(self._resolution) - margin
        for degrees in range(1, 46):
            corners = np.concatenate([self.corners_at(sign * degrees) for sign in (1, -1)])
            if (corners < low).any() or (corners > high).any():
                return degrees - 1.0
        return 45.0

    @property
    def remedy(self) -> str:
        """Return text on how to move the camera so that it shows more of the turning face."""
        corners = np.concatenate([self.corners_at(float(degrees)) for degrees in range(0, 90, 5)])
        low, high = corners.min(axis=0), corners.max(axis=0)
        size = np.array(self._resolution) * (1 - 2 * BORDER)
        part = float(((high - low) / size).max())
        away = (
            "move the camera farther away by a tenth or more: the turning cube takes up "
            f"{part:.0%} of the picture"
        )
        if part > 0.95:
            return away
        right, down = (np.array(self._resolution) - low - high) / 2
        sides = ((right, "right", "left"), (down, "down", "up"))
        parts = [f"{abs(px):.0f} pixels {a if px > 0 else b}" for px, a, b in sides if abs(px) >= 5]
        return f"turn the camera so that the cube moves {' and '.join(parts)} in the picture"

    def corners_at(self, degrees: float) -> Corners:
        """Return the corners of the face turned to an angle, in the order of the site's drawing."""
        assert self._plane is not None
        square = rotate_points(UNIT_SQUARE, -degrees - self.zero)[None]
        return np.asarray(cv2.perspectiveTransform(square, np.linalg.inv(self._plane))[0])


def degrees_of(flat: Floats) -> float:
    """Return the degrees by which four corners are turned from the unit square, -45..45."""
    return nearest_quarter(_angle(flat), 0.0)


def _angle(flat: Floats) -> float:
    """Return the degrees by which four corners are turned from those of the unit square."""
    # The best rotation of the square onto the corners, as a sum of products of complex numbers.
    # The middle of the corners does not matter, because the corners of the square add up to 0.
    square = UNIT_SQUARE[:, 0] + 1j * UNIT_SQUARE[:, 1]
    best = np.sum((flat[:, 0] + 1j * flat[:, 1]) * square.conj())
    return float(np.degrees(np.angle(best)))


def nearest_quarter(degrees: float, near: float) -> float:
    """Return the angle nearest to ``near`` at which a square looks the same as at ``degrees``."""
    return degrees + 90 * round((near - degrees) / 90)


def are_two_faces(one: Floats, other: Floats) -> bool:
    """Return whether two sets of stickers belong to different faces, in any orientation."""
    side = round(len(one) ** 0.5)
    turns = (np.rot90(other.reshape(side, side, 3), turn).reshape(-1, 3) for turn in range(4))
    changed = (np.abs(one - turned).mean(axis=1) > OTHER_STICKER for turned in turns)
    return min(int(stickers.sum()) for stickers in changed) > 1


def quarters_between(before: FacePose, after: FacePose) -> int:
    """Return the quarter turns, 0..2, in either direction between two views of a face in the same
    square; 0 if its stickers do not show it.
    """
    side = round(len(before.colours) ** 0.5)
    stickers = after.colours.reshape(side, side, 3)
    # The first corner of a face at about an eighth of a turn may differ between pictures.
    shifts = [np.abs(before.corners - np.roll(after.corners, -k, axis=0)).sum() for k in range(4)]
    begun = int(np.argmin(shifts))
    turns = [np.rot90(stickers, begun + k).reshape(-1, 3) for k in range(4)]
    off = [np.abs(before.colours - turned).mean(axis=1) > OTHER_STICKER for turned in turns]
    changed = [int(other.sum()) for other in off]
    # A reflection may change one sticker.
    quarters = int(np.argmin(changed)) if changed[0] > 1 else 0
    return min(quarters, 4 - quarters)


def chromaticities(image: Image, grid: FaceGrid) -> Floats:
    """Return the colours of stickers, normalized for brightness, float64[n * n, 3], 0..1."""
    seen = measure_face(Frame(image, "", 0), grid.quads, fit=grid.fit).linear_rgb
    light = np.asarray(seen, dtype=np.float64)
    return np.asarray(light / np.maximum(light.max(axis=1, keepdims=True), 1e-6))


def rotate_points(points: Floats, degrees: float) -> Floats:
    """Return points turned about the origin, clockwise in a picture."""
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(points @ turn.T)


def square_error(flat: Floats) -> float:
    """Return the maximum coordinate error of corners against a unit square at the same angle."""
    square = rotate_points(UNIT_SQUARE, degrees_of(flat))
    turns = (np.roll(flat, shift, axis=0) for shift in range(4))
    return min(float(np.abs(turned - square).max()) for turned in turns)


def _is_same(before: FacePose | None, after: FacePose | None) -> bool:
    if before is None or after is None:
        return before is after
    return abs(after.degrees - before.degrees) < SAME_DEGREES


def view_from_above(profile: RobotProfile) -> tuple[CameraSettings, View]:
    """Return the camera that looks down at the cube. Raise ``CalibrationError`` if none does."""
    for camera in profile.cameras:
        for view in camera.views:
            if view.site == "U":
                return camera, view
    raise CalibrationError("no camera looks at the cube from above (a view of site U)")
