"""Finds the jaws of four grippers beside a cube of two layers, whose motors home by sensors.

Opposite grippers hold a cube of two layers together, and each turns its half. So the camera, which
looks down at the cube, watches the half that a gripper does not turn. If the gripper holds the cube
alone, the whole face tilts with it. If other jaws hold too, those of the opposite gripper or of a
neighbour, the other half stays.

1. *All but the first open*. The first homes by its sensor with the cube in its jaws, and a small
   turn shows whether direction and steps are as in the profile.
2. *The jaws of the three others* close a little further each time while the first swings.
3. *The others* take the cube over in turn and home. The first neighbour to hold it swings while the
   jaws of the first gripper close.
4. *Both grippers of a pair* hold the cube. Each turns its half by quarters while the other
   holds.

Only the sensors define square.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from robot.calibration.auto.face_watch import RotationGauge, view_from_above
from robot.calibration.auto.finder import FINDERS, FilmedServo, Finder, Finding, mechanism_of
from robot.calibration.auto.grippers import BESIDE, GripperFinder, JawFinder, RingFinder
from robot.calibration.auto.motors import homed_motor_finding, let_turn
from robot.calibration.auto.rotations import SensedGripper
from robot.calibration.auto.stepwise_move import stepwise_move
from robot.calibration.step import Session
from robot.mechanism.grippers import GripperSettings, GrippersSettings
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.base import AXIS_OF, Site
from robot.settings.stepper import Stepper

SMALL_TURN_DEGREES = 3.6
"""Turn that shows whether a motor turns as its profile says: four steps of a motor of 400."""


class SensedRingGripper:
    """One of the four grippers: its rotation and its jaws."""

    def __init__(
        self, session: Session, watch: RotationGauge, site: Site, settings: GripperSettings
    ) -> None:
        profile = session.calibrated
        motor = stepwise_move(session, profile, settings.motor)
        self.rotation = SensedGripper(watch, motor, {}, site)
        self.jaws = JawFinder(session, profile, settings)


class SensedRingFinder(Finder):
    """Four grippers beside a cube of two layers, each turned by a stepper with a sensor."""

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        mechanism = mechanism_of(profile, GrippersSettings)
        self.watch = RotationGauge(session, *view_from_above(profile))
        self._session = session
        self._grippers = {
            site: SensedRingGripper(session, self.watch, site, one)
            for site, one in mechanism.grippers.items()
        }

    @staticmethod
    def supports(profile: RobotProfile) -> bool:
        """See :meth:`Finder.supports`."""
        grippers = mechanism_of(profile, GrippersSettings).grippers
        steppers = profile.actuators_of(Stepper)
        sensed = {
            name for name, one in steppers.items() if one.homing is not None and one.steps_per_turn
        }
        jaws = {one.jaw for one in grippers.values()}
        return (
            grippers.keys() == BESIDE
            and profile.cube.size == 2
            and {one.motor for one in grippers.values()} <= sensed
            and len(jaws) == len(grippers)
            and jaws <= profile.actuators_of(Servo).keys()
        )

    @property
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """See :attr:`Finder.seen_moving`; steppers need no film, and jaws do not move the cube."""
        return {}

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        first_site: Site = next(iter(self._grippers))
        first = self._grippers[first_site]
        axis = AXIS_OF[first_site]
        near, far = (one for site, one in self._grippers.items() if AXIS_OF[site] != axis)
        (opposite,) = (one for one in self._grippers.values() if one not in (first, near, far))
        let_turn(self._session, [one.rotation.name for one in self._grippers.values()])
        for other in (near, far, opposite):
            other.jaws.open_wide()
        yield self._face_in_view("square to the robot, all grippers closed on it")
        yield self._find_motor(first)
        yield self._square_place(
            f"square is the angle at which the sensor homes {first.rotation.name}", {}
        )
        for other in (near, far, opposite):
            yield other.jaws.find_by(first.rotation)
            other.jaws.go_open()
        near.jaws.go_closed()
        first.jaws.open_wide()
        yield self._find_motor(near)
        yield first.jaws.find_by(near.rotation)
        first.jaws.go_open()
        for before, after in ((near, far), (far, opposite)):
            after.jaws.go_closed()
            before.jaws.go_open()
            yield self._find_motor(after)
        first.jaws.go_closed()
        yield from self._prove_pair(first, opposite)
        for one in (near, far):
            one.jaws.go_closed()
        for one in (first, opposite):
            one.jaws.go_open()
        yield from self._prove_pair(near, far)

    def _find_motor(self, holder: SensedRingGripper) -> Finding:
        """Home the gripper that holds the cube alone, and check its motor with a small turn."""
        rotation = holder.rotation
        rotation.home()
        rotation.go(SMALL_TURN_DEGREES)
        seen = rotation.angle()
        rotation.go(0.0)
        return homed_motor_finding(rotation, SMALL_TURN_DEGREES, seen)

    @staticmethod
    def _prove_pair(one: SensedRingGripper, other: SensedRingGripper) -> Iterator[Finding]:
        """Prove the hold of two opposite grippers: each turns its half while the other holds."""
        yield other.jaws.prove_hold(one.rotation, {})
        yield one.jaws.prove_hold(other.rotation, {})


FINDERS["grippers"] = (GripperFinder, RingFinder, SensedRingFinder)
