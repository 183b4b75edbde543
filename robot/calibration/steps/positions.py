"""The step "positions": named positions of servos, steppers and grippers, tried and kept.

A kept position counts as confirmed. Beyond confirmed positions an actuator moves in small steps,
see :mod:`robot.machine.confirmed_range`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pydantic import Field

from robot.api.calibrations import Calibration, Means, Source
from robot.api.client import RequestError
from robot.calibration.step import (
    STEPS,
    Bench,
    Item,
    Measurement,
    Result,
    Row,
    Script,
    Session,
    Step,
    Trial,
)
from robot.calibration.values import apply, require_possible
from robot.machine.confirmed_range import (
    direction_key,
    first_pulse,
    largest_step,
    position_key,
)
from robot.records.documents import ApiDocument, ApiRequest, WholeNumber
from robot.settings import RobotProfile
from robot.settings.actuators import ActuatorSettings
from robot.settings.stepper import Stepper
from solver.errors import InvalidRequest
from solver.files import JsonObject

UNIT_OF = {"servo": "us", "stepper": "steps"}
MINUTES_EACH = 0.5
FARTHEST = (-1_000_000, 1_000_000)
NOT_CONFIRMED = (
    "The position of this servo is unknown: its first pulse turns it to {middle} us at full speed. "
    "Take its arm off, or check that nothing is in its way; then choose Begin."
)
"""Guidance before the first pulse of a servo that has no confirmed position."""

UNCONFIRMED = "not confirmed"
CONFIRMED: Mapping[Means, str] = {
    "auto": "by the robot",
    "drift": "by the robot",
    "learned": "by the robot",
    "person": "by a person",
    "earlier": "earlier",
    "import": UNCONFIRMED,
}
"""Text in a list for who confirmed a position, by the means that found it."""


class MoveRequest(ApiRequest):
    """Move one actuator: microseconds of pulse for a servo, steps for a stepper.

    Without ``to`` it stays where it is, or is switched on there.
    """

    actuator: str = Field(min_length=1, max_length=64)
    to: WholeNumber | None = Field(default=None, ge=-(2**31), lt=2**31)
    begin_at: WholeNumber | None = Field(
        default=None,
        ge=-(2**31),
        lt=2**31,
        description="the first pulse of a servo that has no confirmed position",
    )


class Moved(ApiDocument):
    """The position of an actuator; ``low`` and ``high`` are the limits of its confirmed range."""

    actuator: str
    position: int
    low: int
    high: int


def move_actuator(bench: Bench, asked: MoveRequest) -> Moved:
    """Move one actuator slowly to a position; in small steps beyond the confirmed range.

    Raises ``InvalidRequest``, ``Conflict`` and ``RobotError``.
    """
    from robot.machine.slow_motion import require_within

    name, target, motion = asked.actuator, asked.to, bench.machine.motion
    actuator = bench.profile.actuators.get(name)
    if actuator is None:
        known = ", ".join(bench.profile.actuators)
        raise InvalidRequest(f"actuator: there is no {name!r}; the profile has {known}")
    if actuator.limits is not None and target is not None:
        require_within(name, target, *actuator.limits, actuator.unit)
    contact = bench.contact
    if actuator.can_be_inverted:
        contact.require_direction(name)
    place = motion.position(name)
    if place is None:
        within = contact.range(name, actuator)
        first = _first_place(actuator, within, asked)
        with contact.trusting((name,) if within is None else ()):
            place = motion.home_alone(name, first)
        contact.note(name, place)
    if target is not None:
        place = motion.jog(name, target)
        contact.note(name, place)
    low, high = contact.range(name, actuator) or (place, place)
    return Moved(actuator=name, position=place, low=low, high=high)


def _first_place(
    actuator: ActuatorSettings, within: tuple[int, int] | None, asked: MoveRequest
) -> int:
    """Return the first position of an actuator, within its confirmed range if it has one."""
    if within is None:
        if actuator.limits is not None:
            return first_pulse(asked.actuator, actuator.limits, asked.begin_at)
        return 0  # a stepper counts from its start
    wanted = asked.begin_at if asked.to is None else asked.to
    return within[0] if wanted is None else max(within[0], min(within[1], wanted))


MOVING = Trial("move", "Move one actuator slowly", MoveRequest, Moved, move_actuator, renews=False)


@dataclass(frozen=True)
class Position:
    """A named position of an actuator, by its key in the calibration.

    ``value`` is in force, ``original`` is the profile's; ``limits``: lowest and highest, if any.
    ``unit``: ``us`` of pulse, or ``steps``. ``is_confirmed``: confirmed on this robot. ``step``:
    largest step of the actuator beyond its confirmed range. ``source`` of the value; None: the
    profile. ``likely``: probable value, derived from the actuator's confirmed positions.
    ``purpose``: its code in :data:`robot.text.purposes.PURPOSES`.
    """

    key: str
    actuator: str
    name: str
    unit: str
    value: int
    original: int
    limits: tuple[int, int] | None
    is_confirmed: bool
    step: int
    source: Source | None = None
    likely: int = 0
    purpose: str = ""


def positions(session: Session) -> list[Position]:
    """Return every named position of every actuator."""
    calibration = session.calibration
    return list(_positions(session.profile, apply(session.profile, calibration), calibration))


def _positions(
    original: RobotProfile, calibrated: RobotProfile, calibration: Calibration
) -> Iterator[Position]:
    for name, actuator in calibrated.actuators.items():
        places, built = actuator.places, original.actuators[name].places
        known = {
            built[position]: places[position]
            for position in places
            if position_key(name, actuator, position) in calibration.confirmed
        }
        for position, value in places.items():
            key = position_key(name, actuator, position)
            yield Position(
                key=key,
                actuator=name,
                name=position,
                unit=actuator.unit,
                value=value,
                original=built[position],
                limits=actuator.limits,
                is_confirmed=key in calibration.confirmed,
                step=largest_step(actuator) or 0,
                source=calibration.sources.get(key),
                likely=_likely_place(built[position], known, actuator.limits),
                purpose=original.mechanism.purpose_of(name, position),
            )


def _likely_place(built: int, known: Mapping[int, int], limits: tuple[int, int] | None) -> int:
    """Return the probable value of a profile's position, derived from its confirmed neighbours.

    ``known``: profile's value -> confirmed value. Two of them give shift and scale, one the shift.
    """
    near = sorted(known, key=lambda place: abs(place - built))[:2]
    if not near:
        return built
    scale = 1.0
    if len(near) == 2:
        scale = (known[near[1]] - known[near[0]]) / (near[1] - near[0])
    place = round(known[near[0]] + scale * (built - near[0]))
    low, high = limits or FARTHEST
    return max(low, min(high, place))


class Placing(Measurement):
    """The move of an actuator to where a named position should be.

    ``target``: its value; None: arrow keys set it. ``begin_at``: the first pulse of a servo that
    has no confirmed position. ``gently``: go there in as many steps as necessary; else a target
    that is too far is refused.
    """

    guidance = (
        "Move it to where it belongs. Go there approaches it in small steps; choose it again to "
        "stop. Keep saves the present position, Give up returns to the previous one."
    )

    def __init__(
        self,
        session: Session,
        position: Position,
        target: int | None = None,
        begin_at: int | None = None,
        *,
        gently: bool = False,
    ) -> None:
        super().__init__(session)
        self.name = f"{position.actuator} {position.name}"
        self.position, self.target = position, target
        self._begin_at, self._gently = begin_at, gently
        self.at: int | None = None
        self.reach: tuple[int, int] | None = None

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        assert self.target is not None
        if self._gently:
            self.wake(self.middle if self._begin_at is None else self._begin_at)
            while self.at != self.target:
                self.approach(self.target)
        else:
            self._move(self.target, self._begin_at)
        before, key = self.position.value, self.position.key
        as_it_was = f"{key}: {before}, unchanged"
        self.result = Result(
            values=self.values_at(self.target),
            document={"key": key, "before": before, "after": self.target},
            text=as_it_was if before == self.target else f"{key}: {before} -> {self.target}",
        )
        yield from ()

    @property
    def middle(self) -> int:
        """The first pulse of a servo without confirmed positions: the middle of its limits."""
        return sum(self.position.limits or (0, 0)) // 2

    @property
    def goal(self) -> int:
        """Return the position's value if it is confirmed, else its probable value."""
        return self.position.value if self.position.is_confirmed else self.position.likely

    @property
    def needs_screen(self) -> bool:
        """See :attr:`Measurement.needs_screen`."""
        return self.target is None

    def wake(self, begin_at: int | None) -> tuple[int, int]:
        """Hold the actuator where it is, or give a servo its first pulse. Return the confirmed
        range."""
        return self._move(None, begin_at)

    def begin(self, begin_at: int | None) -> bool:
        """Switch the actuator on, and go as near to the position as is confirmed, or give a servo
        its first pulse there. Return False if a person has to allow that pulse first."""
        try:
            low, high = self.wake(begin_at)
        except RequestError:
            if self.position.unit == "us" and begin_at is None:
                return False
            raise
        first = self.goal if begin_at is None else begin_at
        self.approach(max(low, min(high, first)))
        return True

    def aim(self, target: int, distance: int, *, is_moving: bool) -> int:
        """Return the new target after a key that moves ``target`` by a distance.

        Within the confirmed range, keys may come faster than the motion. A step beyond it is only
        possible while the actuator rests: an earlier key is ignored.
        """
        if self.reach is None:
            return target
        (low, high), step, wanted = self.reach, self.position.step, target + distance
        goes_further = max(low - wanted, wanted - high, 0) > max(low - target, target - high, 0)
        if is_moving and goes_further:
            return target
        return max(low - step, min(high + step, wanted))

    def approach(self, target: int) -> None:
        """Move towards a target: to it, or one step beyond the confirmed range."""
        low, high = self.reach or (target, target)
        step = self.position.step
        self._move(max(low - step, min(high + step, target)), None)

    def _move(self, to: int | None, begin_at: int | None) -> tuple[int, int]:
        moved = self.session.perform(
            MOVING, actuator=self.position.actuator, to=to, begin_at=begin_at
        )
        self.at, self.reach = moved.position, (moved.low, moved.high)
        return self.reach

    def values_at(self, place: int) -> JsonObject:
        """Return this place as the position's calibrated value; empty if it is already kept."""
        is_kept = self.position.is_confirmed and place == self.position.value
        return {} if is_kept else {self.position.key: place}


class AllPositions(Measurement):
    """A move to every position, as it is or as ``given`` by its key, to keep all of them at once.

    Nothing moves unless the profile with all of them describes a possible robot. Present directions
    of steppers are kept as confirmed.
    """

    name = "positions"
    columns = ("position", "")

    def __init__(self, session: Session, given: Mapping[str, int]) -> None:
        super().__init__(session)
        self._given = given

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        session = self.session
        wanted = {one.key: self._given.get(one.key, one.value) for one in positions(session)}
        require_possible(session.profile, session.calibration, session.calibration.changed(wanted))
        for name, motor in session.profile.actuators_of(Stepper).items():
            key = direction_key(name)
            if key not in session.calibration.confirmed:
                session.keep({key: motor.invert_direction})
        found: JsonObject = {}
        for one in positions(session):
            placing = Placing(session, one, self._given.get(one.key, one.value), gently=True)
            yield from placing.measure()
            found |= placing.values
            yield Row((placing.name, f"{one.value} -> {placing.target}"), placing.document)
        self.result = Result(
            values=found, document={"values": found}, text="the robot went to every position"
        )


Wanted = Callable[[Position], bool]


def position_items(session: Session, wanted: Wanted = lambda _: True) -> Iterator[Item]:
    """Yield the lines of the list of positions."""
    for one in positions(session):
        if wanted(one):
            original = "" if one.value == one.original else f"{one.original}"
            value = f"{one.value} {one.unit}"
            cells = (one.actuator, one.name, value, original, *_confirmation_of(one))
            yield Item(
                cells,
                partial(Placing, session, one),
                one.is_confirmed,
                partial(_square_part, session, one.actuator),
            )


def _square_part(session: Session, actuator: str) -> None:
    """Turn a table or gripper to its start, if that is confirmed, so that its jaws or the cube are
    not in the way of other parts."""
    part = session.profile.mechanism.rotated_by(actuator)
    if part is None:
        return
    for one in positions(session):
        if (one.actuator, one.name) == (actuator, part.start) and one.is_confirmed:
            session.perform(MOVING, actuator=actuator, to=one.value, begin_at=None)


def _confirmation_of(one: Position) -> tuple[str, str]:
    """Return who confirmed a position, and the day."""
    if one.source is None or not one.is_confirmed:
        return UNCONFIRMED, ""
    return CONFIRMED[one.source.how], day_text(one.source.at)


def day_text(time: datetime) -> str:
    """Return the local day of a time."""
    return f"{time.astimezone():%Y-%m-%d}"


def named_position(session: Session, actuator: str, position: str, kind: str) -> Position:
    """Return a position by its names in the profile; raises :class:`InvalidRequest`."""
    found = [one for one in positions(session) if one.unit == UNIT_OF[kind]]
    actuators = dict.fromkeys(one.actuator for one in found)
    if actuator not in actuators:
        known = ", ".join(actuators) or "none"
        raise InvalidRequest(f"{kind} {actuator}: there is no {actuator}; the profile has {known}")
    of_it = {one.name: one for one in found if one.actuator == actuator}
    if position not in of_it:
        known = ", ".join(of_it)
        raise InvalidRequest(f"{kind} {actuator}: there is no position {position}; it has {known}")
    return of_it[position]


def jaw_position(session: Session, site: str, position: str) -> Position:
    """Return the ``open`` or ``closed`` position of the jaws at a site."""
    profile = session.profile
    found = next((jaws for at, jaws in profile.mechanism.jaws.items() if at == site), None)
    if found is None:
        known = ", ".join(profile.mechanism.jaws)
        known = f"grippers at {known}" if known else "no grippers"
        raise InvalidRequest(f"{profile.name} has no gripper at {site}: it has {known}")
    named = found.open if position == "open" else found.closed
    return named_position(session, found.actuator, named, profile.actuators[found.actuator].kind)


def position_keys(profile: RobotProfile) -> dict[str, str]:
    """Return ``actuator.position`` -> its key in the calibration."""
    nothing = Calibration(robot=profile.name)
    return {f"{one.actuator}.{one.name}": one.key for one in _positions(profile, profile, nothing)}


STEPS["positions"] = Step(
    name="positions",
    title="Positions: servos, steppers and grippers",
    guidance=(
        "Take the cube out and choose a position; the next one follows when you keep it. Each says "
        "when the cube must be in. The robot never goes to a position that has not been kept."
    ),
    trials=[MOVING],
    columns=("actuator", "position", "value", "profile", "confirmed", "since"),
    items=position_items,
    unattended=lambda session, given: [AllPositions(session, given)],
    is_done=lambda profile, found: found.confirmed.keys() >= set(position_keys(profile).values()),
    keeps=lambda key, _: "positions_" in key,
    minutes=lambda profile, found: (
        MINUTES_EACH * len(set(position_keys(profile).values()) - found.confirmed.keys())
    ),
)
