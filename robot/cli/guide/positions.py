"""Named positions of servos, steppers and grippers: chosen from a list, set with the arrow keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import DataTable, Digits, Static

from robot.cli.guide.screens import StepScreen
from robot.cli.guide.session import Position

Wanted = Callable[[Position], bool]


class PositionsScreen(StepScreen):
    """The list of positions."""

    name_of_step = "positions"
    help_text = (
        "Choose a position with the arrow keys and press Enter: the robot goes there, and the "
        "arrow keys then move it until it is right."
    )

    def __init__(self, wanted: Wanted = lambda _: True) -> None:
        super().__init__()
        self._wanted = wanted
        self._shown: dict[str, Position] = {}

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        yield DataTable(cursor_type="row")

    def on_mount(self) -> None:
        """Fill the list."""
        super().on_mount()
        table = self.query_one(DataTable)
        table.add_columns("actuator", "position", "value", "profile")
        self.kept()

    def kept(self) -> None:
        """See :meth:`StepScreen.kept`."""
        self.attempt("", self.session.positions, self._fill)

    def _fill(self, positions: list[Position]) -> None:
        table = self.query_one(DataTable)
        row = table.cursor_row
        table.clear()
        self._shown = {one.key: one for one in positions if self._wanted(one)}
        for one in self._shown.values():
            changed = "" if one.value == one.original else f"{one.original}"
            table.add_row(one.actuator, one.name, f"{one.value} {one.unit}", changed, key=one.key)
        table.move_cursor(row=row)
        table.focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Set the position of this row."""
        chosen = self._shown[str(event.row_key.value)]
        self.app.push_screen(JogScreen(chosen), lambda _: self.kept())


class JogScreen(StepScreen):
    """Moves one actuator until it is where it should be."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "keep", "Keep"),
        Binding("escape,q", "give_up", "Give up"),
        Binding("u", "step_back", "Back a step"),
        Binding("up", "by(10)", "10", key_display="↑↓"),
        Binding("right", "by(1)", "1", key_display="←→"),
        Binding("pageup", "by(50)", "50", key_display="PgUp/Dn"),
        Binding("down", "by(-10)", show=False),
        Binding("left", "by(-1)", show=False),
        Binding("pagedown", "by(-50)", show=False),
        Binding("n", "give_up", show=False),
        Binding("ctrl+z", "step_back", show=False),
    ]

    help_text = "The arrow keys move it; Enter keeps where it is, Esc goes back to where it was."

    def __init__(self, position: Position) -> None:
        super().__init__()
        self.name_of_step = f"{position.actuator} {position.name}"
        self._position = position
        self._passed = [position.value]
        self._at: int | None = None
        self._leaving: bool | None = None

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        yield Digits(str(self._position.value), id="value")
        yield Static(self._about(), id="about")

    def _about(self) -> str:
        position = self._position
        limits = "" if position.low is None else f", from {position.low} to {position.high}"
        return (
            f"{position.unit}{limits}; kept: {position.value}, the profile says {position.original}"
        )

    def on_mount(self) -> None:
        """Go there."""
        super().on_mount()
        self._follow()

    @property
    def target(self) -> int:
        """Where it should go."""
        return self._passed[-1]

    def action_by(self, distance: int) -> None:
        """Move by so much."""
        self._passed.append(self.target + distance)
        self._follow()

    def action_step_back(self) -> None:
        """Go back to where it was before the last key."""
        if len(self._passed) > 1:
            self._passed.pop()
            self._follow()

    def action_keep(self) -> None:
        """Keep where it is, as soon as it is there."""
        self._leaving = True
        self._follow()

    def action_give_up(self) -> None:
        """Go back to where it was, and leave."""
        self._passed = [self._position.value]
        self._leaving = False
        self._follow()

    def _follow(self) -> None:
        """Keys may come faster than motion: what counts is where it should go in the end."""
        self.query_one("#value", Digits).update(str(self.target))
        if self.busy:
            return
        if self._at != self.target:
            move = partial(self.session.move, self._position.actuator, self.target)
            self.attempt("moving", move, self._arrived)
        elif self._leaving is not None:
            self._leave(self._leaving)

    def _arrived(self, at: int) -> None:
        self._at = at
        self.say("")
        self._follow()

    def _leave(self, keep: bool) -> None:
        if not keep or self.target == self._position.value:
            self.dismiss(False)
            return
        kept = {self._position.key: self.target}
        self.attempt("keeping", partial(self.session.keep, kept), self._saved)

    def _saved(self, _: None) -> None:
        self.dismiss(True)

    def failed(self, reason: str) -> None:
        """Forget where it could not go, or leave if that was the way out."""
        super().failed(reason)
        gave_up = self._leaving is False
        self._leaving = None
        if gave_up:
            self.dismiss(False)
            return
        self._passed = [self._position.value if self._at is None else self._at]
        self.query_one("#value", Digits).update(str(self.target))
