"""Actuators as calibrated: what all kinds have in common, servos, and merely timed ones."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PrivateAttr

from robot.settings.base import (
    Name,
    Pin,
    PulseUs,
    Settings,
    SettleMs,
    TravelMs,
    microseconds,
)
from robot.settings.document import Finding, Path, no_such
from robot.settings.kinds import Kinds, KindSettings

LEAST_US = 20
"""Nearer pulses are the same place to a hobby servo: two degrees, several times its dead band."""

TOGETHER = "Where both have moved, set them at once, or the one first that makes room for the other"
"""Remedy for a position that does not fit another."""

ACTUATOR_SETTINGS: Kinds[type[ActuatorSettings]] = Kinds(
    "actuator", "robot.settings.{kind}", ("servo", "stepper", "timed")
)
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
    of_the_profile: ClassVar[frozenset[str]] = frozenset({"kind", "board", "pins"})
    """Keys that a calibration may not change: how it is wired, and what protects it."""
    most_scaled: ClassVar[float] = 3.0
    """How many times as far apart, or as near, as in its profile two positions may be calibrated:
    motors of the same kind, arms and horns differ by less."""

    board: Name | None = None
    """Which of the further boards drives it; None: the first, that of ``firmware``."""

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

    def wait_for_frames(self, frame_us: int) -> None:
        """The board begins a new pulse up to so many microseconds after it is told."""
        del frame_us

    @abstractmethod
    def check(self, path: Path) -> Iterator[Finding]:
        """What contradicts itself in these settings, which stand at ``path``."""

    def check_built_like(
        self, path: Path, built: ActuatorSettings, known: Collection[str]
    ) -> Iterator[Finding]:
        """Every way in which its ``known`` positions cannot be those of ``built``, which is the
        same actuator in its profile: another order, or distances that no such part has."""
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
    of_the_profile: ClassVar[frozenset[str]] = ActuatorSettings.of_the_profile | {"limits_us"}

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

    _frame_us: int = PrivateAttr(default=0)

    def wait_for_frames(self, frame_us: int) -> None:
        """See :meth:`ActuatorSettings.wait_for_frames`."""
        self._frame_us = frame_us

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
        """See :meth:`PositionTimes.settle_us`; with the way back from beyond ``end``, and with
        the frame that the last pulse may come late."""
        back = self.overshoot.back_ms if held and self.overshoot is not None else 0.0
        return super().settle_us(end, held) + microseconds(back) + self._frame_us

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
        yield from check_distinct((*path, "positions_us"), self, LEAST_US)
        yield from super().check(path)


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


def check_distinct(path: Path, actuator: ActuatorSettings, least: int) -> Iterator[Finding]:
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


ACTUATOR_SETTINGS.update({"servo": Servo, "timed": Timed})


LEAST_CLEAR_PART = 0.5
ClearPart = Annotated[
    float,
    Field(strict=True, ge=LEAST_CLEAR_PART, le=1, description="part of the way to open, 0.5..1"),
]
"""How far an arm or jaw must open until the cube can move past it."""


def check_clear_part(
    path: Path, part: float, actuator: ActuatorSettings | None, key: str = "clear_part"
) -> Iterator[Finding]:
    """Only a servo can stop on its way."""
    if part < 1 and actuator is not None and not isinstance(actuator, Servo):
        yield (*path, key), "only a servo can stop on its way; leave it out"
