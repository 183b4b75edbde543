"""Where a robot's actuators stand: as the microcontroller tells, and as far as can be told without
it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from robot.link.actuators import ActuatorSetup, ServoSetup
from robot.link.protocol import TICKS_PER_US, Positions
from robot.schedule import Schedule

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
