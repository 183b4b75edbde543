"""How far a servo turns for a pulse, or a stepper for its steps, from angles seen at several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot.settings import RobotProfile
from robot.settings.actuators import Servo

FEWEST_POINTS = 6

USUAL_DEGREE_US = 1000 / 90
"""Of hobby servos: a quarter turn for a millisecond more."""


@dataclass(frozen=True)
class SweepPoint:
    """An angle in degrees that was seen at a pulse, reached ``upwards`` or from above."""

    pulse_us: float
    degrees: float
    upwards: bool


@dataclass(frozen=True)
class ServoLine:
    """Degrees against pulse: a line for each direction, ``slack_us`` of pulse apart. Of a stepper
    steps stand for microseconds, and its play for the slack.

    A servo stops within its dead band before it is there, so that the angle for a pulse depends on
    the side it comes from. ``residual_degrees`` is how far points are off their line (root of the
    mean square).
    """

    degrees_per_us: float
    pulse_at_zero: float
    slack_us: float
    residual_degrees: float

    @property
    def sign(self) -> int:
        """1 where a longer pulse means a larger angle."""
        return 1 if self.degrees_per_us > 0 else -1

    def pulse(self, degrees: float, upwards: bool | None = None) -> float:
        """The pulse for an angle, reached with rising or falling pulses; None: from either side."""
        middle = self.pulse_at_zero + degrees / self.degrees_per_us
        if upwards is None:
            return middle
        return middle + (self.slack_us if upwards else -self.slack_us) / 2

    def about(self, degrees: float) -> ServoLine:
        """The same with angles counted from ``degrees`` on."""
        zero = self.pulse_at_zero + degrees / self.degrees_per_us
        return ServoLine(self.degrees_per_us, zero, self.slack_us, self.residual_degrees)


def fit_line(points: Sequence[SweepPoint]) -> ServoLine | None:
    """The line through points of both directions by least squares; None where nothing turned.

    Solved as ``degrees = k pulse + c - side d``, the side being 1 upwards and -1 downwards, so that
    the slack is ``2 d / k``. Points at which a servo has not taken up its slack yet must be left
    out.
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
    """Pulse microseconds to a degree of a servo of this robot: by the positions of one that turns
    something by quarters, where it has any."""
    for part in profile.mechanism.rotating:
        servo = profile.actuators[part.motor]
        if isinstance(servo, Servo) and len(part.angles) > 1:
            places = sorted((servo.positions_us[name], q) for name, q in part.angles.items())
            (low, first), *_, (high, last) = places
            return (high - low) / (90 * abs(last - first))
    return USUAL_DEGREE_US
