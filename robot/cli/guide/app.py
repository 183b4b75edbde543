"""The calibration's screens, one by one or all in order, in a terminal that may go away."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, TextIO

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.drivers.linux_driver import LinuxDriver
from textual.widget import Widget
from textual.widgets import DataTable, Footer, Header, OptionList, Static
from textual.widgets.option_list import Option

from robot.calibration.step import STEPS, Item, Items, Measurement, Session, Step, steps_of
from robot.calibration.steps.positions import Placing
from robot.cli.guide.camera import CameraScreen
from robot.cli.guide.jog import JogScreen
from robot.cli.guide.screens import MeasureScreen, StepScreen


class TerminalDriver(LinuxDriver):
    """Textual's driver, whose output to a terminal that is gone goes nowhere.

    Textual writes on a thread of its own. If that thread dies of an error, everything that draws
    waits for it for ever, signals or not.
    """

    def __init__(
        self,
        app: App[int],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file: Any = _Forgiving(self._file)

    @property
    def hung_up(self) -> bool:
        """Whether nobody can press a key any more."""
        poll = select.poll()
        poll.register(self.fileno, 0)  # errors and hang-ups are always reported
        return bool(poll.poll(0))


class _Forgiving:
    """A stream whose reader may leave."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


ALL = "all"

HANG_UP_S = 0.5
"""How often to look whether the terminal is still there: a hang-up's signal may be ignored."""

MakeScreen = Callable[[], StepScreen]


class CalibrationApp(App[int]):
    """Calibrates one robot; 0 when the person is done, None when the terminal has gone.

    ``first``: the screens to go through, else the menu is shown.
    """

    CSS = """
    #help { padding: 0 1; color: $text-muted; }
    #message { dock: bottom; height: auto; max-height: 3; padding: 0 1; margin-bottom: 1; }
    #message.bad { color: $error; }
    #message.good { color: $success; }
    #value { width: auto; margin: 1 2; }
    #about, #advice { padding: 0 1; height: auto; }
    #picture { height: 1fr; }
    DataTable { height: 1fr; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q,ctrl+c", "leave", "Quit")]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, session: Session, first: Sequence[MakeScreen] = ()) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.session = session
        self.title = f"Calibrating {session.profile.name}"  # eighty columns are few
        self._steps = {step.name: step for step in steps_of(session.profile)}
        self._first = list(first)
        self.was_stopped = False

    def compose(self) -> ComposeResult:
        """The menu."""
        yield Header()
        yield Static(
            "The robot is in maintenance: its button stops what moves. Everything can be tried "
            "before it is kept, and undone after.",
            id="help",
        )
        options = [Option("Everything, step by step: for a new robot", id=ALL)]
        options += [Option(step.title, id=name) for name, step in self._steps.items()]
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
        self._go_through([partial(screen_of, self.session, step) for step in chosen])

    def action_leave(self) -> None:
        """Leave; what was kept stays kept, and what moves comes to rest."""
        self._end(0)

    def _end_without_terminal(self) -> None:
        if isinstance(self._driver, TerminalDriver) and self._driver.hung_up:
            self._end(None)

    def _end(self, code: int | None) -> None:
        """End, with a robot that is still at work stopped: textual waits for its workers."""
        screens = [screen for screen in self.screen_stack if isinstance(screen, StepScreen)]
        if any(screen.busy for screen in screens):
            self.was_stopped = True
            self.session.stop_beside()
        self.exit(code)

    def _go_through(self, screens: Sequence[MakeScreen], number: int = 0) -> None:
        """Show screens one after the other, for as long as the person goes on."""
        screen = screens[number]()
        if len(screens) > 1:
            screen.place_of_step = f"step {number + 1} of {len(screens)}: "

        def go_on_or_end(go_on: bool | None) -> None:
            if go_on and number + 1 < len(screens):
                self._go_through(screens, number + 1)
            elif self._first:
                self.exit(0)

        self.push_screen(screen, go_on_or_end)


class ChoiceTable(DataTable[str]):
    """A table whose rows are chosen with a key that the last line of the screen shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Choose", key_display="⏎")
    ]


class ListScreen(StepScreen):
    """A step's list of what can be calibrated, made anew whenever what is kept changes."""

    def __init__(self, step: Step, items: Items) -> None:
        super().__init__(step.heading, step.guidance)
        self._columns, self._list = step.columns, items
        self._items: list[Item] = []

    def contents(self) -> Iterator[Widget]:
        """The table."""
        yield ChoiceTable(cursor_type="row")

    def on_mount(self) -> None:
        """Fill the list."""
        super().on_mount()
        self.query_one(DataTable).add_columns(*self._columns)
        self.kept()

    def kept(self) -> None:
        """See :meth:`StepScreen.kept`."""
        self.attempt("", lambda: list(self._list(self.session)), self._fill)

    def _fill(self, items: list[Item]) -> None:
        table, self._items = self.query_one(DataTable), items
        row = table.cursor_row
        table.clear()
        table.add_rows(item.cells for item in items)
        table.move_cursor(row=row)
        table.focus()
        if not items:
            self.say("this robot has none")

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Go to the screen of this line."""
        self.attempt("", self._items[event.cursor_row].begin, self._open)

    def _open(self, measurement: Measurement) -> None:
        self.app.push_screen(screen_for(measurement), lambda _: self.kept())


def screen_of(session: Session, step: Step, items: Items | None = None) -> StepScreen:
    """The screen of a step, with other ``items`` in its list where they are given."""
    if step is STEPS["camera"]:
        return CameraScreen(step.heading, step.guidance)
    if step.items is not None:
        return ListScreen(step, items or step.items)
    assert step.begin is not None
    return screen_for(step.begin(session), step.heading)


def screen_for(measurement: Measurement, heading: str = "") -> StepScreen:
    """Return the screen of one measurement, headed by the name of its step or its own."""
    if isinstance(measurement, Placing):
        return JogScreen(measurement)
    return MeasureScreen(measurement, heading)
