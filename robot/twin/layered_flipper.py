"""An elevator, a turntable above it, a flipper and a squisher, as pieces of plastic.

This module uses no plans or operations, only the positions of the parts and their effect on the
cube between them. Heights count in rows of the cube inside the turntable. The turntable is an open
frame, so a camera above also sees a raised cube.

In a robot that was not built as drawn (:class:`Fit`), the parts turn the rows they touch. Rows that
nothing holds follow those in the turntable; held ones follow less, the harder they are held. The
flipper squares the lower rows of a lowered cube, and all layers of one that it rolls. The turntable
squares the layers of a cube that is completely inside it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robot.settings import RobotProfile
from robot.settings.base import Rotation
from robot.twin.cube import NORMALS, SITE_OF_AXIS, CubeBody, Pose, Slipping, rest_of_quarter, turned
from robot.twin.grip import Grip, Resistance, least_strength
from robot.twin.misadjustment import Misadjustment
from robot.twin.registry import (
    SIMULATED_MECHANISMS,
    MechanismParts,
    SettingsReading,
    Stop,
    degree_us,
    tolerance_quarters,
)
from robot.twin.violations import Reporter

ROW_PART = 0.2
"""Tolerance for a row's height in the turntable, as a fraction of the row."""
NEAR_PART = 0.2
"""Tolerance for being at one of two positions, as a fraction of the way between them."""
TIPPING_PART = 0.5
"""Fraction of a roll at which the cube falls over to the other side."""
OPEN_PARTS = (-0.3, 0.2)
"""Range in which a squisher is open far enough, as fractions of its way."""


@dataclass(frozen=True)
class Way:
    """A part that moves between two named positions, given in its motor's own units."""

    motor: str
    names: tuple[str, str]
    ends: tuple[float, float]

    def part(self, place: float) -> float:
        """Return its fraction of the way from the first position to the second, usually 0..1."""
        first, second = self.ends
        return (place - first) / (second - first)

    def name_at(self, place: float) -> str | None:
        """Return the position it is at, if any."""
        part = self.part(place)
        if part <= NEAR_PART:
            return self.names[0]
        return self.names[1] if part >= 1 - NEAR_PART else None


@dataclass(frozen=True)
class Rows:
    """The elevator: ``places`` of its motor with 0, 1, 2 ... rows in the turntable.

    Below ``floor`` rows it does not reach the cube, which lies in the flipper.
    """

    motor: str
    names: tuple[str, ...]
    places: Sequence[float]
    floor: float = 0.0

    def rows_at(self, place: float) -> float:
        """Return the rows in the turntable with fractions, negative below the first position."""
        counts = np.arange(len(self.places), dtype=float)
        known = np.array(self.places, dtype=float)
        below = (place - known[0]) / (known[1] - known[0])
        if below < 0:
            return float(below)
        if known[-1] < known[0]:
            known, counts = known[::-1], counts[::-1]
        return float(np.interp(place, known, counts))

    def rise_at(self, place: float) -> float:
        """Return the height of the cube above the flipper, in rows."""
        return max(0.0, self.rows_at(place) - self.floor)


@dataclass(frozen=True)
class Fit:
    """The fit of a robot's parts to its cube, if it was not built as drawn.

    ``grip``: the squisher's force; ``enters``: fraction of a row that must be in the turntable to
    turn with it; ``play``: quarters by which rows can turn in it, to either side.
    """

    grip: Grip
    resistance: Resistance
    enters: float
    play: float


class LayeredFlipper:
    """All parts and the cube; moving parts are identified by their motors' names.

    Without a ``fit`` the squisher holds firmly at its second position, and layers spring square.
    """

    def __init__(
        self,
        body: CubeBody,
        settings: LayeredFlipperReading,
        profile: RobotProfile,
        report: Reporter,
        tolerance: float,
        floor: float = 0.0,
        fit: Fit | None = None,
    ) -> None:
        self.body = body
        self.slips = Slipping()
        self._table = settings.turntable.actuator
        self._elevator = _rows(settings.elevator, profile, floor)
        self._flipper = _way(settings.flipper, profile)
        self._squisher = _way(settings.squisher, profile)
        axis, back = settings.flipper.rolls[0], settings.flipper.rolls.endswith("'")
        self._rolls = NORMALS[SITE_OF_AXIS[axis]], -1 if back else 1
        self._tolerance = tolerance
        self._report = report
        self._fit = fit
        self._enters = ROW_PART if fit is None else fit.enters
        self._angle = 0.0
        self._started = False
        self._rows = self._swung = self._rise = 0.0
        self._side = 0.0
        self._strength = self._hardest = self._askew = 0.0
        self._yaw = self._twist = self._loose = self._astray = 0.0
        self._depth = 1
        # Quarters by which a person turned the turntable. Its motor counts only its own steps.
        self._by_hand = 0.0

    def update(self, positions: Mapping[str, float]) -> None:
        """Apply the motors' ``positions``: the table in quarters, others in their own units."""
        angle = positions[self._table] + self._by_hand
        height = positions[self._elevator.motor]
        swung = self._flipper.part(positions[self._flipper.motor])
        if not self._started:
            self._started, self._angle = True, angle
            self._rows = self._elevator.rows_at(height)
            self._swung, self._side = swung, float(round(swung))
        moved, self._angle = angle - self._angle, angle
        self._rise = 2 * self._elevator.rise_at(height) / self.body.size
        self._raise(self._elevator.rows_at(height))
        self._squeeze(self._force(positions[self._squisher.motor]))
        self._swing(swung)
        if moved:
            self._turn(moved)

    def place(self, actuator: str, position: float) -> str | None:
        """Return the name of the place a part is at; None between places or for the table."""
        for way in (self._flipper, self._squisher):
            if actuator == way.motor:
                return way.name_at(position)
        if actuator == self._elevator.motor:
            rows = self._elevator.rows_at(position)
            near = max(0, round(rows))
            is_there = rows < 0 or abs(rows - near) <= ROW_PART
            return self._elevator.names[near] if is_there else None
        return None

    def note_reset(self) -> None:
        """See :meth:`SimulatedMechanism.note_reset`."""

    def set_square(self) -> None:
        """See :meth:`SimulatedMechanism.set_square`."""
        self._twist = float(round(self._twist))
        self._yaw = float(round(self._yaw))
        way = round(self._angle) - self._angle
        self._angle += way
        self._by_hand += way

    def pose(self) -> Pose:
        """Return the deviation of cube and upper rows from the body's recorded stickers."""
        whole = turned(NORMALS["U"], rest_of_quarter(self._yaw))
        axis, quarters = self._rolls
        if self._is_down and self._swung != self._side:
            whole = turned(axis, quarters * (self._swung - self._side)) @ whole
        twist = rest_of_quarter(self._twist)
        layers = (("U", twist),) if twist else ()
        return Pose(whole, layers, depth=self._depth, rise=self._rise)

    @property
    def _is_down(self) -> bool:
        return self._rows <= self._enters

    @property
    def _is_up(self) -> bool:
        return bool(self._rows >= self.body.size - ROW_PART)

    @property
    def _is_held(self) -> bool:
        return self._strength > 0

    def _force(self, place: float) -> float:
        """Return the force with which the squisher holds the cube, 0 if it does not."""
        if self._fit is not None:
            return self._fit.grip.strength(place)
        return math.inf if self._squisher.part(place) >= 1 - NEAR_PART else 0.0

    def _raise(self, rows: float) -> None:
        if rows == self._rows:
            return
        if self._is_held:
            self._report("lift-held", "the elevator moved while the squisher held the cube", "")
        if not self._is_square:
            text = "the elevator moved while the turntable stood between two quarter turns"
            self._report("lift-not-square", text, "")
        if min(abs(self._swung), abs(1 - self._swung)) > NEAR_PART:
            text = "the elevator moved while the flipper was between its positions"
            self._report("lift-flipping", text, "")
        was_down, self._rows = self._is_down, rows
        if self._is_down:
            self._set_yaw(float(round(self._yaw)))
        elif was_down:
            self._enter()
        if self._is_up:
            self._twist, rest = float(round(self._twist)), rest_of_quarter(self._twist)
            self._set_yaw(self._yaw + rest)

    def _enter(self) -> None:
        """Raise the upper rows into the turntable, which turns the cube to its own angle."""
        off = rest_of_quarter(self._yaw + self._twist - self._angle)
        if abs(off) > self._tolerance:
            text = "the cube was raised into a turntable that stood between two quarter turns"
            self._report("lift-not-square", text, "")
        self._loose, self._astray = off, 0.0
        self._set_yaw(self._yaw + self._take_along(0.0))

    def _take_along(self, quarters: float) -> float:
        """Return the quarters by which rows in the turntable follow its turn, given its play."""
        play = 0.0 if self._fit is None else self._fit.play
        left = self._loose - quarters
        self._loose = max(-play, min(play, left))
        return self._loose - left

    def _squeeze(self, strength: float) -> None:
        if strength > 0 and not self._is_held:
            self._take()
        if self._is_held and strength <= 0:
            self._let_go()
        self._strength = strength
        if strength > self._hardest:
            self._hardest = strength
            self._press()

    def _press(self) -> None:
        """Turn the held rows square: the harder they are pressed, the more. Rows that have slipped
        since the squisher took them are not turned back."""
        left = self._askew * self._given_way(0.0)
        squared, self._askew = self._askew - left, left
        if not squared:
            return
        if not self._is_down:
            self._twist_upper(squared)
        self._set_yaw(self._yaw - squared)

    def _take(self) -> None:
        near = round(self._rows)
        if abs(self._rows - near) > ROW_PART:
            text = f"the squisher closed with {self._rows:.1f} rows in the turntable"
            self._report("row-between", text, "")
        depth = min(max(near, 1), self.body.size)
        if depth != self._depth:
            self._twist = float(round(self._twist))
        self._depth = depth
        if abs(rest_of_quarter(self._yaw)) > self._tolerance:
            self._report("hold-not-square", "the squisher closed on a cube not square in it", "")
        self._astray = self._hardest = 0.0
        self._askew = rest_of_quarter(self._yaw)
        if self._fit is not None:
            self._fit.resistance.draw()

    def _let_go(self) -> None:
        is_askew = abs(rest_of_quarter(self._twist)) > self._tolerance
        if is_askew:
            text = "the cube was let go with its upper rows between two quarter turns"
            self._report("layer-not-square", text, "")
        if is_askew or self._fit is None:
            self._twist = float(round(self._twist))

    def _swing(self, swung: float) -> None:
        if swung == self._swung:
            return
        self._swung = swung
        if self._is_up:
            self._side = float(round(swung))
            return
        is_at_end = min(abs(swung), abs(1 - swung)) <= self._tolerance
        if is_at_end and abs(swung - self._side) < TIPPING_PART:
            return  # a servo that creeps to its position does no harm
        if not self._is_down:
            self._report(
                "flip-blocked", "the flipper moved with the cube half raised in its way", ""
            )
        if self._is_held:
            self._report("flip-held", "the cube was rolled while the squisher held it", "")
        if abs(swung - self._side) < TIPPING_PART:
            return
        axis, quarters = self._rolls
        onwards = quarters if self._side == 0 else -quarters
        self._side = 1.0 - self._side
        self._twist = float(round(self._twist))
        if self.slips.wanted > 0:
            self.slips.wanted -= 1
        else:
            self.body.rotate(axis, onwards)

    def _turn(self, quarters: float) -> None:
        """Turn the turntable, with the rows inside it."""
        if self._is_down:
            return
        taken = self._take_along(quarters)
        if self._is_up:
            self._set_yaw(self._yaw + taken)
            return
        slipped = taken * self._given_way(taken)
        before, self._astray = self._astray, self._astray + slipped
        if abs(before) <= self._tolerance < abs(self._astray):
            if self._is_held:
                text = "the cube followed the turntable although it was held"
                self._report("slipped-in-hold", text, "")
            else:
                text = "the turntable turned rows of a cube that nothing held"
                self._report("turn-unheld", text, "")
        self._set_yaw(self._yaw + slipped)
        self._twist_upper(taken - slipped)

    def _given_way(self, quarters: float) -> float:
        """Return the fraction of a turn by which the lower rows follow it."""
        if not self._is_held:
            return 1.0
        if self._fit is None:
            return 0.0
        off = rest_of_quarter(self._twist)
        return self._fit.resistance.given_way(self._strength, off, quarters)

    def _twist_upper(self, quarters: float) -> None:
        """Turn the rows in the turntable against the others."""
        before = round(self._twist)
        self._twist += quarters
        self.body.turn("U", round(self._twist) - before, self._depth)

    @property
    def _is_square(self) -> bool:
        off = max(abs(rest_of_quarter(self._twist)), abs(rest_of_quarter(self._yaw)))
        return off <= self._tolerance

    def _set_yaw(self, yaw: float) -> None:
        self.body.rotate(NORMALS["U"], round(yaw) - round(self._yaw))
        self._yaw = yaw


class TurntableReading(SettingsReading):
    """The simulation's reading of a turntable."""

    actuator: str
    angles: dict[str, int]
    start: str | int


class ElevatorReading(SettingsReading):
    """The simulation's reading of an elevator."""

    actuator: str
    rows: tuple[str, ...]


class SwingReading(SettingsReading):
    """The simulation's reading of a flipper."""

    actuator: str
    first: str
    second: str
    rolls: Rotation


class SquisherReading(SettingsReading):
    """The simulation's reading of a squisher."""

    actuator: str
    open: str
    closed: str


class LayeredFlipperReading(SettingsReading):
    """The simulation's reading of a layered flipper."""

    turntable: TurntableReading
    elevator: ElevatorReading
    flipper: SwingReading
    squisher: SquisherReading


def _way(reading: SwingReading | SquisherReading, profile: RobotProfile) -> Way:
    if isinstance(reading, SwingReading):
        names = (reading.first, reading.second)
    else:
        names = (reading.open, reading.closed)
    places = profile.actuators[reading.actuator].places
    return Way(reading.actuator, names, (places[names[0]], places[names[1]]))


def _rows(reading: ElevatorReading, profile: RobotProfile, floor: float) -> Rows:
    places = profile.actuators[reading.actuator].places
    return Rows(reading.actuator, reading.rows, [places[row] for row in reading.rows], floor)


class OpenTurntable:
    """The turntable above a cube: it hides nothing at any position of the elevator."""

    def depth(self, position: float, places: Collection[str]) -> float:
        """See :class:`robot.twin.registry.Lid`."""
        del position, places
        return -math.inf


def _end_stops(way: Way, beyond: tuple[float, float], last: tuple[str, str]) -> tuple[Stop, ...]:
    """Return stops beyond both ends of a way; ``last``: violation and text of the second one."""
    sign = math.copysign(1.0, way.ends[1] - way.ends[0])
    strained = "strained", "pushed against its stop for over a second"
    return (
        Stop(way.ends[0] - sign * beyond[0], sign < 0, *strained),
        Stop(way.ends[1] + sign * beyond[1], sign > 0, *last),
    )


def layered_flipper_parts(
    profile: RobotProfile, misadjusted: Misadjustment | None
) -> MechanismParts:
    """Return elevator, turntable, flipper and squisher of a profile."""
    settings = LayeredFlipperReading.model_validate(profile.mechanism)
    table = settings.turntable
    starts = {
        settings.elevator.actuator: settings.elevator.rows[0],
        settings.flipper.actuator: settings.flipper.first,
        settings.squisher.actuator: settings.squisher.open,
    }
    if isinstance(table.start, str):
        starts[table.actuator] = table.start
    tolerance = tolerance_quarters(profile, misadjusted)
    rotations = {table.actuator: table.angles}
    built = Built() if misadjusted is None else _build(settings, profile, misadjusted)
    return MechanismParts(
        rotations=rotations,
        start_places=starts,
        around=lambda body, report: LayeredFlipper(
            body, settings, profile, report, tolerance, built.floor, built.fit
        ),
        stops=built.stops,
        good=built.good,
        carriers={settings.elevator.actuator: frozenset(settings.elevator.rows[1:])},
        lids={settings.elevator.actuator: OpenTurntable()},
    )


@dataclass(frozen=True)
class Built:
    """Deviations from the drawing; ``stops`` and ``good`` as in
    :class:`robot.twin.registry.MechanismParts`."""

    floor: float = 0.0
    fit: Fit | None = None
    stops: Mapping[str, tuple[Stop, ...]] = field(default_factory=dict)
    good: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)


def _build(
    settings: LayeredFlipperReading, profile: RobotProfile, misadjusted: Misadjustment
) -> Built:
    """Return a robot that was not built as drawn.

    The squisher's second place is the first at which a quarter turn almost never slips. It touches
    the cube before that, and presses too hard some way beyond.
    """
    flipper, squisher = _way(settings.flipper, profile), _way(settings.squisher, profile)
    per_degree = degree_us(profile, {settings.turntable.actuator: settings.turntable.angles})
    frame = misadjusted.turntable(settings.turntable.actuator)
    swing, truth = misadjusted.arm(flipper.motor), misadjusted.arm(squisher.motor)
    free, closed = squisher.ends
    sign = 1 if closed > free else -1
    soft_us = truth.softness_degrees * per_degree
    touch = closed - sign * soft_us * least_strength(misadjusted.cube)
    hard_us, stop_us = truth.grip_degrees * per_degree, truth.stop_degrees * per_degree
    opens = sorted(free + part * (closed - free) for part in OPEN_PARTS)
    swings_us = swing.stop_degrees * per_degree
    strained = "strained", "pushed against its stop for over a second"
    pressed = "pressed-too-hard", "pressed on the cube for over a second"
    end = closed + sign * hard_us
    return Built(
        floor=-frame.floor_part * (len(settings.elevator.rows) - 1),
        fit=Fit(
            Grip(touch, sign, soft_us),
            Resistance(misadjusted.cube, misadjusted.seed),
            frame.enters_part,
            frame.play_degrees / 90,
        ),
        stops={
            flipper.motor: _end_stops(flipper, (swings_us, swings_us), strained),
            squisher.motor: _end_stops(squisher, (stop_us, hard_us), pressed),
        },
        good={
            squisher.motor: {
                squisher.names[0]: (opens[0], opens[1]),
                squisher.names[1]: (min(closed, end), max(closed, end)),
            }
        },
    )


SIMULATED_MECHANISMS["layered-flipper"] = layered_flipper_parts
