"""Finds the positions of a flipper with a lid above the cube and a lifter below, like CUBOTone.

The lid only holds, the lifter only rolls, and the table homes by a sensor:

1. *Lid out of the picture.* A margin before the pulse at which it hides the face.
2. *Lifter down.* A margin below the pulse at which it begins to lift the cube, which tilts the
   face.
3. *Table.* It homes. A small turn shows whether direction and steps are as in the profile.
4. *Lid closed*, and *square*: the same as with one arm, see :mod:`robot.calibration.auto.flipper`.
   Intermediate positions divide the lid's travel in the same ratio as in the profile.
5. *Lifter up.* As far from down as in the profile. Another face in view proves it, twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from robot.calibration.auto.face_watch import FacePose, RotationGauge, view_from_above
from robot.calibration.auto.finder import (
    FINDERS,
    SCALE_SPREAD,
    FilmedServo,
    Finding,
    mechanism_of,
)
from robot.calibration.auto.fitting import ServoLine, servo_degree_us
from robot.calibration.auto.flipper import (
    BEYOND_OPEN_DEGREES,
    DEEPER_DEGREES,
    MOST_ROLLS,
    SEARCH_BACK_US,
    SEARCH_UP_US,
    SWING_DEGREES,
    FlipperFinder,
)
from robot.calibration.auto.holding import HoldCurve, find_hold
from robot.calibration.auto.motors import homed_motor_finding, let_turn
from robot.calibration.auto.rotations import MOST_OFF_DEGREES, SpinningPart
from robot.calibration.auto.stepwise_move import FINE_US, Edge, StepwiseMove, stepwise_move
from robot.calibration.step import Session
from robot.mechanism.flipper import ArmSettings, FlipperSettings
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError
from solver.files import JsonObject

OUT_OF_PICTURE_DEGREES = 7.0
"""Distance of the lid from where it hides the face: it gets into the picture before that."""
LIFT_CLEAR_DEGREES = 7.0
"""Distance of the lifter from where the face shows that it lifts the cube."""
SHOWN_LATE_DEGREES = 3.0
"""Uncertainty of both, because the camera detects an obstructing part late."""


class LifterFinder(FlipperFinder):
    """A lid, a lifter, and a table that a stepper with a sensor turns.

    Call its methods, which return findings, in the order of :meth:`find`. They raise
    :class:`CalibrationError`.
    """

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        mechanism = mechanism_of(profile, FlipperSettings)
        holder, lifter = _lid_and_lifter(mechanism)
        self._session, self._profile = session, profile
        self._degree_us = servo_degree_us(profile)
        holds = next(n for n, role in holder.positions.items() if role == "hold")
        self._read_name, self._low_name = holder.start, lifter.start
        self._names = {"open": holder.start, "hold": holds}
        self._high_name = str(lifter.lifts)
        self.lid = stepwise_move(session, profile, holder.actuator)
        self.lifter = stepwise_move(session, profile, lifter.actuator)
        self._drawn_lid = session.profile.actuators[holder.actuator].places
        self._drawn_lifter = session.profile.actuators[lifter.actuator].places
        self._shape = {role: float(self._drawn_lid[at]) for role, at in self._names.items()}
        self._towards_hold = 1 if self._shape["hold"] > self._shape["open"] else -1
        self._rolls_beyond = False
        rise = self._drawn_lifter[self._high_name] - self._drawn_lifter[self._low_name]
        self._rise, self._upwards = rise, 1 if rise > 0 else -1
        self.watch = RotationGauge(session, *view_from_above(profile))
        table = stepwise_move(session, profile, mechanism.turntable.actuator)
        self.table = SpinningPart(self.watch, table, {})
        self._swing_degrees = 2 * self._whole_steps(SWING_DEGREES / 2)
        self._side = -1
        self._open_at = self._hold_at = self._low_at = self._into_picture = 0.0
        self._lid_slack = self._play = 0.0
        self._hold = HoldCurve(0.0, 0.0)
        self._places = {}

    @staticmethod
    def supports(profile: RobotProfile) -> bool:
        """See :meth:`Finder.supports`."""
        mechanism = mechanism_of(profile, FlipperSettings)
        table = profile.actuators_of(Stepper).get(mechanism.turntable.actuator)
        arms = {arm.actuator for arm in mechanism.arms}
        has_sensor = table is not None and table.homing is not None and table.steps_per_turn
        if not has_sensor or not arms <= profile.actuators_of(Servo).keys():
            return False
        kinds = sorted(_kind_of(arm) for arm in mechanism.arms)
        return kinds == ["lid", "lifter"]

    @property
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Return no servos: the lid hides the cube, and the lifter tilts it."""
        return {}

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        yield self._face_in_view(
            "square to the robot, lid and lifter out of the way", self._session
        )
        yield self.find_read()
        yield self.find_low()
        yield self.find_table()
        yield self.find_closed()
        yield self.find_square()
        self.table.go(0.0)
        yield self.prove_hold()
        yield self.find_between()
        yield self.find_high()
        self.table.go(0.0)

    def find_read(self) -> Finding:
        """Find the pulse at which the lid is out of the picture."""
        lid, towards = self.lid, self._towards_hold
        lid.wake(self._drawn_lid[self._read_name])
        if self._is_covered():
            self._uncover(lid, ((-towards, SEARCH_BACK_US), (towards, SEARCH_UP_US)))
        way = abs(self._shape["hold"] - self._shape["open"])
        into = lid.find_edge(self._is_covered, towards, way)
        self._into_picture, self._lid_slack = into.forwards, into.slack_us
        low, high = lid.limits
        away = into.middle - towards * OUT_OF_PICTURE_DEGREES * self._degree_us
        self._open_at = max(low, min(high, away))
        lid.go(self._open_at)
        return _position_finding(
            lid,
            {self._read_name: (self._open_at, FINE_US + self._unsure_edge_us(into))},
            f"it hides the face from {into.middle:.0f} us",
        )

    def find_low(self) -> Finding:
        """Find the pulse at which the lifter is down, clear of the cube."""
        lifter = self.lifter
        lifter.wake(self._drawn_lifter[self._low_name])
        if self._is_covered():
            self._uncover(lifter, ((-self._upwards, SEARCH_BACK_US),))
        lifts = lifter.find_edge(self._is_covered, self._upwards, abs(self._rise))
        self._low_at = lifts.middle - self._upwards * LIFT_CLEAR_DEGREES * self._degree_us
        low, high = lifter.limits
        self._low_at = max(low, min(high, self._low_at))
        lifter.go(self._low_at)
        return _position_finding(
            lifter,
            {self._low_name: (self._low_at, FINE_US + self._unsure_edge_us(lifts))},
            f"it begins to lift the cube at {lifts.middle:.0f} us",
        )

    def _unsure_edge_us(self, edge: Edge) -> float:
        return edge.slack_us / 2 + SHOWN_LATE_DEGREES * self._degree_us

    def find_table(self) -> Finding:
        """Home the table, count angles from there, and check direction and steps by a turn."""
        name, table = self.table.name, self.table
        let_turn(self._session, [name])
        table.actuator.wake()
        stepper = table.actuator.stepper
        assert stepper is not None and stepper.steps_per_turn
        steps_per_degree = stepper.steps_per_turn / 360
        start = table.angle()
        table.assume_line(ServoLine(1 / steps_per_degree, 0.0, 0.0, 0.0))
        table.shift_zero(start)
        turned = self._swing_degrees
        table.go(turned)
        seen = table.angle()
        return homed_motor_finding(table, turned, seen)

    def find_closed(self) -> Finding:
        """Find the pulses at which the lid begins to hold the cube and holds it firmly.

        The holding position is as far again beyond the second.
        """
        lid, towards = self.lid, self._towards_hold
        self.table.go(self._side * self._swing_degrees / 2)
        farthest = self._into_picture + towards * BEYOND_OPEN_DEGREES * self._degree_us
        hold = self._hold = find_hold(lid.name, self._followed, self._into_picture, farthest)
        self._hold_at = hold.place(towards, lid.limits)
        return self._lid_finding(
            "hold",
            self._hold_at,
            f"it touches the cube at {hold.begins:.0f} us and holds it firmly from "
            f"{hold.firm:.0f} us",
            {"holds_from_us": hold.begins, "firm_from_us": hold.firm},
        )

    def find_between(self) -> Finding:
        """Return the lid's positions between out of the picture and holding, at the same fractions
        of its travel as in the profile."""
        drawn, start = self._drawn_lid, self._drawn_lid[self._read_name]
        found = {}
        for name in drawn.keys() - {self._names["hold"], self._read_name}:
            share = (drawn[name] - start) / (drawn[self._names["hold"]] - start)
            at = self._open_at + share * (self._hold_at - self._open_at)
            found[name] = (at, self._unsure("hold"))
        return _position_finding(
            self.lid, found, "at the same fraction of the travel as in the profile"
        )

    def find_high(self) -> Finding:
        """Find the pulse at which the lifter rolls the cube: another face is in view, twice."""
        self.table.go(0.0)
        lowest, highest = self.lifter.limits
        high = max(lowest, min(highest, self._low_at + self._rise))
        for _ in range(MOST_ROLLS):
            if self._rolls(high):
                unsure = FINE_US + SCALE_SPREAD * abs(self._rise)
                found = {self._high_name: (high, unsure)}
                return _position_finding(self.lifter, found, "another face came into view, twice")
            high += self._upwards * DEEPER_DEGREES * self._degree_us
        raise CalibrationError(
            f"{self.lifter.name} does not roll the cube even at {high:.0f} us: does it reach under "
            "the cube?"
        )

    def _roll(self, pulse: float) -> FacePose:
        """Roll the cube by the lifter instead of the lid."""
        self.lifter.go(pulse)
        self.lifter.go(self._low_at)
        return self._face()

    def _whole_steps(self, most: float) -> float:
        """Return the largest angle of whole table steps up to ``most`` degrees, at least one
        step."""
        stepper = self.table.actuator.stepper
        assert stepper is not None and stepper.steps_per_turn
        step = 360 / stepper.steps_per_turn
        return max(1, math.floor(most / step)) * step

    def _recentre(self, degrees: float) -> None:
        """See :meth:`FlipperFinder._recentre`; the sensor, not the lid, defines the table's
        zero."""
        if abs(degrees) > MOST_OFF_DEGREES:
            raise CalibrationError(
                f"{self.lid.name} leaves the cube {degrees:+.1f} degrees off the angle at which "
                f"{self.table.name} homes: change offset_steps of its homing in the profile"
            )
        self.table.shift_zero(degrees)


def _kind_of(arm: ArmSettings) -> str:
    """Return ``lid`` for an arm that only holds, ``lifter`` for one that only rolls."""
    holds = "hold" in arm.positions.values()
    if holds == (arm.lifts is not None):
        return "other"
    return "lid" if holds else "lifter"


def _lid_and_lifter(mechanism: FlipperSettings) -> tuple[ArmSettings, ArmSettings]:
    holder, lifter = sorted(mechanism.arms, key=_kind_of)
    return holder, lifter


def _position_finding(
    arm: StepwiseMove, found: Mapping[str, tuple[float, float]], why: str
) -> Finding:
    """Return positions of an arm, with the uncertainty of each, as a finding."""
    values: JsonObject = {arm.key(name): round(at) for name, (at, _) in found.items()}
    unsure: JsonObject = {arm.key(name): round(off, 1) for name, (_, off) in found.items()}
    listed = ", ".join(f"{name} {at:.0f} us" for name, (at, _) in found.items())
    return Finding("lid", f"{arm.name}: {listed} ({why})", values, unsure)


FINDERS["flipper"] = (FlipperFinder, LifterFinder)
