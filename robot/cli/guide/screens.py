"""What all screens of the calibration share: a line for messages, and work that takes a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, TypeVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Header, Static

from robot.cli.guide.session import CalibrationSession, HasSession
from solver.errors import CubistError

T = TypeVar("T")


class StepScreen(Screen[bool]):
    """One thing to calibrate. Ends with True to go on to the next one, False to go back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("n", "next", "Next"),
        Binding("ctrl+z", "undo", "Undo"),
    ]

    name_of_step = ""
    help_text = ""

    def __init__(self) -> None:
        super().__init__()
        self.busy = False
        self.place_of_step = ""

    @property
    def session(self) -> CalibrationSession:
        """The robot."""
        return cast(HasSession, self.app).session

    def compose(self) -> ComposeResult:
        """Instructions, the step's own widgets, the line for messages."""
        yield Header()
        yield Static(self.help_text, id="help")
        yield from self.contents()
        yield Static("", id="message")
        yield Footer(compact=True)

    def contents(self) -> Iterator[Widget]:
        """The step's own widgets."""
        yield from ()

    def on_mount(self) -> None:
        """Name the step in the header."""
        self.sub_title = f"{self.place_of_step}{self.name_of_step}"

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
