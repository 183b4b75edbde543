"""Motors as physical things: what a pulse or a step edge makes them do, and what it does not."""

from __future__ import annotations

import math

from robot.twin.rotor import Rotor
from robot.twin.violations import Reporter

SIGNAL_LOST_US = 100_000.0
"""A servo without a pulse for this long goes limp and stays where it is."""
SHORTEST_PULSE_US, LONGEST_PULSE_US = 300.0, 2_900.0
"""Anything else is no servo pulse; servos ignore it."""


class ServoMotor:
    """A hobby servo: its arm follows the width of the pulse at a limited speed.

    Positions are microseconds of pulse.
    """

    def __init__(
        self,
        name: str,
        position: float,
        limits: tuple[float, float],
        max_speed_us_per_s: float,
        report: Reporter,
    ) -> None:
        self.name = name
        self.position = position
        self.target: float | None = None
        self.jammed = False
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


class StepMotor:
    """A stepper with its driver: position in steps, as far as the rotor can follow.

    ``position`` is the load's: the rotor takes it along forwards when it is at it, backwards when
    it has gone through the ``play``. At the start it is at it.
    """

    def __init__(
        self,
        name: str,
        position: int,
        rotor: Rotor,
        report: Reporter,
        *,
        inverted: bool = False,
        play: int = 0,
    ) -> None:
        self.name = name
        self.position = float(position)
        self._rotor_position = float(position)
        self._play = play
        self.lost_steps = 0
        self.enabled = True
        self.jammed = False
        self.skip_steps = 0
        self._rotor = rotor
        self._report = report
        self._sign = -1 if inverted else 1
        self._forward = False
        self._step_level = False
        self._stepped = False
        self._stalled_us = -math.inf

    @property
    def moving(self) -> bool:
        """Whether the rotor turns."""
        return self._rotor.turning

    def reset(self) -> None:
        """All inputs of the driver are low; a rotor that ran loses its place, nobody could help."""
        self._lost(self._rotor.stop() is not None)
        self._step_level = self._forward = False
        self.enabled = True

    def direction_edge(self, level: bool) -> None:
        """The direction input changes its level; a running rotor cannot simply turn round."""
        if level != self._forward:
            self._check(self._rotor.stop())
        self._forward = level

    def enable_edge(self, level: bool) -> None:
        """The driver's enable input, active low as on common drivers."""
        self.enabled = not level

    def step_edge(self, time_us: float, level: bool) -> None:
        """The step input changes its level; drivers step when it rises."""
        rises, self._step_level = level and not self._step_level, level
        if not rises:
            return
        if not self.enabled:
            self._check("a step while its driver was off")
        elif self._stalls(time_us):
            self._lost(True)
        elif self.skip_steps > 0:
            self.skip_steps -= 1
            self._lost(self._check(self._rotor.step(time_us)))
        elif self._check(self._rotor.step(time_us)):
            self._stepped = True
            self._rotor_position += self._sign if self._forward else -self._sign
            furthest = self._rotor_position + self._play
            self.position = min(max(self.position, self._rotor_position), furthest)

    def has_stepped(self) -> bool:
        """Whether it has made a step since this was last asked."""
        stepped, self._stepped = self._stepped, False
        return stepped

    def advance(self, start_us: float, end_us: float) -> None:
        """Let time pass; notices that the rotor was left running."""
        del start_us
        self._check(self._rotor.wait(end_us))

    def _stalls(self, time_us: float) -> bool:
        """Jammed, or still being stepped too fast to start again after a jam."""
        too_fast = not self._rotor.can_start(time_us - self._stalled_us)
        if self.jammed or too_fast:
            self._rotor.forget()
            self._stalled_us = time_us
            return True
        return False

    def _lost(self, lost: bool) -> None:
        """Count a step that was lost for a reason asked for."""
        self.lost_steps += lost

    def _check(self, fault: str | None) -> bool:
        """Whether there is no fault; a fault costs a step and is reported."""
        if fault is None:
            return True
        self.lost_steps += 1
        self._report("lost-steps", f"{self.name} loses steps: {fault}", self.name)
        return False


class EndStop:
    """A switch at one end of a stepper's travel, or an index sensor.

    Active while the position is at or beyond ``edge`` in ``direction``; with ``width`` only so far
    beyond it, and with ``period`` again every so many steps. ``stuck`` overrides it; within
    ``chatter`` steps of where it opens it is active at every other step only.
    """

    def __init__(
        self,
        edge: float,
        direction: int,
        active_level: bool,
        width: float = math.inf,
        period: float | None = None,
    ) -> None:
        self._edge = edge
        self._direction = direction
        self._active_level = active_level
        self._width = width
        self._period = period
        self.stuck: bool | None = None
        self.chatter = 0

    def level(self, position: float) -> bool:
        """Level of the input pin when the motor is at ``position``."""
        beyond = (position - self._edge) * self._direction
        place = beyond % self._period if self._period else beyond
        pressed = 0 <= place <= self._width
        if min(abs(place), abs(place - self._width)) < self.chatter:
            pressed = int(position) % 2 == 0
        active = pressed if self.stuck is None else self.stuck
        return active == self._active_level
