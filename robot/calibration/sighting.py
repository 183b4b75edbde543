"""Deviations of faces in the pictures of a scan: turned with a table, or tilted by a gripper.

During a scan, one part alone holds the cube: a table below it while the arms are up, or one gripper
while the others are open. The cube then follows that part. A table, or a gripper below the cube,
turns the face seen from above; a gripper beside the cube tilts it.

A camera that was knocked turns the picture; a table that has moved turns the face in it. The
corners tell them apart: a table turns the face in its own plane, a camera turns the whole picture,
including the perspective. For a camera that looks straight down, both look the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.calibration.auto.face_watch import (
    LIFTED,
    UNIT_SQUARE,
    Floats,
    degrees_of,
    rotate_points,
    square_error,
)
from robot.calibration.auto.fitting import TiltGauge
from robot.calibration.steps.camera import nearest_turn
from robot.machine.scanner import FaceImage
from robot.mechanism.clearance import clear_place
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.base import Site
from robot.settings.mechanisms import RotatingPart
from vision.locate.view_check import OddView, face_in_view

SAME_WAY = 0.01
"""Difference below which two motions of the corners, scaled to length 1, count as the same."""

BELOW: Site = "D"
ABOVE: Site = "U"


@dataclass(frozen=True, eq=False)
class ScanSample:
    """A picture of the face at a site, and the actuators' positions when it was taken."""

    image: FaceImage
    site: str
    positions: Mapping[str, str | int]


@dataclass(frozen=True)
class PoseDeviation:
    """The deviation of a face in a picture from its calibrated place.

    ``degrees``: its turn, in the sense of the actuator's angles. ``right`` and ``down``: shift of
    its middle beyond that turn, in half widths. ``picture``: degrees by which the whole picture
    seems turned, in the sense of angles below the cube. If the corners cannot distinguish this from
    a turn of the face, each gets half of it.
    """

    actuator: str
    position: str
    degrees: float
    right: float
    down: float
    picture: float = 0.0


@dataclass(frozen=True)
class CubeTurner:
    """A table or gripper at a ``site``, turned by a servo.

    It turns the cube if nothing else holds it: each of ``others`` is at one of these positions, and
    its own ``jaw`` is at this one.
    """

    part: RotatingPart
    site: Site
    others: Mapping[str, tuple[str, ...]]
    jaw: Mapping[str, str]

    def holds_alone(self, positions: Mapping[str, str | int]) -> bool:
        """Return whether this part alone holds the cube."""
        at_stop = positions.get(self.part.motor) in self.part.angles
        closed = all(positions.get(name) == place for name, place in self.jaw.items())
        opened = all(positions.get(name) in places for name, places in self.others.items())
        return at_stop and closed and opened


def turners(profile: RobotProfile) -> Iterator[CubeTurner]:
    """Yield the parts that turn the cube under a camera above it, and that may drift.

    Steppers do not drift: they count from where they were set square.
    """
    mechanism = profile.mechanism
    if not any(view.site == ABOVE for camera in profile.cameras for view in camera.views):
        return
    jaws = mechanism.jaws
    by_motor = {part.motor: part for part in mechanism.rotating}
    servos = profile.actuators_of(Servo)
    sites: Iterable[tuple[Site, RotatingPart]] = (
        zip(jaws, mechanism.rotating, strict=True)
        if jaws
        else [(BELOW, part) for part in by_motor.values() if mechanism.holding]
    )
    for site, part in sites:
        if part.motor not in servos or len(part.angles) < 2 or site == ABOVE:
            continue
        others = {
            one.actuator: (one.open, clear_place(one.open))
            for at, one in jaws.items()
            if at != site
        }
        own = {jaws[site].actuator: jaws[site].closed} if jaws else {}
        yield CubeTurner(part, site, others, own)


def sightings(profile: RobotProfile, looks: Iterable[ScanSample]) -> list[PoseDeviation]:
    """Return the deviations of tables and grippers that pictures show.

    Pictures without a whole face are ignored.
    """
    found = (
        _sighting(look, turner)
        for look in looks
        for turner in turners(profile)
        if look.site == ABOVE and turner.holds_alone(look.positions)
    )
    return [one for one in found if one is not None]


def _sighting(look: ScanSample, turner: CubeTurner) -> PoseDeviation | None:
    grid = look.image.grid
    try:
        face = face_in_view(look.image.frame.image, grid.size)
    except OddView:
        return None
    usual = np.asarray(grid.corners, dtype=np.float64)
    corners = np.asarray(face.corners, dtype=np.float64)
    matrix = np.asarray(cv2.findHomography(usual, UNIT_SQUARE)[0], dtype=np.float64)
    flat = cv2.perspectiveTransform(corners[None], matrix)[0].astype(np.float64)
    flat = nearest_turn(flat, UNIT_SQUARE)
    seen = _measure_turn(flat) if turner.site == BELOW else _measure_tilt(flat, turner.site)
    if seen is None:
        return None
    degrees, off, moving = seen
    right, down = off.mean(axis=0)
    picture = _picture_turn(off, moving, _camera_turning(usual, look.image.frame.image, matrix))
    place = str(look.positions[turner.part.motor])
    return PoseDeviation(turner.part.motor, place, degrees, float(right), float(down), picture)


def _measure_turn(flat: Floats) -> tuple[float, Floats, Floats] | None:
    """Return a level face's turn in degrees, its corners' displacement, and the corners' motion for
    one degree more. ``flat``: its corners in its plane. None if it is not level."""
    if square_error(flat - flat.mean(axis=0)) > LIFTED:
        return None
    # Angles of a part below count clockwise seen from below; the camera looks from above.
    return -degrees_of(flat), flat - UNIT_SQUARE, rotate_points(UNIT_SQUARE, -1.0) - UNIT_SQUARE


def _measure_tilt(flat: Floats, site: Site) -> tuple[float, Floats, Floats] | None:
    """Return the degrees by which the gripper at a site tilts a face, its corners' distance from
    their places with that tilt, and their motion for one degree more. None without such a tilt."""
    gauge = TiltGauge(site)
    degrees = gauge.degrees(flat)
    off = flat - gauge.corners(degrees)
    if np.abs(off - off.mean(axis=0)).max() > LIFTED:
        return None
    return degrees, off, gauge.corners(degrees + 1) - gauge.corners(degrees)


def _camera_turning(usual: Floats, image: NDArray[np.uint8], matrix: Floats) -> Floats:
    """Return the motion of the corners in the face's plane if the picture turns by one degree."""
    middle = np.array([image.shape[1], image.shape[0]]) / 2
    turned = rotate_points(usual - middle, -1.0) + middle
    flat = cv2.perspectiveTransform(turned[None], matrix)[0].astype(np.float64)
    return np.asarray(flat - UNIT_SQUARE)


def _picture_turn(off: Floats, moving: Floats, camera: Floats) -> float:
    """Return the turn of the picture in degrees. The fit includes the motion of the part that turns
    the cube, and of a camera that has shifted or come nearer."""
    across, down = np.tile([1.0, 0.0], (4, 1)), np.tile([0.0, 1.0], (4, 1))
    ways = np.stack([one.ravel() for one in (camera, moving, across, down, UNIT_SQUARE)], axis=1)
    lengths = np.linalg.norm(ways, axis=0)
    parts = np.linalg.lstsq(ways / lengths, off.ravel(), rcond=SAME_WAY)[0] / lengths
    return float(parts[0])
