"""Finds the positions of two grippers at right angles, one below the cube, one beside it.

The camera looks down at the cube. A gripper that holds the cube alone turns it whole: the one below
turns the face in view, the one beside tilts it. A gripper that turns while the other one holds too
turns only its own layer, and the face in view stays. So each shows what the other does:

1. *The jaws beside the cube open*, far, while those below hold the cube as it was put in.
2. *The gripper below* goes up and down in small steps while the angle of the face is measured: a
   line for each direction, the dead band between them.
3. *The jaws beside the cube close* a little further each time, and the gripper below turns a few
   degrees and back. The first pulse at which the face stays is where they begin to hold; where it
   follows again on the way back gives their slack. They hold the cube square to the robot.
4. *The gripper below* goes to each of its positions and is looked at.
5. The same the other way round: the jaws below open, the gripper beside tilts the face some degrees
   to either side, the jaws below close while it does so, and it goes to its positions.

Neither jaws are seen to move when nothing follows them any more. How far ``open`` is from
``closed`` is therefore the profile's, as far as servos of one make differ in their scale.

While its jaws may be neither open nor closed no gripper turns further than layers may be off
square, and the one that is tried out is never the only one that holds the cube.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from robot.calibration.finding.face_watch import FaceWatch, view_from_above
from robot.calibration.finding.finder import FINDERS, HOLD_MARGIN_DEGREES, Finder
from robot.calibration.finding.result import CouldNot, Finding
from robot.calibration.finding.rotations import Rotation, SpinningGripper, TiltingGripper
from robot.calibration.finding.walking import FINE_US, walker_of
from robot.calibration.step import Session
from robot.documents import JsonObject
from robot.mechanism.grippers.settings import GripperSettings, GrippersSettings
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.base import Site

BELOW: Site = "D"

CLOSING_US = 30
"""A step of jaws that close: less than the margin from where they begin to hold to where they
should be."""

BEYOND_CLOSED_DEGREES = 40.0
"""Jaws that do not hold so far beyond where the profile has them closed never will."""

SWING_DEGREES = 4.0
"""How far a gripper turns to see whether the cube follows."""

FOLLOWED_PART = 0.6
"""The part of a swing from which the cube has followed."""

SCALE_SPREAD = 0.2
"""By how much servos may differ in how far they turn for a pulse: usually half of it."""


class JawFinder:
    """The jaws of one gripper; ``towards_closed`` is 1 where longer pulses close them."""

    def __init__(self, session: Session, profile: RobotProfile, gripper: GripperSettings) -> None:
        self.walker = walker_of(session, profile, gripper.jaw)
        self.closed_name, self.open_name = gripper.closed, gripper.open
        places = self.walker.settings.positions_us
        self.closed, self.open = float(places[gripper.closed]), float(places[gripper.open])
        self.towards_closed = 1 if self.closed > self.open else -1
        self.slack_us = 0.0

    def find_edge(self, holds: Callable[[], bool], farthest: float) -> float:
        """The pulse at which they begin to hold, for a servo without slack; they end there or
        closed a little further. Raises :class:`CouldNot`."""
        walker, step = self.walker, self.towards_closed * CLOSING_US
        while not holds():
            if (farthest - walker.at - step) * step < 0:
                raise CouldNot(
                    f"{walker.name} does not hold the cube even at {walker.at} us: do the jaws "
                    "reach it?"
                )
            walker.go(walker.at + step)
        held, free = float(walker.at), float(walker.at - step)
        begins = self._edge_between(free, held, free - step, holds)
        free = held - 2 * step
        walker.go(free)
        if holds():
            raise CouldNot(f"{walker.name} holds the cube at {free:.0f} us, and before it did not")
        ends = self._edge_between(free, held, held, holds)
        self.slack_us = abs(ends - begins)
        walker.go(held)
        return (begins + ends) / 2

    def _edge_between(
        self, free: float, held: float, start: float, holds: Callable[[], bool]
    ) -> float:
        """The edge between two pulses, always reached from ``start``."""
        while abs(held - free) > FINE_US:
            middle = (held + free) / 2
            self.walker.go(start)
            self.walker.go(middle)
            if holds():
                held = middle
            else:
                free = middle
        return (held + free) / 2

    def go_open(self) -> None:
        """Open them."""
        self.walker.go(self.open)

    def go_closed(self) -> None:
        """Close them."""
        self.walker.go(self.closed)


class GripperFinder(Finder):
    """Two grippers of servos, one of them below the cube, and a camera above it."""

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        if not self.suits(profile):
            raise CouldNot(
                "of robots with grippers only those with two, one of them below the cube, all "
                "moved by servos, find their positions themselves so far: use `cubist calibrate "
                "all`"
            )
        mechanism = profile.mechanism
        assert isinstance(mechanism, GrippersSettings)
        camera, view = view_from_above(profile)
        self._quad_key = f"cameras.{camera.name}.views.{view.site}.quad"
        self._resolution = camera.resolution
        self.watch = FaceWatch(session, camera, view, sign=-1)
        below = mechanism.grippers[BELOW]
        ((site, beside),) = ((at, one) for at, one in mechanism.grippers.items() if at != BELOW)
        self._below = SpinningGripper(self.watch, walker_of(session, profile, below.motor), below)
        self._beside = TiltingGripper(
            self.watch, walker_of(session, profile, beside.motor), beside, site
        )
        self._jaws_below = JawFinder(session, profile, below)
        self._jaws_beside = JawFinder(session, profile, beside)

    @staticmethod
    def suits(profile: RobotProfile) -> bool:
        """See :meth:`Finder.suits`."""
        mechanism = profile.mechanism
        if not isinstance(mechanism, GrippersSettings):
            return False
        names = [name for one in mechanism.grippers.values() for name in (one.rotation, one.jaw)]
        beside = set(mechanism.grippers) - {BELOW, "U"}
        return (
            len(mechanism.grippers) == 2
            and BELOW in mechanism.grippers
            and len(beside) == 1
            and all(isinstance(profile.actuators[name], Servo) for name in names)
        )

    @property
    def seen_moving(self) -> Mapping[str, Mapping[str, float]]:
        """The gripper below, which turns the face in view."""
        below = self._below
        return {below.name: {name: 90.0 * q for name, q in below.quarters.items()}}

    @property
    def out_of_the_way(self) -> Mapping[str, str]:
        """The jaws beside the cube."""
        return {self._jaws_beside.walker.name: self._jaws_beside.open_name}

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        yield self.find_face()
        self._jaws_beside.walker.wake(round(self._jaws_beside.open))
        yield self._find_line(self._below)
        yield self._find_jaws(self._jaws_beside, self._below)
        yield self.find_square()
        self._jaws_beside.go_open()
        yield self._find_stops(self._below)
        self._jaws_beside.go_closed()
        self._jaws_below.walker.wake(round(self._jaws_below.open))
        yield self._find_line(self._beside)
        yield self._find_jaws(self._jaws_below, self._beside)
        self._beside.set_square()
        self._jaws_below.go_open()
        yield self._find_stops(self._beside)
        self._jaws_below.go_closed()

    def find_face(self) -> Finding:
        """The face in the picture, before anything has moved."""
        seen = self.watch.look()
        if seen is None:
            raise CouldNot(
                "no whole face of the cube is in view: put a scrambled cube in, square to the "
                "robot, both grippers closed on it, and see that light and focus are right "
                "(`cubist calibrate camera --live`)"
            )
        evidence = {"corners_px": seen.corners.round(1).tolist(), "advice": self.watch.advice}
        return Finding("camera", "the face is in view; nothing has moved yet", evidence=evidence)

    def find_square(self) -> Finding:
        """Where the jaws beside the cube hold it square."""
        off = self._below.set_square()
        corners = self.watch.corners_at(0.0) / self._resolution
        quad = [[round(float(x), 5), round(float(y), 5)] for x, y in corners]
        return Finding(
            "camera",
            f"square is as {self._jaws_beside.walker.name} holds the cube",
            {self._quad_key: quad},
            {self._quad_key: 0.003},
            {"off_first_picture_degrees": round(off, 2)},
        )

    def _find_line(self, rotation: Rotation) -> Finding:
        """How far a gripper turns for a pulse, by the cube that only it holds."""
        line = rotation.find_line()
        slack = line.slack_us * abs(line.degrees_per_us)
        evidence: JsonObject = {
            "us_per_degree": round(1 / line.degrees_per_us, 3),
            "slack_degrees": round(slack, 2),
            "residual_degrees": round(line.residual_degrees, 3),
        }
        text = f"{rotation.name}: {abs(1 / line.degrees_per_us):.2f} us to the degree"
        return Finding("rotation", f"{text}, {slack:.1f} degrees of slack", evidence=evidence)

    def _find_jaws(self, jaws: JawFinder, other: Rotation) -> Finding:
        """The first pulse at which jaws hold the cube against the other gripper, and a margin."""
        towards, degree_us = jaws.towards_closed, other.degree_us
        distance = jaws.open - jaws.closed

        def holds() -> bool:
            return abs(other.swing(SWING_DEGREES)) < FOLLOWED_PART * SWING_DEGREES

        low, high = jaws.walker.settings.limits_us
        farthest = jaws.closed + towards * BEYOND_CLOSED_DEGREES * degree_us
        farthest = max(low, min(high, farthest))
        edge = jaws.find_edge(holds, farthest)
        jaws.closed = edge + towards * HOLD_MARGIN_DEGREES * degree_us
        jaws.open = jaws.closed + distance
        jaws.go_closed()
        walker, sure_us = jaws.walker, FINE_US + jaws.slack_us / 2
        closed, opened = walker.key(jaws.closed_name), walker.key(jaws.open_name)
        return Finding(
            "jaws",
            f"{walker.name} {jaws.closed_name}: {jaws.closed:.0f} us (the cube no longer follows "
            f"{other.name} from {edge:.0f} us on); {jaws.open_name}: {jaws.open:.0f} us, as far "
            "from there as in the profile",
            {closed: round(jaws.closed), opened: round(jaws.open)},
            {
                closed: round(sure_us, 1),
                opened: round(sure_us + SCALE_SPREAD * abs(distance), 1),
            },
            {"holds_from_us": round(edge, 1), "slack_us": round(jaws.slack_us, 1)},
        )

    def _find_stops(self, rotation: Rotation) -> Finding:
        """A gripper's positions, each looked at."""
        places, off = rotation.find_stops()
        values: JsonObject = {rotation.walker.key(name): pulse for name, pulse in places.items()}
        uncertain = round(rotation.line.slack_us / 2 + 1, 1)
        listed = ", ".join(f"{name} {pulse} us" for name, pulse in places.items())
        return Finding(
            "rotation",
            f"{rotation.name}: {listed}",
            values,
            dict.fromkeys(values, uncertain),
            {"off_the_line_degrees": dict(off)},
        )


FINDERS["grippers"] = GripperFinder
