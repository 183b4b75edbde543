"""Named positions of servos, steppers and grippers: chosen from a list, set with the arrow keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import DataTable, Digits, Static

from robot.cli.guide.screens import StepScreen
from robot.cli.guide.session import Position
from robot.client import RequestRefused
from robot.machine.first_contact import largest_step

Wanted = Callable[[Position], bool]


class PositionsScreen(StepScreen):
    """The list of positions."""

    name_of_step = "positions"
    help_text = (
        "Take the cube out. Choose a position with the arrow keys and press Enter; then move "
        "there in small steps and keep it. What nobody has kept yet, the robot does not go to."
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
            changed = changed if one.confirmed else "not confirmed"
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
        Binding("b", "begin", "Begin"),
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
    first_pulse = (
        "Nobody knows where this servo stands: its first pulse turns it to {middle} us at full "
        "speed. Take its arm off, or see that nothing is in its way; then press b."
    )

    def __init__(self, position: Position) -> None:
        super().__init__()
        self.name_of_step = f"{position.actuator} {position.name}"
        self._position = position
        self._passed = [position.value]
        self._at: int | None = None
        self._reach: tuple[int, int] | None = None
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
        """Wake it up, and go there as far as that is confirmed."""
        super().on_mount()
        self._wake(None)

    def action_begin(self) -> None:
        """Give a servo that has no confirmed position its first pulse."""
        if self._reach is None and not self.busy:
            self._wake(self._middle)

    @property
    def _middle(self) -> int:
        return ((self._position.low or 0) + (self._position.high or 0)) // 2

    def _wake(self, begin_at: int | None) -> None:
        position = self._position
        first = position.value if begin_at is None else begin_at
        move = partial(self._woken, first, begin_at)
        self.attempt("moving", move, self._begun)

    def _woken(self, first: int, begin_at: int | None) -> dict[str, Any] | None:
        """As near to ``first`` as is confirmed; None where the first pulse has to be asked for."""
        actuator, servo = self._position.actuator, self._position.unit == "us"
        try:
            moved = self.session.move(actuator, None, begin_at)
        except RequestRefused:
            if servo and begin_at is None:
                return None
            raise
        return self.session.move(actuator, max(moved["low"], min(moved["high"], first)))

    def _begun(self, moved: dict[str, Any] | None) -> None:
        if moved is None:
            self.query_one("#help", Static).update(self.first_pulse.format(middle=self._middle))
            return
        self.query_one("#help", Static).update(self.help_text)
        self._passed = [moved["position"]]
        self._arrived(moved)

    @property
    def target(self) -> int:
        """Where it should go."""
        return self._passed[-1]

    def action_by(self, distance: int) -> None:
        """Move by so much."""
        if self._reach is None and not self.busy:
            return
        self._passed.append(self.target + distance)
        self._follow()

    def action_step_back(self) -> None:
        """Go back to where it was before the last key."""
        if len(self._passed) > 1:
            self._passed.pop()
            self._follow()

    def action_keep(self) -> None:
        """Keep where it is, as soon as it is there."""
        if self._reach is None:
            return
        self._leaving = True
        self._follow()

    def action_give_up(self) -> None:
        """Go back to where it was, and leave."""
        self._passed = [self._passed[0]]
        self._leaving = False
        if self._reach is None and not self.busy:
            self.dismiss(False)
        else:
            self._follow()

    def _follow(self) -> None:
        """Keys may come faster than motion: what counts is where it should go in the end."""
        self.query_one("#value", Digits).update(str(self.target))
        if self.busy or self._reach is None:
            return
        if self._at != self.target:
            low, high = (
                edge + sign * self._step for edge, sign in zip(self._reach, (-1, 1), strict=True)
            )
            near = max(low, min(high, self.target))
            move = partial(self.session.move, self._position.actuator, near)
            self.attempt("moving", move, self._arrived)
        elif self._leaving is not None:
            self._leave(self._leaving)

    @property
    def _step(self) -> int:
        """How far it may go at a time beyond what is confirmed."""
        return largest_step(self.session.profile.actuators[self._position.actuator]) or 0

    def _arrived(self, moved: dict[str, Any]) -> None:
        self._at = moved["position"]
        self._reach = (moved["low"], moved["high"])
        self.say("")
        self._follow()

    def _leave(self, keep: bool) -> None:
        if not keep or (self.target == self._position.value and self._position.confirmed):
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
