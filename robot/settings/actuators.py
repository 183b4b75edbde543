"""Settings of actuators: the facts common to all kinds, servos and timed actuators."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PrivateAttr

from robot.settings.base import (
    Kinds,
    KindSettings,
    Name,
    PulseUs,
    Settings,
    SettleMs,
    TravelMs,
    microseconds,
)
from robot.settings.boards import Pin
from robot.settings.document import Finding, Path, no_such

LEAST_US = 20
"""Distance below which pulses are the same position to a hobby servo: two degrees, several times
its dead band."""

TOGETHER = "If both have moved, set them together, or first the one that makes room for the other"
"""Remedy for a position that does not fit another."""

ACTUATOR_SETTINGS: Kinds[type[ActuatorSettings]] = Kinds(
    "actuator", "robot.settings.{kind}", ("servo", "stepper", "timed")
)
"""The settings of each kind of actuator. Its motion is registered in ``robot.motion.schedule``, its
configuration for boards in ``robot.machine.board_configuration``, and its simulation in
``robot.twin.registry``."""


class ActuatorSettings(KindSettings):
    """Settings of any kind of actuator, and the facts that a kind states about itself.

    A new kind overrides what differs from these defaults, which describe a motor with pins that
    rotates by any number of quarter turns and has neither a range nor a direction.
    """

    unit: ClassVar[str] = ""
    """Unit of its positions."""
    positions_key: ClassVar[str] = "positions"
    """Key of its named positions in the profile."""
    rotation_key: ClassVar[str] = ""
    """Key that a rotating actuator has."""
    fixed_keys: ClassVar[frozenset[str]] = frozenset({"kind", "board", "pins", "self_locking"})
    """Keys that a calibration may not change: wiring and protection."""
    drivable: ClassVar[bool] = True
    """False for an actuator without pins: robots can be planned with it, but not driven."""
    turns_freely: ClassVar[bool] = True
    """False for an actuator that only moves between named positions."""
    stops_on_its_way: ClassVar[bool] = False
    """True if it can stop between two of its positions."""
    can_be_inverted: ClassVar[bool] = False
    """True if ``invert_direction`` decides which way it turns."""
    most_scaled: ClassVar[float] = 3.0
    """Largest factor between the calibrated distance of two positions and that in the profile:
    motors of one kind, arms and horns differ by less."""

    board: Name | None = None
    """Name of the further board that drives it; None for the first board, that of ``firmware``."""
    self_locking: bool = False
    """True if nothing but its motor can move it: a worm gear, a spring, much friction."""

    @classmethod
    def registry(cls) -> Mapping[str, type[ActuatorSettings]]:
        """Return every kind of actuator."""
        return ACTUATOR_SETTINGS

    @property
    def places(self) -> Mapping[str, int]:
        """Its named positions in its unit."""
        return {}

    @property
    def position_names(self) -> frozenset[str]:
        """The names of its positions."""
        return frozenset(self.places)

    @property
    def rotates(self) -> bool:
        """True if its rotation key is given."""
        return getattr(self, self.rotation_key, None) is not None

    @property
    def connections(self) -> Mapping[str, int]:
        """Pins of the board by their function."""
        return {}

    @property
    def limits(self) -> tuple[int, int] | None:
        """Lowest and highest position of an actuator whose signal is a position, so that its first
        pulse moves it there at once; None for one that counts from its present position."""
        return None

    @property
    def is_inverted(self) -> bool:
        """True if ``invert_direction`` is set."""
        return False

    @property
    def margin(self) -> int:
        """Distance beyond its positions that plans use to take up springy layers and play."""
        return 0

    def set_frame_us(self, frame_us: int) -> None:
        """Set the delay with which the board may begin a new pulse after the command."""
        del frame_us

    def set_angles(self, angles: Mapping[str, int]) -> None:
        """Set the quarter turns of the positions of a table or gripper."""
        del angles

    @abstractmethod
    def check(self, path: Path) -> Iterator[Finding]:
        """Yield contradictions within these settings, which are at ``path``."""

    def check_built_like(
        self, path: Path, built: ActuatorSettings, known: Collection[str]
    ) -> Iterator[Finding]:
        """Yield each ``known`` position that is impossible for ``built``, the same actuator in its
        profile: the order differs, or no such part has that distance."""
        in_order = sorted(built.places.keys() & known, key=built.places.__getitem__)
        for first, second in itertools.pairwise(in_order):
            here, there = self.places[first], self.places[second]
            usual = built.places[second] - built.places[first]
            text = f"{first} is at {here} {self.unit}, {second} at {there}"
            if there <= here:
                pair = f"{built.places[first]}, {built.places[second]}"
                text += f", but {second} comes after {first} in the profile ({pair})"
            elif not usual / self.most_scaled <= there - here <= usual * self.most_scaled:
                text += f": {there - here} {self.unit} apart, {usual} in the profile"
            else:
                continue
            yield (*path, self.positions_key, second), f"{text}. {TOGETHER}"


class TravelRow(Settings):
    """The time an actuator takes between two of its named positions, in either direction.

    ``held_ms`` is the time for a layer of a held cube (default: ``ms``). With
    ``one_way`` the row is for the first to the second position only.
    """

    between: tuple[Name, Name]
    ms: TravelMs
    held_ms: TravelMs | None = None
    one_way: bool = False


class PositionTimes(ActuatorSettings):
    """Travel and settling times between named positions, of servos and timed actuators."""

    travel: tuple[TravelRow, ...] = ()
    settle_ms: dict[Name, SettleMs] = Field(
        default_factory=dict, description="position reached: milliseconds to come to rest there"
    )
    held_settle_ms: SettleMs = Field(
        default=0.0, description="milliseconds added after a turn of a layer of a held cube"
    )

    def listed_us(self, start: str, end: str, held: bool) -> tuple[int, int] | None:
        """Return ``(travel, settle)`` microseconds between two positions; None if not listed."""
        for row in self.travel:
            same = (start, end) == row.between
            if same or (not row.one_way and (end, start) == row.between):
                loaded = held and row.held_ms is not None
                travel = row.held_ms if loaded and row.held_ms is not None else row.ms
                return microseconds(travel), self.settle_us(end, held)
        return None

    def settle_us(self, end: str, held: bool) -> int:
        """Return the microseconds to come to rest at ``end``."""
        extra = self.held_settle_ms if held else 0.0
        return microseconds(self.settle_ms.get(end, 0.0) + extra)

    def check(self, path: Path) -> Iterator[Finding]:
        """Yield unknown or repeated positions of the travel and settling tables."""
        known = self.position_names
        seen: set[tuple[str, str]] = set()
        for index, row in enumerate(self.travel):
            place: Path = (*path, "travel", index, "between")
            first, second = row.between
            for name in sorted(set(row.between) - known):
                yield place, f"{name}: {no_such('position', known)}"
            if first == second:
                yield place, "travel from a position to itself takes no time; leave it out"
            ways = {(first, second)} | (set() if row.one_way else {(second, first)})
            if ways & seen:
                yield place, f"the travel between {first} and {second} is given twice"
            seen |= ways
        for name in sorted(set(self.settle_ms) - known):
            yield (*path, "settle_ms", name), no_such("position", known)


class ServoPins(Settings):
    """The pin of a servo."""

    pulse: Pin


class ServoOvershoot(Settings):
    """Pulse beyond a position to which a servo turns a layer of a held cube, and its time back."""

    us: Annotated[int, Field(strict=True, ge=1, le=500, description="pulse microseconds, 1..500")]
    back_ms: TravelMs


class Servo(PositionTimes):
    """A hobby servo: pulses for its named positions, and the time to get there.

    ``speed_us_per_s``: the slope of the pulse for positions without a ``travel`` row. Without it
    the actuator may move only along the rows.
    """

    turns_freely: ClassVar[bool] = False
    stops_on_its_way: ClassVar[bool] = True
    unit: ClassVar[str] = "us"
    positions_key: ClassVar[str] = "positions_us"
    fixed_keys: ClassVar[frozenset[str]] = ActuatorSettings.fixed_keys | {"limits_us"}

    kind: Literal["servo"]
    pins: ServoPins
    limits_us: tuple[PulseUs, PulseUs] = (500, 2500)
    positions_us: dict[Name, PulseUs] = Field(min_length=1)
    speed_us_per_s: float | None = Field(
        default=None, strict=True, ge=50, le=50_000, description="pulse microseconds per second"
    )
    ease_ms: SettleMs = Field(
        default=0.0, description="milliseconds to accelerate, and to decelerate, within each travel"
    )
    overshoot: ServoOvershoot | None = None

    _frame_us: int = PrivateAttr(default=0)
    _angles: Mapping[str, int] = PrivateAttr(default_factory=dict)

    def set_frame_us(self, frame_us: int) -> None:
        """See :meth:`ActuatorSettings.set_frame_us`."""
        self._frame_us = frame_us

    def set_angles(self, angles: Mapping[str, int]) -> None:
        """See :meth:`ActuatorSettings.set_angles`."""
        self._angles = angles

    def way(self, start: str, end: str) -> list[tuple[float, int]]:
        """Return fractions (0 to 1) of the path between two positions, and the pulses there.

        For a table or gripper they are fractions of its angle: a half turn passes its home position
        midway, however many microseconds that is from either end. Otherwise two that turn one cube
        together would twist it.
        """
        ends = (0.0, self.positions_us[start]), (1.0, self.positions_us[end])
        if not {start, end} <= self._angles.keys():
            return [*ends]
        first, last = self._angles[start], self._angles[end]
        passed = (
            ((angle - first) / (last - first), self.positions_us[name])
            for name, angle in self._angles.items()
            if min(first, last) < angle < max(first, last)
        )
        return sorted({*ends, *passed})

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
        """Lowest and highest pulse that is ever sent."""
        return self.limits_us

    @property
    def margin(self) -> int:
        """See :attr:`ActuatorSettings.margin`."""
        return 0 if self.overshoot is None else self.overshoot.us

    @property
    def slowness(self) -> float:
        """Time per microsecond of pulse, in us, on the longest listed travel, with a layer; 0 if
        none is listed."""
        ways = [
            (abs(self.positions_us[start] - self.positions_us[end]), row.held_ms or row.ms)
            for row in self.travel
            for start, end in [row.between]
        ]
        way_us, ms = max(ways, default=(1, 0.0))
        return 1e3 * ms / way_us

    def transition_us(self, start: str, end: str, held: bool = False) -> tuple[int, int] | None:
        """Return ``(travel, settle)`` microseconds between two positions; None without a row."""
        listed = self.listed_us(start, end, held)
        if listed is not None or self.speed_us_per_s is None:
            return listed
        distance = abs(self.positions_us[end] - self.positions_us[start])
        return round(distance * 1e6 / self.speed_us_per_s), self.settle_us(end, held)

    def settle_us(self, end: str, held: bool) -> int:
        """Add the return from beyond ``end``, and the frame by which the last pulse may be late."""
        back = self.overshoot.back_ms if held and self.overshoot is not None else 0.0
        return super().settle_us(end, held) + microseconds(back) + self._frame_us

    def check(self, path: Path) -> Iterator[Finding]:
        """Yield positions beyond the limits or too near each other, and unknown travel rows."""
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
        yield from check_distinct((*path, "positions_us"), self, LEAST_US)
        yield from super().check(path)


class RotationTimes(Settings):
    """Times of a quarter and a half turn of a rotation."""

    quarter_ms: TravelMs
    half_ms: TravelMs


class Timed(PositionTimes):
    """An actuator known by its times only: for planning, not for driving.

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
        """Return ``(travel, settle)`` microseconds between two positions; None without a row."""
        return self.listed_us(start, end, held)


def check_distinct(path: Path, actuator: ActuatorSettings, least: int) -> Iterator[Finding]:
    """Yield names of the same position, or of positions the motor cannot distinguish."""
    unit = actuator.unit
    before: dict[str, int] = {}
    for name, place in actuator.places.items():
        for other, there in before.items():
            if place == there:
                yield (*path, name), f"is {place} {unit}, the same as {other}: they must differ"
            elif abs(place - there) < least:
                text = f"only {abs(place - there)} {unit} from {other}; at least {least} needed"
                yield (*path, name), text
        before[name] = place


ACTUATOR_SETTINGS.update({"servo": Servo, "timed": Timed})


LEAST_CLEAR_PART = 0.5
ClearPart = Annotated[
    float,
    Field(
        strict=True, ge=LEAST_CLEAR_PART, le=1, description="fraction of the travel to open, 0.5..1"
    ),
]
"""Fraction of an arm's or jaw's path to open after which the cube can move past it."""


def check_clear_part(
    path: Path, part: float, actuator: ActuatorSettings | None, key: str = "clear_part"
) -> Iterator[Finding]:
    """Yield a finding if the part is below 1 and the actuator cannot stop on its way."""
    if part < 1 and actuator is not None and not actuator.stops_on_its_way:
        yield (*path, key), "only a servo can stop partway; leave it out"
