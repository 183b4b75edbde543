"""Finds the positions of a flipper: a table that turns the cube, an arm that holds and rolls it.

The camera looks down at the cube. Only the cube shows the positions of table and arm: while the arm
is open the cube turns with the table, and while the arm holds it does not.

1. *Table.* It goes up and down in small steps, and the camera measures the angle of the cube. The
   result is a line for each direction, with the dead band between them. For a stepper the same line
   gives direction, steps per turn and play.
2. *Arm open.* The picture is clear while the arm is out of the way. A lid that rolls the cube on
   the other side of ``open`` gets into the picture there too, and ``open`` is the middle. Meanwhile
   the table stays at the angle at which the cube was put in, so an arm that touches it does no
   harm.
3. *Arm closed.* It comes down a little further each time, and the table turns a few degrees under
   it. The less the cube follows, the more firmly it is held. The softness of the lid gives the
   margin of the holding position, and quarter turns prove it. The arm's walls then turn the cube
   square from both sides. The middle is the true square of the robot, and half the distance is the
   play.
4. *Arm rolling.* The arm's shape in the profile gives the rolling position, and another face in
   view proves it. ``open`` and holding positions together give the scale of the servo. An arm that
   rolls beyond the holding position shows only one end of ``open``: its other positions are as far
   from holding as in the profile, and as uncertain as the scale of a servo.

No test turns the table further than a layer may be off square, so that it does no harm wherever the
arm is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from robot.calibration.auto.face_watch import (
    FacePose,
    RotationGauge,
    are_two_faces,
    quarters_between,
    view_from_above,
)
from robot.calibration.auto.finder import (
    SCALE_SPREAD,
    WIDER_PART,
    FilmedServo,
    Finder,
    Finding,
    blind_steppers,
    find_line,
    mechanism_of,
    stops_finding,
)
from robot.calibration.auto.fitting import servo_degree_us
from robot.calibration.auto.holding import HoldCurve, find_hold
from robot.calibration.auto.motors import let_turn, motor_finding
from robot.calibration.auto.rotations import SpinningPart
from robot.calibration.auto.stepwise_move import (
    COARSE_US,
    Edge,
    StepwiseMove,
    stepwise_move,
)
from robot.calibration.step import Session
from robot.mechanism.flipper import FlipperSettings, Roll
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.text.faults import CalibrationError
from solver.files import JsonObject

SEARCH_UP_US, SEARCH_BACK_US = 60, 150
"""Search ranges for a lid that is in the picture at first: towards the cube, where it does no harm
yet, and the other way."""

SWING_DEGREES = 4.5
"""Turn of the table that shows whether the cube follows: half of it to either side."""

BEYOND_OPEN_DEGREES = 45.0
"""Search range for holding, from the pulse at which the lid gets into the picture."""

CLEAR_DEGREES = 5.0
"""Distance of the open arm from the pulse at which it gets into the picture."""

FLAT_MARGIN_PART = 0.05
"""Distance of ``look_part`` from where the cube begins to lie flat, as a fraction of the travel."""

SQUARE_ENOUGH_DEGREES = 0.2
MOST_SQUARINGS = 6
SLIPPED_DEGREES = 1.0
"""Rotation of the cube in a quarter turn, beyond its play, above which it was not held."""
MOST_DEEPER = 6
DEEPER_DEGREES = 3.0
MOST_ROLLS = 3
SCALES = (0.5, 2.0)
"""Plausible range of the profile's distance from ``open`` to holding, relative to the measured."""


class FlipperFinder(Finder):
    """A flipper with one arm, which holds and rolls the cube on opposite sides of ``open``, or
    rolls it beyond the holding position.

    Call its methods, which return findings, in the order of :meth:`find`. They raise
    :class:`CalibrationError`.
    """

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        mechanism = mechanism_of(profile, FlipperSettings)
        (arm,) = mechanism.arms
        self._session = session
        self._profile = profile
        self._quarters = dict(mechanism.turntable.angles)
        self._motor = mechanism.turntable.actuator
        self._looks_from, self._look_part = arm.looks_from, arm.look_part
        self._degree_us = servo_degree_us(profile)
        self.lid = stepwise_move(session, profile, arm.actuator)
        roles = {
            "roll" if isinstance(role, Roll) else role: name for name, role in arm.positions.items()
        }
        missing = {"open", "hold", "roll"} - roles.keys()
        if missing:
            raise CalibrationError(
                f"{arm.actuator} has no position for: {', '.join(sorted(missing))}"
            )
        self._names = roles
        # From the profile, because this calibration may replace the calibrated distances.
        places = session.profile.actuators[arm.actuator].places
        self._shape = {role: float(places[name]) for role, name in roles.items()}
        holds, rolls = (self._shape[role] - self._shape["open"] for role in ("hold", "roll"))
        if holds * rolls > 0 and abs(rolls) < abs(holds):
            raise CalibrationError(
                f"{arm.actuator} rolls the cube on its way to its holding position: calibrate such "
                "an arm by eye, see `cubist calibrate servo`"
            )
        self._rolls_beyond = holds * rolls > 0
        self._towards_hold = 1 if holds > 0 else -1
        self.watch = RotationGauge(session, *view_from_above(profile))
        table = stepwise_move(session, profile, self._motor)
        self.table = SpinningPart(self.watch, table, self._quarters)
        self._swing_degrees = SWING_DEGREES
        self._side = -1
        self._open_at = self._hold_at = self._lid_slack = 0.0
        self._into_picture = self._under_cube = self._play = 0.0
        self._hold = HoldCurve(0.0, 0.0)
        self._places: dict[str, int] = {}
        self._lid_gain = 1.0

    @staticmethod
    def supports(profile: RobotProfile) -> bool:
        """See :meth:`Finder.supports`."""
        mechanism, servos = profile.mechanism, profile.actuators_of(Servo).keys()
        arms, table = mechanism.homed_first, mechanism.rotating[0].motor
        return len(arms) == 1 and arms[0] in servos and table in servos | blind_steppers(profile)

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        yield self._face_in_view(
            "square to the robot, with the arm out of the picture", self._session
        )
        self._wake()
        yield find_line(self.table)
        if self.table.is_stepper:
            yield motor_finding(self.table)
        yield self.find_open()
        yield self.find_hold()
        yield self.find_square()
        if not self.table.is_stepper:
            yield self.find_stops()
        yield self.prove_hold()
        yield self.find_roll()
        self.table.settle()

    @property
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Return the table if a servo turns it. The lid hides the cube, so it is not included."""
        return {} if self.table.is_stepper else {self.table.name: FilmedServo(self.table)}

    def find_open(self) -> Finding:
        """Find the pulse at which the lid is out of the picture and the cube free."""
        lid, towards = self.lid, self._towards_hold
        into = self._find_into_picture()
        if self._rolls_beyond:
            self._lid_slack = into.slack_us
            self._open_in_front_of(into)
            return Finding(
                "lid",
                f"{lid.name} enters the picture at {into.middle:.0f} us",
                evidence={"slack_us": self._lid_slack},
            )
        under = lid.find_edge(self._is_covered, -towards)
        self._under_cube = under.middle
        self._open_at = (into.middle + under.middle) / 2
        self._lid_slack = (into.slack_us + under.slack_us) / 2
        lid.go(self._open_at)
        return self._lid_finding(
            "open",
            self._open_at,
            f"out of the way between {under.middle:.0f} and {into.middle:.0f} us",
            {"slack_us": self._lid_slack},
        )

    def _find_into_picture(self) -> Edge:
        into = self.lid.find_edge(self._is_covered, self._towards_hold)
        self._into_picture = into.forwards
        return into

    def _open_in_front_of(self, into: Edge) -> None:
        """Open the arm to a safe distance from where it gets into the picture."""
        self._open_at = into.middle - self._towards_hold * CLEAR_DEGREES * self._degree_us
        self.lid.go(self._open_at)

    def find_hold(self) -> Finding:
        """Find the pulses at which the lid begins to hold the cube and holds it firmly.

        The holding position is as far again beyond the second.
        """
        lid, towards = self.lid, self._towards_hold
        self.table.go(self._side * self._swing_degrees / 2)
        farthest = self._into_picture + towards * BEYOND_OPEN_DEGREES * self._degree_us
        hold = self._hold = find_hold(lid.name, self._followed, self._into_picture, farthest)
        self._hold_at = hold.place(towards, lid.limits)
        if self._rolls_beyond:
            return self._found_beyond(hold)
        # The lid reached this pulse downwards. A servo without slack would hold a little earlier.
        unslackened = self._hold_at - towards * self._lid_slack / 2
        shape = self._shape
        values: JsonObject = {}
        if self._look_part is not None:
            values = self._open_from_part(self._look_part, unslackened)
        gain = (shape["hold"] - shape["open"]) / (unslackened - self._open_at)
        if not SCALES[0] < gain < SCALES[1]:
            raise CalibrationError(
                f"{lid.name} holds the cube at {hold.begins:.0f} us, which does not fit the "
                "distances between its positions in the profile: is it the right profile?"
            )
        # The holding position of a soft lid is less certain than the scale of servos of one make.
        off = self._unsure("hold") / abs(unslackened - self._open_at)
        usual = SCALE_SPREAD / 2
        self._lid_gain = (gain * usual**2 + off**2) / (usual**2 + off**2)
        found = self._lid_finding(
            "hold",
            self._hold_at,
            f"it touches the cube at {hold.begins:.0f} us and holds it firmly from "
            f"{hold.firm:.0f} us",
            {
                "holds_from_us": hold.begins,
                "firm_from_us": hold.firm,
                "gain": round(self._lid_gain, 3),
            },
        )
        unsure = dict.fromkeys(values, self._unsure("open"))
        return replace(
            found, values={**values, **found.values}, uncertain={**unsure, **found.uncertain}
        )

    def _open_from_part(self, part: float, holds_at: float) -> JsonObject:
        """Return the ``open`` position of a lid that releases the cube long before it is open.

        This is not the middle. It divides the distance from the point where the cube lies flat to
        the holding position in the same ratio as in the profile.
        """
        towards, shape = self._towards_hold, self._shape
        flat = (1 - part + FLAT_MARGIN_PART) * abs(shape["open"] - shape["roll"])
        share = flat / (flat + abs(shape["hold"] - shape["open"]))
        at = self._under_cube + share * (holds_at - self._under_cube)
        clear = self._into_picture - towards * CLEAR_DEGREES * self._degree_us
        self._open_at = min(at * towards, clear * towards) * towards
        return {self.lid.key(self._names["open"]): round(self._open_at)}

    def _found_beyond(self, hold: HoldCurve) -> Finding:
        """Return the holding and open positions of an arm that shows only one end of ``open``."""
        towards, shape = self._towards_hold, self._shape
        rolls = self._hold_at + shape["roll"] - shape["hold"]
        # The robot looks when the arm is open by this fraction, so it must be out of the picture.
        part = self._looks_from
        clear = (self._open_at - (1 - part) * rolls) / part
        wide = hold.firm - (1 + WIDER_PART) * (shape["hold"] - shape["open"])
        low, high = self.lid.limits
        self._open_at = max(low, min(high, wide))
        is_clear = (clear - self._open_at) * towards >= 0
        if not is_clear:
            self._open_at = clear
        self.lid.go(self._open_at)
        distance = (
            "slightly farther apart than in the profile" if is_clear else "clear of the picture"
        )
        values: JsonObject = {}
        uncertain: JsonObject = {}
        for role, pulse in (("hold", self._hold_at), ("open", self._open_at)):
            key = self.lid.key(self._names[role])
            values[key], uncertain[key] = round(pulse), self._unsure(role)
        return Finding(
            "lid",
            f"{self.lid.name} {self._names['hold']}: {self._hold_at:.0f} us (it touches the cube "
            f"at {hold.begins:.0f} us); {self._names['open']}: {self._open_at:.0f} us, {distance}",
            values,
            uncertain,
            {"holds_from_us": hold.begins, "firm_from_us": hold.firm},
        )

    def find_square(self) -> Finding:
        """Find the table's square angle by letting the lid's walls square the cube from both
        sides."""
        for _ in range(MOST_SQUARINGS):
            ends = []
            for _ in range(2):
                self._swing(self._hold_at)
                ends.append(self.table.angle())
            off, play = sum(ends) / 2, abs(ends[1] - ends[0]) / 2
            self._recentre(off)
            self._play = play
            if abs(off) < SQUARE_ENOUGH_DEGREES:
                break
        else:
            raise CalibrationError(
                f"{self.lid.name} leaves the cube at a different angle each time: is the lid loose?"
            )
        return self._square_place(
            f"square is the angle at which {self.lid.name} leaves the cube, with {play:.1f} "
            "degrees of play",
            {"play_degrees": round(play, 2)},
        )

    def _recentre(self, degrees: float) -> None:
        """Move the zero of the table's angles to ``degrees``, where the lid squares the cube."""
        self.table.recentre(degrees)

    def find_stops(self) -> Finding:
        """Find the table's positions."""
        table = self.table
        table.go(0.0)
        # The part that the lid held is off the bottom layer by a small angle, the same everywhere.
        self._places, off = table.find_stops(table.angle())
        return stops_finding("table", table, self._places, off)

    def prove_hold(self) -> Finding:
        """Turn the bottom layer by quarters, and lower the lid further until the cube stays."""
        table = self.table
        for _ in range(MOST_DEEPER):
            followed = max(self._quarter_turn(place, self._hold_at) for place in self._turn_places)
            if followed <= 2 * self._play + SLIPPED_DEGREES:
                break
            self._hold_at += self._towards_hold * self._hold.step_us
        else:
            raise CalibrationError(
                f"{self.lid.name} holds the cube for a few degrees, but not for a quarter turn: is "
                "the cube too stiff, or does the lid not come down far enough?"
            )
        table.go(0.0)
        return self._lid_finding(
            "hold",
            self._hold_at,
            "the cube stayed in place during quarter turns of the layer below",
            {"followed_degrees": round(followed, 2)},
        )

    @property
    def _turn_places(self) -> list[float]:
        """Return the table's places for turns to either end and back; by its line for a stepper."""
        line = self.table.line
        ends = [place for name, place in self._places.items() if self._quarters[name]]
        there = [float(one) for one in ends] or [line.pulse(90.0), line.pulse(-90.0)]
        home = next((p for name, p in self._places.items() if not self._quarters[name]), None)
        back = line.pulse(0.0) if home is None else float(home)
        return [place for end in there for place in (end, back)]

    def _quarter_turn(self, place: float, lid_at: float) -> float:
        """Return the degrees by which the held cube follows the table to a place.

        A cube that has followed completely shows the same angle, so its stickers are compared too.
        """
        self.table.expect(0.0)
        before, face = self.table.angle(), self._face()
        self.lid.go(lid_at)
        self.table.actuator.go(place)
        self.lid.go(self._open_at)
        followed = abs(self.table.angle() - before)
        return max(followed, 90.0 * quarters_between(face, self._face()))

    def find_roll(self) -> Finding:
        """Find the pulse at which the lid rolls the cube: another face comes into view, twice."""
        lid, shape = self.lid, self._shape
        known, at = ("hold", self._hold_at) if self._rolls_beyond else ("open", self._open_at)
        pulse = at + (shape["roll"] - shape[known]) / self._lid_gain
        away = (1 if shape["roll"] > shape[known] else -1) * DEEPER_DEGREES * self._degree_us
        for _ in range(MOST_ROLLS):
            if self._rolls(pulse):
                evidence = {"gain": round(self._lid_gain, 3)}
                text = "another face came into view, twice"
                return self._lid_finding("roll", pulse, text, evidence)
            pulse += away
        raise CalibrationError(
            f"{lid.name} does not roll the cube even at {pulse - away:.0f} us: does it reach under "
            "the cube?"
        )

    def _lid_finding(self, role: str, pulse: float, text: str, evidence: JsonObject) -> Finding:
        """Return a position of the lid as a finding."""
        key = self.lid.key(self._names[role])
        said = f"{self.lid.name} {self._names[role]}: {pulse:.0f} us ({text})"
        return Finding("lid", said, {key: round(pulse)}, {key: self._unsure(role)}, evidence)

    def _unsure(self, role: str) -> float:
        """Return the microseconds by which a position of the lid may be off.

        Errors of the scale grow with the distance from the measured positions.
        """
        shape = self._shape
        least = self._hold.unsure_us(self._lid_slack)
        if self._rolls_beyond:
            return round(least + SCALE_SPREAD * abs(shape[role] - shape["hold"]), 1)
        baseline = abs(shape["hold"] - shape["open"])
        return round(max(1.0, abs(shape[role] - shape["open"]) / baseline) * least, 1)

    def _wake(self) -> None:
        """Send the lid its first pulses, until it is out of the way."""
        self.lid.wake(round(self.lid.settings.places[self._names["open"]]))
        if self._is_covered():
            self._get_out_of_picture()
        if self._look_part is not None:
            # A lid out of the picture may still obstruct a cube that turns.
            self._open_in_front_of(self._find_into_picture())
        if self.table.is_stepper:
            let_turn(self._session, [self.table.name])

    def _is_covered(self) -> bool:
        return self.watch.look(self.table.expected) is None

    def _get_out_of_picture(self) -> None:
        """Move the lid out of the picture from its first pulse."""
        back = (-self._towards_hold, SEARCH_BACK_US)
        up = (self._towards_hold, SEARCH_UP_US)
        self._uncover(self.lid, (back,) if self._rolls_beyond else (up, back))

    def _uncover(self, arm: StepwiseMove, ways: Iterable[tuple[int, int]]) -> None:
        """Move an arm until the face is in view. ``ways``: directions and distances to try, in
        us."""
        start, (low, high) = arm.at, arm.limits
        for direction, most in ways:
            for way in range(COARSE_US, most + 1, COARSE_US):
                if not low <= start + direction * way <= high:
                    break
                arm.go(start + direction * way)
                if not self._is_covered():
                    return
            arm.go(start)
        raise CalibrationError(
            f"{arm.name} stays in the picture near {start} us: move it away with `cubist calibrate "
            "servo`, or put its horn on another tooth"
        )

    def _face(self) -> FacePose:
        seen = self.watch.look(self.table.expected)
        if seen is None:
            raise CalibrationError(
                "the cube is out of view although the lid is open: is it askew in the holder?"
            )
        return seen

    def _followed(self, pulse: float) -> float:
        """Return the fraction of a table turn that the cube follows, with the lid at a pulse.

        A lid that comes down on an askew cube squares it, more so the harder it presses. That must
        not count as following, so the lid comes down once before the measurement.
        """
        self.lid.go(pulse)
        self.lid.go(self._open_at)
        before = self.table.angle()
        self._swing(pulse)
        return abs(self.table.angle() - before) / self._swing_degrees

    def _swing(self, pulse: float) -> None:
        """Move the lid to a pulse, turn the table to the other side, and open the lid."""
        self.lid.go(pulse)
        self._side = -self._side
        self.table.go(self._side * self._swing_degrees / 2)
        self.lid.go(self._open_at)

    def _rolls(self, pulse: float) -> bool:
        """Return whether the lid rolls the cube at a pulse.

        Another face must come into view, twice. Faces may look alike: then four rolls, which turn
        the cube once, must show another face within the first two and end with the first.
        """
        seen = [self._face(), *(self._roll(pulse) for _ in range(2))]
        if all(are_two_faces(one.colours, other.colours) for one, other in pairwise(seen)):
            return True
        if not any(are_two_faces(seen[0].colours, one.colours) for one in seen):
            return False
        seen += [self._roll(pulse) for _ in range(2)]
        return not are_two_faces(seen[0].colours, seen[-1].colours)

    def _roll(self, pulse: float) -> FacePose:
        self.lid.go(pulse)
        self.lid.go(self._open_at)
        return self._face()
