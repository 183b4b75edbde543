"""Models fitted to camera measurements: the line of a servo or stepper, and the tilt of a face."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from robot.calibration.auto.face_watch import UNIT_SQUARE
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.base import Site

FEWEST_POINTS = 6

USUAL_DEGREE_US = 1000 / 90
"""Pulse microseconds per degree of a hobby servo: a quarter turn is a millisecond."""


@dataclass(frozen=True)
class SweepPoint:
    """An angle in degrees seen at a pulse, which was reached ``upwards`` or downwards."""

    pulse_us: float
    degrees: float
    upwards: bool


@dataclass(frozen=True)
class ServoLine:
    """Degrees against pulse: a line for each direction, ``slack_us`` of pulse apart. For a stepper,
    pulses are in steps, and the slack is its play.

    A servo stops short of its target, within its dead band. So the angle for a pulse depends on the
    direction of approach. ``residual_degrees``: root mean square distance of points from their
    line.
    """

    degrees_per_us: float
    pulse_at_zero: float
    slack_us: float
    residual_degrees: float

    @property
    def sign(self) -> int:
        """Return 1 if a longer pulse means a larger angle, else -1."""
        return 1 if self.degrees_per_us > 0 else -1

    def pulse(self, degrees: float, upwards: bool | None = None) -> float:
        """Return the pulse for an angle, reached ``upwards``, downwards or (None) either way."""
        middle = self.pulse_at_zero + degrees / self.degrees_per_us
        if upwards is None:
            return middle
        return middle + (self.slack_us if upwards else -self.slack_us) / 2

    def with_zero_at(self, degrees: float) -> ServoLine:
        """Return a copy whose zero is at ``degrees``."""
        zero = self.pulse_at_zero + degrees / self.degrees_per_us
        return ServoLine(self.degrees_per_us, zero, self.slack_us, self.residual_degrees)


def fit_line(points: Sequence[SweepPoint]) -> ServoLine | None:
    """Fit a line to points of both directions by least squares; None if nothing turned.

    The model is ``degrees = k pulse + c - side d`` with side 1 upwards and -1 downwards, so the
    slack is ``2 d / k``. Leave out points at which a servo has not taken up its slack yet.
    """
    if len(points) < FEWEST_POINTS:
        return None
    pulses = np.array([point.pulse_us for point in points])
    degrees = np.array([point.degrees for point in points])
    sides = np.array([1.0 if point.upwards else -1.0 for point in points])
    middle = pulses.mean()
    system = np.stack([pulses - middle, np.ones_like(pulses), -sides], axis=1)
    (slope, offset, lag), *_ = np.linalg.lstsq(system, degrees, rcond=None)
    if abs(slope) < 1e-3:
        return None
    residual = degrees - system @ np.array([slope, offset, lag])
    return ServoLine(
        degrees_per_us=float(slope),
        pulse_at_zero=float(middle - offset / slope),
        slack_us=max(0.0, float(2 * lag / slope)),
        residual_degrees=float(np.sqrt(np.mean(residual**2))),
    )


def servo_degree_us(profile: RobotProfile) -> float:
    """Return the pulse microseconds per degree of this robot's servos.

    Taken from the positions of a servo that turns by quarters (default: ``USUAL_DEGREE_US``).
    """
    for part in profile.mechanism.rotating:
        servo = profile.actuators_of(Servo).get(part.motor)
        if servo is not None and len(part.angles) > 1:
            return abs(part.degree_us(servo))
    return USUAL_DEGREE_US


Floats = NDArray[np.float64]

ROUNDS = 8
"""Number of iterations of a fit. Four are enough for angles of a few degrees."""

NUDGE = 1e-4


def fit_values(misses: Callable[[Floats], Floats], start: Floats) -> Floats:
    """Return the values that minimize the sum of squared misses (Gauss-Newton method)."""
    at = start
    for _ in range(ROUNDS):
        missed = misses(at)
        slopes = [(misses(at + NUDGE * step) - missed) / NUDGE for step in np.eye(len(at))]
        change, *_ = np.linalg.lstsq(np.stack(slopes, axis=1), -missed, rcond=None)
        at = at + change
    return at


USUAL_HEIGHT = 4.5
"""Assumed height of a camera above the face at the start of a sweep, in half widths of the face."""

HEIGHTS = (1.5, 50.0)
CENTRE_MOVES: dict[Site, tuple[float, float]] = {
    "R": (0.0, -1.0),
    "L": (0.0, 1.0),
    "F": (1.0, 0.0),
    "B": (-1.0, 0.0),
}
"""Direction of motion of the top face's middle, right and down in its plane, when the gripper at a
site turns the cube clockwise as seen from outside."""


@dataclass(frozen=True)
class TiltGauge:
    r"""The tilt of a face by the gripper at a ``site``, measured by the face's corners.

    A gripper beside the cube turns it about a horizontal axis through its middle. Between level
    positions the camera still sees the face on top, displaced and foreshortened. The positions of
    its corners in the plane of the level face depend on the angle and on the camera's position
    above that plane, but not on the lens or on distances in pixels::

                 camera at (foot, height)
                  \\
        ___________\\__________  plane of the level face, one half width above the axis
              \\     \\
               face  ' seen here

    Displacement alone cannot tell the angle from the camera's height. Foreshortening can, so a
    sweep of some degrees is enough to find both. The camera's ``foot`` (right, down) and ``height``
    above the level face are in half widths of the face.
    """

    site: Site
    foot: tuple[float, float] = (0.0, 0.0)
    height: float = USUAL_HEIGHT

    def corners(self, degrees: float) -> Floats:
        """Return the corners of a tilted face in the level plane, float64[4, 2]."""
        angle, along = np.radians(degrees), np.array(CENTRE_MOVES[self.site])
        forwards = UNIT_SQUARE @ along
        aside = UNIT_SQUARE - np.outer(forwards, along)
        rise = np.cos(angle) - 1 - forwards * np.sin(angle)
        point = np.outer(forwards * np.cos(angle) + np.sin(angle), along) + aside
        foot = np.array(self.foot)
        seen = foot + (point - foot) * (self.height / (self.height - rise))[:, None]
        return np.asarray(seen, dtype=np.float64)

    def degrees(self, corners: Floats) -> float:
        """Return the tilt of a face with these corners in the level plane, float64[4, 2]."""
        found = fit_values(lambda at: (self.corners(float(at[0])) - corners).ravel(), np.zeros(1))
        return float(found[0])

    def misses(self, corners: Floats, degrees: float) -> float:
        """Return the maximum deviation of corners from those of a tilted face, in half widths."""
        return float(np.abs(self.corners(degrees) - corners).max())

    def fit_camera(self, views: Sequence[Floats]) -> Self:
        """Return a copy with the camera that best fits the corners of a face at several angles."""
        first = [self.degrees(corners) for corners in views]

        def misses(at: Floats) -> Floats:
            gauge = self._with_camera(at)
            parts = [gauge.corners(d) - seen for d, seen in zip(at[3:], views, strict=True)]
            return np.concatenate([part.ravel() for part in parts])

        return self._with_camera(fit_values(misses, np.array([*self.foot, self.height, *first])))

    def _with_camera(self, values: Floats) -> Self:
        right, down, height = (float(value) for value in values[:3])
        return type(self)(self.site, (right, down), min(max(height, HEIGHTS[0]), HEIGHTS[1]))
