"""What a motion that broke off caught in motion: that has to be homed first, or set by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robot.daemon.ports import MotionFault
from robot.schedule import Schedule

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
