"""Steps in which the robot measures by itself: home, colours, timing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import DataTable, Static

from robot.cli.guide.screens import StepScreen
from robot.cli.output import shown_colour
from solver.cube.facelets import FACES


class HomeScreen(StepScreen):
    """Does everything reach its start position?"""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("h,enter", "home", "Home")]

    name_of_step = "home"
    help_text = (
        "Press Enter: every motor finds its position and goes to the start. Watch whether the "
        "cube could be put in and taken out now; if not, set the positions next."
    )

    def action_home(self) -> None:
        """Home."""
        self.attempt(
            "homing",
            self.session.home,
            lambda _: self.say("everything is at its start position", "good"),
        )


class MeasureScreen(StepScreen):
    """Measures something and keeps it if wanted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "measure", "Measure"),
        Binding("enter", "keep", "Keep"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, Any] = {}

    def action_keep(self) -> None:
        """Keep what was measured."""
        if not self._values and not self.busy:
            self.say("there is nothing to keep: measure first (m)", "bad")
            return
        work = partial(self.session.keep, self._values)
        self.attempt("keeping", work, lambda _: self._kept())

    def _kept(self) -> None:
        self._values = {}
        self.say("kept", "good")


class ColoursScreen(MeasureScreen):
    """Learns the colours of the cube."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "solved", "Solved cube"),
    ]

    name_of_step = "colours"
    help_text = (
        "Put a scrambled cube in and press m: the robot looks at all faces and learns their "
        "colours. Where it cannot read the cube yet, put a solved one in and press s."
    )

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        yield Static("", id="swatches")

    def action_measure(self) -> None:
        """Measure the cube as it is read."""
        self.attempt("looking", partial(self.session.colours, None), self._show)

    def action_solved(self) -> None:
        """Measure a cube that is solved."""
        facelets = "".join(face * self.session.profile.cube.size**2 for face in FACES)
        self.attempt("looking", partial(self.session.colours, facelets), self._show)

    def _show(self, seen: dict[str, Any]) -> None:
        self._values = seen["values"]
        swatches = Text()
        for face, rgb in seen["values"]["colours"]["linear_rgb"].items():
            red, green, blue = shown_colour(rgb)
            swatches.append(f"  {face}  ", style=f"black on rgb({red},{green},{blue})")
        self.query_one("#swatches", Static).update(swatches)
        self.say("are these the cube's colours? Enter keeps them")


class TimingScreen(MeasureScreen):
    """Times every operation by the firmware's clock."""

    name_of_step = "timing"
    help_text = (
        "Press m: the robot performs every operation it knows and measures how long each takes. "
        "The planner then reckons with this robot's own times."
    )

    def contents(self) -> Iterator[Widget]:
        """See :meth:`StepScreen.contents`."""
        table: DataTable[str] = DataTable(cursor_type="none")
        table.can_focus = False
        yield table

    def on_mount(self) -> None:
        """Head the table."""
        super().on_mount()
        self.query_one(DataTable).add_columns("operation", "times", "planned", "took")

    def action_measure(self) -> None:
        """Measure."""
        self.attempt("performing every operation", self.session.timing, self._show)

    def _show(self, found: dict[str, Any]) -> None:
        table = self.query_one(DataTable)
        table.clear()
        for row in found["operations"]:
            milliseconds = (f"{row[key] / 1e3:.1f} ms" for key in ("planned_us", "measured_us"))
            table.add_row(row["operation"], str(row["count"]), *milliseconds)
        self._values = found["values"]
        if self._values:
            self.say(f"longer than planned: {', '.join(self._values)}; Enter keeps longer times")
        else:
            self.say("everything takes as long as planned", "good")
