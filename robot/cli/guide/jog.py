"""The screen on which arrow keys move an actuator to where a named position should be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Digits, Static

from robot.calibration.steps.positions import NOT_CONFIRMED, Placing
from robot.cli.guide.screens import StepScreen


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

    def __init__(self, placing: Placing) -> None:
        super().__init__(placing.name, placing.guidance)
        self._placing, self._position = placing, placing.position
        self._passed = [self._position.value]
        self._keeping: bool | None = None

    def contents(self) -> Iterator[Widget]:
        """The place as large digits, and what is known of it."""
        position = self._position
        low, high = position.limits or (None, None)
        limits = "" if low is None else f", from {low} to {high}"
        kept = f"kept: {position.value}, the profile says {position.original}"
        yield Digits(str(position.value), id="value")
        yield Static(f"{position.unit}{limits}; {kept}", id="about")

    def on_mount(self) -> None:
        """Wake it up, and go there as far as that is confirmed."""
        super().on_mount()
        self._wake(None)

    @property
    def _is_awake(self) -> bool:
        return self._placing.reach is not None

    def action_begin(self) -> None:
        """Give a servo that has no confirmed position its first pulse."""
        if not self._is_awake and not self.busy:
            self._wake(self._placing.middle)

    def _wake(self, begin_at: int | None) -> None:
        self.attempt("moving", partial(self._placing.begin, begin_at), self._begun)

    def _begun(self, is_awake: bool) -> None:
        told = self.guidance if is_awake else NOT_CONFIRMED.format(middle=self._placing.middle)
        self.query_one("#help", Static).update(told)
        self.say("")
        if is_awake and self._placing.at is not None:
            self._passed = [self._placing.at]
            self._arrived(None)

    @property
    def target(self) -> int:
        """Where it should go."""
        return self._passed[-1]

    def action_by(self, distance: int) -> None:
        """Move by so much, see :meth:`Placing.aim`."""
        target = self._placing.aim(self.target, distance, is_moving=self.busy)
        if target != self.target:
            self._passed.append(target)
            self._follow()

    def action_step_back(self) -> None:
        """Go back to where it was before the last key."""
        if len(self._passed) > 1:
            self._passed.pop()
            self._follow()

    def action_keep(self) -> None:
        """Keep where it is, as soon as it is there."""
        if self._is_awake:
            self._keeping = True
            self._follow()

    def action_give_up(self) -> None:
        """Go back to where it was, and leave."""
        self._passed = [self._passed[0]]
        self._keeping = False
        if self._is_awake or self.busy:
            self._follow()
        else:
            self.dismiss(False)

    def _follow(self) -> None:
        """Go to where it should be in the end, however many keys said so."""
        self.query_one("#value", Digits).update(str(self.target))
        if self.busy or not self._is_awake:
            return
        if self._placing.at != self.target:
            work = partial(self._placing.approach, self.target)
            self.attempt("moving", work, self._arrived)
        elif self._keeping is not None:
            self._leave(self._placing.values_at(self.target) if self._keeping else {})

    def _arrived(self, _: object) -> None:
        self.say("")
        self._follow()

    def _leave(self, values: dict[str, object]) -> None:
        if values:
            self.attempt("keeping", partial(self.session.keep, values), self._saved)
        else:
            self.dismiss(False)

    def _saved(self, _: bool) -> None:
        self.dismiss(True)

    def failed(self, reason: str) -> None:
        """Forget where it could not go, or leave if that was the way out."""
        super().failed(reason)
        gave_up = self._keeping is False
        self._keeping = None
        if gave_up:
            self.dismiss(False)
            return
        at = self._placing.at
        self._passed = [self._position.value if at is None else at]
        self.query_one("#value", Digits).update(str(self.target))
