"""Robots that cannot be: what is said of them, at the key of the profile that is to be changed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from robot.motion import MotionError
from robot.settings.document import Path
from robot.settings.errors import BadProfile
from robot.settings.profile import RobotProfile


class ImpossibleRobot(BadProfile):
    """A robot that cannot do what a solve needs; the text says what and why."""

    def __init__(self, profile: RobotProfile, path: Path, text: str) -> None:
        super().__init__([profile.complaint(path, text)])


@contextlib.contextmanager
def moving(profile: RobotProfile, name: str) -> Iterator[None]:
    """Whatever inside asks of the actuator ``name`` what it cannot do is the profile's fault."""
    try:
        yield
    except MotionError as error:
        text = str(error).removeprefix(f"{name}: ")
        raise ImpossibleRobot(profile, ("actuators", name), text) from error
