"""Hobby servos, simulated: the arm follows the width of the pulse, as fast as it can."""

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
"""A servo without a pulse for this long goes limp and stays where it is."""
SHORTEST_PULSE_US, LONGEST_PULSE_US = 300.0, 2_900.0
"""Anything else is no servo pulse; servos ignore it."""
HUNTING_HERTZ = 5.7
CREEPING_US = 150_000.0
"""Time in which a servo that creeps goes on by two thirds of what is left."""
ROUNDING_US = 1e-6
"""A way that is too short to be one: no more than the rounding of a position."""
ARRIVED = 0.05
"""The part of its creeping that is too little to move it any more."""
DEFAULT_SPEED_US_PER_S = 5_000.0
LONGEST_PUSH_US = 1_000_000.0
"""A servo may push against a stop for so long: more than any motion takes, less than harms it."""


class ServoMotor(SimulatedMotor):
    """A hobby servo: its arm follows the width of the pulse at a limited speed.

    Positions are microseconds of pulse, in a misadjusted robot of the pulse that the profile thinks
    right for them (see :class:`ServoTruth`). It goes no further than ``stops``.
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
        """True if the arm has yet to reach the place of the pulse."""
        return self._goal != self.position and not self.jammed

    @property
    def has_power(self) -> bool:
        """True while it gets pulses."""
        return self.target is not None

    def turn_by_hand(self, amount: float) -> bool:
        """See :meth:`SimulatedMotor.turn_by_hand`: with the next pulse it goes back."""
        turned = super().turn_by_hand(amount)
        self._goal = self.position if turned else self._goal
        return turned

    def reset(self) -> None:
        """The signal wire falls without that being the end of a pulse."""
        self._rise_us, self._was_reset = None, True

    def pulse_edge(self, time_us: float, level: bool) -> None:
        """The signal wire changes its level."""
        if level:
            self._rise_us = time_us
            return
        if self._rise_us is None:
            return
        # To the nanosecond: a pulse that stays the same is no new aim late in a run, either.
        width, self._rise_us = round(time_us - self._rise_us, 3), None
        if width <= 0:  # switched off in the tick it was to rise: the wire never rose
            return
        self._last_pulse_us = time_us
        if SHORTEST_PULSE_US <= width <= LONGEST_PULSE_US:
            self._aim(width)
        else:
            self._report("bad-pulse", f"{self.name}: a pulse of {width:.1f} us", self.name)

    def drift(self, amount: float) -> None:
        """See :meth:`SimulatedMotor.drift`: worn gears, a horn that slips. It moves with its next
        pulse."""
        self._truth = replace(self._truth, zero_us=self._truth.zero_us + amount)

    def tremble_degrees(self, time_us: float) -> float:
        """See :meth:`SimulatedMotor.tremble_degrees`: it hunts while it has a pulse."""
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
        # Rounding may end the way up to there a little early: what is left is creeping as well.
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
        """Return the place where it will come to rest: within its dead band, and before whatever
        stops it."""
        half = self._truth.slack_us / 2
        rest = max(target - half, min(target + half, self.position))
        if self._truth.loose_us:
            rest += self._truth.loose_us * float(self._random.uniform(-1, 1))
        for stop in self._stops:
            rest = min(rest, stop.at) if stop.upwards else max(rest, stop.at)
        return rest

    def _push(self, duration_us: float) -> None:
        """Note how long it has been pushing against what stops it."""
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
    """The servo on its pin; when switched on it stands at ``start`` or its first position."""
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
    """Linear between its calibrated positions, and on beyond the outermost two."""
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
