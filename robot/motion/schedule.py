"""Timed actuator turns, and the drives that make them for each kind of actuator.

The planner passes turns to the link, and the firmware executes them. Times for the planner and
profiles for the board come from the same drive, so the firmware executes exactly what was planned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from robot.settings.actuators import ActuatorSettings, RotationTimes, Servo, Timed
from robot.settings.base import Kinds, microseconds
from solver.errors import InvalidRequest


def motion_error(text: str) -> InvalidRequest:
    """Return the error for a motion that its actuator or the firmware cannot perform."""
    return InvalidRequest(text, code="motion-error")


@dataclass(frozen=True, slots=True)
class ServoSegment:
    """A linear slew of the pulse to ``pulse_us`` in ``duration_us``; to the same pulse: a dwell."""

    pulse_us: int
    duration_us: int


@dataclass(frozen=True, slots=True)
class StepSegment:
    """A run of ``count`` steps, the k-th (from 0) after ``interval_ticks + k * add_ticks``."""

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
    """A turn by profile number ``profile``, started ``start_us`` after the schedule's go."""

    start_us: int
    profile: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """All turns that the microcontroller makes between one ``go`` and rest, ordered by start.

    ``duration_us`` is the end of the last turn. Turns of one actuator never overlap.
    """

    profiles: tuple[MotionProfile, ...]
    turns: tuple[TimedTurn, ...]
    duration_us: int

    @classmethod
    def of(cls, profile: MotionProfile) -> Schedule:
        """Return a schedule of one turn."""
        return cls((profile,), (TimedTurn(0, 0),), profile.duration_us)


class Drive:
    """The motions of one actuator. Times are microseconds, settling included.

    ``held``: it turns a layer of a held cube. A kind overrides the motions it can make.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def travel_us(self, start: str, end: str, held: bool) -> int | None:
        """Return the time between two named positions; None if there is no travel between them."""
        return self.travel(start, end, held).duration_us

    def moving_us(self, start: str, end: str, held: bool) -> int:
        """Return the time between two named positions, without settling."""
        return self.travel_us(start, end, held) or 0

    def travel(self, start: str, end: str, held: bool) -> MotionProfile:
        """Return the motion between two named positions."""
        raise ValueError(f"{self.name} has no named positions")

    def rotation_us(self, quarters: int, held: bool) -> int:
        """Return the time of a rotation by quarter turns."""
        return self.rotation(0, quarters, held).duration_us

    def rotation(self, angle: int, quarters: int, held: bool) -> MotionProfile:
        """Return the rotation by ``quarters`` from an angle in quarter turns."""
        raise ValueError(f"{self.name} does not rotate")

    def angle_left_us(self, quarters: int, degrees: float) -> int:
        """Return the time from ``degrees`` before the end of a layer's turn until it settles."""
        return int(self.rotation_us(quarters, held=True) * degrees / (90 * abs(quarters)))

    def angle_made_us(self, quarters: int, degrees: float) -> int:
        """Return the time until a layer's turn has made more than ``degrees``."""
        return self.angle_left_us(quarters, degrees)


DRIVES: Kinds[Callable[[str, Any], Drive]] = Kinds(
    "motion of an actuator", "robot.motion.{kind}", ("servo", "stepper")
)
"""Factories by kind of actuator, which make its drive from its name and settings."""


def drive_of(name: str, settings: ActuatorSettings) -> Drive:
    """Return the drive of the actuator called ``name``."""
    return DRIVES[settings.kind](name, settings)


Placed = TypeVar("Placed", Servo, Timed)


class PlacedDrive(Drive, Generic[Placed]):
    """A drive with travel times stated in its settings."""

    def __init__(self, name: str, settings: Placed) -> None:
        super().__init__(name)
        self._settings: Placed = settings

    def travel_us(self, start: str, end: str, held: bool) -> int | None:
        """See :meth:`Drive.travel_us`."""
        times = self._settings.transition_us(start, end, held)
        return None if times is None else sum(times)


class TimedDrive(PlacedDrive[Timed]):
    """A drive with stated times only; it has no motions to execute."""

    def rotation_us(self, quarters: int, held: bool) -> int:
        """See :meth:`Drive.rotation_us`."""
        settings = self._settings
        if settings.free is None:
            return super().rotation_us(quarters, held)
        times = settings.held if held and settings.held is not None else settings.free
        settle = microseconds(settings.held_settle_ms) if held else 0
        return _stated_us(times, abs(quarters)) + settle


def _stated_us(times: RotationTimes, quarters: int) -> int:
    """Return the time of a rotation; longer ones than a half turn are extrapolated linearly."""
    quarter, half = microseconds(times.quarter_ms), microseconds(times.half_ms)
    return quarter if quarters == 1 else half + (quarters - 2) * (half - quarter)


DRIVES["timed"] = TimedDrive
