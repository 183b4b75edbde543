"""Finds what four grippers beside the cube need to know, each turned by a stepper.

The camera looks down at the cube. A gripper that holds the cube alone tilts it, and the face on top
shows by how much. While others of the crossing axis hold too, only a layer turns, and the face
stays. So each gripper is swept while it is the only one that holds, and shows where the jaws of the
crossing axis close. Then it hands the cube over to one of those:

1. *All but the first open*: seven stickers or more of the face on top are then in view.
2. *The first* tilts the face to either side: direction, steps of a turn and play of its motor. The
   jaws of both neighbours close a little further each time while it swings by a few degrees.
3. *A neighbour* holds, the first opens: the same for the neighbour's motor, and for the jaws of
   the first and of the gripper opposite to it.
4. The two others have only their motors left.

A motor has no positions: how it stands when switched on is square, and set by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from robot.calibration.finding.face_watch import RotationGauge, view_from_above
from robot.calibration.finding.finder import FilmedServo, Finder, find_line
from robot.calibration.finding.jaws import JawFinder
from robot.calibration.finding.motors import let_turn, motor_finding
from robot.calibration.finding.result import Finding
from robot.calibration.finding.rotations import TiltingGripper
from robot.calibration.finding.walking import walker_of
from robot.calibration.step import Session
from robot.mechanism.grippers.settings import GripperSettings, GrippersSettings
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.base import AXIS_OF, Site
from robot.settings.stepper import Stepper

BESIDE: frozenset[Site] = frozenset(("R", "L", "F", "B"))


class RingGripper:
    """One of them: what turns it, and its jaws."""

    def __init__(
        self, session: Session, watch: RotationGauge, site: Site, settings: GripperSettings
    ) -> None:
        profile = session.calibrated
        motor = walker_of(session, profile, settings.motor)
        self.rotation = TiltingGripper(watch, motor, settings.angles, site)
        self.jaws = JawFinder(session, profile, settings)


class RingFinder(Finder):
    """Four grippers beside the cube, steppers and servo jaws, and a camera above it."""

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        mechanism = profile.mechanism
        assert isinstance(mechanism, GrippersSettings)
        self.watch = RotationGauge(session, *view_from_above(profile), sign=-1)
        self._session = session
        self._grippers = {
            site: RingGripper(session, self.watch, site, one)
            for site, one in mechanism.grippers.items()
        }

    @staticmethod
    def suits(profile: RobotProfile) -> bool:
        """See :meth:`Finder.suits`."""
        mechanism = profile.mechanism
        if not isinstance(mechanism, GrippersSettings) or set(mechanism.grippers) != BESIDE:
            return False
        grippers = mechanism.grippers.values()
        motors = [profile.actuators[one.motor] for one in grippers]
        return all(isinstance(one, Stepper) and one.homing is None for one in motors) and all(
            isinstance(profile.actuators[one.jaw], Servo) for one in grippers
        )

    @property
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Nothing that servos move: the jaws hide nothing of the cube that turns."""
        return {}

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        first_site: Site = next(iter(self._grippers))
        first = self._grippers[first_site]
        axis = AXIS_OF[first_site]
        beside = [one for site, one in self._grippers.items() if AXIS_OF[site] != axis]
        near, far = beside
        (opposite,) = (one for one in self._grippers.values() if one not in (first, *beside))
        let_turn(self._session, [one.rotation.name for one in self._grippers.values()])
        for other in (near, far, opposite):
            other.jaws.open_wide()
        yield self._face_in_view("square to the robot, all grippers closed on it")
        yield from self._find_motor(first)
        yield near.jaws.find_by(first.rotation)
        off = first.rotation.set_square()
        near.jaws.go_open()
        yield far.jaws.find_by(first.rotation)
        far.jaws.go_open()
        yield self._square_place(
            f"square is as {near.jaws.walker.name} holds the cube",
            {"off_first_picture_degrees": round(off, 2)},
        )
        near.jaws.go_closed()
        first.jaws.open_wide()
        yield from self._find_motor(near)
        yield first.jaws.find_by(near.rotation)
        near.rotation.set_square()
        first.jaws.go_open()
        yield opposite.jaws.find_by(near.rotation)
        opposite.jaws.go_open()
        yield from self._hand_over(near, far, first)
        yield from self._hand_over(far, opposite, near)
        for one in self._grippers.values():
            one.jaws.go_closed()
        for one in self._grippers.values():
            one.rotation.settle()

    def _find_motor(self, holder: RingGripper) -> Iterator[Finding]:
        """What the line of the gripper that holds the cube alone says."""
        yield find_line(holder.rotation)
        yield motor_finding(holder.rotation)

    def _hand_over(
        self, before: RingGripper, after: RingGripper, beside: RingGripper
    ) -> Iterator[Finding]:
        """The motor of another gripper, all jaws being known: ``beside`` holds the cube square."""
        after.jaws.go_closed()
        before.jaws.go_open()
        yield from self._find_motor(after)
        beside.jaws.go_closed()
        after.rotation.set_square()
        beside.jaws.go_open()
