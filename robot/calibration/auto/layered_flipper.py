"""Finds the positions of an elevator, a turntable above it, a flipper and a squisher.

The camera looks down through the turntable, an open frame, at the cube lying in the flipper or
raised into the turntable. A raised face is nearer and therefore larger, but still square.

1. *Elevator.* It homes by its sensor. It has reached the cube when the face begins to grow. The
   reciprocal of the size of a level face is linear in the elevator's steps.
2. *Turntable.* It turns the cube with all of its rows raised, which gives a line of angles against
   steps.
3. *Rows.* Above some height the cube follows a small turn: its first row is in the turntable. The
   distances to the other rows are those of the profile.
4. *Flipper.* It starts a little inside its range, where the cube lies askew. The position of the
   face in the picture shows by how much: a level face lies on the same line as the raised ones. At
   the other end the flipper has rolled the cube, and another face must be in view.
5. *Squisher.* With some rows in the turntable it closes a little further each time, and the
   turntable turns a few degrees. Then it opens and the cube goes down. The flipper squares the
   lower rows, and the face on top shows how far the upper rows have turned against them. Raising
   the whole cube into the turntable squares it again. Quarter turns prove the holding position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import cv2
import numpy as np

from robot.calibration.auto.face_watch import (
    LIFTED,
    UNIT_SQUARE,
    FacePose,
    Floats,
    RotationGauge,
    are_two_faces,
    degrees_of,
    nearest_quarter,
    rotate_points,
    square_error,
    view_from_above,
)
from robot.calibration.auto.finder import (
    FINDERS,
    RENEWING,
    FilmedServo,
    Finder,
    Finding,
    blind_steppers,
    find_line,
    mechanism_of,
)
from robot.calibration.auto.fitting import USUAL_DEGREE_US
from robot.calibration.auto.holding import HoldCurve, find_hold
from robot.calibration.auto.motors import motor_finding
from robot.calibration.auto.rotations import SpinningPart
from robot.calibration.auto.stepwise_move import COARSE_US, stepwise_move
from robot.calibration.step import Session
from robot.calibration.steps.camera import Corners, nearest_turn, take_picture
from robot.machine.confirmed_range import direction_key
from robot.mechanism.layered_flipper import LayeredFlipperSettings
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError
from solver.files import JsonObject

LOOKS, SETTLING_LOOKS = 7, 8
"""Pictures for the median position of a face, and pictures before them while a servo creeps."""
ROOM_PART = 0.25
"""Extra travel of the elevator beyond the profile's highest row, as a fraction of its travel."""
HEIGHTS = 8
"""Number of equal parts of the elevator's travel. The face is measured after each but the first."""
LEAST_GROWTH = 1.1
"""Minimum size of a raised face, relative to one that lies in the flipper."""
TAKEN_ROWS = 0.15
"""Fraction of a row that must usually be in the frame before the frame turns it."""
FINEST_ROWS = 0.03
MOST_APART_ROWS = 0.4
"""Maximum distance, in rows, between the first row found by size and the one found by turning."""
SWING_DEGREES = 4.0
"""Turn that shows whether the cube follows: less than layers may be off square."""
FOLLOWS = 0.5

FIRST_PART = 0.15
"""Distance from either end, as a fraction of the flipper's travel, at which its search starts."""
LEVEL_DEGREES = 0.2
LARGEST_STEP_US, APPROACH_US = 60, 60
MOST_STEPS = 16
LEVEL_UNSURE_DEGREES = 1.5

OPEN_PART = 0.25
"""Fraction of its travel at which the squisher starts."""
CLEAR_DEGREES = 4.0
BEYOND_DEGREES = 60.0
SEARCH_US = 30
SHORT_DEGREES = 1.6
"""Dead band of a servo. It may stop half of this short the next time."""
SLIPPED_DEGREES = 2.0
MOST_DEEPER = 6
SCALE_SPREAD = 0.1
"""Maximum relative error of a servo's turn for a given change of pulse."""


@dataclass(frozen=True, eq=False)
class FlatPlace:
    """The middle of a face, float64[2], and half its width, in the plane of the first face seen."""

    middle: Floats
    half_width: float


class RaisedGauge(RotationGauge):
    """A camera above a turntable, measuring level faces at any height.

    In the plane of the first face, a face in a higher plane appears enlarged and displaced, but its
    angle is unchanged. Angles count clockwise from above.
    """

    _at = FlatPlace(np.zeros(2), 1.0)

    def degrees(self, corners: Floats, near: float) -> float | None:
        """See :meth:`RotationGauge.degrees`."""
        flat = self._plane_corners(corners)
        place = _place_of(flat)
        if square_error((flat - place.middle) / place.half_width) > LIFTED:
            return None
        self._at = place
        return nearest_quarter(degrees_of(flat) - self.zero, near)

    def corners_at(self, degrees: float) -> Corners:
        """See :meth:`RotationGauge.corners_at`; at the height at which the face was last seen."""
        assert self._plane is not None
        square = rotate_points(UNIT_SQUARE, degrees + self.zero) * self._at.half_width
        plane = np.linalg.inv(self._plane)
        return np.asarray(cv2.perspectiveTransform((square + self._at.middle)[None], plane)[0])

    def place(self) -> FlatPlace | None:
        """Return the position of a possibly tilted face; None if most pictures do not show it."""
        seen = []
        for _ in range(SETTLING_LOOKS):
            take_picture(self._session, self._camera)
        for _ in range(LOOKS):
            _, grid = self._grid()
            if grid is not None:
                flat = self._plane_corners(np.asarray(grid.corners, dtype=np.float64))
                seen.append(nearest_turn(flat, UNIT_SQUARE))
        return _place_of(np.median(seen, axis=0)) if len(seen) > LOOKS / 2 else None


def _place_of(flat: Floats) -> FlatPlace:
    middle = flat.mean(axis=0)
    half_diagonal = float(np.linalg.norm(flat - middle, axis=1).mean())
    return FlatPlace(middle, half_diagonal / 2**0.5)


class UpperTable(SpinningPart):
    """A turntable above the cube."""

    sweep = 45.0


@dataclass(frozen=True, eq=False)
class HeightLine:
    """The result of two fits: 1 / size of a level face against steps, its middle against its size.

    ``begins``: steps at which the elevator reaches the cube that lies in the flipper. ``level``:
    middle of a level face of the same size as that cube's.
    """

    begins: float
    level: Floats


def fit_heights(lying: FlatPlace, raised: Mapping[int, FlatPlace]) -> HeightLine:
    """Fit the height line to the face lying in the flipper and raised to the given steps."""
    steps = np.array([*raised], dtype=np.float64)
    sizes = np.array([place.half_width for place in raised.values()])
    slope, offset = np.polyfit(steps, 1 / sizes, 1)
    middles = np.array([place.middle for place in raised.values()])
    level = [np.polyval(np.polyfit(sizes, along, 1), lying.half_width) for along in middles.T]
    return HeightLine(float((1 / lying.half_width - offset) / slope), np.array(level))


class LayeredFlipperFinder(Finder):
    """A turntable on a stepper, an elevator that homes by a sensor, flipper and squisher on servos.

    Call its methods, which return findings, in the order of :meth:`find`. They raise
    :class:`CalibrationError`.
    """

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        mechanism = mechanism_of(profile, LayeredFlipperSettings)
        self._session, self._mechanism = session, mechanism
        self.watch: RaisedGauge = RaisedGauge(session, *view_from_above(profile))
        self.table = UpperTable(
            self.watch, stepwise_move(session, profile, mechanism.turntable.actuator), {}
        )
        self.elevator, self.flipper, self.squisher = (
            stepwise_move(session, profile, part.actuator)
            for part in (mechanism.elevator, mechanism.flipper, mechanism.squisher)
        )
        self._drawn = {
            name: dict(session.profile.actuators[name].places)
            for name in (self.elevator.name, self.flipper.name, self.squisher.name)
        }
        rows = [self._drawn[self.elevator.name][row] for row in mechanism.elevator.rows]
        self._rises = [row - rows[0] for row in rows]
        self._pitch = self._rises[-1] / (len(rows) - 1)
        self._no_row = self._down = 0.0
        self._level = np.zeros(2)
        self._open_at = self._hold_at = 0.0
        self._hold = HoldCurve(0.0, 0.0)
        squisher = self._drawn[self.squisher.name]
        self._closing_us = squisher[mechanism.squisher.closed] - squisher[mechanism.squisher.open]
        self._towards = 1 if self._closing_us > 0 else -1

    @staticmethod
    def supports(profile: RobotProfile) -> bool:
        """See :meth:`Finder.supports`."""
        mechanism = mechanism_of(profile, LayeredFlipperSettings)
        elevator = profile.actuators_of(Stepper).get(mechanism.elevator.actuator)
        servos = {mechanism.flipper.actuator, mechanism.squisher.actuator}
        return (
            elevator is not None
            and elevator.homing is not None
            and mechanism.turntable.actuator in blind_steppers(profile)
            and servos <= profile.actuators_of(Servo).keys()
        )

    @property
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Return no servos: a moving flipper shows another face, and a squisher hides the cube."""
        return {}

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        self._make_room()
        yield self._face_in_view(
            "lying in the flipper, with the elevator down and flipper and squisher in place"
        )
        yield self.find_heights()
        yield find_line(self.table)
        yield motor_finding(self.table)
        yield self.find_rows()
        yield from self.find_ends()
        yield self.find_square()
        yield self.find_clear()
        yield self.find_hold()
        yield self.prove_hold()
        self._raise_square()
        self.elevator.go(self._down)

    def _make_room(self) -> None:
        """Let motors turn in either direction, and the elevator rise higher than in the profile."""
        motors = self._session.calibrated.actuators_of(Stepper)
        values: JsonObject = {direction_key(name): one.is_inverted for name, one in motors.items()}
        room = round(ROOM_PART * abs(self._rises[-1]))
        values[f"actuators.{self.elevator.name}.overshoot_steps"] = room
        self._session.try_out(values)
        self._session.perform(RENEWING)

    def find_heights(self) -> Finding:
        """Home the elevator, and find the steps at which it reaches the cube."""
        lying = self._place()
        self.elevator.wake()
        self.table.actuator.wake()
        start, whole = self.elevator.at, self._rises[-1]
        raised = {}
        for number in range(2, HEIGHTS + 1):
            self.elevator.go(start + whole * number / HEIGHTS)
            raised[self.elevator.at] = self._place()
        growth = self._place().half_width / lying.half_width
        if growth < LEAST_GROWTH:
            raise CalibrationError(
                f"{self.elevator.name} does not raise the cube: its face is {growth:.2f} times as "
                "large as before. Is the cube in the flipper and the motor powered?"
            )
        line = fit_heights(lying, raised)
        begins = line.begins if (line.begins - start) * whole > 0 else float(start)
        self._level = line.level
        self._no_row = begins
        self._down = start
        self.elevator.go(begins + whole)
        return Finding(
            "elevator",
            f"{self.elevator.name} reaches the cube at {begins:.0f} steps",
            evidence={"growth": round(growth, 3), "reaches_at": round(begins, 1)},
        )

    def find_rows(self) -> Finding:
        """Find the height at which the first row is in the turntable and follows a small turn."""
        reached, pitch = self._no_row, self._pitch
        free, taken = reached, reached + pitch
        while abs(taken - free) > FINEST_ROWS * abs(pitch):
            middle = (free + taken) / 2
            if self._follows(middle):
                taken = middle
            else:
                free = middle
        by_turn = (free + taken) / 2 - TAKEN_ROWS * pitch
        apart = (by_turn - reached) / pitch
        if abs(apart) > MOST_APART_ROWS:
            raise CalibrationError(
                f"the first row of the cube enters the turntable {apart:+.1f} rows off its height "
                f"in the profile: check positions_steps of {self.elevator.name}"
            )
        self._no_row = (by_turn + reached) / 2
        lowest, drawn = self._mechanism.elevator.rows[0], self._drawn[self.elevator.name]
        # Positions that this size of cube does not need move along with the others.
        places = {row: round(self._no_row + at - drawn[lowest]) for row, at in drawn.items()}
        places[lowest] = round(self._down)  # its home, which has to be within its range
        unsure = round(abs(apart * pitch) / 2 + FINEST_ROWS * abs(pitch), 1)
        values: JsonObject = {self.elevator.key(row): place for row, place in places.items()}
        listed = ", ".join(f"{row} {place} steps" for row, place in places.items())
        uncertain: JsonObject = dict.fromkeys(values, unsure)
        values[direction_key(self.elevator.name)] = self.elevator.settings.is_inverted
        self.elevator.go(self._down)
        return Finding(
            "elevator",
            f"{self.elevator.name}: {listed}",
            values,
            uncertain,
            {"follows_from": round((free + taken) / 2, 1), "apart_rows": round(apart, 3)},
        )

    def _rows_at(self, rows: int) -> int:
        """Return the steps at which this number of rows is in the turntable."""
        return round(self._no_row + self._rises[rows])

    def _follows(self, height: float) -> bool:
        """Return whether the cube, raised to a height, follows a small turn of the table."""
        table, half = self.table, SWING_DEGREES / 2
        self.elevator.go(self._down)
        table.turn(-half)
        self.elevator.go(height)
        table.expect(0.0)
        before = table.angle()
        table.turn(half)
        table.expect(0.0)
        moved = table.angle() - before
        self.elevator.go(self._down)
        table.turn(0.0)
        return abs(moved) > FOLLOWS * SWING_DEGREES

    def find_ends(self) -> Iterator[Finding]:
        """Find the flipper's two ends. At each the cube lies level, with another face in view."""
        flipper, drawn = self.flipper, self._drawn[self.flipper.name]
        swing = self._mechanism.flipper
        way = drawn[swing.second] - drawn[swing.first]
        onwards = 1 if way > 0 else -1
        face = self._face()
        flipper.wake(round(drawn[swing.first] + FIRST_PART * way))
        first = self._find_level(-onwards)
        yield self._end_finding(swing.first, first)
        flipper.go(first + (1 - FIRST_PART) * way)
        second = self._find_level(onwards)
        for end in (None, first, second, first):
            if end is not None:
                flipper.go(end)
            before, face = face, self._face()
            if not are_two_faces(before.colours, face.colours):
                raise CalibrationError(
                    f"{flipper.name} does not roll the cube between {first} and {second} us: is "
                    "the cube in it and its arm mounted?"
                )
        yield self._end_finding(swing.second, second)

    def _end_finding(self, name: str, pulse: int) -> Finding:
        unsure = round(LEVEL_UNSURE_DEGREES * USUAL_DEGREE_US, 1)
        key = self.flipper.key(name)
        text = f"{self.flipper.name} {name}: {pulse} us, where the cube lies level"
        return Finding("flipper", text, {key: pulse}, {key: unsure})

    def _find_level(self, outwards: int) -> int:
        """Return the pulse, approached from inside the flipper's range, where the cube lies level.

        ``outwards``: the direction towards the end of the range.
        """
        flipper = self.flipper
        before: tuple[int, Floats] | None = None
        step: float = outwards * LARGEST_STEP_US / 2
        for _ in range(MOST_STEPS):
            place = self.watch.place()
            if place is None:  # the cube lies too far askew
                flipper.go(flipper.at + step)
                continue
            off = place.middle - self._level
            if before is not None and before[0] != flipper.at:
                slope = (off - before[1]) / (flipper.at - before[0])
                step = float(-(off @ slope) / max(float(slope @ slope), 1e-12))
            before = flipper.at, off
            if abs(step) < LEVEL_DEGREES * USUAL_DEGREE_US:
                return flipper.at
            step = max(-LARGEST_STEP_US, min(LARGEST_STEP_US, step))
            target = flipper.at + step
            flipper.go(target - outwards * APPROACH_US)
            flipper.go(target)
        raise CalibrationError(
            f"{flipper.name}: the cube does not lie level near {flipper.at} us. Is it in the "
            "flipper, and is the flipper at its end?"
        )

    def find_square(self) -> Finding:
        """Set the table's zero to the angle at which the flipper squares the cube."""
        self.elevator.go(self._rows_at(len(self._rises) - 1))
        self.table.go(0.0)
        self.elevator.go(self._down)
        self.table.expect(0.0)
        self.table.recentre(self.table.angle())
        return self._square_place("square is the angle of the cube in the flipper", {})

    def find_clear(self) -> Finding:
        """Find a pulse at which the squisher is out of the picture and therefore off the cube."""
        squisher, way = self.squisher, self._closing_us
        drawn = self._drawn[squisher.name][self._mechanism.squisher.open]
        self._raise_square()
        squisher.wake(round(drawn + OPEN_PART * way))
        self.elevator.go(self._down)
        start, outwards = squisher.at, -self._towards
        while self.watch.look(0.0) is None:
            if abs(squisher.at - start) > abs(way):
                raise CalibrationError(
                    f"{squisher.name} stays in the picture near {start} us: put its horn on "
                    "another tooth"
                )
            squisher.go(squisher.at + outwards * COARSE_US)
        squisher.go(squisher.at + outwards * CLEAR_DEGREES * USUAL_DEGREE_US)
        self._open_at = squisher.at
        return Finding(
            "squisher",
            f"{squisher.name} is out of the way at {squisher.at} us",
            evidence={"clear_at_us": squisher.at},
        )

    def find_hold(self) -> Finding:
        """Find the pulses at which the squisher begins to hold the cube and holds it firmly.

        The holding position is as far again beyond the second.
        """
        squisher, (low, high) = self.squisher, self.squisher.limits
        farthest = self._open_at + self._towards * BEYOND_DEGREES * USUAL_DEGREE_US
        farthest = max(low, min(high, farthest))
        self._hold = find_hold(
            squisher.name, self._measure_following, self._open_at, farthest, SEARCH_US
        )
        self._hold_at = self._hold.place(self._towards, self.squisher.limits)
        return self._hold_finding(
            f"it touches the cube at {self._hold.begins:.0f} us and holds it firmly from "
            f"{self._hold.firm:.0f} us",
            {"holds_from_us": self._hold.begins, "firm_from_us": self._hold.firm},
        )

    def prove_hold(self) -> Finding:
        """Prove the hold by quarter turns of the upper rows; close further until the held rows
        stay."""
        for _ in range(MOST_DEEPER):
            askew = max(self._askew_after(sign * 90.0, self._hold_at) for sign in (1, -1))
            if askew <= SLIPPED_DEGREES:
                break
            self._hold_at += self._towards * self._hold.step_us
        else:
            raise CalibrationError(
                f"{self.squisher.name} holds the cube for a few degrees, but not for a quarter "
                "turn: is the cube too stiff?"
            )
        return self._hold_finding(
            "the rows it holds stayed in place during quarter turns of those above",
            {"askew_degrees": round(askew, 2)},
        )

    def _hold_finding(self, text: str, evidence: JsonObject) -> Finding:
        squisher, names, way = self.squisher, self._mechanism.squisher, self._closing_us
        # As far from the holding position as in the profile, but out of the picture.
        opens = self._hold_at - way
        opens = min(opens * self._towards, self._open_at * self._towards) * self._towards
        low, high = squisher.limits
        opens = max(low, min(high, opens))
        unsure = self._hold.unsure_us(SHORT_DEGREES * USUAL_DEGREE_US)
        found = {
            names.closed: (self._hold_at, unsure),
            names.open: (opens, unsure + SCALE_SPREAD * abs(way)),
        }
        values: JsonObject = {squisher.key(name): round(at) for name, (at, _) in found.items()}
        uncertain: JsonObject = {squisher.key(n): round(off, 1) for n, (_, off) in found.items()}
        said = f"{squisher.name} {names.closed}: {self._hold_at:.0f} us ({text})"
        return Finding("squisher", said, values, uncertain, evidence)

    def _measure_following(self, pulse: float) -> float:
        """Return the fraction of a small turn that the lower rows follow, with the squisher at a
        pulse."""
        return 1 - self._askew_after(SWING_DEGREES, pulse) / SWING_DEGREES

    def _askew_after(self, degrees: float, pulse: float) -> float:
        """Return the degrees by which the upper rows are off square after a turn of the table with
        the squisher at a pulse."""
        table = self.table
        self._raise_square()
        self.elevator.go(self._rows_at((len(self._rises) - 1) // 2))
        self.squisher.go(pulse)
        table.turn(degrees)
        self.squisher.go(self._open_at)
        self.elevator.go(self._down)
        table.expect(0.0)
        return abs(table.angle())

    def _raise_square(self) -> None:
        """Raise the whole cube into the table, which squares its layers, and turn the table to
        square, taking up any play forwards."""
        self.elevator.go(self._rows_at(len(self._rises) - 1))
        self.table.settle()

    def _place(self) -> FlatPlace:
        seen = self.watch.place()
        if seen is None:
            raise self.watch.lost_face_error(
                "the cube is out of view: does the picture also show it when raised? Move the "
                "camera farther away, or point it at the middle of the cube"
            )
        return seen

    def _face(self) -> FacePose:
        seen = self.watch.look(self.table.expected)
        if seen is None:
            raise self.watch.lost_face_error("the cube in the flipper is out of view")
        return seen


FINDERS["layered-flipper"] = (LayeredFlipperFinder,)
