"""The screens of calibration: what they share, and the one that measures or sets by eye."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar, Protocol, TypeVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import DataTable, Digits, Footer, Header, Static

from robot.calibration.step import Confirmation, Measurement, Row, Script, Session, next_of
from robot.cli.output import shown_colour
from solver.errors import CubistError

T = TypeVar("T")


class HasSession(Protocol):
    """The app, as its screens know it."""

    @property
    def session(self) -> Session:
        """The robot that is calibrated."""


class StepScreen(Screen[bool]):
    """One thing to calibrate. Ends with True to go on to the next one, False to go back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("n", "next", "Next"),
        Binding("ctrl+z", "undo", "Undo"),
    ]

    def __init__(self, heading: str, guidance: str) -> None:
        super().__init__()
        self.heading, self.guidance = heading, guidance
        self.busy = False
        self.place_of_step = ""

    @property
    def session(self) -> Session:
        """The robot."""
        return cast(HasSession, self.app).session

    def compose(self) -> ComposeResult:
        """Instructions, the step's own widgets, the line for messages."""
        yield Header()
        yield Static(self.guidance, id="help")
        yield from self.contents()
        yield Static("", id="message")
        yield Footer(compact=True)

    def contents(self) -> Iterator[Widget]:
        """The step's own widgets."""
        yield from ()

    def on_mount(self) -> None:
        """Name the step in the header."""
        self.sub_title = f"{self.place_of_step}{self.heading}"

    def say(self, text: str, kind: str = "") -> None:
        """Show a message: ``good``, ``bad`` or plain."""
        line = self.query_one("#message", Static)
        line.set_classes(kind)
        line.update(text)

    def attempt(self, text: str, work: Callable[[], T], done: Callable[[T], None]) -> None:
        """Do something with the robot that takes a while; one such thing at a time."""
        if self.busy:
            self.say("the robot is still at work: a moment", "bad")
            return
        self.busy = True
        self.say(text)
        self.run_worker(partial(self._attempt, work, done), thread=True)

    def _attempt(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        try:
            result = work()
        except CubistError as error:
            self.app.call_from_thread(self._ended, partial(self.failed, str(error)))
        else:
            self.app.call_from_thread(self._ended, partial(done, result))

    def _ended(self, then: Callable[[], None]) -> None:
        self.busy = False
        if self.is_attached:
            then()

    def failed(self, reason: str) -> None:
        """What was attempted did not succeed."""
        self.say(reason, "bad")

    def kept(self) -> None:
        """What is kept has changed."""

    def action_back(self) -> None:
        """Leave the step; what was kept stays kept."""
        self.dismiss(False)

    def action_next(self) -> None:
        """Go on to the next step."""
        self.dismiss(True)

    def action_undo(self) -> None:
        """Take back what was kept last."""
        self.attempt("undoing", self.session.undo, self._undone)

    def _undone(self, keys: list[str]) -> None:
        self.say(f"undone: {', '.join(keys)}" if keys else "there is nothing to undo", "good")
        self.kept()


AT_WORK = "the robot is at work: {time} so far"


def clock_text(seconds: float) -> str:
    """Return minutes and seconds: ``1:05``."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


LEAST_COLUMN = 10


class ResultTable(DataTable[str | Text]):
    """Table of what a measurement finds; its last column wraps within the screen."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(cursor_type="none", show_header=False)
        self.can_focus = False
        self._heads = columns
        self._found: list[Sequence[str | Text]] = []

    def empty(self) -> None:
        """Begin anew."""
        self._found = []
        self.show_header = False
        self.clear(columns=True)

    def add(self, cells: Sequence[str | Text]) -> None:
        """Show another line below the others."""
        self._found.append(cells)
        self._lay_out()
        self.call_after_refresh(self.scroll_end, animate=False)

    def on_resize(self) -> None:
        """Wrap for the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        self.clear(columns=True)
        if not self._found:
            return
        self.show_header = True
        lines = [self._heads, *self._found]
        count = max(map(len, lines))
        widths = [
            max(len(str(line[at])) for line in lines if at < len(line)) for at in range(count)
        ]
        around = 2 * self.cell_padding * count + self.scrollbar_size_vertical
        widths[-1] = max(LEAST_COLUMN, min(widths[-1], self.size.width - around - sum(widths[:-1])))
        heads = [*self._heads, *[""] * (count - len(self._heads))]
        for head, width in zip(heads, widths, strict=True):
            self.add_column(head, width=width)
        for found in self._found:
            self.add_row(*found, height=None)


class MeasureScreen(StepScreen):
    """A measurement: made by the robot, or set by eye where that can be, and kept if wanted."""

    def __init__(self, measurement: Measurement, heading: str = "") -> None:
        super().__init__(heading or measurement.name, measurement.guidance)
        self.measurement = measurement
        self._script: Script | None = None
        self._began_s = 0.0
        bind = self._bindings.bind
        if measurement.keeps:
            bind("m", "measure", "Measure")
            bind("enter", "keep", "Keep")
        else:
            bind("enter,m", "measure", "Go", key_display="⏎")
        for key, label in measurement.choices.items():
            bind(key, f"measure('{key}')", label)
        if measurement.asks:
            bind("y", "answer(True)", "Yes")
            bind("x", "answer(False)", "No")
        if measurement.value is not None:
            bind("up", "adjust(1)", "Change", key_display="↑↓")
            bind("down", "adjust(-1)", show=False)
            bind("pageup", "adjust(10)", "Far", key_display="PgUp/Dn")
            bind("pagedown", "adjust(-10)", show=False)

    def contents(self) -> Iterator[Widget]:
        """The value that can be set by eye, the table of what is found."""
        if self.measurement.value is not None:
            yield Digits(f"{self.measurement.value:g}", id="value")
        if self.measurement.columns:
            yield ResultTable(self.measurement.columns)

    def on_mount(self) -> None:
        """Say every second how long it has measured."""
        super().on_mount()
        self.set_interval(1.0, self._tell_time)

    def _tell_time(self) -> None:
        if self.busy and self._script is not None:
            self.say(self._at_work)

    @property
    def _at_work(self) -> str:
        return AT_WORK.format(time=clock_text(time.monotonic() - self._began_s))

    def action_measure(self, choice: str = "") -> None:
        """Begin."""
        if self.busy:
            self.say("the robot is still at work: a moment", "bad")
            return
        for table in self.query(ResultTable):
            table.empty()
        self._began_s = time.monotonic()
        self._script = self.measurement.measure(choice)
        self._go_on(None)

    def action_back(self) -> None:
        """Leave the step; what is measured ends with the turn in progress."""
        self._break_off()
        super().action_back()

    def action_next(self) -> None:
        """Go on to the next step, likewise."""
        self._break_off()
        super().action_next()

    def _break_off(self) -> None:
        if self.busy and self._script is not None:
            self.session.stop_beside()

    def action_answer(self, answer: bool) -> None:
        """A person says yes or no to what was asked."""
        if not self.busy:
            self._go_on(answer)

    def _go_on(self, answer: bool | None) -> None:
        if self._script is not None:
            work = partial(next_of, self._script, answer)
            self.attempt(self._at_work, work, self._heard)

    def _heard(self, message: Row | Confirmation | None) -> None:
        if isinstance(message, Confirmation):
            self.say(f"{message.question} y: yes, x: no")
        elif message is not None:
            self._add(message)
            self._go_on(None)
        else:
            self._script = None
            self._conclude()

    def _add(self, row: Row) -> None:
        cells: list[str | Text] = [*row.cells]
        if row.colour is not None:
            red, green, blue = shown_colour(row.colour)
            cells[0] = Text(row.cells[0], f"black on rgb({red},{green},{blue})")
        self.query_one(ResultTable).add(cells)

    def _conclude(self) -> None:
        found = self.measurement
        self._show_value()
        mood = "" if found.values else "good" if found.is_found else "bad"
        self.say(found.text + (" (Enter keeps it)" if found.values else ""), mood)

    def _show_value(self) -> None:
        for digits in self.query(Digits):
            digits.update(f"{self.measurement.value:g}")

    def failed(self, reason: str) -> None:
        """See :meth:`StepScreen.failed`."""
        self._script = None
        super().failed(reason)

    def action_adjust(self, steps: int) -> None:
        """Set the value by eye."""
        if not self.busy:
            self.measurement.adjust(steps)
            self._show_value()

    def action_keep(self) -> None:
        """Keep what was found."""
        if not self.measurement.values and not self.busy:
            self.say("there is nothing to keep: measure first (m)", "bad")
            return
        work = self.measurement.keep
        self.attempt("keeping", work, self._saved)

    def _saved(self, _: bool) -> None:
        self._script = None
        self.measurement.forget_values()
        self.say("kept", "good")
