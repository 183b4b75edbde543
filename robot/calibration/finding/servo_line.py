"""How far a servo turns for a pulse, from angles seen at several pulses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST_POINTS = 6


@dataclass(frozen=True)
class SweepPoint:
    """An angle in degrees that was seen at a pulse, reached ``upwards`` or from above."""

    pulse_us: float
    degrees: float
    upwards: bool


@dataclass(frozen=True)
class ServoLine:
    """Degrees against pulse: a line for each direction, ``slack_us`` of pulse apart.

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
