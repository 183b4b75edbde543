"""Schedules: every motion of a plan as a timed turn of a motion profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from robot.mechanism.durations import rotation_profile, travel_profile
from robot.mechanism.graph import ActuatorMotion, Mechanism, State, Transition
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn


def schedule_of(
    mechanism: Mechanism, start: State, timed: Iterable[tuple[int, Transition]]
) -> Schedule:
    """The turns of ``timed`` transitions; equal motions share a profile.

    Raises :class:`robot.mechanism.durations.NotDrivable` for an actuator that is only timed.
    """
    quarters = _quarters(mechanism.configurations[start.configuration].positions)
    profiles: dict[MotionProfile, int] = {}
    turns: list[TimedTurn] = []
    end_us = 0
    for start_us, step in timed:
        for motion in step.motions:
            profile = _profile(mechanism, motion, quarters)
            number = profiles.setdefault(profile, len(profiles))
            turns.append(TimedTurn(start_us + motion.offset_us, number))
            end_us = max(end_us, turns[-1].start_us + profile.duration_us)
    turns.sort(key=lambda turn: turn.start_us)
    return Schedule(tuple(profiles), tuple(turns), end_us)


def _quarters(positions: Mapping[str, str | int]) -> dict[str, int]:
    """Where the rotating steppers are, in quarter turns."""
    return {name: place for name, place in positions.items() if isinstance(place, int)}


def _profile(
    mechanism: Mechanism, motion: ActuatorMotion, quarters: dict[str, int]
) -> MotionProfile:
    """The motion's profile; ``quarters`` follows the rotating steppers."""
    robot, name = mechanism.profile, motion.actuator
    if motion.start is not None and motion.end is not None:
        return travel_profile(robot, name, motion.start, motion.end, motion.held)
    before = quarters.get(name, 0)
    quarters[name] = before + motion.quarters
    return rotation_profile(robot, name, before, motion.quarters, motion.held)
