"""How long servos really take, on the screen: by the camera, else by eye."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Digits

from robot.cli.guide.lists import ListScreen, Row
from robot.cli.guide.measures import MeasureScreen
from robot.settings import RobotProfile
from robot.settings.actuators import Servo, TravelTime

FINE_MS, COARSE_MS = 10, 100


class TravelsScreen(ListScreen):
    """The list of ways between positions whose times the profile gives."""

    name_of_step = "travel"
    help_text = (
        "Choose a way with the arrow keys and press Enter: the servo goes it as fast as it can, "
        "and the camera measures how long it takes. Keep clear."
    )
    columns: Sequence[str] = ("servo", "from", "to", "time")

    def rows(self, calibrated: RobotProfile) -> Iterator[Row]:
        """See :meth:`ListScreen.rows`."""
        for name, servo in calibrated.actuators.items():
            for number, way in enumerate(servo.travel if isinstance(servo, Servo) else ()):
                cells = (name, *way.between, f"{way.ms:g} ms")
                screen = partial(TravelScreen, calibrated, name, number)
                yield Row(f"{name} {number}", cells, screen)


class TravelScreen(MeasureScreen):
    """The time of one way."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", f"by({FINE_MS})", f"{FINE_MS} ms", key_display="↑↓"),
        Binding("down", f"by(-{FINE_MS})", show=False),
        Binding("pageup", f"by({COARSE_MS})", f"{COARSE_MS} ms", key_display="PgUp/Dn"),
        Binding("pagedown", f"by(-{COARSE_MS})", show=False),
    ]

    help_text = (
        "Press m: the servo goes this way at once, the camera watches. Where it does not see all "
        "of the motion, set the milliseconds with the arrow keys so that the robot waits long "
        "enough. Enter keeps them."
    )

    def __init__(self, profile: RobotProfile, name: str, number: int) -> None:
        super().__init__()
        servo = profile.actuators[name]
        assert isinstance(servo, Servo)
        self._servo, self._name, self._number = servo, name, number
        self.name_of_step = f"{name}: {' to '.join(self._way.between)}"
        self._ms = self._way.ms

    @property
    def _way(self) -> TravelTime:
        return self._servo.travel[self._number]

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        yield Digits(f"{self._ms:g}", id="value")

    def action_by(self, milliseconds: int) -> None:
        """Longer or shorter, by eye."""
        self._choose(max(FINE_MS, self._ms + milliseconds))

    def action_measure(self) -> None:
        """Watch it go."""
        body = {"actuator": self._name, "between": list(self._way.between)}
        self.attempt("watching", partial(self.session.trial, "travel", body), self._seen)

    def _seen(self, seen: dict[str, Any]) -> None:
        if seen["measured_us"] is None:
            self.say("the camera does not see this motion from beginning to end: use your eyes")
            return
        took, within = seen["measured_us"] / 1e3, seen["within_us"] / 1e3
        self._choose(round(took + within, 1))
        self.say(f"took {took:.0f} ms, within {within:.0f} ms: Enter keeps the longer time")

    def _choose(self, milliseconds: float) -> None:
        self._ms = milliseconds
        self.query_one("#value", Digits).update(f"{milliseconds:g}")
        rows = [row.model_dump(mode="json") for row in self._servo.travel]
        row = rows[self._number]
        if row["held_ms"] is not None:
            row["held_ms"] = round(row["held_ms"] * milliseconds / row["ms"], 1)
        row["ms"] = milliseconds
        changed = milliseconds != self._way.ms
        self._values = {f"actuators.{self._name}.travel": rows} if changed else {}
