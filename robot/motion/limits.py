"""What a stepper can do, and the complaint when a motion asks for more."""

from __future__ import annotations

import math
from dataclasses import dataclass

from solver.errors import CubistError

TICKS_PER_US = 2
TICKS_PER_S = 2_000_000
MAX_INTERVAL_TICKS = 40_000
"""Longest time between two steps: with the start delay it fits 16 bits. 50 steps/s."""


class MotionError(CubistError, ValueError):
    """A motion that its actuator or the firmware cannot perform; the text says which limit."""


@dataclass(frozen=True, slots=True)
class StepperLimits:
    """Speeds in steps/s, acceleration in steps/s^2, jerk in steps/s^3 (``None``: trapezoid).

    ``start_speed`` is the speed at which the motor starts and stops dead without losing steps.
    Raises :class:`MotionError` for values no motion can be made of.
    """

    start_speed: float
    max_speed: float
    acceleration: float
    jerk: float | None = None

    def __post_init__(self) -> None:
        values = (self.start_speed, self.max_speed, self.acceleration, self.jerk or 1.0)
        if not all(math.isfinite(value) and value > 0 for value in values):
            raise MotionError(f"stepper limits must be positive numbers, got {self}")
        if self.start_speed < TICKS_PER_S / MAX_INTERVAL_TICKS:
            raise MotionError(
                f"start speed {self.start_speed:g} steps/s is below the firmware's slowest, "
                f"{TICKS_PER_S / MAX_INTERVAL_TICKS:.1f} steps/s"
            )
        if self.max_speed < self.start_speed:
            raise MotionError(
                f"maximum speed {self.max_speed:g} steps/s is below the start speed "
                f"{self.start_speed:g} steps/s"
            )
