"""Finds the positions of a flipper: a table that turns the cube, a lid that holds and rolls it.

The camera looks down at the cube. Nothing but the cube shows where table and lid are, and it shows
it well: while the lid is open the cube turns with the table; while it holds, it does not.

1. *Table.* It goes up and down in small steps while the angle of the cube is measured: a line for
   each direction, the dead band between them.
2. *Lid open.* The picture is clear while the lid is out of the way. The middle between the two
   pulses at which it gets into the picture, or under the cube, is ``open``. The table stands as the
   cube was put in meanwhile, so that a lid that touches it does no harm.
3. *Lid closed.* The lid comes down a little further each time, and the table turns a few degrees
   under it. The first pulse at which the cube no longer follows, and a margin, is the position that
   holds. The lid's own walls then turn the cube square from both sides: the middle is the true
   square of the robot, the distance is the play.
4. *Lid rolling.* Open and holding give the scale of the lid's servo, and with the shape of the lid
   as the profile has it, where it rolls the cube. Another face in view proves it.

No test turns the table further than a layer may be off square, so that it does no harm wherever the
lid is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from robot.calibration.finding.face_watch import FaceSeen, FaceWatch, differ, view_from_above
from robot.calibration.finding.finder import FINDERS, HOLD_MARGIN_DEGREES, Finder
from robot.calibration.finding.result import CouldNot, Finding
from robot.calibration.finding.servo_line import ServoLine, SweepPoint, fit_line
from robot.calibration.finding.walking import COARSE_US, FINE_US, walker_of
from robot.calibration.step import Session
from robot.documents import JsonObject
from robot.mechanism.flipper.settings import FlipperSettings, Roll
from robot.settings import RobotProfile
from robot.settings.actuators import Servo

SEARCH_UP_US, SEARCH_BACK_US = 60, 150
"""How far a lid that is in the picture at first goes to get out of it: towards the cube, where that
does no harm yet, then the other way."""

SWEEP_STEP_US = 40
SWEEP_DEGREES = 70.0
"""The part of the table's way over which the line is fitted; its ends are looked at afterwards."""

SWING_DEGREES = 4.5
"""How far the table turns to see whether the cube follows; half of it to either side."""

FOLLOWED_PART = 0.87
"""The part of a swing from which the cube has followed the table."""

BEYOND_OPEN_DEGREES = 45.0
"""A lid that does not hold so far beyond where it gets into the picture never will."""

SQUARE_ENOUGH_DEGREES = 0.2
MOST_SQUARINGS = 6
MOST_OFF_DEGREES = 4.0
"""How far the ends of the table's way may be from where the line has them."""

DEEPER_DEGREES = 3.0
MOST_ROLLS = 3
SCALES = (0.5, 2.0)
"""A lid that turns further or less than this for a pulse is not the profile's."""


class FlipperFinder(Finder):
    """One flipper with a lid that opens one way to roll the cube and closes the other to hold it.

    Its methods make findings, in the order of :meth:`find`. They raise :class:`CouldNot`.
    """

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        mechanism = profile.mechanism
        assert isinstance(mechanism, FlipperSettings)
        if len(mechanism.arms) != 1:
            raise CouldNot("a flipper with several arms has to be calibrated by eye")
        (arm,) = mechanism.arms
        self._session = session
        self._profile = profile
        self._quarters = dict(mechanism.turntable.angles)
        self.table = walker_of(session, profile, mechanism.turntable.actuator)
        self.lid = walker_of(session, profile, arm.actuator)
        roles = {
            "roll" if isinstance(role, Roll) else role: name for name, role in arm.positions.items()
        }
        missing = {"open", "hold", "roll"} - roles.keys()
        if missing:
            raise CouldNot(f"{arm.actuator} has no position that does {', '.join(sorted(missing))}")
        self._names = roles
        places = self.lid.settings.positions_us
        self._shape = {role: float(places[name]) for role, name in roles.items()}
        if (self._shape["hold"] - self._shape["open"]) * (
            self._shape["roll"] - self._shape["open"]
        ) >= 0:
            raise CouldNot(
                f"{arm.actuator} rolls the cube beyond where it holds it: such an arm has to be "
                "calibrated by eye, see `cubist calibrate servo`"
            )
        self._towards_hold = 1 if self._shape["hold"] > self._shape["open"] else -1
        camera, view = view_from_above(profile)
        self._quad_key = f"cameras.{camera.name}.views.{view.site}.quad"
        self._resolution = camera.resolution
        # Angles of the table count clockwise from below; the camera is above.
        self.watch = FaceWatch(session, camera, view, sign=-1)
        self._near = 0.0
        self._side = -1
        self._line: ServoLine | None = None
        self._open_at = self._hold_at = self._lid_slack = 0.0
        self._into_picture = 0.0
        self._lid_gain = 1.0

    @staticmethod
    def suits(profile: RobotProfile) -> bool:
        """Whether the robot's table and arms are all moved by servos."""
        parts = profile.mechanism.rotating
        arms = profile.mechanism.homed_first
        names = [*(part.motor for part in parts), *arms]
        return all(isinstance(profile.actuators[name], Servo) for name in names)

    def find(self) -> Iterator[Finding]:
        """All positions, in order."""
        yield self.find_face()
        yield self.find_table()
        yield self.find_open()
        yield self.find_hold()
        yield self.find_square()
        yield self.find_stops()
        yield self.find_roll()

    @property
    def seen_moving(self) -> Mapping[str, Mapping[str, float]]:
        """The table, whose turns the cube shows; not the lid, which hides it."""
        return {self.table.name: {name: 90.0 * q for name, q in self._quarters.items()}}

    def find_face(self) -> Finding:
        """The face in the picture, before anything has moved."""
        seen = self.watch.look()
        if seen is None:
            raise CouldNot(
                "no whole face of the cube is in view: put a scrambled cube in, square to the "
                "robot, open the lid by hand, and see that light and focus are right (`cubist "
                "calibrate camera --live`)"
            )
        evidence = {"corners_px": seen.corners.round(1).tolist(), "advice": self.watch.advice}
        return Finding("camera", "the face is in view; nothing has moved yet", evidence=evidence)

    def find_table(self) -> Finding:
        """How far the table turns for a pulse, by the cube that turns with it."""
        self._wake()
        points: list[SweepPoint] = []
        first = self._angle()
        for target in (SWEEP_DEGREES, -SWEEP_DEGREES, first):
            points += self._swept(target, self._sense(points))
        line = fit_line(points)
        if line is None:
            raise CouldNot(
                f"the cube does not turn with {self.table.name}: is the servo at its pin and "
                "powered, and is the cube in the holder?"
            )
        self._line = line
        self._table_to(0.0)
        slack = line.slack_us * abs(line.degrees_per_us)
        evidence = {
            "us_per_degree": round(1 / line.degrees_per_us, 3),
            "slack_degrees": round(slack, 2),
            "residual_degrees": round(line.residual_degrees, 3),
            "points": len(points),
        }
        text = f"{self.table.name}: {abs(1 / line.degrees_per_us):.2f} us to the degree"
        return Finding("table", f"{text}, {slack:.1f} degrees of slack", evidence=evidence)

    def find_open(self) -> Finding:
        """Where the lid is out of the picture and the cube free."""
        lid, towards = self.lid, self._towards_hold
        into = lid.find_edge(self._is_covered, towards)
        under = lid.find_edge(self._is_covered, -towards)
        self._into_picture = into.forwards
        self._open_at = (into.middle + under.middle) / 2
        self._lid_slack = (into.slack_us + under.slack_us) / 2
        lid.go(self._open_at)
        return self._lid_finding(
            "open",
            self._open_at,
            f"out of the way between {under.middle:.0f} and {into.middle:.0f} us",
            {"slack_us": round(self._lid_slack, 1)},
        )

    def find_hold(self) -> Finding:
        """The first pulse at which the lid holds the cube, and a margin."""
        lid, towards = self.lid, self._towards_hold
        self._table_to(self._side * SWING_DEGREES / 2)
        pulse = self._into_picture
        farthest = pulse + towards * BEYOND_OPEN_DEGREES * self._degree_us
        for step in (COARSE_US, FINE_US):
            while not self._holds(pulse + towards * step):
                pulse += towards * step
                if (farthest - pulse) * towards < 0:
                    raise CouldNot(
                        f"{lid.name} does not hold the cube even at {pulse:.0f} us: does it come "
                        "down on the cube?"
                    )
        onset = pulse + towards * FINE_US / 2
        margin = towards * HOLD_MARGIN_DEGREES * self._degree_us
        # It came down to there, so that a servo without slack would hold a little earlier.
        unslackened = onset - towards * self._lid_slack / 2
        shape = self._shape
        self._lid_gain = (shape["hold"] - margin - shape["open"]) / (unslackened - self._open_at)
        if not SCALES[0] < self._lid_gain < SCALES[1]:
            raise CouldNot(
                f"{lid.name} holds the cube at {onset:.0f} us, which does not fit the distances "
                "between its positions in the profile: is it the right profile?"
            )
        self._hold_at = onset + margin / self._lid_gain
        return self._lid_finding(
            "hold",
            self._hold_at,
            f"the cube no longer follows the table from {onset:.0f} us on",
            {"holds_from_us": onset, "gain": round(self._lid_gain, 3)},
        )

    def find_square(self) -> Finding:
        """Where the table is square to the lid: its walls turn the cube square from both sides."""
        for _ in range(MOST_SQUARINGS):
            ends = []
            for _ in range(2):
                self._swing(self._hold_at)
                ends.append(self._angle())
            off, play = sum(ends) / 2, abs(ends[1] - ends[0]) / 2
            self.watch.zero += off
            self._near -= off
            self._line = self._known_line.about(off)
            if abs(off) < SQUARE_ENOUGH_DEGREES:
                break
        else:
            raise CouldNot(
                f"{self.lid.name} leaves the cube at another angle each time: is the lid loose?"
            )
        corners = self.watch.corners_at(0.0) / self._resolution
        quad = [[round(float(x), 5), round(float(y), 5)] for x, y in corners]
        return Finding(
            "camera",
            f"square is where the lid turns the cube; it has {play:.1f} degrees of play there",
            {self._quad_key: quad},
            {self._quad_key: 0.003},
            {"play_degrees": round(play, 2)},
        )

    def find_stops(self) -> Finding:
        """The table's positions, each looked at."""
        values: JsonObject = {}
        off: JsonObject = {}
        line = self._known_line
        self._table_to(0.0)
        # What the lid has held still stands a little off its bottom layer, by the same everywhere.
        askew = self._angle()
        for name, quarters in sorted(self._quarters.items(), key=lambda item: abs(item[1])):
            wanted = 90.0 * quarters
            upwards = (quarters > 0) == (line.degrees_per_us > 0) if quarters else None
            self._table_to(0.0)
            pulse = line.pulse(wanted, upwards)
            self.table.go(pulse)
            self._near = wanted + askew
            error = self._angle() - wanted - askew
            if abs(error) > MOST_OFF_DEGREES:
                raise CouldNot(
                    f"{self.table.name} stands {error:+.1f} degrees off at {pulse:.0f} us, where "
                    f"{name} should be: is something in its way?"
                )
            if quarters:
                pulse -= error / line.degrees_per_us
            values[self.table.key(name)] = round(pulse)
            off[name] = round(error, 2)
        self._table_to(0.0)
        self._near = 0.0
        uncertain = round(line.slack_us / 2 + 1, 1)
        listed = ", ".join(f"{key.split('.')[-1]} {value} us" for key, value in values.items())
        return Finding(
            "table",
            f"{self.table.name}: {listed}",
            values,
            dict.fromkeys(values, uncertain),
            {"off_the_line_degrees": off},
        )

    def find_roll(self) -> Finding:
        """Where the lid rolls the cube: another face comes into view, twice."""
        lid, shape = self.lid, self._shape
        pulse = self._open_at + (shape["roll"] - shape["open"]) / self._lid_gain
        away = -self._towards_hold * DEEPER_DEGREES * self._degree_us
        for _ in range(MOST_ROLLS):
            if all(self._rolls(pulse) for _ in range(2)):
                evidence = {"gain": round(self._lid_gain, 3)}
                text = "another face came into view, twice"
                return self._lid_finding("roll", pulse, text, evidence)
            pulse += away
        raise CouldNot(
            f"{lid.name} does not roll the cube even at {pulse - away:.0f} us: does it reach under "
            "the cube?"
        )

    def _lid_finding(self, role: str, pulse: float, text: str, evidence: JsonObject) -> Finding:
        """A position of the lid: farther from ``open``, errors of the scale count for more."""
        key, shape = self.lid.key(self._names[role]), self._shape
        baseline = abs(shape["hold"] - shape["open"])
        far = max(1.0, abs(shape[role] - shape["open"]) / baseline)
        uncertain = round(far * (FINE_US + self._lid_slack / 2), 1)
        said = f"{self.lid.name} {self._names[role]}: {pulse:.0f} us ({text})"
        return Finding("lid", said, {key: round(pulse)}, {key: uncertain}, evidence)

    @property
    def _known_line(self) -> ServoLine:
        assert self._line is not None, "the table is found before whatever needs it"
        return self._line

    @property
    def _degree_us(self) -> float:
        """Pulse microseconds to a degree of a servo of this robot, by its table in the profile."""
        places = self.table.settings.positions_us
        (low, first), *_, (high, last) = sorted((places[n], q) for n, q in self._quarters.items())
        return (high - low) / (90 * abs(last - first))

    def _wake(self) -> None:
        """The first pulses: the lid's, until it is out of the way, then the table's."""
        self.lid.wake(round(self._shape["open"]))
        if self._is_covered():
            self._get_out_of_picture()
        home = next(name for name, quarters in self._quarters.items() if not quarters)
        self.table.wake(self.table.settings.positions_us[home])

    def _is_covered(self) -> bool:
        return self.watch.look(self._near) is None

    def _get_out_of_picture(self) -> None:
        """From a first pulse that was not right."""
        start = self.lid.at
        for direction, most in (
            (self._towards_hold, SEARCH_UP_US),
            (-self._towards_hold, SEARCH_BACK_US),
        ):
            for way in range(COARSE_US, most + 1, COARSE_US):
                self.lid.go(start + direction * way)
                if not self._is_covered():
                    return
            self.lid.go(start)
        raise CouldNot(
            f"{self.lid.name} does not get out of the picture near {start} us: open it by hand, or "
            "put its horn on another tooth"
        )

    def _angle(self) -> float:
        self._near = self._face().degrees
        return self._near

    def _face(self) -> FaceSeen:
        seen = self.watch.look(self._near)
        if seen is None:
            raise CouldNot(
                "the cube is out of view although the lid is open: does it lie askew in the holder?"
            )
        return seen

    def _swept(self, target: float, sense: int) -> Iterator[SweepPoint]:
        """Angles on the way to one, each a step further; ends where the table goes no further."""
        angle = self._angle()
        rising = target > angle
        step = sense * SWEEP_STEP_US * (1 if rising else -1)
        low, high = self.table.settings.limits_us
        moved = False
        while (target > angle) == rising and low <= self.table.at + step <= high:
            self.table.go(self.table.at + step)
            last, angle = angle, self._angle()
            if moved and abs(angle - last) < 1.0:
                self.table.go(self.table.at - 2 * step)  # it pushes against something: back off
                return
            if moved:  # the first step takes up the slack
                yield SweepPoint(self.table.at, angle, step > 0)
            moved = True

    def _sense(self, points: list[SweepPoint]) -> int:
        """1 if longer pulses turn the table to larger angles: as seen, else as in the profile."""
        if len(points) > 1:
            first, last = points[0], points[-1]
            return 1 if (last.degrees > first.degrees) == (last.pulse_us > first.pulse_us) else -1
        places = self.table.settings.positions_us
        ordered = sorted(self._quarters, key=self._quarters.__getitem__)
        return 1 if places[ordered[-1]] > places[ordered[0]] else -1

    def _table_to(self, degrees: float) -> None:
        """Turn the table to an angle, from whichever side, its slack taken into account."""
        line = self._known_line
        self.table.go(line.pulse(degrees, line.pulse(degrees) > self.table.at))

    def _holds(self, pulse: float) -> bool:
        """Whether the cube stays while the table turns from one side to the other, lid there."""
        before = self._angle()
        self._swing(pulse)
        return abs(self._angle() - before) < FOLLOWED_PART * SWING_DEGREES

    def _swing(self, pulse: float) -> None:
        """Lid to a pulse, table to the other side, lid open again."""
        self.lid.go(pulse)
        self._side = -self._side
        self._table_to(self._side * SWING_DEGREES / 2)
        self.lid.go(self._open_at)

    def _rolls(self, pulse: float) -> bool:
        before = self._face()
        self.lid.go(pulse)
        self.lid.go(self._open_at)
        return differ(before.colours, self._face().colours)


FINDERS["flipper"] = FlipperFinder
