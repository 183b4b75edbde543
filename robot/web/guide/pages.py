"""The pages of the guide: menu, list, the placing of an actuator, and a measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from robot.calibration.step import (
    STEPS,
    Confirmation,
    Item,
    Items,
    Measurement,
    Row,
    Script,
    Step,
    next_of,
    steps_of,
)
from robot.calibration.steps.positions import NOT_CONFIRMED, Placing
from robot.web.guide.camera import CameraPage
from robot.web.guide.desk import AT_WORK, KEPT, Desk, GuideButton, GuidePage
from solver.files import JsonMapping, JsonObject
from vision.measure.sticker_colours import linear_to_srgb

EVERYTHING: Final = "Everything, step by step: for a new robot"
HEADING: Final = "Calibrate"
MENU: Final = (
    "The robot is in maintenance: its button stops what moves. Everything can be tried before it "
    "is kept, and undone after."
)
NONE: Final = "this robot has none"
MEASURE_FIRST: Final = "there is nothing to keep: measure first"
JOGS: Final = (-50, -10, -1, 1, 10, 50)
JOG_KEYS: Final = {-50: "PageDown", -10: "ArrowDown", -1: "ArrowLeft", 1: "ArrowRight"} | {
    10: "ArrowUp",
    50: "PageUp",
}
FAR: Final = 10
"""Steps by which a value that is set by eye changes at once."""


class StepsPage(GuidePage):
    """All steps of this robot."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, HEADING, MENU)
        self._steps = steps_of(desk.session.profile)

    def contents(self) -> JsonObject:
        """The steps as rows."""
        titles = [EVERYTHING, *(step.title for step in self._steps)]
        return {"rows": [{"cells": [title], "opens": True} for title in titles]}

    def press(self, do: str, message: JsonMapping) -> None:
        """Open what was chosen."""
        row = _row_of(do, message, len(self._steps) + 1)
        if row is not None:
            chosen = self._steps if row == 0 else [self._steps[row - 1]]
            self.desk.go_through([partial(page_of, self.desk, step) for step in chosen])


class ListPage(GuidePage):
    """A step's list of what can be calibrated, made anew whenever what is kept changes."""

    def __init__(self, desk: Desk, step: Step, items: Items) -> None:
        super().__init__(desk, step.title, step.guidance)
        self._columns, self._list = step.columns, items
        self._items: list[Item] | None = None

    def opened(self) -> None:
        """Fill the list."""
        self.kept()

    def kept(self) -> None:
        """See :meth:`GuidePage.kept`."""
        self.desk.attempt("", lambda: list(self._list(self.desk.session)), self._fill)

    def _fill(self, items: list[Item]) -> None:
        self._items = items
        if not items:
            self.desk.say(NONE)

    def contents(self) -> JsonObject:
        """The list."""
        rows = [{"cells": list(item.cells), "opens": True} for item in self._items or ()]
        return {"columns": list(self._columns), "rows": rows}

    def press(self, do: str, message: JsonMapping) -> None:
        """Open the page of this line."""
        items = self._items or []
        row = _row_of(do, message, len(items))
        if row is not None:
            self.desk.attempt("", items[row].begin, self._open)

    def _open(self, measurement: Measurement) -> None:
        self.desk.open(page_for(self.desk, measurement))


class PlacingPage(GuidePage):
    """Moves one actuator until it is where it should be."""

    can_be_left = False

    def __init__(self, desk: Desk, placing: Placing) -> None:
        super().__init__(desk, placing.name, placing.guidance)
        self._placing, self._position = placing, placing.position
        self._target = self._first = placing.position.value
        self._keeping: bool | None = None

    def opened(self) -> None:
        """Wake it up, and go there as far as that is confirmed."""
        self._wake(None)

    @property
    def _is_awake(self) -> bool:
        return self._placing.reach is not None

    def contents(self) -> JsonObject:
        """Where it should be, and what is known of it."""
        position = self._position
        return {
            "value": str(self._target),
            "unit": position.unit,
            "limits": position.limits,
            "kept": position.value,
            "original": position.original,
        }

    def buttons(self) -> Sequence[GuideButton]:
        """What moves it, once it is awake."""
        give_up = GuideButton("give_up", "Give up", key="Escape")
        if not self._is_awake:
            return [GuideButton("begin", "Begin", moves=True), give_up]
        steps = [GuideButton(f"by {step}", f"{step:+d}", key=JOG_KEYS[step]) for step in JOGS]
        return [*steps, GuideButton("keep", "Keep"), give_up]

    def press(self, do: str, message: JsonMapping) -> None:
        """Move it, keep where it is, or give up."""
        del message
        steps = {f"by {step}": step for step in JOGS}
        if do == "begin" and not self._is_awake:
            self._wake(self._placing.middle)
        elif do in steps and self._is_awake:
            busy = self.desk.busy
            self._target = self._placing.aim(self._target, steps[do], is_moving=busy)
            self._follow()
        elif do == "keep" and self._is_awake:
            self._keeping = True
            self._follow()
        elif do == "give_up":
            self._give_up()

    def _give_up(self) -> None:
        """Go back to where it was, and leave."""
        self._target, self._keeping = self._first, False
        if self._is_awake or self.desk.busy:
            self._follow()
        else:
            self.desk.back()

    def _wake(self, begin_at: int | None) -> None:
        self.desk.attempt(AT_WORK, partial(self._placing.begin, begin_at), self._begun)

    def _begun(self, is_awake: bool) -> None:
        self.desk.say("")
        self.guidance = self._placing.guidance if is_awake else NOT_CONFIRMED
        self.parameters = {"middle": self._placing.middle}
        if self._keeping is False:
            self._give_up()
        elif self._placing.at is not None:
            self._target = self._first = self._placing.at

    def _follow(self) -> None:
        """Go to where it should be in the end, however many buttons said so."""
        if self.desk.busy:
            return
        if self._placing.at != self._target:
            work = partial(self._placing.approach, self._target)
            self.desk.attempt(AT_WORK, work, self._arrived)
        elif self._keeping is not None:
            self._leave(self._placing.values_at(self._target) if self._keeping else {})

    def _arrived(self, _: object) -> None:
        self.desk.say("")
        self._follow()

    def _leave(self, values: JsonObject) -> None:
        if values:
            self.desk.attempt("", partial(self.desk.session.keep, values), self._saved)
        else:
            self.desk.back()

    def _saved(self, _: bool) -> None:
        self.desk.back()

    def failed(self, reason: str) -> None:
        """Forget where it could not go, or leave if that was the way out."""
        super().failed(reason)
        gave_up, self._keeping = self._keeping is False, None
        if gave_up:
            self.desk.back()
        elif self._placing.at is not None:
            self._target = self._placing.at


class MeasurePage(GuidePage):
    """A measurement: made by the robot, or set by eye where that can be, and kept if wanted."""

    def __init__(self, desk: Desk, measurement: Measurement, heading: str = "") -> None:
        super().__init__(desk, heading or measurement.name, measurement.guidance)
        self._measurement = measurement
        self._script: Script | None = None
        self._rows: list[JsonObject] = []
        self._question = ""

    def contents(self) -> JsonObject:
        """The value that can be set by eye, the table of what is found, what is asked."""
        found = self._measurement
        shown: JsonObject = {"columns": list(found.columns), "rows": self._rows}
        if found.value is not None:
            shown["value"] = f"{found.value:g}"
        return shown | {"question": self._question}

    def buttons(self) -> Sequence[GuideButton]:
        """As the measurement has them; while it asks something only the answers."""
        found = self._measurement
        if self._question:
            return [GuideButton("yes", "Yes", moves=True), GuideButton("no", "No", moves=True)]
        if found.keeps:
            shown = [GuideButton("measure", "Measure", moves=True)]
        else:
            shown = [GuideButton("measure", "Go", moves=True)]
        choices = found.choices.items()
        shown += [GuideButton(f"choose {key}", label, moves=True) for key, label in choices]
        if found.value is not None:
            steps = {-FAR: "PageDown", -1: "ArrowDown", 1: "ArrowUp", FAR: "PageUp"}
            shown += [GuideButton(f"by {n}", f"{n:+d}", key=key) for n, key in steps.items()]
        return [*shown, GuideButton("keep", "Keep")] if found.keeps else shown

    def press(self, do: str, message: JsonMapping) -> None:
        """Measure, answer, set by eye, or keep."""
        del message
        acts: dict[str, Callable[[], None]] = {
            "measure": partial(self._measure, ""),
            "yes": partial(self._answer, True),
            "no": partial(self._answer, False),
            "keep": self._keep,
        }
        acts |= {f"choose {key}": partial(self._measure, key) for key in self._measurement.choices}
        acts |= {f"by {n}": partial(self._adjust, n) for n in (-FAR, -1, 1, FAR)}
        if do in acts:
            acts[do]()

    def break_off(self) -> None:
        """Stop what is measured at the end of the turn in progress."""
        if self._script is not None:
            self.desk.session.stop_beside()

    def left(self) -> None:
        """Break it off: it withdraws what it only tried out."""
        if self._script is not None:
            self._script.close()

    def _measure(self, choice: str) -> None:
        if not self.desk.busy:
            self._rows = []
            self._script = self._measurement.measure(choice)
        self._go_on(None)

    def _answer(self, answer: bool) -> None:
        if self._question:
            self._question = ""
            self._go_on(answer)

    def _go_on(self, answer: bool | None) -> None:
        if self._script is not None:
            self.desk.attempt(AT_WORK, partial(next_of, self._script, answer), self._heard)

    def _heard(self, message: Row | Confirmation | None) -> None:
        if isinstance(message, Confirmation):
            self._question = message.question
            self.desk.say("")
        elif message is not None:
            self._add(message)
            self._go_on(None)
        else:
            self._script = None
            found = self._measurement
            mood = "" if found.values else "good" if found.is_found else "bad"
            self.desk.say(found.text, mood)

    def _add(self, row: Row) -> None:
        shown: JsonObject = {"cells": list(row.cells)}
        if row.colour is not None:
            shown["colour"] = linear_to_srgb(row.colour).tolist()
        self._rows = [*self._rows, shown]

    def failed(self, reason: str) -> None:
        """See :meth:`GuidePage.failed`."""
        self._script = None
        super().failed(reason)

    def _adjust(self, steps: int) -> None:
        if not self.desk.busy:
            self._measurement.adjust(steps)

    def _keep(self) -> None:
        if self._measurement.values:
            work = self._measurement.keep
            self.desk.attempt("", work, self._saved)
        elif not self.desk.busy:
            self.desk.say(MEASURE_FIRST, "bad")

    def _saved(self, _: bool) -> None:
        self._measurement.forget_values()
        self.desk.say(KEPT, "good")


def page_of(desk: Desk, step: Step) -> GuidePage:
    """The page of a step."""
    if step is STEPS["camera"]:
        return CameraPage(desk, step.title, step.guidance)
    if step.items is not None:
        return ListPage(desk, step, step.items)
    assert step.begin is not None
    return MeasurePage(desk, step.begin(desk.session), step.title)


def page_for(desk: Desk, measurement: Measurement) -> GuidePage:
    """The page of one measurement."""
    if isinstance(measurement, Placing):
        return PlacingPage(desk, measurement)
    return MeasurePage(desk, measurement)


def _row_of(do: str, message: JsonMapping, count: int) -> int | None:
    """The line, of so many, that was to be opened."""
    row = message.get("row")
    return row if do == "open" and isinstance(row, int) and 0 <= row < count else None
