"""First contact with a robot: nothing is driven further than somebody has seen it go.

A position counts as confirmed when the calibration says so: a person kept it on this robot, or the
robot found it and proved it by solves. What was imported does not count, see
:mod:`robot.calibration.versions`. Between confirmed positions an actuator moves freely. Beyond them
it goes in small steps, each of which somebody asked for and watched, and rests after each; what was
reached that way is remembered as long as the daemon runs.

The motion controller asks here before every motion, whoever wants it: a job, a trial, a person.

A hobby servo does not say where it stands: its first pulse turns it there at full speed, from
wherever it is. For one without a confirmed position somebody has to say which pulse that may be.
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
"""Of a servo beyond what is confirmed: four or five degrees."""

STEP_REST_US = 300_000
"""After the largest step beyond what is confirmed, less after a smaller one: long enough to see
where it went, and to let go of the key. However fast steps are asked for, they come no faster."""

PARTS_OF_TRAVEL = 32
"""A stepper that goes to and fro makes steps of this part of its way."""

MOST_NAMED = 3
"""Of what is not confirmed, by name."""

Range = tuple[int, int]


class NotConfirmed(Conflict):
    """A motion that goes, or may go, where nobody has confirmed it; nothing moved."""

    code = "not-confirmed"

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy or FAULTS[self.code].remedy)


class ConfirmedRange:
    """The confirmed range of a robot's actuators. Its methods raise :class:`NotConfirmed`.

    After :meth:`forbid` they raise that error for every motion. ``unusable`` is such an error that
    lasts until the daemon restarts.

    ``confirmed`` are the values of the calibration that are, kept up to date by whoever changes
    them.
    ``simulated``: such a robot is as its profile says, so that its jobs need no confirmation. To
    calibrate it (``calibrating``) is practice, for which it is as new as a real one.
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
        """Meanwhile these actuators may go anywhere: a person who watches said so."""
        before, self._trusted = self._trusted, self._trusted | frozenset(names)
        try:
            yield
        finally:
            self._trusted = before

    def range(self, name: str, actuator: ActuatorSettings) -> Range | None:
        """Lowest and highest place that is confirmed, in microseconds of pulse or in steps."""
        keys = (position_key(name, actuator, position) for position in actuator.places)
        kept = [self.confirmed[key] for key in keys if key in self.confirmed]
        places = [*kept, *self._walked.get(name, ())]
        return (min(places), max(places)) if places else None

    def note(self, name: str, place: int) -> None:
        """Note that an actuator has gone there while a person watched."""
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
        """Refuse to home to these places unless all is confirmed and they are within it."""
        self.require_all(profile)
        for name, start in starts.items():
            self._require_within(name, profile.actuators[name], start, start)

    def require_schedule(self, profile: RobotProfile, schedule: Schedule) -> None:
        """Refuse a schedule unless all is confirmed and nothing in it goes beyond."""
        self.require_all(profile)
        for motion in schedule.profiles:
            low, high = _extent(motion)
            self._require_within(motion.actuator, profile.actuators[motion.actuator], low, high)

    def require_first(self, name: str, actuator: ActuatorSettings, at: int) -> None:
        """Refuse the first pulse of a servo, or to home a stepper that may turn the wrong way."""
        self._require_allowed()
        if actuator.can_be_inverted:
            self.require_direction(name)
        if actuator.limits is not None and not self._may_go_anywhere(name):
            within = self.range(name, actuator)
            if within is None or not within[0] <= at <= within[1]:
                raise _first_pulse(name, actuator.limits)

    def require_step(self, name: str, actuator: ActuatorSettings, place: int, target: int) -> int:
        """Refuse to go from ``place`` to a target too far beyond what is confirmed.

        Returns microseconds for which the actuator has to rest there.
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
                f"{name}: {target} {unit} is too far beyond {low}..{high} {unit}, which is what "
                "was confirmed",
                f"go {step} {unit} at a time and watch: {edge} next",
            )
        return STEP_REST_US * max(low - target, target - high, 0) // most

    def require_direction(self, name: str) -> None:
        """Refuse to move a stepper that may turn the wrong way."""
        self._require_allowed()
        if direction_key(name) not in self.confirmed and not self._may_go_anywhere(name):
            raise NotConfirmed(
                f"nobody has confirmed which way {name} turns",
                f"`cubist calibrate stepper direction {name}` first",
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
                f"{name}: it would go to {low}..{high} {actuator.unit}; {where} is confirmed"
            )


def position_key(name: str, actuator: ActuatorSettings, position: str) -> str:
    """The calibration's key of a named position."""
    return f"actuators.{name}.{actuator.positions_key}.{position}"


def direction_key(name: str) -> str:
    """The calibration's key of a stepper's direction."""
    return f"actuators.{name}.invert_direction"


def guessed_steps(tried_out: JsonMapping) -> frozenset[str]:
    """The steppers that only turn to find out what their steps are: their directions are tried out,
    and nothing is known of the steps of a turn."""
    turning = {key.split(".")[1] for key in tried_out if key.endswith(".invert_direction")}
    return frozenset(
        name for name in turning if f"actuators.{name}.steps_per_turn" not in tried_out
    )


def confirmable(profile: RobotProfile) -> JsonObject:
    """All that somebody has to confirm on the robot itself, by key, as the profile has it."""
    found: JsonObject = {}
    for name, actuator in profile.actuators.items():
        if actuator.can_be_inverted:
            found[direction_key(name)] = actuator.is_inverted
        for position, place in actuator.places.items():
            found[position_key(name, actuator, position)] = place
    return found


def largest_step(actuator: ActuatorSettings) -> int | None:
    """Return the largest step beyond what is confirmed; None: it turns round."""
    if actuator.limits is not None:
        return LARGEST_STEP_US
    places = actuator.places.values()
    return max(1, (max(places) - min(places)) // PARTS_OF_TRAVEL) if places else None


def first_pulse(name: str, limits: Range, begin_at: int | None) -> int:
    """Return the first pulse of a servo without a confirmed position, as a person has given it;
    raises :class:`NotConfirmed` if no one has, or if it is beyond the limits.
    """
    low, high = limits
    if begin_at is not None and low <= begin_at <= high:
        return begin_at
    raise _first_pulse(name, limits)


def _first_pulse(name: str, limits: Range) -> NotConfirmed:
    low, high = limits
    return NotConfirmed(
        f"servo {name} has no confirmed position there, and its first pulse turns it there at full "
        "speed from wherever it stands",
        "take its arm off, or make sure that nothing is in its way, then choose the first pulse: "
        f"--from {(low + high) // 2} is the middle of its limits",
    )


def _extent(motion: MotionProfile) -> Range:
    """Lowest and highest place of a motion; a servo's goes through the pulses of its segments."""
    pulses = [part.pulse_us for part in motion.segments if isinstance(part, ServoSegment)]
    places = [motion.start, motion.end, *pulses]
    return min(places), max(places)


def _list_names(key: str) -> str:
    """A key of the calibration in words: ``position open of lid``, ``direction of table``."""
    _, name, *what = key.split(".")
    return f"position {what[1]} of {name}" if len(what) > 1 else f"direction of {name}"
