"""Timed actuator turns: what the planner hands to the link and the firmware executes."""

from __future__ import annotations

from dataclasses import dataclass

from solver.errors import InvalidRequest


def motion_error(text: str) -> InvalidRequest:
    """Return the error for a motion that its actuator or the firmware cannot perform."""
    return InvalidRequest(text, code="motion-error")


@dataclass(frozen=True, slots=True)
class ServoSegment:
    """Slew the pulse to ``pulse_us`` in ``duration_us``, linearly; same pulse again is a dwell."""

    pulse_us: int
    duration_us: int


@dataclass(frozen=True, slots=True)
class StepSegment:
    """``count`` steps, the k-th (from 0) after ``interval_ticks + k * add_ticks``."""

    interval_ticks: int
    count: int
    add_ticks: int


@dataclass(frozen=True, slots=True)
class MotionProfile:
    """A motion of one actuator that starts and ends at rest.

    ``start`` and ``end`` are positions: microseconds of pulse for a servo, steps for a stepper
    (``end - start`` is signed and equals the steps made). ``duration_us`` includes settling.
    """

    actuator: str
    segments: tuple[ServoSegment, ...] | tuple[StepSegment, ...]
    start: int
    end: int
    duration_us: int


@dataclass(frozen=True, slots=True)
class TimedTurn:
    """Profile number ``profile`` of the schedule, started ``start_us`` after the schedule's go."""

    start_us: int
    profile: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything the microcontroller does between one ``go`` and rest; turns ordered by start.

    ``duration_us`` is the end of the last turn. Turns of one actuator never overlap.
    """

    profiles: tuple[MotionProfile, ...]
    turns: tuple[TimedTurn, ...]
    duration_us: int
