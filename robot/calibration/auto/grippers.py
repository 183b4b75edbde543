"""Finds the positions of grippers: two at right angles, one of them below, or four beside the cube.

The camera looks down at the cube. A gripper that holds the cube alone turns all of it: the one
below turns the face in view, the one beside tilts it. If the other gripper holds too, a gripper
turns only its own layer, and the face in view stays. So each gripper reveals the state of the
other. With two grippers:

1. *The jaws beside the cube open* wide, while those below hold the cube as it was put in.
2. *The gripper below* goes up and down in small steps, and the camera measures the angle of the
   face. The result is a line for each direction, with the dead band between them.
3. *The jaws beside the cube close* a little further each time, and the gripper below turns a few
   degrees and back. The less the face follows, the more firmly they hold. That gives their softness
   and the pulse at which they are firm. Their slack follows from the pulse at which they let go on
   the way back. They hold the cube square to the robot.
4. *The gripper below* goes to each of its positions, and the camera measures the angle. The jaws
   beside the cube are less open meanwhile than later: the cube turns past them, so they are
   clear of it.
5. The same the other way round: the jaws below open, and the gripper beside tilts the face some
   degrees to either side. The jaws below close while it does so, and it goes to its positions.
6. Each turns its layer by quarters while the other one holds the cube, which must not move.

The camera cannot see jaws move after the cube has stopped following. The distance from ``open`` to
``closed`` is therefore the profile's, within the spread of scales of servos of one make, and step 4
proves that it is enough.

While its jaws may be neither open nor closed, a gripper turns no further than layers may be off
square. The gripper whose jaws are tested is never the only one that holds the cube.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from robot.calibration.auto.face_watch import RotationGauge, view_from_above
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
from robot.calibration.auto.holding import STEP_US, HoldCurve, find_hold
from robot.calibration.auto.motors import let_turn, motor_finding
from robot.calibration.auto.rotations import Rotation, SpinningPart, TiltingGripper
from robot.calibration.auto.stepwise_move import FINE_US, stepwise_move
from robot.calibration.step import Session
from robot.mechanism.grippers import GripperSettings, GrippersSettings
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.base import AXIS_OF, Site
from robot.text.faults import CalibrationError

BELOW: Site = "D"


CLOSING_US = 30
"""Step of jaws that close on a cube that they do not hold yet."""

BEYOND_CLOSED_DEGREES = 40.0
"""Search range of jaws beyond their closed position in the profile."""

WIDER_DEGREES = 20.0
"""Extra opening of jaws beyond the profile, before they are measured: more than the
mounting error of a horn."""

CLEAR_PART = 0.1
"""Fraction of their travel by which jaws are less than open while the cube turns past them."""

FREE_SWINGS = 4
"""Number of swings of a cube that nothing else holds. The smallest counts as a full swing."""

SWING_DEGREES = 4.0
"""Swing of a gripper that shows whether the cube follows."""

JAWS_LAG = 0.5
"""Fraction of a swing below which jaws may hold: they hide part of the face, and have no play."""
SLIPPED_DEGREES = 1.5
"""Rotation of the cube in a quarter turn above which it was not held."""
MOST_DEEPER = 6


class JawFinder:
    """The jaws of one gripper, found by the motion of the cube when another gripper turns.

    That other gripper swings by a few degrees and back. It turns the whole cube if it holds it
    alone, and only its own layer if these jaws hold the rest. The camera sees which.
    ``towards_closed`` is 1 if longer pulses close the jaws, else -1.
    """

    def __init__(self, session: Session, profile: RobotProfile, gripper: GripperSettings) -> None:
        self.actuator = stepwise_move(session, profile, gripper.jaw)
        self.closed_name, self.open_name = gripper.closed, gripper.open
        places = self.actuator.settings.places
        self.closed, self.open = float(places[gripper.closed]), float(places[gripper.open])
        self.towards_closed = 1 if self.closed > self.open else -1
        self.slack_us = self.unsure_us = self._step_us = 0.0
        self._degree_us = servo_degree_us(profile)

    def _find_release(self, hold: HoldCurve, followed: Callable[[float], float]) -> float:
        """Return the pulse at which they let go when they open again from a firm hold."""
        held, (low, high) = hold.firm, self.actuator.limits
        free, deeper = held, held + self.towards_closed * 2 * STEP_US
        deeper = max(low, min(high, deeper))
        self.actuator.go(deeper)
        while followed(free) <= hold.follows:
            held, free = free, free - self.towards_closed * CLOSING_US
        while abs(held - free) > FINE_US:
            middle = (held + free) / 2
            self.actuator.go(deeper)
            held, free = (held, middle) if followed(middle) > hold.follows else (middle, free)
        return (held + free) / 2

    def open_wide(self) -> None:
        """Open them with their first pulse, wider than in the profile."""
        low, high = self.actuator.limits
        wide = self.open - self.towards_closed * WIDER_DEGREES * self._degree_us
        self.actuator.wake(round(max(low, min(high, wide))))

    def go_open(self) -> None:
        """Open them."""
        self.actuator.go(self.open)

    def go_just_clear(self) -> None:
        """Open them slightly less than ``open``."""
        self.actuator.go(self._just_clear)

    @property
    def _just_clear(self) -> float:
        return self.open + CLEAR_PART * (self.closed - self.open)

    def clearance_finding(self, other: Rotation) -> Finding:
        """Return the finding that the cube has turned past them while they were less open."""
        less_us = abs(self.open - self._just_clear)
        return Finding(
            "jaws",
            f"{self.actuator.name} {self.open_name}: {other.name} turned the cube past the jaws "
            f"even when they were {less_us:.0f} us less open",
            evidence={"clear_at_us": round(self._just_clear)},
        )

    def go_closed(self) -> None:
        """Close them."""
        self.actuator.go(self.closed)

    def find_by(self, other: Rotation) -> Finding:
        """Find the pulse that holds the cube against the other gripper, with a margin, and
        ``open``."""
        towards, degree_us = self.towards_closed, self._degree_us
        actuator, distance = self.actuator, self.open - self.closed

        def followed(pulse: float) -> float:
            actuator.go(pulse)
            return abs(other.swing(SWING_DEGREES)) / free

        def followed_closing(pulse: float) -> float:
            if (pulse - actuator.at) * towards < 0:
                actuator.go(pulse - towards * CLOSING_US)
            return followed(pulse)

        low, high = actuator.limits
        farthest = self.closed + towards * BEYOND_CLOSED_DEGREES * degree_us
        farthest = max(low, min(high, farthest))
        actuator.go(self.open)
        # A servo turns a little less than commanded, by a varying part of its slack.
        swings = [abs(other.swing(SWING_DEGREES)) for _ in range(FREE_SWINGS)]
        free = max(min(swings), SWING_DEGREES / 2)
        hold = find_hold(actuator.name, followed_closing, self.open, farthest, CLOSING_US, JAWS_LAG)
        self.slack_us = abs(hold.begins - self._find_release(hold, followed))
        self._step_us = hold.step_us
        self.unsure_us = hold.unsure_us(self.slack_us)
        self.closed = hold.place(towards, actuator.limits)
        self.open = max(low, min(high, hold.firm + (1 + WIDER_PART) * distance))
        self.go_closed()
        closed, opened = actuator.key(self.closed_name), actuator.key(self.open_name)
        return Finding(
            "jaws",
            f"{actuator.name} {self.closed_name}: {self.closed:.0f} us (they touch the cube at "
            f"{hold.begins:.0f} us and hold it firmly from {hold.firm:.0f} us); {self.open_name}: "
            f"{self.open:.0f} us",
            {closed: round(self.closed), opened: round(self.open)},
            {
                closed: round(self.unsure_us, 1),
                opened: round(self.unsure_us + SCALE_SPREAD * abs(distance), 1),
            },
            {
                "holds_from_us": round(hold.begins, 1),
                "firm_from_us": round(hold.firm, 1),
                "slack_us": round(self.slack_us, 1),
            },
        )

    def prove_hold(self, other: Rotation, places: Mapping[str, int]) -> Finding:
        """Have the other gripper turn its layer by quarters, and close further until the cube
        stays. Raise :class:`CalibrationError`.
        """
        for _ in range(MOST_DEEPER):
            self.go_closed()
            followed = other.follows_held(places)
            if followed <= SLIPPED_DEGREES:
                break
            self.closed += self.towards_closed * self._step_us
        else:
            raise CalibrationError(
                f"{self.actuator.name} holds the cube for a few degrees, but not for a quarter "
                "turn: is the cube too stiff, or do the jaws not close far enough?"
            )
        closed = self.actuator.key(self.closed_name)
        return Finding(
            "jaws",
            f"{self.actuator.name} {self.closed_name}: {self.closed:.0f} us, the cube stayed in "
            f"place during quarter turns of {other.name}",
            {closed: round(self.closed)},
            {closed: round(self.unsure_us, 1)},
            {"followed_degrees": round(followed, 2)},
        )


class GripperFinder(Finder):
    """Two grippers with servos, one of them below the cube, and a camera above it."""

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        mechanism = mechanism_of(profile, GrippersSettings)
        self._session = session
        self.watch = RotationGauge(session, *view_from_above(profile))
        below = mechanism.grippers[BELOW]
        ((site, beside),) = ((at, one) for at, one in mechanism.grippers.items() if at != BELOW)
        self._below = SpinningPart(
            self.watch, stepwise_move(session, profile, below.motor), below.angles
        )
        self._beside = TiltingGripper(
            self.watch, stepwise_move(session, profile, beside.motor), beside.angles, site
        )
        self._jaws_below = JawFinder(session, profile, below)
        self._jaws_beside = JawFinder(session, profile, beside)

    @staticmethod
    def supports(profile: RobotProfile) -> bool:
        """See :meth:`Finder.supports`."""
        grippers = mechanism_of(profile, GrippersSettings).grippers
        names = {name for one in grippers.values() for name in (one.rotation, one.jaw)}
        beside = grippers.keys() - {BELOW, "U"}
        is_pair = len(grippers) == 2 and BELOW in grippers and len(beside) == 1
        return is_pair and names <= profile.actuators_of(Servo).keys()

    @property
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Return both grippers, each filmed while the other one is open."""
        pairs = ((self._below, self._jaws_beside), (self._beside, self._jaws_below))
        return {
            rotation.name: FilmedServo(rotation, {jaws.actuator.name: jaws.open_name})
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
            f"square is the angle at which {self._jaws_beside.actuator.name} holds the cube",
            {"off_first_picture_degrees": round(off, 2)},
        )
        self._jaws_beside.go_just_clear()
        below, off_line = self._below.find_stops()
        yield stops_finding("rotation", self._below, below, off_line)
        yield self._jaws_beside.clearance_finding(self._below)
        self._jaws_beside.go_closed()
        self._jaws_below.open_wide()
        yield find_line(self._beside)
        yield self._jaws_below.find_by(self._beside)
        self._beside.set_square()
        self._jaws_below.go_just_clear()
        beside, off_line = self._beside.find_stops()
        yield stops_finding("rotation", self._beside, beside, off_line)
        yield self._jaws_below.clearance_finding(self._beside)
        self._jaws_below.go_closed()
        yield self._jaws_below.prove_hold(self._beside, beside)
        yield self._jaws_beside.prove_hold(self._below, below)


BESIDE: frozenset[Site] = frozenset(("R", "L", "F", "B"))


class RingGripper:
    """One of the four grippers: its rotation and its jaws."""

    def __init__(
        self, session: Session, watch: RotationGauge, site: Site, settings: GripperSettings
    ) -> None:
        profile = session.calibrated
        motor = stepwise_move(session, profile, settings.motor)
        self.rotation = TiltingGripper(watch, motor, settings.angles, site)
        self.jaws = JawFinder(session, profile, settings)


class RingFinder(Finder):
    """Four grippers beside the cube, each turned by a stepper or a servo, and a camera above it.

    A gripper that holds the cube alone tilts it, and the face on top shows the angle. If others on
    the crossing axis hold too, only a layer turns, and the face stays. So each gripper sweeps while
    it holds the cube alone, and reveals where the jaws on the crossing axis close. Then it hands
    the cube over to one of those:

    1. *All but the first open*: at least seven stickers of the face on top are then in view.
    2. *The first* tilts the face to either side, which gives the direction, steps per turn and play
       of its motor. The jaws of both neighbours close a little further each time while it swings by
       a few degrees.
    3. *A neighbour* holds and the first opens: the same for the neighbour's motor, and for the jaws
       of the first and of the gripper opposite it.
    4. *The other two* then find only their motors.
    5. *Two at right angles* hold the cube. Each turns its layer by quarters while the other
       holds. Then the other two do the same.

    A stepper has no positions: its angle at power-up is square, set by hand. A servo's positions
    are measured on the cube that it turns. The jaws beside it are a little less open meanwhile than
    later, which proves that they open far enough.
    """

    def __init__(self, session: Session) -> None:
        profile = session.calibrated
        mechanism = mechanism_of(profile, GrippersSettings)
        self.watch = RotationGauge(session, *view_from_above(profile))
        self._session = session
        self._places: dict[str, dict[str, int]] = {
            one.motor: {} for one in mechanism.grippers.values()
        }
        self._grippers = {
            site: RingGripper(session, self.watch, site, one)
            for site, one in mechanism.grippers.items()
        }

    @staticmethod
    def supports(profile: RobotProfile) -> bool:
        """See :meth:`Finder.supports`."""
        grippers = mechanism_of(profile, GrippersSettings).grippers
        servos = profile.actuators_of(Servo).keys()
        motors = {one.motor for one in grippers.values()}
        jaws = {one.jaw for one in grippers.values()}
        can_turn = motors <= servos or motors <= blind_steppers(profile)
        holds_alone = len(jaws) == len(grippers)
        return grippers.keys() == BESIDE and can_turn and holds_alone and jaws <= servos

    @staticmethod
    def find_obstacle(profile: RobotProfile) -> str:
        """See :meth:`Finder.find_obstacle`."""
        jaws = Counter(one.jaw for one in mechanism_of(profile, GrippersSettings).grippers.values())
        shared = [name for name, count in jaws.items() if count > 1]
        if not shared:
            return ""
        return (
            f"several grippers share a servo for their jaws ({', '.join(shared)}): none can hold "
            "the cube alone for the camera to see it turn"
        )

    @property
    def seen_moving(self) -> Mapping[str, FilmedServo]:
        """Return the grippers that servos turn, each filmed while all others are open."""
        jaws = {site: one.jaws for site, one in self._grippers.items()}
        return {
            one.rotation.name: FilmedServo(
                one.rotation,
                {held.actuator.name: held.open_name for at, held in jaws.items() if at != site},
            )
            for site, one in self._grippers.items()
            if not one.rotation.is_stepper
        }

    @property
    def turning_together(self) -> Sequence[Sequence[str]]:
        """See :attr:`Finder.turning_together`; these are opposite grippers."""
        motors = {site: one.rotation.name for site, one in self._grippers.items()}
        pairs: tuple[tuple[Site, Site], ...] = (("R", "L"), ("F", "B"))
        seen = self.seen_moving
        return [[motors[one], motors[other]] for one, other in pairs if motors[one] in seen]

    def find(self) -> Iterator[Finding]:
        """See :meth:`Finder.find`."""
        first_site: Site = next(iter(self._grippers))
        first = self._grippers[first_site]
        axis = AXIS_OF[first_site]
        beside = [one for site, one in self._grippers.items() if AXIS_OF[site] != axis]
        near, far = beside
        (opposite,) = (one for one in self._grippers.values() if one not in (first, *beside))
        steppers = [one.rotation for one in self._grippers.values() if one.rotation.is_stepper]
        let_turn(self._session, [one.name for one in steppers])
        for other in (near, far, opposite):
            other.jaws.open_wide()
        session = None if steppers else self._session
        yield self._face_in_view("square to the robot, all grippers closed on it", session)
        yield from self._find_motor(first)
        yield near.jaws.find_by(first.rotation)
        off = first.rotation.set_square()
        near.jaws.go_open()
        yield far.jaws.find_by(first.rotation)
        far.jaws.go_open()
        yield self._square_place(
            f"square is the angle at which {near.jaws.actuator.name} holds the cube",
            {"off_first_picture_degrees": round(off, 2)},
        )
        yield from self._find_stops(first, (near, far))
        near.jaws.go_closed()
        first.jaws.open_wide()
        yield from self._find_motor(near)
        yield first.jaws.find_by(near.rotation)
        near.rotation.set_square()
        first.jaws.go_open()
        yield opposite.jaws.find_by(near.rotation)
        opposite.jaws.go_open()
        yield from self._find_stops(near, (first, opposite))
        yield from self._hand_over(near, far, first)
        yield from self._hand_over(far, opposite, near)
        for holder, turning in ((first, near), (far, opposite)):
            holder.jaws.go_closed()
            turning.jaws.go_closed()
            for other in (one for one in self._grippers.values() if one not in (holder, turning)):
                other.jaws.go_open()
            yield turning.jaws.prove_hold(holder.rotation, self._places[holder.rotation.name])
            yield holder.jaws.prove_hold(turning.rotation, self._places[turning.rotation.name])
        for one in self._grippers.values():
            one.jaws.go_closed()
        for one in self._grippers.values():
            one.rotation.settle()

    def _find_motor(self, holder: RingGripper) -> Iterator[Finding]:
        """Find the line of the gripper that holds the cube alone, and a stepper's wiring from
        it."""
        yield find_line(holder.rotation)
        if holder.rotation.is_stepper:
            yield motor_finding(holder.rotation)

    def _find_stops(self, holder: RingGripper, beside: Iterable[RingGripper]) -> Iterator[Finding]:
        """Find the positions of a servo that holds the cube alone, past the open jaws beside it."""
        rotation = holder.rotation
        if rotation.is_stepper:
            return
        for one in beside:
            one.jaws.go_just_clear()
        places, off = rotation.find_stops()
        self._places[rotation.name] = places
        yield stops_finding("rotation", rotation, places, off)
        for one in beside:
            yield one.jaws.clearance_finding(holder.rotation)
            one.jaws.go_open()

    def _hand_over(
        self, before: RingGripper, after: RingGripper, beside: RingGripper
    ) -> Iterator[Finding]:
        """Hand the cube over to ``after``, whose jaws are known, and find its motor.

        ``beside`` holds the cube square.
        """
        after.jaws.go_closed()
        before.jaws.go_open()
        yield from self._find_motor(after)
        beside.jaws.go_closed()
        after.rotation.set_square()
        beside.jaws.go_open()
        yield from self._find_stops(after, ())
