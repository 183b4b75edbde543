"""An elevator, a turntable above it, a flipper and a squisher, as pieces of plastic.

Nothing here knows of plans or operations: only where the parts are, and what they do to the cube
between them. Heights count in rows of the cube that stand in the turntable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot.settings import RobotProfile
from robot.settings.base import Rotation
from robot.twin.cube import NORMALS, SITE_OF_AXIS, CubeBody, Pose, Slipping, rest_of_quarter, turned
from robot.twin.misadjustment import Misadjustment
from robot.twin.registry import (
    SIMULATED_MECHANISMS,
    MechanismParts,
    SettingsReading,
    tolerance_quarters,
)
from robot.twin.violations import Reporter

ROW_PART = 0.2
"""A row stands well in the turntable within this part of its height."""
NEAR_PART = 0.2
"""A part is at one of its two positions within this part of the way between them."""
TIPPING_PART = 0.5
"""A cube rolled this far falls over to the other side."""


@dataclass(frozen=True)
class Way:
    """A part that moves between two named positions; their places in its motor's own units."""

    motor: str
    names: tuple[str, str]
    ends: tuple[float, float]

    def part(self, place: float) -> float:
        """Return its part of the way from the first position to the second, 0..1."""
        first, second = self.ends
        return min(1.0, max(0.0, (place - first) / (second - first)))

    def name_at(self, place: float) -> str | None:
        """The position it is at, if any."""
        part = self.part(place)
        if part <= NEAR_PART:
            return self.names[0]
        return self.names[1] if part >= 1 - NEAR_PART else None


@dataclass(frozen=True)
class Rows:
    """The elevator: ``places`` of its motor with 0, 1, 2 ... rows in the turntable."""

    motor: str
    names: tuple[str, ...]
    places: Sequence[float]

    def rows_at(self, place: float) -> float:
        """Return the number of rows in the turntable, fractions included."""
        counts = np.arange(len(self.places), dtype=float)
        known = np.array(self.places, dtype=float)
        if known[-1] < known[0]:
            known, counts = known[::-1], counts[::-1]
        return float(np.interp(place, known, counts))


class LayeredFlipper:
    """All parts and the cube; those that move by themselves are known by their motors' names."""

    def __init__(
        self,
        body: CubeBody,
        settings: LayeredFlipperReading,
        profile: RobotProfile,
        report: Reporter,
        tolerance: float,
    ) -> None:
        self.body = body
        self.slips = Slipping()
        self._table = settings.turntable.actuator
        self._elevator = _rows(settings.elevator, profile)
        self._flipper = _way(settings.flipper, profile)
        self._squisher = _way(settings.squisher, profile)
        axis, back = settings.flipper.rolls[0], settings.flipper.rolls.endswith("'")
        self._rolls = NORMALS[SITE_OF_AXIS[axis]], -1 if back else 1
        self._tolerance = tolerance
        self._report = report
        self._angle: float | None = None
        self._rows = self._swung = 0.0
        self._side = 0.0
        self._held = False
        self._yaw = self._twist = 0.0
        self._depth = 1

    def update(self, positions: Mapping[str, float]) -> None:
        """The motors are now at ``positions``: the table in quarters, others in their own units."""
        angle = positions[self._table]
        rows = self._elevator.rows_at(positions[self._elevator.motor])
        swung = self._flipper.part(positions[self._flipper.motor])
        squeezed = self._squisher.part(positions[self._squisher.motor])
        first = self._angle is None
        moved = 0.0 if self._angle is None else angle - self._angle
        self._angle = angle
        if first:
            self._rows, self._swung, self._side = rows, swung, float(round(swung))
        self._raise(rows)
        self._squeeze(squeezed)
        self._swing(swung)
        if moved:
            self._turn(moved)

    def place(self, actuator: str, position: float) -> str | None:
        """Name of the place a part is at, None on its way or for the table."""
        for way in (self._flipper, self._squisher):
            if actuator == way.motor:
                return way.name_at(position)
        if actuator == self._elevator.motor:
            rows = self._elevator.rows_at(position)
            near = round(rows)
            return self._elevator.names[near] if abs(rows - near) <= ROW_PART else None
        return None

    def note_reset(self) -> None:
        """See :meth:`SimulatedMechanism.note_reset`."""

    def set_square(self) -> None:
        """See :meth:`SimulatedMechanism.set_square`."""
        self._twist = float(round(self._twist))
        self._yaw = float(round(self._yaw))

    def pose(self) -> Pose:
        """Return the deviation of the cube and its upper rows from the body's booked stickers."""
        whole = turned(NORMALS["U"], rest_of_quarter(self._yaw))
        axis, quarters = self._rolls
        if self._is_down and self._swung != self._side:
            whole = whole @ turned(axis, quarters * (self._swung - self._side))
        twist = rest_of_quarter(self._twist)
        return Pose(whole, (("U", twist),) if twist else (), depth=self._depth)

    @property
    def _is_down(self) -> bool:
        return self._rows <= ROW_PART

    @property
    def _is_up(self) -> bool:
        return bool(self._rows >= self.body.size - ROW_PART)

    def _raise(self, rows: float) -> None:
        if rows == self._rows:
            return
        if self._held:
            self._report("lift-held", "the elevator moved while the squisher held the cube", "")
        if not self._is_square:
            text = "the elevator moved while the turntable stood between two quarter turns"
            self._report("lift-not-square", text, "")
        between = min(self._swung, 1 - self._swung)
        if between > NEAR_PART:
            text = "the elevator moved while the flipper was between its positions"
            self._report("lift-flipping", text, "")
        self._rows = rows
        if self._is_down:
            self._set_yaw(float(round(self._yaw)))

    def _squeeze(self, squeezed: float) -> None:
        """The squisher's grip begins and ends close to its second position."""
        held = squeezed >= 1 - NEAR_PART
        if held and not self._held:
            self._take()
        if self._held and not held:
            self._let_go()
        self._held = held

    def _take(self) -> None:
        near = round(self._rows)
        if abs(self._rows - near) > ROW_PART:
            text = f"the squisher closed with {self._rows:.1f} rows in the turntable"
            self._report("row-between", text, "")
        self._depth = min(max(near, 1), self.body.size)
        if abs(rest_of_quarter(self._yaw)) > self._tolerance:
            self._report("hold-not-square", "the squisher closed on a cube not square in it", "")

    def _let_go(self) -> None:
        if abs(rest_of_quarter(self._twist)) > self._tolerance:
            text = "the cube was let go with its upper rows between two quarter turns"
            self._report("layer-not-square", text, "")
        self._twist = float(round(self._twist))

    def _swing(self, swung: float) -> None:
        if swung == self._swung:
            return
        self._swung = swung
        if self._is_up:
            self._side = float(round(swung))
            return
        if not self._is_down:
            self._report(
                "flip-blocked", "the flipper moved with the cube half raised in its way", ""
            )
        if self._held:
            self._report("flip-held", "the cube was rolled while the squisher held it", "")
        if abs(swung - self._side) < TIPPING_PART:
            return
        axis, quarters = self._rolls
        onwards = quarters if self._side == 0 else -quarters
        self._side = 1.0 - self._side
        if self.slips.wanted > 0:
            self.slips.wanted -= 1
        else:
            self.body.rotate(axis, onwards)

    def _turn(self, quarters: float) -> None:
        """The turntable has moved, with whatever stands in it."""
        if self._is_down:
            return
        if self._is_up:
            self._set_yaw(self._yaw + quarters)
            return
        if not self._held:
            text = "the turntable turned rows of a cube that nothing held"
            self._report("turn-unheld", text, "")
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


def _rows(reading: ElevatorReading, profile: RobotProfile) -> Rows:
    places = profile.actuators[reading.actuator].places
    return Rows(reading.actuator, reading.rows, [places[row] for row in reading.rows])


def layered_flipper_parts(
    profile: RobotProfile, misadjusted: Misadjustment | None
) -> MechanismParts:
    """Elevator, turntable, flipper and squisher of a profile."""
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
    return MechanismParts(
        rotations={table.actuator: table.angles},
        start_places=starts,
        around=lambda body, report: LayeredFlipper(body, settings, profile, report, tolerance),
        carriers={settings.elevator.actuator: frozenset(settings.elevator.rows[1:])},
    )


SIMULATED_MECHANISMS["layered-flipper"] = layered_flipper_parts
