"""Simulated hobby servos: the arm follows the pulse width at a limited speed."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from math import copysign
from typing import ClassVar
from zlib import crc32

import numpy as np

from robot.settings.actuators import Servo
from robot.settings.profile import SimulatedActuator
from robot.twin.misadjustment import ServoTruth
from robot.twin.registry import (
    MOTORS,
    Build,
    MotorKind,
    Scale,
    SimulatedMotor,
    Stop,
    WiredMotor,
)
from robot.twin.violations import Reporter

SIGNAL_LOST_US = 100_000.0
"""Time without a pulse after which a servo goes limp and stays in place."""
SHORTEST_PULSE_US, LONGEST_PULSE_US = 300.0, 2_900.0
"""Limits of a servo pulse; servos ignore any other."""
HUNTING_HERTZ = 5.7
CREEPING_US = 150_000.0
"""Time in which a creeping servo covers two thirds of the remaining distance."""
ROUNDING_US = 1e-6
"""Distance below which a difference of positions is only rounding."""
ARRIVED = 0.05
"""Fraction of the creeping distance at which a servo has arrived."""
DEFAULT_SPEED_US_PER_S = 5_000.0
LONGEST_PUSH_US = 1_000_000.0
"""Maximum time for pushing against a stop: longer than any motion, shorter than does harm."""


class ServoMotor(SimulatedMotor):
    """A hobby servo: its arm follows the width of the pulse at a limited speed.

    Positions are microseconds of pulse. In a misadjusted robot they are those of the pulse that is
    right according to the profile (see :class:`ServoTruth`). ``stops`` limit its motion.
    """

    glides: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        position: float,
        limits: tuple[float, float],
        max_speed_us_per_s: float,
        report: Reporter,
        truth: ServoTruth | None = None,
        stops: tuple[Stop, ...] = (),
    ) -> None:
        super().__init__(name, position)
        self.target: float | None = None
        self._goal = position
        self._truth = truth or ServoTruth()
        self._stops = stops
        self._pushed_us = 0.0
        self._limits = limits
        self._speed = max_speed_us_per_s / 1e6 * self._truth.speed
        self._supply = 1.0
        self._random = np.random.default_rng(crc32(name.encode()))
        self._report = report
        self._rise_us: float | None = None
        self._was_reset = False
        self._last_pulse_us = 0.0

    @property
    def moving(self) -> bool:
        """True if the arm has not yet reached the position of the pulse."""
        return self._goal != self.position and not self.jammed

    @property
    def has_power(self) -> bool:
        """True while it receives pulses."""
        return self.target is not None

    def turn_by_hand(self, amount: float) -> bool:
        """See :meth:`SimulatedMotor.turn_by_hand`: the next pulse moves it back."""
        turned = super().turn_by_hand(amount)
        self._goal = self.position if turned else self._goal
        return turned

    def reset(self) -> None:
        """Handle a reset: the signal falls, but that does not end a pulse."""
        self._rise_us, self._was_reset = None, True

    def pulse_edge(self, time_us: float, level: bool) -> None:
        """Handle a change of the signal's level."""
        if level:
            self._rise_us = time_us
            return
        if self._rise_us is None:
            return
        # To the nanosecond, so that late in a run an unchanged pulse is still no new target.
        width, self._rise_us = round(time_us - self._rise_us, 3), None
        if width <= 0:  # switched off in the tick of its rise: the signal never rose
            return
        self._last_pulse_us = time_us
        if SHORTEST_PULSE_US <= width <= LONGEST_PULSE_US:
            self._aim(width)
        else:
            self._report("bad-pulse", f"{self.name}: a pulse of {width:.1f} us", self.name)

    def drift(self, amount: float) -> None:
        """See :meth:`SimulatedMotor.drift`: worn gears, a slipping horn. It moves at the next
        pulse."""
        self._truth = replace(self._truth, zero_us=self._truth.zero_us + amount)

    def tremble_degrees(self, time_us: float) -> float:
        """See :meth:`SimulatedMotor.tremble_degrees`: it hunts while it receives pulses."""
        if self.target is None:
            return 0.0
        swing = math.sin(2 * math.pi * HUNTING_HERTZ * time_us / 1e6)
        return self._truth.hunting_degrees * swing

    def advance(self, start_us: float, end_us: float) -> None:
        """Let time pass."""
        if self.target is not None and end_us - self._last_pulse_us > SIGNAL_LOST_US:
            self.target, self._goal = None, self.position
            self.limp_since_us = None if self._was_reset else end_us
        if not self.moving:
            self._push(end_us - start_us)
            return
        self._pushed_us = 0.0
        left, creep = self._goal - self.position, self._truth.creep_us
        reach = self._speed * self._supply * (end_us - start_us)
        far = abs(left) - creep
        # Rounding may end the fast part a little early; the remainder is creeping as well.
        if far > ROUNDING_US:
            self.position += copysign(min(reach, far), left)
        else:
            self.position += left * (1 - math.exp((start_us - end_us) / CREEPING_US))
        if abs(self._goal - self.position) <= ARRIVED * creep:
            self.position = self._goal

    def share_supply(self, others: int) -> None:
        """See :meth:`SimulatedMotor.share_supply`."""
        self._supply = 1 - self._truth.sag * others

    def _rest(self, target: float) -> float:
        """Return the position where it will stop: within its dead band, and before any stop."""
        half = self._truth.slack_us / 2
        rest = max(target - half, min(target + half, self.position))
        if self._truth.loose_us:
            rest += self._truth.loose_us * float(self._random.uniform(-1, 1))
        for stop in self._stops:
            rest = min(rest, stop.at) if stop.upwards else max(rest, stop.at)
        return rest

    def _push(self, duration_us: float) -> None:
        """Measure the time of pushing against a stop, and report it if too long."""
        pushed = next((stop for stop in self._stops if self._is_pushing(stop)), None)
        if pushed is None:
            self._pushed_us = 0.0
            return
        before, self._pushed_us = self._pushed_us, self._pushed_us + duration_us
        if before <= LONGEST_PUSH_US < self._pushed_us:
            self._report(pushed.kind, f"{self.name} {pushed.text}", self.name)

    def _is_pushing(self, stop: Stop) -> bool:
        if self.target is None or self.position != stop.at:
            return False
        beyond = self.target - stop.at if stop.upwards else stop.at - self.target
        return beyond > self._truth.slack_us / 2

    def _aim(self, width: float) -> None:
        low, high = self._limits
        if not low - 1 <= width <= high + 1:
            text = f"{self.name}: pulse of {width:.1f} us is outside {low:g}..{high:g} us"
            self._report("past-limits", text, self.name)
        self.limp_since_us, self._was_reset = None, False
        target = self._truth.shaft(max(low, min(high, width)))
        if target != self.target:
            self.target, self._goal = target, self._rest(target)


def wire_servo(
    name: str,
    settings: Servo,
    physics: SimulatedActuator,
    start: str | None,
    build: Build,
    report: Reporter,
) -> WiredMotor:
    """Return the servo on its pin, at ``start`` or its first position when switched on."""
    at = settings.positions_us[start or next(iter(settings.positions_us))]
    speed = physics.max_speed_us_per_s or DEFAULT_SPEED_US_PER_S
    if build.misadjusted is None:
        truth = None
    else:
        truth = build.misadjusted.servo(name, settings, build.degree_us)
    servo = ServoMotor(
        name, float(at), settings.limits_us, speed, report, truth=truth, stops=build.stops
    )
    return WiredMotor(servo, {settings.pins.pulse: servo.pulse_edge})


def servo_scale(settings: Servo, angles: Mapping[str, int]) -> Scale:
    """Return a scale that is linear between calibrated positions, and extrapolated beyond them."""
    known = sorted((settings.positions_us[place], angle) for place, angle in angles.items())
    if len(known) == 1:
        known = [(known[0][0] - 1, known[0][1]), *known]
    slopes = [(after - before) / (to - at) for (at, before), (to, after) in pairwise(known)]
    inner = [pulse for pulse, _ in known[1:-1]]

    def scale(position: float) -> float:
        piece = bisect_left(inner, position)
        pulse, quarters = known[piece]
        return quarters + slopes[piece] * (position - pulse)

    return scale


MOTORS["servo"] = MotorKind(wire_servo, servo_scale)
