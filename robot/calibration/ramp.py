"""How fast a stepper may be: tried faster and faster until it loses steps, then with a margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from robot.motion import stepper_limits
from robot.settings import RobotProfile
from robot.settings.actuators import Stepper
from solver.errors import CubistError

FIELDS = {"speed": "speed_steps_per_s", "acceleration": "acceleration_steps_per_s2"}
"""What is raised -> its name in requests; with ``max_`` in front in profiles."""

BEGIN, END, FACTOR = 0.5, 4.0, 1.15
"""From which part of the present value to how many times it, and by how much each time."""

SAFE = 0.8
"""Part of the last good value that is kept."""

REACHED = 0.98


class NoStepper(CubistError, ValueError):
    """The robot has no stepper of that name."""


def stepper_of(profile: RobotProfile, name: str) -> Stepper:
    """Raises :class:`NoStepper`."""
    found = profile.actuators.get(name)
    if isinstance(found, Stepper):
        return found
    known = ", ".join(steppers_of(profile)) or "none"
    raise NoStepper(f"{profile.name} has no stepper {name}; there is {known}")


def steppers_of(profile: RobotProfile) -> list[str]:
    """Names of all steppers."""
    return [name for name, one in profile.actuators.items() if isinstance(one, Stepper)]


@dataclass
class Ramp:
    """One motor's speed or acceleration, raised until steps are lost.

    ``wanted`` is what to try next, None when there is nothing more to try; ``ended`` says why.
    """

    profile: RobotProfile
    motor: str
    what: str
    held: bool = False
    begin: float | None = None
    end: float | None = None
    good: float | None = None
    ended: str = ""
    wanted: float | None = field(init=False)

    def __post_init__(self) -> None:
        present = self.present
        self.end = self.end or END * present
        self.wanted = self.begin or BEGIN * present

    @property
    def present(self) -> float:
        """The value that counts now."""
        limits = stepper_limits(stepper_of(self.profile, self.motor), self.held)
        return limits.max_speed if self.what == "speed" else limits.acceleration

    def body(self) -> dict[str, Any]:
        """What to ask of the daemon."""
        assert self.wanted is not None
        return {"actuator": self.motor, "held": self.held, FIELDS[self.what]: round(self.wanted)}

    def note(self, tried: Mapping[str, Any], lost: bool) -> None:
        """Go on from what was tried."""
        assert self.wanted is not None and self.end is not None
        value, self.wanted = round(self.wanted), None
        if lost:
            self.ended = f"steps were lost at {value}"
            return
        self.good = value
        if tried["reached_steps_per_s"] < REACHED * tried["speed_steps_per_s"]:
            self.ended = "its way is too short to be any faster"
        elif value * FACTOR > self.end:
            self.ended = "no steps were lost at all"
        else:
            self.wanted = value * FACTOR

    @property
    def safe(self) -> int | None:
        """What may be kept; None when nothing was good."""
        return None if self.good is None else round(SAFE * self.good)

    def values(self) -> dict[str, Any]:
        """The safe value, as calibrated values."""
        if self.safe is None:
            return {}
        name = f"max_{FIELDS[self.what]}"
        if not self.held:
            return {f"actuators.{self.motor}.{name}": self.safe}
        limits = stepper_limits(stepper_of(self.profile, self.motor), held=True)
        document = {
            "max_speed_steps_per_s": limits.max_speed,
            "max_acceleration_steps_per_s2": limits.acceleration,
        }
        return {f"actuators.{self.motor}.held": document | {name: self.safe}}
