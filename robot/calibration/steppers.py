"""The step "steppers": direction, steps of a turn, speed, acceleration, backlash of each motor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from robot.calibration.plausible import STEPS_OFF
from robot.calibration.positions import STEPPER_POSITION, position_items
from robot.calibration.step import (
    STEPS,
    Command,
    Doubt,
    Item,
    Measurement,
    NotPossible,
    Question,
    Script,
    Session,
    Step,
)
from robot.calibration.stepper_limit import UNITS, Limit, Ramp, limit_command
from robot.calibration.stepper_trials import PLAYING, SPEEDING, STEPPING, TURNING, changed_values
from robot.calibration.trial import stepper_of, steppers_of
from robot.machine.first_contact import direction_key
from robot.settings import RobotProfile
from solver.files import JsonObject

PLAY_LIMIT = 1000


class MotorMeasurement(Measurement):
    """Something about one motor; ``field``: the number of its settings that can be set by eye."""

    what = ""
    field = ""

    def __init__(self, session: Session, actuator: str) -> None:
        super().__init__(session)
        self.settings = stepper_of(session.calibrated, actuator)
        self.motor = actuator
        self.name = f"{actuator} {self.what}"
        self.number: int | None = getattr(self.settings, self.field, None)

    def choose(self, found: int | None) -> None:
        """Take what was found, if anything, as the number and the value to keep."""
        before = getattr(self.settings, self.field)
        self.number = self.number if found is None else found
        self.values = changed_values(self.motor, self.field, found, before)

    @property
    def value(self) -> float | None:
        """See :attr:`Measurement.value`."""
        return self.number


class Direction(MotorMeasurement):
    """Which way it turns: a quarter turn is shown, and somebody says whether it was the right way.

    ``went``: ``right`` or ``wrong``, where that is known before.
    """

    what = "direction"
    guidance = (
        "With Measure the motor turns a quarter and comes back. First it should go clockwise, seen "
        "from outside the robot - a table clockwise seen from below, what goes to and fro towards "
        "more steps. Say No where it goes the wrong way: it tries the other one. Then Keep."
    )
    doubts = True

    def __init__(self, session: Session, actuator: str, went: str | None = None) -> None:
        super().__init__(session, actuator)
        self._inverted = self.settings.invert_direction
        self._went = went

    def measure(self, choice: str = "") -> Script:
        """See :meth:`Measurement.measure`."""
        answer = self._went
        while True:
            tried = self.session.perform(TURNING, actuator=self.motor, inverted=self._inverted)
            self.values = {direction_key(self.motor): self._inverted}
            way = "clockwise" if tried.steps > 0 else "counterclockwise"
            if answer is None:
                right = yield Doubt(f"Did {self.motor} go the right way first ({way})?")
                answer = None if right is None else "right" if right else "wrong"
            if answer != "wrong":
                break
            self._inverted = not self._inverted
            answer = self._went and "right"
        is_as_before = self._inverted == self.settings.invert_direction
        went = answer and ("right" if is_as_before else "wrong")
        self.document = {"actuator": self.motor, "went": went, "inverted": self._inverted}
        self.is_found = went is not None
        if went is None:
            self.values = {}
            self.text = f"{self.motor} went {way}, or should have: say --went right or wrong"
        else:
            self.text = f"{self.motor}: {'turned round' if went == 'wrong' else 'right'}"


class TurnSteps(MotorMeasurement):
    """How many steps are a turn, by the camera, by the degrees that somebody saw, or by eye."""

    what = "steps"
    field = "steps_per_turn"
    label: Mapping[str, str] = {"what": "steps"}
    guidance = (
        "With Measure the motor turns round once and comes back. The camera sees whether it was "
        "one turn, and finds it when it was not. Judge by eye where it cannot: a change of the "
        "number makes twice or half as many steps of a turn; Measure tries them, Keep keeps them."
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
        found, turn = tried.found_steps, tried.turn_steps
        if self._turned is not None:
            seen = found
            found = max(1, round(turn * 360 * self._turns / self._turned / 4)) * 4
            if seen is not None and abs(found / seen - 1) > STEPS_OFF:
                raise NotPossible(
                    f"--turned {self._turned:g}: the camera saw {self.motor} make whole turns of "
                    f"{seen} steps, {360 * self._turns * turn / seen:.0f} degrees in all"
                )
        self.choose(found)
        self.document = tried.model_dump(mode="json")
        self.document |= {"found_steps": found, "values": self.values}
        self.is_found = found is not None
        self.text = f"{self.motor}: {found} steps are a turn, not {turn}"
        if found == turn:
            self.text = f"{self.motor}: {turn} steps are a turn"
        if found is None:
            self.text = "the camera cannot tell whether these were whole turns: say --turned"
        yield from ()

    def adjust(self, steps: int) -> None:
        """Twice or half as many."""
        turn = self.number or 0
        turn = turn * 2 if steps > 0 else turn // 2
        if turn >= 4 and turn % 4 == 0:
            self.choose(turn)


class Backlash(MotorMeasurement):
    """How far it goes back before what it drives follows; ``play``: as somebody has seen."""

    what = "backlash"
    field = "backlash_steps"
    label: Mapping[str, str] = {"what": "play"}
    guidance = (
        "With Measure the motor goes forwards, then back in small steps until the sensor or the "
        "camera sees what it drives follow. The number can be set by eye, too. Every motion then "
        "ends forwards, so that the play does no harm."
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
        self.document = {"actuator": self.motor} | found | {"before": before}
        self.is_found = play is not None
        if play is None:
            self.text = "neither a sensor nor the camera sees what it drives: use your eyes (--to)"
            return
        self.choose(play)
        self.text = f"{self.motor}: {before} -> {play} steps of play, within "
        self.text += f"{found['within_steps']}, by the {found['seen_by']}"
        yield from ()

    def adjust(self, steps: int) -> None:
        """More or less."""
        self.choose(max(0, (self.number or 0) + steps))


def _items(session: Session) -> Iterator[Item]:
    profile = session.calibrated
    for name in steppers_of(profile):
        for what, value, measurement in _of_motor(profile, name):
            yield Item((name, what, value), partial(measurement, session, name))
    for item in position_items(session, lambda one: one.unit == "steps"):
        actuator, position, value, *_ = item.cells
        yield Item((actuator, f"position {position}", value), item.begin)


def _of_motor(
    profile: RobotProfile, name: str
) -> Iterator[tuple[str, str, Callable[..., Measurement]]]:
    """What there is to calibrate, its value as text, its measurement."""
    motor = stepper_of(profile, name)
    way = "turned round" if motor.invert_direction else "as wired"
    yield "direction", way, Direction
    if motor.steps_per_turn is not None:
        yield "steps", f"{motor.steps_per_turn} a turn", TurnSteps
    for held in (False, True) if motor.held is not None else (False,):
        for what, unit in UNITS.items():
            present = f"{Ramp(profile, name, what, held).present:.0f} {unit}"
            load = " under load" if held else ""
            yield what + load, present, partial(Limit, what=what, held=held)
    yield "backlash", f"{motor.backlash_steps} steps", Backlash


def _unattended(session: Session, _: Mapping[str, int]) -> Iterator[Measurement]:
    """The steps of a turn, and the play, where they can be seen; directions are for eyes, and how
    fast a motor may be is found out with somebody there."""
    for name in steppers_of(session.profile):
        if stepper_of(session.profile, name).steps_per_turn is not None:
            yield TurnSteps(session, name)
        yield Backlash(session, name)


ACTUATOR = Question("actuator", str)


STEPS["steppers"] = Step(
    name="steppers",
    title="Stepper motors: direction, steps, speed, backlash",
    guidance=(
        "Begin with the direction and go on downwards. Put a scrambled cube in: the camera tells "
        "by it whether a motor is where it should be."
    ),
    trials=[TURNING, STEPPING, SPEEDING, PLAYING],
    columns=("motor", "what", "value"),
    items=_items,
    is_done=lambda profile, found: all(
        direction_key(name) in found.confirmed for name in steppers_of(profile)
    ),
    group=(
        "stepper",
        (
            "Stepper motors: direction, steps, how fast, how much play, positions.\n\n"
            "Without a command it asks, in a terminal. Everything is tried on the motor, with the "
            "cube in the robot; what it lost is put right again where a sensor or the camera can "
            "tell."
        ),
    ),
    commands=[
        STEPPER_POSITION,
        Command(
            "direction",
            "Turn ACTUATOR by a quarter and back: clockwise is right, seen from outside the robot."
            "\n\nA table turns as the face below the cube does: clockwise seen from below. What "
            "only goes to and fro goes towards higher steps first.",
            [
                ACTUATOR,
                Question(
                    "went",
                    ("right", "wrong"),
                    "--went",
                    "Which way you saw it go; `wrong` turns it round.",
                ),
            ],
            Direction,
        ),
        Command(
            "steps",
            "Turn ACTUATOR by whole turns and back, and see whether they are whole.\n\nThe camera "
            "finds a turn that is twice as long or short; `--turned` tells it to the degree.",
            [
                ACTUATOR,
                Question("turns", int, "--turns", "How many.", (1, 20), default=1),
                Question(
                    "turned", float, "--turned", "Degrees it turned, as you saw.", (1, 36_000)
                ),
            ],
            TurnSteps,
        ),
        limit_command("speed"),
        limit_command("acceleration"),
        Command(
            "backlash",
            "Measure how far ACTUATOR goes back before what it drives follows, in steps.",
            [
                ACTUATOR,
                Question("play", int, "--to", "Steps, as you saw them.", (0, PLAY_LIMIT)),
            ],
            Backlash,
        ),
    ],
    unattended=_unattended,
    is_needed=lambda profile: bool(steppers_of(profile)),
)
