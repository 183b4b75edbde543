"""Servos, steppers and merely timed actuators, as calibrated."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from robot.settings.base import (
    Name,
    Pin,
    PositiveSteps,
    PulseUs,
    Settings,
    SettleMs,
    Steps,
    TravelMs,
    microseconds,
)
from robot.settings.board_table import STEPS_PER_S
from robot.settings.document import Finding, Path, no_such
from robot.settings.kinds import Kinds, KindSettings

LEAST_US = 20
"""Nearer pulses are the same place to a hobby servo: two degrees, several times its dead band."""

LEAST_STEPS = 4

CheckedSteps = Annotated[
    int, Field(strict=True, ge=-32_768, le=32_767, description="steps, -32768..32767")
]
CheckPeriod = Annotated[
    int, Field(strict=True, ge=2, le=65_535, description="steps from one place to the next")
]
PlaySteps = Annotated[int, Field(strict=True, ge=0, le=1_000, description="steps, 0..1000")]

ACTUATOR_SETTINGS: Kinds[type[ActuatorSettings]] = Kinds("actuator")
"""The settings of each kind of actuator. How a kind moves is registered in ``robot.motion.drive``,
how the board is told of it in ``robot.machine.board_configuration``, and how it is simulated in
``robot.twin.registry``."""


class ActuatorSettings(KindSettings):
    """What every kind of actuator says of itself, in its own ``unit``."""

    drivable: ClassVar[bool] = True
    """Whether it has pins; otherwise robots with it can be planned for, but not driven."""
    turns_freely: ClassVar[bool] = True
    """Whether it rotates by any number of quarter turns, not between named positions only."""
    unit: ClassVar[str] = ""
    positions_key: ClassVar[str] = "positions"
    """The key under which positions are taught."""
    rotation_key: ClassVar[str] = ""
    """The key without which it does not rotate."""

    @classmethod
    def registry(cls) -> Mapping[str, type[ActuatorSettings]]:
        """Every kind of actuator."""
        return ACTUATOR_SETTINGS

    @property
    def places(self) -> Mapping[str, int]:
        """Where its named positions are, in its unit."""
        return {}

    @property
    def position_names(self) -> frozenset[str]:
        """The positions it has been taught."""
        return frozenset(self.places)

    @property
    def rotates(self) -> bool:
        """Whether it can turn something round."""
        return getattr(self, self.rotation_key, None) is not None

    @property
    def connections(self) -> Mapping[str, int]:
        """Pins of the board by what they do."""
        return {}

    @property
    def limits(self) -> tuple[int, int] | None:
        """The lowest and highest place it is ever sent to, of one whose signal is a position: its
        first pulse moves it there at once. None for one that counts from wherever it stands."""
        return None

    @property
    def is_inverted(self) -> bool | None:
        """Whether ``invert_direction`` is set; None for one that cannot turn the wrong way."""
        return None

    @property
    def margin(self) -> int:
        """How far plans go beyond its positions on purpose, and come back: springy layers, play."""
        return 0

    @abstractmethod
    def check(self, path: Path) -> Iterator[Finding]:
        """What contradicts itself in these settings, which stand at ``path``."""


class TravelRow(Settings):
    """How long an actuator takes between two of its named positions, in either direction.

    ``held_ms`` is the time while the cube is held and a layer is turned, ``ms`` when it is not
    given. With ``one_way`` the row is for the first to the second position only.
    """

    between: tuple[Name, Name]
    ms: TravelMs
    held_ms: TravelMs | None = None
    one_way: bool = False


class PositionTimes(ActuatorSettings):
    """What servos and timed actuators with named positions have in common."""

    travel: tuple[TravelRow, ...] = ()
    settle_ms: dict[Name, SettleMs] = Field(
        default_factory=dict, description="position reached: milliseconds to come to rest there"
    )
    held_settle_ms: SettleMs = Field(
        default=0.0, description="milliseconds added after a turn of a layer of a held cube"
    )

    def listed_us(self, start: str, end: str, held: bool) -> tuple[int, int] | None:
        """``(travel, settle)`` microseconds between two positions, or None if not listed."""
        for row in self.travel:
            same = (start, end) == row.between
            if same or (not row.one_way and (end, start) == row.between):
                loaded = held and row.held_ms is not None
                travel = row.held_ms if loaded and row.held_ms is not None else row.ms
                return microseconds(travel), self.settle_us(end, held)
        return None

    def settle_us(self, end: str, held: bool) -> int:
        """Microseconds to come to rest at ``end``."""
        extra = self.held_settle_ms if held else 0.0
        return microseconds(self.settle_ms.get(end, 0.0) + extra)

    def check(self, path: Path) -> Iterator[Finding]:
        """The travel and settling tables speak of positions that exist, once each."""
        known = self.position_names
        seen: set[tuple[str, str]] = set()
        for index, row in enumerate(self.travel):
            place: Path = (*path, "travel", index, "between")
            first, second = row.between
            for name in sorted(set(row.between) - known):
                yield place, f"{name}: {no_such('position', known)}"
            if first == second:
                yield place, "a way from a position to itself takes no time; leave it out"
            ways = {(first, second)} | (set() if row.one_way else {(second, first)})
            if ways & seen:
                yield place, f"the way between {first} and {second} is given twice"
            seen |= ways
        for name in sorted(set(self.settle_ms) - known):
            yield (*path, "settle_ms", name), no_such("position", known)


class ServoPins(Settings):
    """Where a servo is connected."""

    pulse: Pin


class ServoOvershoot(Settings):
    """How far a servo turns a layer of a held cube beyond its position, and the time to return."""

    us: Annotated[int, Field(strict=True, ge=1, le=500, description="pulse microseconds, 1..500")]
    back_ms: TravelMs


class Servo(PositionTimes):
    """A hobby servo: pulses for its named positions and the time to let it get there.

    ``speed_us_per_s`` is the slope of the pulse for positions without a ``travel`` row; without
    it the actuator may move only along the rows.
    """

    turns_freely: ClassVar[bool] = False
    unit: ClassVar[str] = "us"
    positions_key: ClassVar[str] = "positions_us"

    kind: Literal["servo"]
    pins: ServoPins
    limits_us: tuple[PulseUs, PulseUs] = (500, 2500)
    positions_us: dict[Name, PulseUs] = Field(min_length=1)
    speed_us_per_s: float | None = Field(
        default=None, strict=True, ge=50, le=50_000, description="pulse microseconds per second"
    )
    ease_ms: SettleMs = Field(
        default=0.0, description="milliseconds to gain speed, and to lose it, within each travel"
    )
    overshoot: ServoOvershoot | None = None

    @property
    def places(self) -> Mapping[str, int]:
        """Pulses of its positions, in microseconds."""
        return self.positions_us

    @property
    def connections(self) -> Mapping[str, int]:
        """See :meth:`ActuatorSettings.connections`."""
        return {"pulse": self.pins.pulse}

    @property
    def limits(self) -> tuple[int, int] | None:
        """Pulses beyond these are never sent."""
        return self.limits_us

    @property
    def margin(self) -> int:
        """See :attr:`ActuatorSettings.margin`."""
        return 0 if self.overshoot is None else self.overshoot.us

    def transition_us(self, start: str, end: str, held: bool = False) -> tuple[int, int] | None:
        """``(travel, settle)`` microseconds from one position to another; None: no way."""
        listed = self.listed_us(start, end, held)
        if listed is not None or self.speed_us_per_s is None:
            return listed
        distance = abs(self.positions_us[end] - self.positions_us[start])
        return round(distance * 1e6 / self.speed_us_per_s), self.settle_us(end, held)

    def settle_us(self, end: str, held: bool) -> int:
        """See :meth:`PositionTimes.settle_us`; with the way back from beyond ``end``."""
        back = self.overshoot.back_ms if held and self.overshoot is not None else 0.0
        return super().settle_us(end, held) + microseconds(back)

    def check(self, path: Path) -> Iterator[Finding]:
        """Positions are within the limits and apart, and travel rows name them."""
        low, high = self.limits_us
        if low >= high:
            yield (*path, "limits_us"), f"the lower limit {low} must be below the upper {high}"
        beyond = self.overshoot.us if self.overshoot else 0
        for name, pulse in self.positions_us.items():
            place = (*path, "positions_us", name)
            if not low <= pulse <= high:
                yield place, f"{pulse} us is outside limits_us {low}..{high}"
            elif not low <= pulse - beyond <= pulse + beyond <= high:
                yield (*path, "overshoot", "us"), f"goes beyond {name} and limits_us {low}..{high}"
        yield from _check_distinct((*path, "positions_us"), self, LEAST_US)
        yield from super().check(path)


class StepperPins(Settings):
    """Where a stepper's driver is connected; ``enable`` may be shared by all drivers."""

    step: Pin
    direction: Pin
    enable: Pin | None = None
    endstop: Pin | None = None


class HomingSettings(Settings):
    """How a stepper finds its zero: seek the end stop, back off, approach it slowly.

    ``direction`` is +1 or -1 in steps; zero is ``offset_steps`` after the end stop's edge.
    """

    direction: Literal[1, -1]
    speed_steps_per_s: PositiveSteps
    slow_speed_steps_per_s: PositiveSteps
    backoff_steps: PositiveSteps
    max_travel_steps: PositiveSteps
    offset_steps: Steps = 0
    endstop_active: Literal["low", "high"] = "low"


class TurnCheckSettings(Settings):
    """A look at the end stop, or an index sensor, whenever a turn has ended.

    It must be active at ``at_steps`` and every ``every_steps`` from there, and nowhere else at
    rest; without ``every_steps`` there is one such place. ``endstop_active`` is for motors without
    ``homing``, which says it otherwise.
    """

    at_steps: CheckedSteps = 0
    every_steps: CheckPeriod | None = None
    endstop_active: Literal["low", "high"] | None = None


class StepperLoad(Settings):
    """Limits that replace the free ones while the motor turns a layer of a held cube."""

    max_speed_steps_per_s: PositiveSteps
    max_acceleration_steps_per_s2: PositiveSteps


class Stepper(ActuatorSettings):
    """A stepper motor: steps for a turn of what it drives, and the speed it can follow.

    ``start_speed_steps_per_s`` is what it reaches and stops from at once, without a ramp.
    Positions are in steps from the zero found by homing. Rotary steppers need ``steps_per_turn``;
    those that open and close something need ``positions_steps``.
    """

    unit: ClassVar[str] = "steps"
    positions_key: ClassVar[str] = "positions_steps"
    rotation_key: ClassVar[str] = "steps_per_turn"

    kind: Literal["stepper"]
    pins: StepperPins
    steps_per_turn: PositiveSteps | None = Field(default=None, multiple_of=4)
    positions_steps: dict[Name, Steps] = Field(default_factory=dict)
    start_speed_steps_per_s: PositiveSteps = 200
    max_speed_steps_per_s: PositiveSteps
    max_acceleration_steps_per_s2: PositiveSteps
    max_jerk_steps_per_s3: float | None = Field(
        default=None, strict=True, gt=0, description="steps/s^3; makes S-curves instead of ramps"
    )
    held: StepperLoad | None = None
    settle_ms: SettleMs = 0.0
    invert_direction: bool = False
    homing: HomingSettings | None = None
    turn_check: TurnCheckSettings | None = None
    backlash_steps: PlaySteps = Field(
        default=0, description="steps of play: taken up so that every motion ends forwards"
    )
    overshoot_steps: PlaySteps = Field(
        default=0, description="steps a layer of a held cube is turned too far, and back"
    )

    @property
    def sensor_active_high(self) -> bool:
        """Level of the end stop or index sensor when active."""
        if self.homing is not None:
            return self.homing.endstop_active == "high"
        return self.turn_check is not None and self.turn_check.endstop_active == "high"

    @property
    def places(self) -> Mapping[str, int]:
        """Steps of its positions from zero."""
        return self.positions_steps

    @property
    def is_inverted(self) -> bool | None:
        """See :attr:`ActuatorSettings.is_inverted`."""
        return self.invert_direction

    @property
    def margin(self) -> int:
        """See :attr:`ActuatorSettings.margin`."""
        return self.overshoot_steps + self.backlash_steps

    @property
    def connections(self) -> Mapping[str, int]:
        """See :meth:`ActuatorSettings.connections`."""
        return self.pins.model_dump(exclude_none=True)

    def check(self, path: Path) -> Iterator[Finding]:
        """It has work to do, positions apart, speeds a board makes, and pins for its checks."""
        if self.steps_per_turn is None and not self.positions_steps:
            yield path, "give steps_per_turn (it rotates) or positions_steps (it opens and closes)"
        least = max(LEAST_STEPS, self.backlash_steps + 1)
        yield from _check_distinct((*path, "positions_steps"), self, least)
        yield from self._check_speeds(path)
        if self.homing is not None and self.pins.endstop is None:
            yield (*path, "pins"), "homing needs the end stop's pin: endstop"
        if self.turn_check is not None:
            yield from self._check_turn_check(path, self.turn_check)
        homing = self.homing
        if homing is not None and homing.slow_speed_steps_per_s > homing.speed_steps_per_s:
            yield (*path, "homing", "slow_speed_steps_per_s"), "must not exceed speed_steps_per_s"
        if homing is not None and homing.backoff_steps >= homing.max_travel_steps:
            yield (*path, "homing", "backoff_steps"), "must be less than max_travel_steps"

    def _check_speeds(self, path: Path) -> Iterator[Finding]:
        slowest, fastest = STEPS_PER_S
        speeds: dict[Path, int] = {
            ("start_speed_steps_per_s",): self.start_speed_steps_per_s,
            ("max_speed_steps_per_s",): self.max_speed_steps_per_s,
        }
        if self.held is not None:
            speeds["held", "max_speed_steps_per_s"] = self.held.max_speed_steps_per_s
        if self.homing is not None:
            speeds["homing", "speed_steps_per_s"] = self.homing.speed_steps_per_s
            speeds["homing", "slow_speed_steps_per_s"] = self.homing.slow_speed_steps_per_s
        for key, speed in speeds.items():
            if not slowest <= speed <= fastest:
                yield (*path, *key), f"a board makes {slowest}..{fastest} steps/s, not {speed}"

    def _check_turn_check(self, path: Path, check: TurnCheckSettings) -> Iterator[Finding]:
        if self.pins.endstop is None:
            yield (*path, "pins"), "turn_check needs the end stop's or index sensor's pin: endstop"
        if self.homing is not None and check.endstop_active not in {
            None,
            self.homing.endstop_active,
        }:
            yield (*path, "turn_check", "endstop_active"), "must be as in homing; leave it out here"


class RotationTimes(Settings):
    """Stated times of a quarter and a half turn of something that rotates."""

    quarter_ms: TravelMs
    half_ms: TravelMs


class Timed(PositionTimes):
    """An actuator of which only times are known: good for planning, not for driving.

    ``positions`` with ``travel`` rows, or a rotation: ``free`` and, when a layer is turned,
    ``held`` (the same when absent).
    """

    drivable: ClassVar[bool] = False
    rotation_key: ClassVar[str] = "free"

    kind: Literal["timed"]
    positions: tuple[Name, ...] = ()
    free: RotationTimes | None = None
    held: RotationTimes | None = None

    @property
    def position_names(self) -> frozenset[str]:
        """See :meth:`ActuatorSettings.position_names`."""
        return frozenset(self.positions)

    def transition_us(self, start: str, end: str, held: bool = False) -> tuple[int, int] | None:
        """``(travel, settle)`` microseconds from one position to another; None: no way."""
        return self.listed_us(start, end, held)


def _check_distinct(path: Path, actuator: ActuatorSettings, least: int) -> Iterator[Finding]:
    """No two names stand for the same place, or for places the motor cannot tell apart."""
    unit = actuator.unit
    before: dict[str, int] = {}
    for name, place in actuator.places.items():
        for other, there in before.items():
            if place == there:
                yield (*path, name), f"is {place} {unit}, as {other} is: they must differ"
            elif abs(place - there) < least:
                text = f"only {abs(place - there)} {unit} from {other}; {least} at the least"
                yield (*path, name), text
        before[name] = place


ACTUATOR_SETTINGS.update({"servo": Servo, "stepper": Stepper, "timed": Timed})
