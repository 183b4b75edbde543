"""Speed curves of a stepper: from start speed to top speed and back, with or without jerk limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot.motion.limits import StepperLimits

BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class Ramp:
    """Speed rising from ``low`` to ``high``: jerk for ``rise_s``, steady, jerk back.

    The acceleration is a trapezoid over ``duration_s`` with edges of ``rise_s`` (0: a rectangle).
    """

    low: float
    high: float
    rise_s: float
    duration_s: float

    @property
    def distance(self) -> float:
        """Steps made; the speed curve is symmetric about its middle."""
        return (self.low + self.high) / 2 * self.duration_s

    def steps_at(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Steps made at each time in [0, duration_s]."""
        mirrored = times_s > self.duration_s / 2
        early = np.where(mirrored, self.duration_s - times_s, times_s)
        gained = self._steps_above_low(early)
        late = self.distance - (self.high * early - gained)
        return np.where(mirrored, late, self.low * early + gained)

    def _steps_above_low(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Steps made beyond those at speed ``low``, in the first half of the ramp."""
        if self.duration_s == 0:
            return np.zeros_like(times_s)
        peak = (self.high - self.low) / (self.duration_s - self.rise_s)
        if self.rise_s == 0:
            return peak * times_s**2 / 2
        jerk = peak / self.rise_s
        steady = np.maximum(times_s - self.rise_s, 0)
        rising = np.minimum(times_s, self.rise_s)
        corner_speed = peak * self.rise_s / 2
        return jerk * rising**3 / 6 + corner_speed * steady + peak * steady**2 / 2


def ramp_between(low: float, high: float, limits: StepperLimits) -> Ramp:
    """The quickest ramp from ``low`` to ``high`` steps/s within acceleration and jerk."""
    gain = high - low
    if limits.jerk is None:
        return Ramp(low, high, 0.0, gain / limits.acceleration)
    rise_s = min(limits.acceleration / limits.jerk, (gain / limits.jerk) ** 0.5)
    steady_s = gain / (limits.jerk * rise_s) - rise_s if rise_s else 0.0
    return Ramp(low, high, rise_s, 2 * rise_s + max(steady_s, 0.0))


def quickest_ramp(steps: int, limits: StepperLimits) -> Ramp:
    """The ramp to the highest speed from which a move of ``steps`` can still come to rest."""
    full = ramp_between(limits.start_speed, limits.max_speed, limits)
    if 2 * full.distance <= steps:
        return full
    low, high = limits.start_speed, limits.max_speed
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if 2 * ramp_between(limits.start_speed, middle, limits).distance <= steps:
            low = middle
        else:
            high = middle
    return ramp_between(limits.start_speed, low, limits)


def step_times(steps: int, limits: StepperLimits) -> NDArray[np.float64]:
    """Seconds from the start at which each of ``steps`` steps falls; the last ends the move."""
    ramp = quickest_ramp(steps, limits)
    cruise = steps - 2 * ramp.distance
    cruise_s = cruise / ramp.high
    total_s = 2 * ramp.duration_s + cruise_s
    numbers = np.arange(1, steps + 1, dtype=np.float64)
    braking = numbers > steps - ramp.distance
    mirrored = np.where(braking, steps - numbers, numbers)
    in_ramp = _times_in(ramp, np.minimum(mirrored, ramp.distance))
    early = in_ramp + np.maximum(mirrored - ramp.distance, 0) / ramp.high
    return np.where(braking, total_s - early, early)


def _times_in(ramp: Ramp, positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """When the ramp passes each position, by bisection: the curve is monotone."""
    low = np.zeros_like(positions)
    high = np.full_like(positions, ramp.duration_s)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        short = ramp.steps_at(middle) < positions
        low = np.where(short, middle, low)
        high = np.where(short, high, middle)
    return high
