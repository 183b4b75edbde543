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
4. *The gripper below* goes to each of its positions and is looked at. The jaws beside the cube are
   less open meanwhile than they will be: the cube turns past them, so they are clear of it.
5. The same the other way round: the jaws below open, the gripper beside tilts the face some degrees
   to either side, the jaws below close while it does so, and it goes to its positions.

Neither jaws are seen to move when nothing follows them any more. How far ``open`` is from
``closed`` is therefore the profile's, as far as servos of one make differ in their scale; that it
is enough is shown.

While its jaws may be neither open nor closed no gripper turns further than layers may be off
square, and the one that is tried out is never the only one that holds the cube.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from robot.calibration.finding.face_watch import RotationGauge, view_from_above
from robot.calibration.finding.finder import (
    FINDERS,
    FilmedServo,
    Finder,
    find_line,
)
from robot.calibration.finding.jaws import JawFinder
from robot.calibration.finding.result import Finding
from robot.calibration.finding.ring import RingFinder
from robot.calibration.finding.rotations import Rotation, SpinningPart, TiltingGripper
from robot.calibration.finding.walking import walker_of
from robot.calibration.step import Session
from robot.mechanism.grippers.settings import GrippersSettings
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.base import Site
from solver.files import JsonObject

BELOW: Site = "D"


class GripperFinder(Finder):
    """Two grippers of servos, one of them below the cube, and a camera above it."""

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        mechanism = profile.mechanism
        assert isinstance(mechanism, GrippersSettings)
        camera, view = view_from_above(profile)
        self._session = session
        self.watch = RotationGauge(session, camera, view, sign=-1)
        below = mechanism.grippers[BELOW]
        ((site, beside),) = ((at, one) for at, one in mechanism.grippers.items() if at != BELOW)
        self._below = SpinningPart(
            self.watch, walker_of(session, profile, below.motor), below.angles
        )
        self._beside = TiltingGripper(
            self.watch, walker_of(session, profile, beside.motor), beside.angles, site
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
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Both grippers, each while the other one is open."""
        pairs = ((self._below, self._jaws_beside), (self._beside, self._jaws_below))
        return {
            rotation.name: FilmedServo(rotation, {jaws.walker.name: jaws.open_name})
            for rotation, jaws in pairs
        }

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        yield self._face_in_view("square to the robot, both grippers closed on it", self._session)
        self._jaws_beside.open_wide()
        yield find_line(self._below)
        yield self._jaws_beside.find_by(self._below)
        off = self._below.set_square()
        yield self._square_place(
            f"square is as {self._jaws_beside.walker.name} holds the cube",
            {"off_first_picture_degrees": round(off, 2)},
        )
        self._jaws_beside.go_just_clear()
        yield self._find_stops(self._below)
        yield self._jaws_beside.cleared(self._below)
        self._jaws_beside.go_closed()
        self._jaws_below.open_wide()
        yield find_line(self._beside)
        yield self._jaws_below.find_by(self._beside)
        self._beside.set_square()
        self._jaws_below.go_just_clear()
        yield self._find_stops(self._beside)
        yield self._jaws_below.cleared(self._beside)
        self._jaws_below.go_closed()

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


FINDERS["grippers"] = (GripperFinder, RingFinder)
