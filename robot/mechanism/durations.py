"""Durations of a robot's actuators, and the rotations of a part from angle to angle.

The times come from the same motions that the firmware executes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from robot.mechanism.graph import ActuatorMotion
from robot.motion.schedule import Drive, MotionProfile, drive_of
from robot.settings.document import BadProfile
from robot.settings.mechanisms import RotatingPart
from robot.settings.profile import RobotProfile
from solver.errors import InvalidRequest


def travel_us(profile: RobotProfile, name: str, start: str, end: str, held: bool) -> int | None:
    """Return the microseconds, with settling, between two named positions; None if not possible."""
    with _drive(profile, name) as drive:
        return drive.travel_us(start, end, held)


def rotation_us(profile: RobotProfile, name: str, quarters: int, held: bool) -> int:
    """Return the microseconds, with settling, that an actuator needs for quarter turns."""
    with _drive(profile, name) as drive:
        return drive.rotation_us(quarters, held)


def angle_left_us(profile: RobotProfile, name: str, quarters: int, degrees: float) -> int:
    """Return the microseconds from ``degrees`` before a layer's end of turn until it settles."""
    if not degrees:
        return 0
    with _drive(profile, name) as drive:
        return drive.angle_left_us(quarters, degrees)


def angle_made_us(profile: RobotProfile, name: str, quarters: int, degrees: float) -> int:
    """Return the microseconds until a layer's turn has made more than ``degrees``."""
    with _drive(profile, name) as drive:
        return drive.angle_made_us(quarters, degrees)


def near_ends_us(profile: RobotProfile, motion: ActuatorMotion, degrees: float) -> tuple[int, int]:
    """Return the microseconds that a rotation is within ``degrees`` of its start, and of its end.

    Those at the end include settling. They are least at constant speed, as of a servo without
    easing. A stepper is as slow when it starts as when it stops, but may swing beyond its end.
    """
    if not degrees:
        return 0, 0
    turns = abs(motion.quarters)
    if motion.start is None or motion.end is None:
        left = angle_left_us(profile, motion.actuator, motion.quarters, degrees)
        settle = angle_left_us(profile, motion.actuator, motion.quarters, SQUARE_DEGREES)
        made = angle_made_us(profile, motion.actuator, motion.quarters, degrees)
        return max(0, min(left - settle, made)), left
    with _drive(profile, motion.actuator) as drive:
        moving = drive.moving_us(motion.start, motion.end, motion.held)
    first = int(moving * degrees / (90 * turns))
    return first, first + motion.duration_us - moving


SQUARE_DEGREES = 1e-3
"""Remaining angle of a turn at which its motion is over and only settling is left."""


def travel_profile(
    profile: RobotProfile, name: str, start: str, end: str, held: bool
) -> MotionProfile:
    """Return the motion between two named positions, or raise ``InvalidRequest``."""
    profile.require_drivable()
    with _drive(profile, name) as drive:
        return drive.travel(start, end, held)


def rotation_profile(
    profile: RobotProfile, name: str, angle: int, quarters: int, held: bool
) -> MotionProfile:
    """Return the rotation by ``quarters`` from ``angle`` (in quarter turns).

    Raise :class:`solver.errors.InvalidRequest` if it is not possible.
    """
    profile.require_drivable()
    with _drive(profile, name) as drive:
        return drive.rotation(angle, quarters, held)


@contextlib.contextmanager
def _drive(profile: RobotProfile, name: str) -> Iterator[Drive]:
    """Yield the drive of the actuator called ``name``, and report its errors as BadProfile."""
    try:
        yield drive_of(name, profile.actuators[name])
    except InvalidRequest as error:
        text = str(error).removeprefix(f"{name}: ")
        raise BadProfile([profile.complaint(("actuators", name), text)]) from error


class Rotary:
    """A rotating part with any drive, and its possible ``angles`` in quarter turns.

    Endless motors have the ``looks`` angles that can be told apart, 0 to looks - 1.
    """

    def __init__(self, profile: RobotProfile, part: RotatingPart) -> None:
        self._profile = profile
        self._names = {quarters: name for name, quarters in part.angles.items()}
        self.actuator, self.looks = part.motor, part.looks
        self._free = profile.actuators[self.actuator].turns_freely
        self.endless = self._free and part.range_quarters is None
        self.angles = self._angles(part)
        start = part.angles[part.start] if isinstance(part.start, str) else part.start
        self.start = start % self.looks if self.endless else start

    def _angles(self, part: RotatingPart) -> tuple[int, ...]:
        if not self._free:
            return tuple(sorted(self._names))
        if part.range_quarters is None:
            return tuple(range(self.looks))
        return tuple(range(part.range_quarters[0], part.range_quarters[1] + 1))

    def position(self, angle: int) -> str | int:
        """Return the part's position in a configuration at ``angle``."""
        return angle if self._free else self._names[angle]

    def angle(self, positions: Mapping[str, str | int]) -> int:
        """Return the part's angle in a configuration's positions."""
        place = positions[self.actuator]
        if isinstance(place, int):
            return place
        return next(angle for angle, name in self._names.items() if name == place)

    def turns(self, angle: int) -> Iterator[tuple[int, int]]:
        """Yield ``(new angle, signed quarters)`` of every rotation that turns the held part."""
        if self.endless:
            yield from (((angle + quarters) % self.looks, quarters) for quarters in (1, 2, -1))
            return
        for other in self.angles:
            if (other - angle) % 4:
                yield other, other - angle

    def returns(self, angle: int) -> Iterator[tuple[int, int]]:
        """Yield ``(new angle, signed quarters)`` of every useful rotation with nothing held."""
        for other in self.angles:
            if other != angle:
                quarters = other - angle
                if self.endless:
                    quarters = (quarters + 1) % 4 - 1  # the short way round
                yield other, quarters

    def motion(self, angle: int, other: int, quarters: int, held: bool) -> ActuatorMotion | None:
        """Return the rotation; None if the profile has no travel between these positions."""
        if self._free:
            duration = rotation_us(self._profile, self.actuator, quarters, held)
            return ActuatorMotion(self.actuator, duration, quarters=quarters, held=held)
        start, end = self._names[angle], self._names[other]
        taught = travel_us(self._profile, self.actuator, start, end, held)
        if taught is None:
            return None
        return ActuatorMotion(
            self.actuator, taught, start=start, end=end, quarters=quarters, held=held
        )
