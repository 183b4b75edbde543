"""The kinds that the simulated robot is made of: its motors, and the parts that they move.

A kind registers itself in the module of its name beside this one. It reads the profile for itself:
the simulated robot is a second opinion on what the planner makes of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from robot.settings import RobotProfile
from robot.settings.actuators import ActuatorSettings
from robot.settings.kinds import Kinds
from robot.settings.mechanisms import BUILT_IN_MECHANISMS
from robot.settings.profile import SimulatedActuator
from robot.twin.cube import CubeBody, Pose
from robot.twin.twisting import Slipping
from robot.twin.violations import Reporter

Scale = Callable[[float], float]
"""From a motor's own units to quarter turns."""

Own = TypeVar("Own", bound=ActuatorSettings)

EdgeHandler = Callable[[float, bool], None]
"""Called with the time in microseconds and the level when a pin changes."""


class SimulatedMotor(ABC):
    """A motor of any kind; ``position`` is in its own units."""

    glides: ClassVar[bool] = False
    """Whether it moves on between two edges of its pins."""

    def __init__(self, name: str, position: float) -> None:
        self.name = name
        self.position = position
        self.jammed = False
        self.lost_steps = 0

    @property
    @abstractmethod
    def moving(self) -> bool:
        """Whether it is on its way."""

    def reset(self) -> None:  # noqa: B027  # no pins matter, unless a kind says otherwise
        """The firmware was reset: all its pins are low."""

    def advance(self, start_us: float, end_us: float) -> None:  # noqa: B027  # as above
        """Let time pass."""

    def has_stepped(self) -> bool:
        """Whether an edge has moved it since this was last asked."""
        return False

    def lose_steps(self, steps: int) -> None:
        """Miss its next steps without anybody noticing."""
        raise ValueError(f"{self.name} has no steps to lose")


class EndStop(Protocol):
    """A switch or sensor that a motor's load works."""

    stuck: bool | None
    chatter: int

    def level(self, position: float) -> bool:
        """Level of the input pin when the motor is at ``position``."""


@dataclass(frozen=True)
class WiredMotor:
    """A motor, what the edges of each pin do to it, and the end stops that it works, by pin."""

    motor: SimulatedMotor
    edges: Mapping[int, EdgeHandler]
    end_stops: Mapping[int, EndStop] = field(default_factory=dict)


@dataclass(frozen=True)
class MotorKind(Generic[Own]):
    """A kind of actuator in simulation.

    ``wire`` makes the motor from its name, settings, physics and the position where it stands when
    switched on, if one is named. ``scale`` is made from its settings and the quarter turns of its
    named positions.
    """

    wire: Callable[[str, Own, SimulatedActuator, str | None, Reporter], WiredMotor]
    scale: Callable[[Own, Mapping[str, int]], Scale]


MOTORS: Kinds[MotorKind[Any]] = Kinds(
    "simulated actuator", "robot.twin.{kind}", ("servo", "stepper")
)


class SimulatedMechanism(Protocol):
    """The parts that touch the cube, of whatever kind."""

    slips: Slipping

    @property
    def body(self) -> CubeBody:
        """The cube they touch."""

    def update(self, positions: Mapping[str, float]) -> None:
        """The motors are now at ``positions``: rotations in quarters, others in their own units."""

    def place(self, actuator: str, position: float) -> str | None:
        """Name of the calibrated place an actuator is at, if any."""

    def interrupted(self) -> None:
        """The firmware was reset: what was under way stays as it is, or falls back."""

    def set_square(self) -> None:
        """A person sets cube and layers square by hand, each to what is nearest."""

    def pose(self) -> Pose:
        """How far the stickers are from where they are booked."""


@dataclass(frozen=True)
class MechanismParts:
    """The parts of a mechanism, as a profile describes them.

    ``rotations``: motors whose positions count in quarter turns, with the quarter turns of their
    named positions. ``start_places``: where servos stand when the robot is switched on, as it was
    put away. ``around`` puts the parts around a cube.
    """

    rotations: Mapping[str, Mapping[str, int]]
    start_places: Mapping[str, str]
    around: Callable[[CubeBody, Reporter], SimulatedMechanism]


SIMULATED_MECHANISMS: Kinds[Callable[[RobotProfile], MechanismParts]] = Kinds(
    "simulated mechanism", "robot.twin.{kind}", BUILT_IN_MECHANISMS
)


class SettingsReading(BaseModel):
    """What a kind reads of its settings; whatever else they say does not matter to it."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


def parts_of(profile: RobotProfile) -> MechanismParts:
    """The parts of the profile's mechanism."""
    return SIMULATED_MECHANISMS[profile.mechanism.kind](profile)


def scale_of(profile: RobotProfile, motor: str, angles: Mapping[str, int]) -> Scale:
    """From the motor's positions to quarter turns; raises UnknownKind for what is only timed."""
    settings = profile.actuators[motor]
    return MOTORS[settings.kind].scale(settings, angles)


def tolerance_quarters(profile: RobotProfile) -> float:
    """How far anything may be off square before it counts as wrong."""
    return profile.simulation.tolerance_degrees / 90
