"""First contact with a robot: no actuator goes further than a person has seen it go.

A position is confirmed if the calibration says so: a person stored it on this robot, or the robot
found it and proved it by solves. Imported positions are not confirmed, see
:mod:`robot.calibration.versions`. Between confirmed positions an actuator moves freely. Beyond them
it goes in small steps, each of which a person requests and watches, and rests after each. The
daemon remembers positions reached that way as long as it runs.

The motion controller asks here before every motion of a job, a trial or a person.

A hobby servo does not report its position: its first pulse turns it there at full speed, from
wherever it is. If a servo has no confirmed position, a person has to choose that pulse.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping

from robot.motion.schedule import MotionProfile, Schedule, ServoSegment
from robot.settings import RobotProfile
from robot.settings.actuators import ActuatorSettings
from robot.text.faults import FAULTS, Conflict, describe
from solver.errors import CubistError
from solver.files import JsonMapping, JsonObject

LARGEST_STEP_US = 50
"""Largest step of a servo beyond its confirmed range: four or five degrees."""

STEP_REST_US = 300_000
"""Rest after the largest step beyond the confirmed range; less after a smaller one. It leaves time
to see the motion and to release the key, and limits the rate of steps."""

PARTS_OF_TRAVEL = 32
"""Divisor of the distance between a stepper's positions that gives its largest step."""

MOST_NAMED = 3
"""Maximum number of unconfirmed positions that an error names."""

Range = tuple[int, int]


class NotConfirmed(Conflict):
    """A motion goes, or may go, beyond the confirmed range. Nothing moved."""

    code = "not-confirmed"

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy or FAULTS[self.code].remedy)


class ConfirmedRange:
    """The confirmed range of a robot's actuators. Its methods raise :class:`NotConfirmed`.

    After :meth:`forbid` they raise that error for every motion. ``unusable``: such an error that
    lasts until the daemon restarts.

    ``confirmed``: the calibration's confirmed values. Code that changes these updates it.
    ``simulated``: such a robot matches its profile, so its jobs need no confirmation. Its
    calibration (``calibrating``) is practice, and needs as much confirmation as a real robot's.
    """

    def __init__(
        self,
        confirmed: JsonMapping,
        *,
        simulated: bool = False,
        unusable: CubistError | None = None,
    ) -> None:
        self.confirmed = confirmed
        self.calibrating = False
        self._simulated = simulated
        self._walked: dict[str, Range] = {}
        self._trusted: frozenset[str] = frozenset()
        self._unusable = unusable
        self._forbidden = unusable

    def forbid(self, reason: CubistError | None) -> None:
        """Refuse every motion for this reason, even a watched one; None allows motion again."""
        self._forbidden = reason or self._unusable

    @contextlib.contextmanager
    def trusting(self, names: Collection[str]) -> Iterator[None]:
        """Let these actuators go anywhere in this context: a person who watches allowed it."""
        before, self._trusted = self._trusted, self._trusted | frozenset(names)
        try:
            yield
        finally:
            self._trusted = before

    def range(self, name: str, actuator: ActuatorSettings) -> Range | None:
        """Return the lowest and highest confirmed position, in microseconds of pulse or steps."""
        keys = (position_key(name, actuator, position) for position in actuator.places)
        kept = [self.confirmed[key] for key in keys if key in self.confirmed]
        places = [*kept, *self._walked.get(name, ())]
        return (min(places), max(places)) if places else None

    def note(self, name: str, place: int) -> None:
        """Note that an actuator has gone to ``place`` while a person watched."""
        low, high = self._walked.get(name, (place, place))
        self._walked[name] = (min(low, place), max(high, place))

    def require_all(self, profile: RobotProfile) -> None:
        """Refuse unless every position and direction of the robot is confirmed."""
        self._require_allowed()
        missing = [
            key
            for key in confirmable(profile)
            if key not in self.confirmed and not self._may_go_anywhere(key.split(".")[1])
        ]
        if missing:
            named = [_list_names(key) for key in missing[:MOST_NAMED]]
            more = len(missing) - len(named)
            detail = ", ".join(named) + (f" and {more} more" if more else "")
            raise NotConfirmed(describe(FAULTS[NotConfirmed.code], detail))

    def require_start(self, profile: RobotProfile, starts: Mapping[str, int]) -> None:
        """Refuse to home to these positions unless all is confirmed and they are in range."""
        self.require_all(profile)
        for name, start in starts.items():
            self._require_within(name, profile.actuators[name], start, start)

    def require_schedule(self, profile: RobotProfile, schedule: Schedule) -> None:
        """Refuse a schedule unless all is confirmed and it stays in range."""
        self.require_all(profile)
        for motion in schedule.profiles:
            low, high = _extent(motion)
            self._require_within(motion.actuator, profile.actuators[motion.actuator], low, high)

    def require_first(self, name: str, actuator: ActuatorSettings, at: int) -> None:
        """Refuse an unconfirmed first pulse of a servo, or to home a stepper that may turn the
        wrong way."""
        self._require_allowed()
        if actuator.can_be_inverted:
            self.require_direction(name)
        if actuator.limits is not None and not self._may_go_anywhere(name):
            within = self.range(name, actuator)
            if within is None or not within[0] <= at <= within[1]:
                raise _first_pulse(name, actuator.limits)

    def require_step(self, name: str, actuator: ActuatorSettings, place: int, target: int) -> int:
        """Refuse to go from ``place`` to a target too far beyond the confirmed range.

        Return the microseconds for which the actuator has to rest there.
        """
        self._require_allowed()
        if actuator.can_be_inverted:
            self.require_direction(name)
        step = largest_step(actuator)
        if step is None or self._may_go_anywhere(name):
            return 0
        low, high = self.range(name, actuator) or (place, place)
        most = step + actuator.margin
        if not low - most <= target <= high + most:
            unit = actuator.unit
            edge = low - step if target < low else high + step
            raise NotConfirmed(
                f"{name}: {target} {unit} is too far beyond {low}..{high} {unit}, its confirmed "
                "range",
                f"go {step} {unit} at a time and watch: {edge} next",
            )
        return STEP_REST_US * max(low - target, target - high, 0) // most

    def require_direction(self, name: str) -> None:
        """Refuse to move a stepper that may turn the wrong way."""
        self._require_allowed()
        if direction_key(name) not in self.confirmed and not self._may_go_anywhere(name):
            raise NotConfirmed(
                f"the direction in which {name} turns is not confirmed",
                f"run `cubist calibrate stepper direction {name}` first",
            )

    def _require_allowed(self) -> None:
        if self._forbidden is not None:
            raise self._forbidden

    def _may_go_anywhere(self, name: str) -> bool:
        return name in self._trusted or (self._simulated and not self.calibrating)

    def _require_within(self, name: str, actuator: ActuatorSettings, low: int, high: int) -> None:
        if self._may_go_anywhere(name) or largest_step(actuator) is None:
            return
        within = self.range(name, actuator)
        beyond = actuator.margin
        if within is None or low < within[0] - beyond or high > within[1] + beyond:
            where = "nothing" if within is None else f"{within[0]}..{within[1]} {actuator.unit}"
            raise NotConfirmed(
                f"{name} would go to {low}..{high} {actuator.unit}; {where} is confirmed"
            )


def position_key(name: str, actuator: ActuatorSettings, position: str) -> str:
    """Return the calibration's key of a named position."""
    return f"actuators.{name}.{actuator.positions_key}.{position}"


def direction_key(name: str) -> str:
    """Return the calibration's key of a stepper's direction."""
    return f"actuators.{name}.invert_direction"


def guessed_steps(tried_out: JsonMapping) -> frozenset[str]:
    """Return the steppers whose steps per turn are unknown: their directions are tried out, but no
    steps per turn."""
    turning = {key.split(".")[1] for key in tried_out if key.endswith(".invert_direction")}
    return frozenset(
        name for name in turning if f"actuators.{name}.steps_per_turn" not in tried_out
    )


def confirmable(profile: RobotProfile) -> JsonObject:
    """Return all values that a person has to confirm on the robot, by key, as in the profile."""
    found: JsonObject = {}
    for name, actuator in profile.actuators.items():
        if actuator.can_be_inverted:
            found[direction_key(name)] = actuator.is_inverted
        for position, place in actuator.places.items():
            found[position_key(name, actuator, position)] = place
    return found


def largest_step(actuator: ActuatorSettings) -> int | None:
    """Return the largest step beyond the confirmed range; None for an endlessly turning part."""
    if actuator.limits is not None:
        return LARGEST_STEP_US
    places = actuator.places.values()
    return max(1, (max(places) - min(places)) // PARTS_OF_TRAVEL) if places else None


def first_pulse(name: str, limits: Range, begin_at: int | None) -> int:
    """Return the first pulse that a person has chosen for a servo without a confirmed position.

    Raise :class:`NotConfirmed` if there is none, or if it is beyond the limits.
    """
    low, high = limits
    if begin_at is not None and low <= begin_at <= high:
        return begin_at
    raise _first_pulse(name, limits)


def _first_pulse(name: str, limits: Range) -> NotConfirmed:
    low, high = limits
    return NotConfirmed(
        f"servo {name} has no confirmed position there, and its first pulse turns it there at "
        "full speed from wherever it is",
        "take its arm off, or make sure that nothing is in its way, then choose the first pulse: "
        f"--from {(low + high) // 2} is the middle of its limits",
    )


def _extent(motion: MotionProfile) -> Range:
    """Return the lowest and highest position of a motion, including all pulses of a servo."""
    pulses = [part.pulse_us for part in motion.segments if isinstance(part, ServoSegment)]
    places = [motion.start, motion.end, *pulses]
    return min(places), max(places)


def _list_names(key: str) -> str:
    """Return a calibration key in words: ``position open of lid``, ``direction of table``."""
    _, name, *what = key.split(".")
    return f"position {what[1]} of {name}" if len(what) > 1 else f"direction of {name}"
