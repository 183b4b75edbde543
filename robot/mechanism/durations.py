"""How long the actuators of a robot take: from the very motions that the firmware will follow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from robot.motion.drive import Drive, drive_of
from robot.motion.schedule import MotionError, MotionProfile
from robot.settings.document import BadProfile, Path
from robot.settings.profile import RobotProfile
from solver.errors import CubistError


class NotDrivable(CubistError, RuntimeError):
    """A schedule was asked of an actuator that has no pins, only times."""


class ImpossibleRobot(BadProfile):
    """A robot that cannot do what a solve needs; the text says what and why.

    It is said at the key of the profile that is to be changed.
    """

    def __init__(self, profile: RobotProfile, path: Path, text: str) -> None:
        super().__init__([profile.complaint(path, text)])


def travel_us(profile: RobotProfile, name: str, start: str, end: str, held: bool) -> int | None:
    """Microseconds, settling included, between two named positions; None if there is no way."""
    with _drive(profile, name) as drive:
        return drive.travel_us(start, end, held)


def rotation_us(profile: RobotProfile, name: str, quarters: int, held: bool) -> int:
    """Microseconds, settling included, that an actuator needs for quarter turns."""
    with _drive(profile, name) as drive:
        return drive.rotation_us(quarters, held)


def angle_left_us(profile: RobotProfile, name: str, quarters: int, degrees: float) -> int:
    """Microseconds from when ``degrees`` of a layer's turn are left until it has settled."""
    if not degrees:
        return 0
    with _drive(profile, name) as drive:
        return drive.angle_left_us(quarters, degrees)


def travel_profile(
    profile: RobotProfile, name: str, start: str, end: str, held: bool
) -> MotionProfile:
    """The motion between two named positions; raises :class:`NotDrivable`."""
    require_drivable(profile, name)
    with _drive(profile, name) as drive:
        return drive.travel(start, end, held)


def rotation_profile(
    profile: RobotProfile, name: str, angle: int, quarters: int, held: bool
) -> MotionProfile:
    """The rotation by quarter turns from an angle in them; raises :class:`NotDrivable`."""
    require_drivable(profile, name)
    with _drive(profile, name) as drive:
        return drive.rotation(angle, quarters, held)


def require_drivable(profile: RobotProfile, name: str) -> None:
    """Raise :class:`NotDrivable` for an actuator of which only times are known."""
    if not profile.actuators[name].drivable:
        raise NotDrivable(
            f"{name} of {profile.name} is only timed: this profile can be planned for, not driven; "
            "describe it as a servo or stepper with its pins"
        )


@contextlib.contextmanager
def _drive(profile: RobotProfile, name: str) -> Iterator[Drive]:
    """The actuator called ``name``; whatever it cannot do is the profile's fault."""
    try:
        yield drive_of(name, profile.actuators[name])
    except MotionError as error:
        text = str(error).removeprefix(f"{name}: ")
        raise ImpossibleRobot(profile, ("actuators", name), text) from error
