"""Hobby servos, simulated: the arm follows the width of the pulse, as fast as it can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from robot.settings.actuators import Servo
from robot.settings.profile import SimulatedActuator
from robot.twin.registry import MOTORS, MotorKind, Scale, SimulatedMotor, WiredMotor
from robot.twin.violations import Reporter

SIGNAL_LOST_US = 100_000.0
"""A servo without a pulse for this long goes limp and stays where it is."""
SHORTEST_PULSE_US, LONGEST_PULSE_US = 300.0, 2_900.0
"""Anything else is no servo pulse; servos ignore it."""
DEFAULT_SPEED_US_PER_S = 5_000.0


class ServoMotor(SimulatedMotor):
    """A hobby servo: its arm follows the width of the pulse at a limited speed.

    Positions are microseconds of pulse.
    """

    glides: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        position: float,
        limits: tuple[float, float],
        max_speed_us_per_s: float,
        report: Reporter,
    ) -> None:
        super().__init__(name, position)
        self.target: float | None = None
        self._limits = limits
        self._speed = max_speed_us_per_s / 1e6
        self._report = report
        self._rise_us: float | None = None
        self._last_pulse_us = 0.0

    @property
    def moving(self) -> bool:
        """Whether the arm has yet to reach where the pulse wants it."""
        return self.target is not None and self.target != self.position and not self.jammed

    def reset(self) -> None:
        """The signal wire falls without that being the end of a pulse."""
        self._rise_us = None

    def pulse_edge(self, time_us: float, level: bool) -> None:
        """The signal wire changes its level."""
        if level:
            self._rise_us = time_us
            return
        if self._rise_us is None:
            return
        width, self._rise_us = time_us - self._rise_us, None
        if width <= 0:  # switched off in the tick it was to rise: the wire never rose
            return
        self._last_pulse_us = time_us
        if SHORTEST_PULSE_US <= width <= LONGEST_PULSE_US:
            self._aim(width)
        else:
            self._report("bad-pulse", f"{self.name}: a pulse of {width:.1f} us", self.name)

    def advance(self, start_us: float, end_us: float) -> None:
        """Let time pass."""
        if end_us - self._last_pulse_us > SIGNAL_LOST_US:
            self.target = None
        if not self.moving or self.target is None:
            return
        reach = self._speed * (end_us - start_us)
        self.position += max(-reach, min(reach, self.target - self.position))

    def _aim(self, width: float) -> None:
        low, high = self._limits
        if not low - 1 <= width <= high + 1:
            text = f"{self.name}: pulse of {width:.1f} us is outside {low:g}..{high:g} us"
            self._report("past-limits", text, self.name)
        self.target = max(low, min(high, width))


def wire_servo(
    name: str, settings: Servo, physics: SimulatedActuator, start: str | None, report: Reporter
) -> WiredMotor:
    """The servo on its pin; when switched on it stands at ``start`` or its first position."""
    at = settings.positions_us[start or next(iter(settings.positions_us))]
    speed = physics.max_speed_us_per_s or DEFAULT_SPEED_US_PER_S
    servo = ServoMotor(name, float(at), settings.limits_us, speed, report)
    return WiredMotor(servo, {settings.pins.pulse: servo.pulse_edge})


def servo_scale(settings: Servo, angles: Mapping[str, int]) -> Scale:
    """Linear between its calibrated positions."""
    known = sorted((settings.positions_us[place], angle) for place, angle in angles.items())
    pulses, quarters = zip(*known, strict=True)
    return lambda position: float(np.interp(position, pulses, quarters))


MOTORS["servo"] = MotorKind(wire_servo, servo_scale)
