"""The kinds of motors of a simulated robot, and of the parts that they move.

A kind registers itself in the module of its name beside this one. It reads the profile by itself,
because the simulated robot is an independent check of the planner's reading.
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
"""Pulse microseconds for a degree of the usual hobby servo: 1 ms for a quarter turn."""

Scale = Callable[[float], float]
"""A conversion from a motor's own units to quarter turns."""

Own = TypeVar("Own", bound=ActuatorSettings)

EdgeHandler = Callable[[float, bool], None]
"""Callback for a change of a pin, with the time in microseconds and the level."""

SIMULATED_MECHANISMS: Kinds[MakeParts] = Kinds(
    "simulated mechanism", "robot.twin.{kind}", BUILT_IN_MECHANISMS
)


class SimulatedMotor(ABC):
    """A motor of any kind; ``position`` is in its own units."""

    glides: ClassVar[bool] = False
    """True if it continues to move between two edges of its pins."""

    def __init__(self, name: str, position: float) -> None:
        self.name = name
        self.position = position
        self.jammed = False
        self.lost_steps = 0
        self.self_locking = False
        self.limp_since_us: float | None = None
        """Time when its power or pulses ended without a reset of its board; None while it holds."""

    @property
    @abstractmethod
    def moving(self) -> bool:
        """True while it moves."""

    @property
    @abstractmethod
    def has_power(self) -> bool:
        """True if it actively holds its position."""

    def turn_by_hand(self, amount: float) -> bool:
        """Move by ``amount`` in its own units; return false if a hand cannot."""
        if self.has_power or self.self_locking:
            return False
        self.position += amount
        return True

    def reset(self) -> None:  # noqa: B027  # a kind overrides it if its pins matter
        """Handle a reset of the firmware: all its pins are low."""

    def advance(self, start_us: float, end_us: float) -> None:  # noqa: B027  # as above
        """Let time pass."""

    def has_stepped(self) -> bool:
        """Return true if an edge has moved it since the last call."""
        return False

    def drift(self, amount: float) -> None:  # noqa: B027  # homing corrects any other motor
        """Shift its true position by ``amount`` in its own units, for the same command."""

    def tremble_degrees(self, time_us: float) -> float:
        """Return its deviation at a moment because of trembling."""
        del time_us
        return 0.0

    def share_supply(self, others: int) -> None:  # noqa: B027  # drivers with a supply of their own
        """Set the number of other motors that move at the same time."""

    def lose_steps(self, steps: int) -> None:
        """Miss the next steps silently."""
        raise ValueError(f"{self.name} has no steps to lose")


class EndStop(Protocol):
    """A switch or sensor that a motor's load actuates."""

    stuck: bool | None
    chatter: int

    def level(self, position: float) -> bool:
        """Return the level of the input pin when the motor is at ``position``."""


@dataclass(frozen=True)
class Stop:
    """An obstacle to a motor, in its own units, and the violation of pushing against it.

    ``upwards``: it stops motion towards higher positions, else towards lower ones. A servo that
    pushes for too long is reported as ``kind``.
    """

    at: float
    upwards: bool
    kind: str
    text: str


@dataclass(frozen=True)
class Build:
    """The build of one motor: its obstacles, and the robot's deviations, if any.

    ``degree_us``: pulse microseconds for a degree of a servo's shaft, if built as drawn.
    """

    misadjusted: Misadjustment | None = None
    stops: tuple[Stop, ...] = ()
    degree_us: float = 1.0


@dataclass(frozen=True)
class WiredMotor:
    """A motor, handlers for edges by pin, the end stops it actuates by pin, and its driver, if that
    is on the board's UART."""

    motor: SimulatedMotor
    edges: Mapping[int, EdgeHandler]
    end_stops: Mapping[int, EndStop] = field(default_factory=dict)
    driver: Tmc2209 | None = None


@dataclass(frozen=True)
class MotorKind(Generic[Own]):
    """A kind of actuator in simulation.

    ``wire`` makes the motor from its name, settings, physics, the name of its position when
    switched on (or None), its build, and the reporter of violations. ``scale`` makes its scale from
    its settings and the quarter turns of its named positions.
    """

    wire: Callable[[str, Own, SimulatedActuator, str | None, Build, Reporter], WiredMotor]
    scale: Callable[[Own, Mapping[str, int]], Scale]


MOTORS: Kinds[MotorKind[Any]] = Kinds(
    "simulated actuator", "robot.twin.{kind}", ("servo", "stepper")
)


class Lid(Protocol):
    """An arm that comes into the picture on its way down to the cube."""

    def depth(self, position: float, places: Collection[str]) -> float:
        """Return the distance beyond the zone of these places, in the motor's units: negative
        inside it, infinite except on the way down."""


class SimulatedMechanism(Protocol):
    """The parts of any kind that touch the cube."""

    slips: Slipping

    @property
    def body(self) -> CubeBody:
        """The cube they touch."""

    def update(self, positions: Mapping[str, float]) -> None:
        """Apply the motors' ``positions``: rotations in quarters, others in their own units."""

    def place(self, actuator: str, position: float) -> str | None:
        """Return the name of the calibrated place an actuator is at, if any."""

    def note_reset(self) -> None:
        """Handle a reset of the firmware: interrupted motions stay as they are, or fall back."""

    def set_square(self) -> None:
        """Set cube and layers square by hand, each to the nearest quarter."""

    def pose(self) -> Pose:
        """Return the stickers' deviation from their recorded places."""


@dataclass(frozen=True)
class MechanismParts:
    """The parts of a mechanism, as a profile describes them.

    ``rotations``: motors with positions in quarter turns, and the quarter turns of their named
    positions. ``start_places``: positions of servos when the robot is switched on, as it was put
    away. ``around`` puts the parts around a cube. ``stops``: obstacles of each motor. ``good``:
    ranges in which a motor's position is good. ``carriers``: motors that keep the cube from
    falling while they are at one of these places. ``lids``: arms that get into the picture
    gradually, by their motors' names.
    """

    rotations: Mapping[str, Mapping[str, int]]
    start_places: Mapping[str, str]
    around: Callable[[CubeBody, Reporter], SimulatedMechanism]
    stops: Mapping[str, tuple[Stop, ...]] = field(default_factory=dict)
    good: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    carriers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lids: Mapping[str, Lid] = field(default_factory=dict)


MakeParts = Callable[[RobotProfile, Misadjustment | None], MechanismParts]
"""Factory of a mechanism's parts from a profile, built as drawn if there are no deviations."""


class SettingsReading(BaseModel):
    """A kind's reading of its settings; it ignores all other keys."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


def parts_of(profile: RobotProfile, misadjusted: Misadjustment | None = None) -> MechanismParts:
    """Return the parts of the profile's mechanism."""
    return SIMULATED_MECHANISMS[profile.mechanism.kind](profile, misadjusted)


def scale_of(profile: RobotProfile, motor: str, angles: Mapping[str, int]) -> Scale:
    """Return the motor's scale to quarter turns. Raise InvalidRequest for a timed actuator."""
    settings = profile.actuators[motor]
    return MOTORS[settings.kind].scale(settings, angles)


def degree_us(profile: RobotProfile, rotations: Mapping[str, Mapping[str, int]]) -> float:
    """Return the pulse microseconds for a degree of any servo: those of a rotating one in the
    profile, or :data:`DEGREE_US` if none rotates."""
    for name, angles in rotations.items():
        servo = profile.actuators[name]
        if isinstance(servo, Servo) and len(angles) > 1:
            scale = scale_of(profile, name, angles)
            pulses = [servo.positions_us[place] for place in angles]
            low, high = min(pulses), max(pulses)
            return (high - low) / (90 * abs(scale(high) - scale(low)))
    return DEGREE_US


def tolerance_quarters(profile: RobotProfile, misadjusted: Misadjustment | None) -> float:
    """Return the deviation from square above which a position is wrong."""
    degrees = profile.simulation.tolerance_degrees
    if misadjusted is not None:
        degrees = min(degrees, TOLERANCE_DEGREES)
    return degrees / 90


def approached_from(
    places: Mapping[str, float], quarters: Mapping[str, int] | None
) -> dict[str, int]:
    """Return the direction in which a servo reaches each position: 1 upwards, -1 downwards, 0 both.

    It reaches its outermost positions from between them, and stops short of them by its slack.
    """
    low, high = (edge(places, key=places.__getitem__) for edge in (min, max))
    both = {name for name, angle in (quarters or {}).items() if not angle}
    return {name: 0 if name in both else (name == high) - (name == low) for name in places}


def position_errors(
    profile: RobotProfile, truth: Misadjustment | None, values: JsonMapping
) -> Mapping[str, float]:
    """Return the errors of servo positions in calibrated ``values``, by key, in shaft degrees.

    The error of a holding position is its distance from the range in which a quarter turn almost
    never slips and nothing presses too hard. ``truth``: the robot's build (None: as drawn).
    Steppers count from their position when switched on or homed, so theirs are right by definition.
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
