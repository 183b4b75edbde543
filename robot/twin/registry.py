"""The kinds that the simulated robot is made of: its motors, and the parts that they move.

A kind registers itself in the module of its name beside this one. It reads the profile for itself:
the simulated robot is a second opinion on what the planner makes of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from robot.settings import RobotProfile
from robot.settings.actuators import ActuatorSettings, Servo
from robot.settings.base import Kinds
from robot.settings.mechanisms import BUILT_IN_MECHANISMS
from robot.settings.profile import SimulatedActuator
from robot.twin.cube import CubeBody, Pose, Slipping
from robot.twin.misadjustment import BUILT_AS_DRAWN, TOLERANCE_DEGREES, Misadjustment
from robot.twin.tmc2209 import Tmc2209
from robot.twin.violations import Reporter
from solver.files import JsonMapping

DEGREE_US = 1000 / 90
"""The usual hobby servo: a quarter turn for a millisecond more."""

Scale = Callable[[float], float]
"""From a motor's own units to quarter turns."""

Own = TypeVar("Own", bound=ActuatorSettings)

EdgeHandler = Callable[[float, bool], None]
"""Called with the time in microseconds and the level when a pin changes."""

SIMULATED_MECHANISMS: Kinds[MakeParts] = Kinds(
    "simulated mechanism", "robot.twin.{kind}", BUILT_IN_MECHANISMS
)


class SimulatedMotor(ABC):
    """A motor of any kind; ``position`` is in its own units."""

    glides: ClassVar[bool] = False
    """Whether it moves on between two edges of its pins."""

    def __init__(self, name: str, position: float) -> None:
        self.name = name
        self.position = position
        self.jammed = False
        self.lost_steps = 0
        self.self_locking = False
        self.limp_since_us: float | None = None
        """When its power or pulses ended, though its board was not reset; None while it holds."""

    @property
    @abstractmethod
    def moving(self) -> bool:
        """True if it is on its way."""

    @property
    @abstractmethod
    def has_power(self) -> bool:
        """True if it holds its place by force."""

    def turn_by_hand(self, amount: float) -> bool:
        """Move by this much, in its own units; return false if that takes more than a hand."""
        if self.has_power or self.self_locking:
            return False
        self.position += amount
        return True

    def reset(self) -> None:  # noqa: B027  # no pins matter, unless a kind says otherwise
        """The firmware was reset: all its pins are low."""

    def advance(self, start_us: float, end_us: float) -> None:  # noqa: B027  # as above
        """Let time pass."""

    def has_stepped(self) -> bool:
        """True if an edge has moved it since the last question."""
        return False

    def drift(self, amount: float) -> None:  # noqa: B027  # what is homed finds its place again
        """Shift its true place by this much, in its own units, at the same command."""

    def tremble_degrees(self, time_us: float) -> float:
        """Return how far it is off its place at a moment, because it trembles."""
        del time_us
        return 0.0

    def share_supply(self, others: int) -> None:  # noqa: B027  # drivers with a supply of their own
        """Note that so many others move at the same time."""

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
class Stop:
    """An obstacle in a motor's way, in its own units, and the violation of pushing against it.

    ``upwards``: it stops motion towards higher positions, else towards lower ones. A servo that
    pushes for longer than it can is reported as ``kind``.
    """

    at: float
    upwards: bool
    kind: str
    text: str


@dataclass(frozen=True)
class Build:
    """The build of one motor: obstacles in its way, and the robot's deviations, if any.

    ``degree_us``: pulse microseconds for a degree of a servo's shaft, where it was built as drawn.
    """

    misadjusted: Misadjustment | None = None
    stops: tuple[Stop, ...] = ()
    degree_us: float = 1.0


@dataclass(frozen=True)
class WiredMotor:
    """A motor, what the edges of each pin do to it, the end stops that it works, by pin, and its
    driver, if that is on the board's UART."""

    motor: SimulatedMotor
    edges: Mapping[int, EdgeHandler]
    end_stops: Mapping[int, EndStop] = field(default_factory=dict)
    driver: Tmc2209 | None = None


@dataclass(frozen=True)
class MotorKind(Generic[Own]):
    """A kind of actuator in simulation.

    ``wire`` makes the motor from its name, settings, physics, the position where it stands when
    switched on, if one is named, how it was built in, and who hears of violations. ``scale`` is
    made from its settings and the quarter turns of its named positions.
    """

    wire: Callable[[str, Own, SimulatedActuator, str | None, Build, Reporter], WiredMotor]
    scale: Callable[[Own, Mapping[str, int]], Scale]


MOTORS: Kinds[MotorKind[Any]] = Kinds(
    "simulated actuator", "robot.twin.{kind}", ("servo", "stepper")
)


class Lid(Protocol):
    """An arm that comes into the picture on its way down to the cube."""

    def depth(self, position: float, places: Collection[str]) -> float:
        """Return by how much it is past where it is at one of these places, in its motor's units:
        negative before that, infinite anywhere but on its way down."""


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

    def note_reset(self) -> None:
        """The firmware was reset: what was under way stays as it is, or falls back."""

    def set_square(self) -> None:
        """A person sets cube and layers square by hand, each to what is nearest."""

    def pose(self) -> Pose:
        """Return the stickers' deviation from their booked places."""


@dataclass(frozen=True)
class MechanismParts:
    """The parts of a mechanism, as a profile describes them.

    ``rotations``: motors whose positions count in quarter turns, with the quarter turns of their
    named positions. ``start_places``: where servos stand when the robot is switched on, as it was
    put away. ``around`` puts the parts around a cube. ``stops``: what is in the way of a motor.
    ``good``: between which two places some positions of a motor are as good as any. ``carriers``:
    motors that keep the cube from falling while they are at one of these places. ``lids``: arms
    that get into the picture little by little, by their motors' names.
    """

    rotations: Mapping[str, Mapping[str, int]]
    start_places: Mapping[str, str]
    around: Callable[[CubeBody, Reporter], SimulatedMechanism]
    stops: Mapping[str, tuple[Stop, ...]] = field(default_factory=dict)
    good: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    carriers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lids: Mapping[str, Lid] = field(default_factory=dict)


MakeParts = Callable[[RobotProfile, Misadjustment | None], MechanismParts]
"""The parts of a profile's mechanism; built as drawn, unless deviations are given."""


class SettingsReading(BaseModel):
    """A kind's reading of its settings; all other keys do not matter to it."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


def parts_of(profile: RobotProfile, misadjusted: Misadjustment | None = None) -> MechanismParts:
    """The parts of the profile's mechanism."""
    return SIMULATED_MECHANISMS[profile.mechanism.kind](profile, misadjusted)


def scale_of(profile: RobotProfile, motor: str, angles: Mapping[str, int]) -> Scale:
    """Return the motor's scale to quarter turns; raises InvalidRequest for a timed actuator."""
    settings = profile.actuators[motor]
    return MOTORS[settings.kind].scale(settings, angles)


def degree_us(profile: RobotProfile, rotations: Mapping[str, Mapping[str, int]]) -> float:
    """Pulse microseconds for a degree of a servo: as the profile has it for one that rotates, and
    the same for all others; :data:`DEGREE_US` without one."""
    for name, angles in rotations.items():
        servo = profile.actuators[name]
        if isinstance(servo, Servo) and len(angles) > 1:
            scale = scale_of(profile, name, angles)
            pulses = [servo.positions_us[place] for place in angles]
            low, high = min(pulses), max(pulses)
            return (high - low) / (90 * abs(scale(high) - scale(low)))
    return DEGREE_US


def tolerance_quarters(profile: RobotProfile, misadjusted: Misadjustment | None) -> float:
    """Return the deviation from square above which anything counts as wrong."""
    degrees = profile.simulation.tolerance_degrees
    if misadjusted is not None:
        degrees = min(degrees, TOLERANCE_DEGREES)
    return degrees / 90


def approached_from(
    places: Mapping[str, float], quarters: Mapping[str, int] | None
) -> dict[str, int]:
    """Return from where a servo comes to each of its positions: 1 upwards, -1 downwards, 0 both.

    It comes to the ends of its way from between them, and stops that much before it is there.
    """
    low, high = (edge(places, key=places.__getitem__) for edge in (min, max))
    both = {name for name, angle in (quarters or {}).items() if not angle}
    return {name: 0 if name in both else (name == high) - (name == low) for name in places}


def position_errors(
    profile: RobotProfile, truth: Misadjustment | None, values: JsonMapping
) -> Mapping[str, float]:
    """Degrees of the shaft by which each servo position in calibrated ``values`` is off, by key.

    One that holds the cube is off by how far it is from where a quarter turn next to never slips
    and nothing presses too hard. ``truth``: how the robot was built; None: as drawn. Steppers count
    from where they are switched on or homed, so their positions are right by definition.
    """
    truth = truth or BUILT_AS_DRAWN
    parts = parts_of(profile, truth)
    per_degree = degree_us(profile, parts.rotations)
    found: dict[str, float] = {}
    for name, settings in profile.actuators_of(Servo).items():
        servo = truth.servo(name, settings, per_degree)
        good = parts.good.get(name, {})
        sides = approached_from(settings.positions_us, parts.rotations.get(name))
        for position, place in settings.positions_us.items():
            key = f"actuators.{name}.positions_us.{position}"
            if key in values:
                low, high = good.get(position, (place, place))
                shaft = servo.shaft(values[key]) - sides[position] * servo.slack_us / 2
                found[key] = (shaft - max(low, min(high, shaft))) / per_degree
    return found
