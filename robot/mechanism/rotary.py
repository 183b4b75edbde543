"""What rotates a table, a gripper or a face: its angles, its ways between them, its times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from robot.mechanism.durations import rotation_us, travel_us
from robot.mechanism.graph import ActuatorMotion
from robot.settings.mechanisms import RotatingPart
from robot.settings.profile import RobotProfile


class Rotary:
    """A rotating part whatever drives it, with the ``angles`` it has, in quarter turns.

    Endless motors have ``looks`` angles, 0 to looks - 1: those that can be told apart.
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
        """What a configuration says about the part at ``angle``."""
        return angle if self._free else self._names[angle]

    def angle(self, positions: Mapping[str, str | int]) -> int:
        """The part's angle in a configuration's positions."""
        place = positions[self.actuator]
        if isinstance(place, int):
            return place
        return next(angle for angle, name in self._names.items() if name == place)

    def turns(self, angle: int) -> Iterator[tuple[int, int]]:
        """``(new angle, signed quarters)`` of every rotation that moves what it holds."""
        if self.endless:
            yield from (((angle + quarters) % self.looks, quarters) for quarters in (1, 2, -1))
            return
        for other in self.angles:
            if (other - angle) % 4:
                yield other, other - angle

    def returns(self, angle: int) -> Iterator[tuple[int, int]]:
        """``(new angle, signed quarters)`` of every useful rotation with nothing held."""
        for other in self.angles:
            if other != angle:
                quarters = other - angle
                if self.endless and quarters % 4 == 3:
                    quarters = -1
                yield other, quarters

    def motion(self, angle: int, other: int, quarters: int, held: bool) -> ActuatorMotion | None:
        """The rotation; None if no way was taught between these positions."""
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
