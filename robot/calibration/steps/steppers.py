"""The step "steppers": direction, steps per turn, speed, acceleration, backlash of each motor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from robot.calibration.step import (
    STEPS,
    Confirmation,
    Item,
    Measurement,
    Result,
    Row,
    Script,
    Session,
    Step,
)
from robot.calibration.steps.positions import position_items
from robot.calibration.trials.stepper_motor import stepper_of
from robot.calibration.trials.stepper_trials import (
    PLAYING,
    SPEEDING,
    STEPPING,
    TURNING,
    SpeedTried,
    StepsTried,
    changed_values,
)
from robot.calibration.values import FASTER, STEPS_OFF
from robot.machine.confirmed_range import direction_key
from robot.motion.stepper import stepper_limits
from robot.settings import RobotProfile
from robot.settings.stepper import Stepper
from solver.errors import InvalidRequest
from solver.files import JsonObject


class MotorMeasurement(Measurement):
    """The measurement of a property of one motor; ``field``: the setting that can be set by eye."""

    what = ""
    field = ""

    def __init__(self, session: Session, actuator: str) -> None:
        super().__init__(session)
        self.settings = stepper_of(session.calibrated, actuator)
        self.motor = actuator
        self.name = f"{actuator} {self.what}"
        self.purpose = session.profile.mechanism.measured_purpose(self.what)
        self.number: int | None = getattr(self.settings, self.field, None)

    def choose(self, found: int | None) -> None:
        """Use the number found, if any, as the value to keep."""
        before = getattr(self.settings, self.field)
        self.number = self.number if found is None else found
        values = changed_values(self.motor, self.field, found, before)
        self.result = replace(self.result, values=values)

    @property
    def value(self) -> float | None:
        """See :attr:`Measurement.value`."""
        return self.number


class Direction(MotorMeasurement):
    """The direction of a motor: it makes a quarter turn, and a person says whether it was right.

    ``went``: ``right`` or ``wrong``, if already known.
    """

    what = "direction"
    guidance = (
        "Choose Measure: the motor makes a quarter turn and comes back. It should first go "
        "clockwise seen from outside the robot (a table seen from below; a linear axis towards "
        "more steps). If it goes the wrong way, choose No: it tries the other one. Then choose "
        "Keep."
    )

    def __init__(self, session: Session, actuator: str, went: str | None = None) -> None:
        super().__init__(session, actuator)
        self._inverted = self.settings.invert_direction
        self._went = went

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        answer = self._went
        while True:
            tried = self.session.perform(TURNING, actuator=self.motor, inverted=self._inverted)
            values: JsonObject = {direction_key(self.motor): self._inverted}
            self.result = Result(values=values)
            way = "clockwise" if tried.steps > 0 else "counterclockwise"
            if answer is None:
                right = yield Confirmation(f"Did {self.motor} go the right way first ({way})?")
                answer = None if right is None else "right" if right else "wrong"
            if answer != "wrong":
                break
            self._inverted = not self._inverted
            answer = self._went and "right"
        is_as_before = self._inverted == self.settings.invert_direction
        went = answer and ("right" if is_as_before else "wrong")
        text = f"{self.motor}: {'reversed' if went == 'wrong' else 'right'}"
        if went is None:
            text = f"{self.motor} should have gone {way}: a person must say whether it did"
        self.result = Result(
            values={} if went is None else values,
            document={"actuator": self.motor, "went": went, "inverted": self._inverted},
            text=text,
            is_found=went is not None,
        )


class TurnSteps(MotorMeasurement):
    """The steps per turn, by the camera, by the degrees that a person saw, or set by eye."""

    what = "steps"
    field = "steps_per_turn"
    label: Mapping[str, str] = {"what": "steps"}
    guidance = (
        "Choose Measure: the motor makes one turn and comes back. The camera checks whether it was "
        "a whole turn, and finds the right steps per turn if not. If it cannot, judge by eye: "
        "changing the number doubles or halves it; Measure tries it, Keep saves it."
    )

    def __init__(
        self, session: Session, actuator: str, turns: int = 1, turned: float | None = None
    ) -> None:
        super().__init__(session, actuator)
        self._turns, self._turned = turns, turned

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        tried = self.session.perform(
            STEPPING, actuator=self.motor, turn_steps=self.number, turns=self._turns
        )
        turn = tried.turn_steps
        found = tried.found_steps if self._turned is None else self._turn_by_eye(tried)
        self.choose(found)
        text = f"{self.motor}: {found} steps per turn"
        text += "" if found == turn else f", not {turn}"
        if found is None:
            text = "the camera cannot tell whether these were whole turns"
        document = tried.model_dump(mode="json")
        self.result = replace(
            self.result,
            document=document | {"found_steps": found, "values": self.values},
            text=text,
            is_found=found is not None,
        )
        yield from ()

    def _turn_by_eye(self, tried: StepsTried) -> int:
        """Return the steps per turn, given the degrees that a person saw it turn.

        Raises :class:`InvalidRequest` if the camera found a different number.
        """
        way, seen = abs(tried.steps), tried.found_steps
        assert self._turned is not None
        found = max(1, round(way * 360 / self._turned / 4)) * 4
        if seen is not None and abs(found / seen - 1) > STEPS_OFF:
            raise InvalidRequest(
                f"{self._turned:g} degrees: the camera saw {self.motor} make whole turns of "
                f"{seen} steps, {360 * way / seen:.0f} degrees in all"
            )
        return found

    def adjust(self, steps: int) -> None:
        """Use twice or half as many steps per turn."""
        turn = self.number or 0
        turn = turn * 2 if steps > 0 else turn // 2
        if turn >= 4 and turn % 4 == 0:
            self.choose(turn)


class Backlash(MotorMeasurement):
    """The steps a motor goes back before its load follows; ``play``: as a person saw them."""

    what = "backlash"
    field = "backlash_steps"
    label: Mapping[str, str] = {"what": "play"}
    guidance = (
        "Choose Measure: the motor goes forwards, then back in small steps until the sensor or the "
        "camera sees the part it drives follow. You can also set the number by eye. Every motion "
        "then ends forwards, so that the play does no harm."
    )

    def __init__(self, session: Session, actuator: str, play: int | None = None) -> None:
        super().__init__(session, actuator)
        self._said = play

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        before = self.settings.backlash_steps
        found: JsonObject = {"play_steps": self._said, "seen_by": "person", "within_steps": 0}
        if self._said is None:
            found = self.session.perform(PLAYING, actuator=self.motor).model_dump(mode="json")
        play = found["play_steps"]
        text = "neither a sensor nor the camera sees the part it drives"
        if play is not None:
            self.choose(play if abs(play - before) > found["within_steps"] else before)
            text = (
                f"{self.motor}: {before} -> {play} steps of play, within {found['within_steps']}, "
                f"by the {found['seen_by']}"
            )
        self.result = Result(
            values=self.values if play is not None else {},
            document={"actuator": self.motor} | found | {"before": before},
            text=text,
            is_found=play is not None,
        )
        yield from ()

    def adjust(self, steps: int) -> None:
        """Use more or fewer steps."""
        self.choose(max(0, (self.number or 0) + steps))


FIELDS = {"speed": "speed_steps_per_s", "acceleration": "acceleration_steps_per_s2"}
"""Names in requests of the values that are raised. Profiles prefix them with ``max_``."""

UNITS = {"speed": "steps/s", "acceleration": "steps/s^2"}

BEGIN, END, FACTOR = 0.5, FASTER, 1.15
"""First and last value as multiples of the present one, and the factor between two trials."""

SAFE = 0.8
"""Fraction of the last good value to keep."""

REACHED = 0.98
"""Fraction of the requested speed that has to be reached to try a higher one."""


@dataclass
class Ramp:
    """One motor's speed or acceleration, raised until steps are lost.

    ``wanted`` is the next value to try, None at the end; ``ended`` is the reason. ``limited``:
    whether steps were lost at some value. Raises :class:`InvalidRequest` if the first value to try
    is above the last.
    """

    profile: RobotProfile
    motor: str
    what: str
    held: bool = False
    begin: float | None = None
    end: float | None = None
    good: float | None = None
    limited: bool = False
    ended: str = ""
    wanted: float | None = field(init=False)

    def __post_init__(self) -> None:
        present = self.present
        self.end = self.end or END * present
        self.wanted = self.begin or BEGIN * present
        if self.wanted > self.end:
            raise InvalidRequest(
                f"{self.motor} {self.what}: the first value to try, {self.wanted:.0f}, is above "
                f"the last, {self.end:.0f}"
            )

    @property
    def present(self) -> float:
        """Return the limit in force."""
        limits = stepper_limits(stepper_of(self.profile, self.motor), self.held)
        return limits.max_speed if self.what == "speed" else limits.acceleration

    def body(self) -> JsonObject:
        """Return the request for the daemon."""
        assert self.wanted is not None
        return {"actuator": self.motor, "held": self.held, FIELDS[self.what]: round(self.wanted)}

    def note(self, tried: SpeedTried, lost: bool) -> None:
        """Choose the next value after a trial."""
        assert self.wanted is not None and self.end is not None
        value, self.wanted = round(self.wanted), None
        if lost:
            self.limited, self.ended = True, f"steps were lost at {value}"
            return
        self.good = value
        if self.what == "speed" and tried.reached_steps_per_s < REACHED * tried.speed_steps_per_s:
            self.ended = "its travel is too short for a higher speed"
        elif value * FACTOR > self.end:
            self.ended = "no steps were lost at all"
        else:
            self.wanted = value * FACTOR

    @property
    def safe(self) -> int | None:
        """Return the value to keep; None if nothing was good. If no steps were lost, this is at
        least the present value."""
        if self.good is None:
            return None
        safe = round(SAFE * self.good)
        return safe if self.limited else max(safe, round(self.present))

    def values(self) -> JsonObject:
        """Return the safe value as calibrated values."""
        if self.safe is None:
            return {}
        name = f"max_{FIELDS[self.what]}"
        if not self.held:
            return {f"actuators.{self.motor}.{name}": self.safe}
        limits = stepper_limits(stepper_of(self.profile, self.motor), held=True)
        document = {
            "max_speed_steps_per_s": limits.max_speed,
            "max_acceleration_steps_per_s2": limits.acceleration,
        }
        return {f"actuators.{self.motor}.held": document | {name: self.safe}}


class Limit(Measurement):
    """The highest speed or acceleration at which a motor loses no steps.

    ``last_good``: value that a person found before. ``begin`` and ``end``: first and last to try.
    """

    guidance = (
        "Choose Measure: the motor moves at half its present limit, comes back gently, and repeats "
        "this faster and faster until it loses steps. If neither a sensor nor the camera sees "
        "that, you are asked. Keep saves four fifths of the last good value; Back ends it."
    )

    def __init__(
        self,
        session: Session,
        actuator: str,
        what: str,
        held: bool = False,
        last_good: float | None = None,
        **limits: float | None,
    ) -> None:
        super().__init__(session)
        self.motor = actuator
        changed = what + (" under load" if held else "")
        self.name = f"{actuator} {changed}"
        self.columns = (changed, "result", "by")
        self._last_good = last_good
        begin, end = limits.get("begin"), limits.get("end")
        self._ramp = partial(Ramp, session.calibrated, actuator, what, held, begin, end)

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        ramp, to_do = self._ramp(), ""
        if self._last_good is not None:
            ramp.good, ramp.wanted, ramp.ended = self._last_good, None, "as you say"
            ramp.limited = True
        while ramp.wanted is not None:
            tried = self.session.perform(SPEEDING, **ramp.body())
            value: float = getattr(tried, FIELDS[ramp.what])
            lost, judge = tried.lost, tried.seen_by
            if lost is None:
                is_good = yield Confirmation(
                    f"Is {self.motor} exactly where it was, after {value:.0f}?"
                )
                if is_good is None:
                    raise InvalidRequest(
                        f"neither a sensor nor the camera sees {self.motor}: try one value at a "
                        "time, then say which was the last good one"
                    )
                lost, judge = not is_good, "you"
            if lost and (judge == "you" or not tried.square):
                to_do = f"; set {self.motor} and the cube square by hand now"
            document: JsonObject = {"tried": value, "lost": lost}
            document |= {"seen_by": tried.seen_by, "square": tried.square}
            yield Row((f"{value:.0f}", "lost steps" if lost else "good", judge or ""), document)
            ramp.note(tried, lost)
        self._conclude(ramp, to_do)

    def _conclude(self, ramp: Ramp, to_do: str) -> None:
        text = f"{ramp.ended}{to_do}: no value was good, begin lower"
        if ramp.safe is not None:
            change = f"{ramp.present:.0f} -> {ramp.safe} {UNITS[ramp.what]}"
            text = f"{ramp.ended}{to_do}; {self.motor}: {change}"
        document: JsonObject = {"actuator": self.motor, "held": ramp.held, "before": ramp.present}
        found = {"last_good": ramp.good, "after": ramp.safe, "why": ramp.ended}
        self.result = Result(
            values=ramp.values(),
            document=document | found,
            text=text,
            is_found=ramp.safe is not None,
        )


def _items(session: Session) -> Iterator[Item]:
    profile = session.calibrated
    for name in profile.actuators_of(Stepper):
        for what, value, measurement in _motor_properties(profile, name):
            yield Item((name, what, value), partial(measurement, session, name))
    for item in position_items(session, lambda one: one.unit == "steps"):
        actuator, position, value, *_ = item.cells
        yield Item((actuator, f"position {position}", value), item.begin)


def _motor_properties(
    profile: RobotProfile, name: str
) -> Iterator[tuple[str, str, Callable[..., Measurement]]]:
    """Yield the properties of a motor: each with its value as text and its measurement."""
    motor = stepper_of(profile, name)
    way = "reversed" if motor.invert_direction else "as wired"
    yield "direction", way, Direction
    if motor.steps_per_turn is not None:
        yield "steps", f"{motor.steps_per_turn} a turn", TurnSteps
    for held in (False, True) if motor.held is not None else (False,):
        for what, unit in UNITS.items():
            present = f"{Ramp(profile, name, what, held).present:.0f} {unit}"
            load = " under load" if held else ""
            yield what + load, present, partial(Limit, what=what, held=held)
    yield "backlash", f"{motor.backlash_steps} steps", Backlash


def _measure_motors(session: Session, _: Mapping[str, int]) -> Iterator[Measurement]:
    """Yield measurements of steps per turn and backlash. A camera sees whether a whole turn was
    whole, but not a part of one, so the steps need a motor with room for a turn. Directions and
    limits need a person to watch."""
    for name, motor in session.profile.actuators_of(Stepper).items():
        part = session.profile.mechanism.rotated_by(name)
        low, high = (part and part.range_quarters) or (0, 4)
        if motor.steps_per_turn is not None and high - low >= 4:
            yield TurnSteps(session, name)
        yield Backlash(session, name)


STEPS["steppers"] = Step(
    name="steppers",
    title="Stepper motors: direction, steps, speed, backlash",
    guidance=(
        "Begin with the direction and work down the list. Put a scrambled cube in: it shows the "
        "camera whether a motor is where it should be."
    ),
    trials=[TURNING, STEPPING, SPEEDING, PLAYING],
    columns=("motor", "what", "value"),
    items=_items,
    keeps=lambda key, _: key.rpartition(".")[2] in {"invert_direction", "steps_per_turn"},
    minutes=lambda profile, _: 3.0 * len(profile.actuators_of(Stepper)),
    is_done=lambda profile, found: all(
        direction_key(name) in found.confirmed for name in profile.actuators_of(Stepper)
    ),
    unattended=_measure_motors,
    is_needed=lambda profile: bool(profile.actuators_of(Stepper)),
)
