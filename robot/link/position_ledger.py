"""Where a robot's actuators stand: as the microcontroller tells, and as far as can be told without
it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from robot.faults import MotionFault
from robot.link.actuators import ActuatorSetup, ServoSetup
from robot.link.protocol import TICKS_PER_US, Positions
from robot.motion.schedule import Schedule

PROGRESS_AGE_US = 100_000
"""Two heartbeats."""

Clock = Callable[[], float]


class Course:
    """How far a schedule is: by what was heard of it, and by the time that has passed since."""

    def __init__(self, schedule: Schedule, clock: Clock) -> None:
        self._schedule = schedule
        self._clock = clock
        self._first: tuple[float, float] | None = None
        self._last = (clock(), 0.0)

    def heard(self, fraction: float) -> None:
        """This part (0..1) of the schedule's time is over."""
        self._last = (self._clock(), fraction)
        self._first = self._first or self._last

    def caught(self) -> tuple[str, ...]:
        """What was moving when the firmware told of a fault."""
        return moving_at(self._schedule, self._last[1], PROGRESS_AGE_US)

    def caught_now(self, longest_s: float) -> tuple[str, ...]:
        """What is moving now, at the pace heard of; it did so for at most ``longest_s`` unheard."""
        heard_at, fraction = self._last
        unheard_s = min(self._clock() - heard_at, longest_s)
        return moving_at(self._schedule, fraction + unheard_s * self._pace(), 0)

    def _pace(self) -> float:
        """Part of the schedule's time that is over each second; a simulated one may be quick."""
        (first_at, first), (last_at, last) = self._first or self._last, self._last
        if last > first and last_at > first_at:
            return (last - first) / (last_at - first_at)
        return 1e6 / max(1, self._schedule.duration_us)


def moving_at(schedule: Schedule, fraction: float, within_us: int) -> tuple[str, ...]:
    """Actuators that move when this part (0..1) of a schedule's time is over, or soon after."""
    time_us = fraction * schedule.duration_us
    timed = [(turn.start_us, schedule.profiles[turn.profile]) for turn in schedule.turns]
    return tuple(
        dict.fromkeys(
            profile.actuator
            for start_us, profile in timed
            if start_us <= time_us + within_us and time_us < start_us + profile.duration_us
        )
    )


def position_lost(fault: MotionFault, names: Sequence[str]) -> MotionFault:
    """Motors without end stops were caught in motion: only a person knows where they are."""
    which = ", ".join(names)
    return MotionFault(
        fault.code,
        f"{fault.cause}; {which} may have been moving and has no end stop to be homed by",
        f"set {which} and the cube square by hand, then start again",
        recoverable=False,
    )


STATUS_AGE_US = 100_000
"""Two heartbeats: so old may be what is known of the firmware's progress."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What a link knew when its motion broke off: positions at rest in steps or microseconds of
    pulse, and what may have been moving, by actuator.
    """

    places: Mapping[str, int]
    moving: tuple[str, ...] = ()


def told_places(answer: Positions, actuators: Sequence[ActuatorSetup]) -> dict[str, int]:
    """Positions of the actuators of which the microcontroller knows them."""
    found = struct.unpack(f"<{len(actuators)}i", answer.positions)
    return {
        setup.name: position // TICKS_PER_US if isinstance(setup, ServoSetup) else position
        for number, (setup, position) in enumerate(zip(actuators, found, strict=True))
        if answer.known >> number & 1
    }


def after_turns(positions: Mapping[str, int], schedule: Schedule, count: int) -> dict[str, int]:
    """Positions after the first ``count`` turns of a schedule."""
    reached = dict(positions)
    for turn in schedule.turns[:count]:
        profile = schedule.profiles[turn.profile]
        reached[profile.actuator] = profile.end
    return reached


def broken_off(positions: Mapping[str, int], schedule: Schedule, done_us: int) -> Whereabouts:
    """Whereabouts when a schedule broke off whose last turn known to have ended ended at
    ``done_us``: no other can have ended long ago.
    """
    timed = [(turn.start_us, schedule.profiles[turn.profile]) for turn in schedule.turns]
    places = dict(positions)
    later = []
    for start_us, profile in timed:
        if start_us + profile.duration_us <= done_us:
            places[profile.actuator] = profile.end
        else:
            later.append((start_us, profile))
    now_us = STATUS_AGE_US + min(
        (start + profile.duration_us for start, profile in later), default=0
    )
    moving = [profile.actuator for start_us, profile in later if start_us < now_us]
    return Whereabouts(places, tuple(dict.fromkeys(moving)))
