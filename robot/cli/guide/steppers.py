"""Stepper motors on the screen: direction, steps of a turn, speed, acceleration, backlash."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import DataTable, Digits

from robot.calibration.ramp import FIELDS, Ramp, stepper_of, steppers_of
from robot.cli.guide.lists import ListScreen, Row
from robot.cli.guide.measures import MeasureScreen
from robot.cli.guide.positions import JogScreen
from robot.cli.guide.screens import StepScreen
from robot.settings import RobotProfile
from robot.settings.actuators import Stepper


class SteppersScreen(ListScreen):
    """The list of motors and what can be calibrated of them."""

    name_of_step = "steppers"
    help_text = (
        "Choose with the arrow keys and press Enter. Begin with the direction and go on downwards. "
        "Put a scrambled cube in: the camera tells by it whether a motor is where it should be."
    )
    columns: Sequence[str] = ("motor", "what", "value")

    def rows(self, calibrated: RobotProfile) -> Iterator[Row]:
        """See :meth:`ListScreen.rows`."""
        for name in steppers_of(calibrated):
            for what, value, screen in _of_motor(calibrated, name):
                yield Row(f"{name} {what}", (name, what, value), screen)
        for one in self.session.positions():
            if one.unit == "steps":
                cells = (one.actuator, f"position {one.name}", f"{one.value} steps")
                yield Row(one.key, cells, partial(JogScreen, one))


def _of_motor(
    profile: RobotProfile, name: str
) -> Iterator[tuple[str, str, Callable[[], StepScreen]]]:
    """What there is to calibrate, its value as text, its screen."""
    motor = stepper_of(profile, name)
    way = "turned round" if motor.invert_direction else "as wired"
    yield "direction", way, partial(DirectionScreen, profile, name)
    if motor.steps_per_turn is not None:
        yield "steps", f"{motor.steps_per_turn} a turn", partial(StepsScreen, profile, name)
    for held in (False, True) if motor.held is not None else (False,):
        for what, unit in (("speed", "steps/s"), ("acceleration", "steps/s^2")):
            present = f"{Ramp(profile, name, what, held).present:.0f} {unit}"
            load = " under load" if held else ""
            yield what + load, present, partial(RampScreen, profile, name, what, held)
    yield "backlash", f"{motor.backlash_steps} steps", partial(BacklashScreen, profile, name)


class MotorScreen(MeasureScreen):
    """Something about one motor, of which a value can be kept."""

    what = ""

    def __init__(self, profile: RobotProfile, name: str) -> None:
        super().__init__()
        self.name_of_step = f"{name} {self.what}"
        self._profile = profile
        self._motor = name

    @property
    def _settings(self) -> Stepper:
        return stepper_of(self._profile, self._motor)

    def _propose(self, value: Any, field: str) -> None:
        """Have Enter keep a value of this field, if it is another one."""
        now = getattr(self._settings, field)
        self._values = {} if value == now else {f"actuators.{self._motor}.{field}": value}

    def _confirm(self, value: Any, field: str) -> None:
        """Have Enter keep a value, also where it is the one there is: a person has seen it."""
        self._values = {f"actuators.{self._motor}.{field}": value}


class DirectionScreen(MotorScreen):
    """Which way it turns."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("x", "other", "The other way")]

    what = "direction"
    help_text = (
        "Press m: the motor turns a quarter and comes back. First it should go clockwise, seen "
        "from outside the robot - a table clockwise seen from below, what goes to and fro towards "
        "more steps. Where it goes the wrong way press x to try the other one, then Enter."
    )

    def __init__(self, profile: RobotProfile, name: str) -> None:
        super().__init__(profile, name)
        self._inverted = self._settings.invert_direction

    def action_measure(self) -> None:
        """Show it."""
        body = {"actuator": self._motor, "inverted": self._inverted}
        self.attempt("turning", partial(self.session.trial, "turn", body), self._shown)

    def action_other(self) -> None:
        """Show it the other way round."""
        if not self.busy:
            self._inverted = not self._inverted
            self.action_measure()

    def _shown(self, tried: dict[str, Any]) -> None:
        self._confirm(self._inverted, "invert_direction")
        way = "clockwise" if tried["steps"] > 0 else "counterclockwise"
        self.say(f"it should have gone {way} first: Enter keeps this way; x tries the other way")


class StepsScreen(MotorScreen):
    """How many steps are a turn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "by(2,1)", "Twice", key_display="↑"),
        Binding("down", "by(1,2)", "Half", key_display="↓"),
    ]

    what = "steps"
    help_text = (
        "Press m: the motor turns round once and comes back. The camera sees whether it was one "
        "turn, and finds it when it was not. Judge by eye where it cannot: up and down make twice "
        "and half as many steps of a turn; m tries them, Enter keeps them."
    )

    def __init__(self, profile: RobotProfile, name: str) -> None:
        super().__init__(profile, name)
        self._turn = self._settings.steps_per_turn or 0

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        yield Digits(str(self._turn), id="value")

    def action_by(self, times: int, parts: int) -> None:
        """Take more or fewer steps for a turn."""
        turn = self._turn * times // parts
        if turn >= 4 and turn % 4 == 0:
            self._choose(turn)

    def _choose(self, turn: int) -> None:
        self._turn = turn
        self._propose(turn, "steps_per_turn")
        self.query_one("#value", Digits).update(str(turn))

    def action_measure(self) -> None:
        """Turn round once."""
        body = {"actuator": self._motor, "turn_steps": self._turn}
        self.attempt("turning", partial(self.session.trial, "steps", body), self._shown)

    def _shown(self, tried: dict[str, Any]) -> None:
        found = tried["found_steps"]
        if found is None:
            self.say("was it one turn? The camera cannot tell", "")
        elif found == self._turn:
            self.say("one turn, says the camera", "good")
        else:
            self.say(f"the camera says that {found} steps are a turn: m tries them, Enter keeps")
        if found is not None:
            self._choose(found)


class RampScreen(MotorScreen):
    """How fast it may be."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "good", "Yes"),
        Binding("x", "lost", "No"),
    ]

    help_text = (
        "Press m: the motor goes half as fast as it may now, comes back gently, and again faster "
        "and faster until it loses steps. Where neither a sensor nor the camera sees that you are "
        "asked. Enter keeps four fifths of the last good value; Esc ends it."
    )

    def __init__(self, profile: RobotProfile, name: str, what: str, held: bool) -> None:
        self.what = what + (" under load" if held else "")
        super().__init__(profile, name)
        self._kind = (what, held)
        self._ramp: Ramp | None = None
        self._asked: dict[str, Any] | None = None

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        table: DataTable[str] = DataTable(cursor_type="none")
        table.can_focus = False
        yield table

    def on_mount(self) -> None:
        """Head the table."""
        super().on_mount()
        self.query_one(DataTable).add_columns(self.what, "result", "by")

    def action_measure(self) -> None:
        """Begin."""
        if self.busy:
            self.say("the robot is still at work: a moment", "bad")
            return
        self.query_one(DataTable).clear()
        self._ramp = Ramp(self._profile, self._motor, *self._kind)
        self._go_on()

    def _go_on(self) -> None:
        ramp = self._ramp
        if ramp is None or ramp.wanted is None:
            self._end()
            return
        work = partial(self.session.trial, "speed", ramp.body())
        self.attempt(f"trying {ramp.wanted:.0f}", work, self._tried)

    def _tried(self, tried: dict[str, Any]) -> None:
        if tried["lost"] is None:
            self._asked = tried
            self.say("is it exactly where it was? y: yes, x: no")
        else:
            self._judged(tried, tried["lost"], str(tried["seen_by"]))

    def action_good(self) -> None:
        """A person says that no steps were lost."""
        self._answered(False)

    def action_lost(self) -> None:
        """A person says that it stands elsewhere."""
        self._answered(True)

    def _answered(self, lost: bool) -> None:
        tried, self._asked = self._asked, None
        if tried is not None:
            self._judged(tried, lost, "you")

    def _judged(self, tried: dict[str, Any], lost: bool, judge: str) -> None:
        assert self._ramp is not None
        value = f"{tried[FIELDS[self._kind[0]]]:.0f}"
        self.query_one(DataTable).add_row(value, "lost steps" if lost else "good", judge)
        self._ramp.note(tried, lost)
        if lost and (judge == "you" or not tried["square"]):
            self._ramp.ended += f"; set {self._motor} and the cube square by hand now"
        self._go_on()

    def _end(self) -> None:
        assert self._ramp is not None
        self._values = self._ramp.values()
        if self._values:
            self.say(f"{self._ramp.ended}: Enter keeps {self._ramp.safe}")
        else:
            self.say(f"{self._ramp.ended}: nothing was good", "bad")


class BacklashScreen(MotorScreen):
    """How much play there is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "by(1)", "1", key_display="↑↓"),
        Binding("down", "by(-1)", show=False),
    ]

    what = "backlash"
    help_text = (
        "Press m: the motor goes forwards, then back in small steps until the sensor or the camera "
        "sees what it drives follow. By eye: up and down. Every motion then ends forwards, so that "
        "the play does no harm. Enter keeps it."
    )

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        self._play = self._settings.backlash_steps
        yield Digits(str(self._play), id="value")

    def action_by(self, steps: int) -> None:
        """More or less."""
        self._choose(max(0, self._play + steps))

    def _choose(self, play: int) -> None:
        self._play = play
        self._propose(play, "backlash_steps")
        self.query_one("#value", Digits).update(str(play))

    def action_measure(self) -> None:
        """Measure."""
        body = {"actuator": self._motor}
        self.attempt("measuring", partial(self.session.trial, "play", body), self._shown)

    def _shown(self, found: dict[str, Any]) -> None:
        if found["play_steps"] is None:
            self.say("neither a sensor nor the camera sees what it drives: use your eyes", "bad")
            return
        self._choose(found["play_steps"])
        self.say(f"by the {found['seen_by']}, within {found['within_steps']} steps; Enter keeps it")
