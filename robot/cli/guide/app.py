"""The calibration's screens, one by one or all in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Header, OptionList, Static
from textual.widgets.option_list import Option

from robot.cli.guide.camera import CameraScreen
from robot.cli.guide.measures import ColoursScreen, HomeScreen, TimingScreen
from robot.cli.guide.positions import JogScreen, PositionsScreen
from robot.cli.guide.screens import StepScreen
from robot.cli.guide.session import CalibrationSession, Position
from robot.cli.guide.steppers import SteppersScreen
from robot.cli.guide.terminal import TerminalDriver
from robot.cli.guide.travel import TravelsScreen
from robot.settings import RobotProfile

STEPS: dict[str, tuple[str, Callable[[], StepScreen]]] = {
    "positions": ("Positions of servos, steppers and grippers", PositionsScreen),
    "steppers": ("Stepper motors: direction, steps, speed, backlash", SteppersScreen),
    "home": ("Home: does everything reach its start position?", HomeScreen),
    "camera": ("Camera: picture, focus, light, where the faces are", CameraScreen),
    "travel": ("Travel: how long servos really take", TravelsScreen),
    "colours": ("Colours of the cube", ColoursScreen),
    "timing": ("Timing: how long each operation really takes", TimingScreen),
}
"""Step -> its line in the menu, and its screen; in the order in which a new robot needs them."""

ALL = "all"

HANG_UP_S = 0.5
"""How often to look whether the terminal is still there: a hang-up's signal may be ignored."""


class CalibrationApp(App[int]):
    """Calibrates one robot; 0 when the person is done, None when the terminal has gone.

    ``first``: the screens to go through, else the menu is shown.
    """

    CSS = """
    #help { padding: 0 1; color: $text-muted; }
    #message { dock: bottom; height: 1; padding: 0 1; margin-bottom: 1; }
    #message.bad { color: $error; }
    #message.good { color: $success; }
    #value { width: auto; margin: 1 2; }
    #about, #advice, #swatches { padding: 0 1; height: auto; }
    #picture { height: 1fr; }
    DataTable { height: 1fr; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q,ctrl+c", "leave", "Quit")]
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, session: CalibrationSession, first: Sequence[Callable[[], StepScreen]] = ()
    ) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.session = session
        self.title = f"Calibrating {session.profile.name}"  # eighty columns are few
        self._steps = steps_of(session.profile)
        self._first = list(first)
        self._with_menu = not first

    def compose(self) -> ComposeResult:
        """The menu."""
        yield Header()
        yield Static(
            "The robot is in maintenance: its button does nothing until you leave. Everything can "
            "be tried before it is kept, and undone after.",
            id="help",
        )
        options = [Option("Everything, step by step: for a new robot", id=ALL)]
        options += [Option(title, id=name) for name, (title, _) in self._steps.items()]
        yield OptionList(*options)
        yield Static("", id="message")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Begin with the first of the screens asked for."""
        self.set_interval(HANG_UP_S, self._end_without_terminal)
        if self._first:
            self._go_through(self._first)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the step chosen."""
        name = str(event.option_id)
        chosen = self._steps.values() if name == ALL else [self._steps[name]]
        self._go_through([screen for _, screen in chosen])

    def action_leave(self) -> None:
        """Leave; what was kept stays kept."""
        self.exit(0)

    def _end_without_terminal(self) -> None:
        if isinstance(self._driver, TerminalDriver) and self._driver.hung_up:
            self.exit(None)

    def _go_through(self, screens: Sequence[Callable[[], StepScreen]], number: int = 0) -> None:
        """Show screens one after the other, for as long as the person goes on."""
        screen = screens[number]()
        if len(screens) > 1:
            screen.place_of_step = f"step {number + 1} of {len(screens)}: "

        def then(go_on: bool | None) -> None:
            if go_on and number + 1 < len(screens):
                self._go_through(screens, number + 1)
            elif not self._with_menu:
                self.exit(0)

        self.push_screen(screen, then)


def screens_for(kind: str, profile: RobotProfile) -> Callable[[], StepScreen]:
    """The screen of ``cubist calibrate KIND``."""
    if kind == "gripper":
        jaws = _jaws(profile)
        return lambda: PositionsScreen(lambda one: one.actuator in jaws)
    if kind == "servo":
        return lambda: PositionsScreen(lambda one: profile.actuators[one.actuator].kind == kind)
    return STEPS["steppers" if kind == "stepper" else kind][1]


def steps_of(profile: RobotProfile) -> dict[str, tuple[str, Callable[[], StepScreen]]]:
    """The steps that this robot needs: one without steppers, or without servos, needs fewer."""
    kinds = {actuator.kind for actuator in profile.actuators.values()}
    needless = {"steppers": "stepper", "travel": "servo"}
    return {name: step for name, step in STEPS.items() if needless.get(name) in {None, *kinds}}


def jog_screen(position: Position) -> Callable[[], StepScreen]:
    """The screen that sets one position."""
    return lambda: JogScreen(position)


def _jaws(profile: RobotProfile) -> set[str]:
    """Actuators that open and close grippers."""
    return {jaws.actuator for jaws in profile.mechanism.jaws.values()}
