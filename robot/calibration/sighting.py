"""Deviations of faces in the pictures of a scan: turned with a table, or tilted by a gripper.

While a robot scans, something holds the cube alone: a table below it, arms up, or one gripper, the
others open. The cube then stands as that does. A table, or a gripper below the cube, turns the face
that is seen from above; a gripper beside the cube tilts it.

A camera that is knocked round turns the picture, and a table that has moved turns the face in it.
The corners tell them apart: a table turns the face in its own plane, a camera turns the whole
picture of it, perspective and all. A camera that looks straight down sees no difference.
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
"""Two ways on which corners move, of length 1, are the same if they differ by less than that."""

BELOW: Site = "D"
ABOVE: Site = "U"


@dataclass(frozen=True, eq=False)
class ScanSample:
    """A picture of the face at a site, and where the actuators were meanwhile."""

    image: FaceImage
    site: str
    positions: Mapping[str, str | int]


@dataclass(frozen=True)
class PoseDeviation:
    """A face as it was seen: ``degrees`` as the actuator's angles count, from where the calibration
    has the face, and how far ``right`` and ``down`` its middle was beside where they put it, in
    half widths.

    ``picture``: degrees by which the picture seems to be turned as a whole, as angles below count.
    Where the corners do not tell that from a turn of the face, each has a half of it.
    """

    actuator: str
    position: str
    degrees: float
    right: float
    down: float
    picture: float = 0.0


@dataclass(frozen=True)
class CubeTurner:
    """A table or gripper that a servo turns, at a ``site``, and the cube with it when nothing else
    holds that: then ``others`` are at one of these positions, and its own ``jaw`` at this one."""

    part: RotatingPart
    site: Site
    others: Mapping[str, tuple[str, ...]]
    jaw: Mapping[str, str]

    def holds_alone(self, positions: Mapping[str, str | int]) -> bool:
        """Return whether it alone holds the cube."""
        at_stop = positions.get(self.part.motor) in self.part.angles
        closed = all(positions.get(name) == place for name, place in self.jaw.items())
        opened = all(positions.get(name) in places for name, places in self.others.items())
        return at_stop and closed and opened


def turners(profile: RobotProfile) -> Iterator[CubeTurner]:
    """Yield the parts that turn the cube before a camera above it and may drift.

    Steppers do not: they count from where they were set square.
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
    """Return the deviations that pictures show of tables and grippers.

    Pictures without a whole face show none.
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
    """Return the degrees of a level face with these corners in its plane, their distance from where
    they were, and the motion of a degree more."""
    if square_error(flat - flat.mean(axis=0)) > LIFTED:
        return None
    # Angles of what is below count clockwise from below; the camera looks at it from above.
    return -degrees_of(flat), flat - UNIT_SQUARE, rotate_points(UNIT_SQUARE, -1.0) - UNIT_SQUARE


def _measure_tilt(flat: Floats, site: Site) -> tuple[float, Floats, Floats] | None:
    """Return the degrees of a face that the gripper at a site tilts, the distance of its corners
    from that, and the motion of a degree more."""
    gauge = TiltGauge(site)
    degrees = gauge.degrees(flat)
    off = flat - gauge.corners(degrees)
    if np.abs(off - off.mean(axis=0)).max() > LIFTED:
        return None
    return degrees, off, gauge.corners(degrees + 1) - gauge.corners(degrees)


def _camera_turning(usual: Floats, image: NDArray[np.uint8], matrix: Floats) -> Floats:
    """Return the motion of corners in the face's plane as the picture turns by a degree."""
    middle = np.array([image.shape[1], image.shape[0]]) / 2
    turned = rotate_points(usual - middle, -1.0) + middle
    flat = cv2.perspectiveTransform(turned[None], matrix)[0].astype(np.float64)
    return np.asarray(flat - UNIT_SQUARE)


def _picture_turn(off: Floats, moving: Floats, camera: Floats) -> float:
    """Return the degrees by which the picture has turned, fitted beside the motions of what turns
    the cube and of a camera that has moved or come nearer."""
    across, down = np.tile([1.0, 0.0], (4, 1)), np.tile([0.0, 1.0], (4, 1))
    ways = np.stack([one.ravel() for one in (camera, moving, across, down, UNIT_SQUARE)], axis=1)
    lengths = np.linalg.norm(ways, axis=0)
    parts = np.linalg.lstsq(ways / lengths, off.ravel(), rcond=SAME_WAY)[0] / lengths
    return float(parts[0])
