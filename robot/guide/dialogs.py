"""The dialogs of a calibration: menu, list, placing an actuator, measurement."""

from __future__ import annotations

import math
import time
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
from robot.calibration.steps.positions import CONFIRMED, NOT_CONFIRMED, Placing, day_text
from robot.guide.camera import CameraDialog, PictureFeed
from robot.guide.session import Dialog, GuideSession, MakeDialog
from robot.guide.state import UNDO, Action, Contents, DialogLine, DialogPress, Mood, Setting
from robot.guide.texts import GuideText
from robot.text.purposes import PURPOSES
from solver.files import JsonObject
from vision.measure.sticker_colours import linear_to_srgb

JOG_KEYS: Final = {
    -50: "PageDown",
    -10: "ArrowDown",
    -1: "ArrowLeft",
    1: "ArrowRight",
    10: "ArrowUp",
    50: "PageUp",
}
ADJUSTMENT_KEYS: Final = {-10: "PageDown", -1: "ArrowDown", 1: "ArrowUp", 10: "PageUp"}


def clock_text(seconds: float) -> str:
    """Return minutes and seconds: ``1:05``."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _step_actions(keys: dict[int, str]) -> list[Action]:
    """Return an action ``by N`` for each distance N."""
    return [Action(f"by {step}", f"{step:+d}", key) for step, key in keys.items()]


class MenuDialog(Dialog):
    """The list of all steps of this robot. The first line starts every step in turn."""

    can_be_left = False

    def __init__(self, guide: GuideSession) -> None:
        super().__init__(guide, GuideText.CALIBRATE, GuideText.MENU)
        self._steps = steps_of(guide.session.profile)
        self._lines: list[DialogLine] = []
        self._row = 0

    def open(self) -> None:
        """Read which steps are done."""
        self.refresh()

    def refresh(self) -> None:
        """See :meth:`Dialog.refresh`. No other request to the robot runs meanwhile."""
        session = self.guide.session
        profile, found = session.profile, session.calibration
        left = [step for step in self._steps if not step.is_done(profile, found)]
        minutes = sum(step.minutes(profile, found) for step in left)
        self.parameters = {"steps": len(left), "minutes": math.ceil(minutes)}
        self._lines = [DialogLine((GuideText.EVERYTHING, "", ""), opens=True)]
        for step in self._steps:
            source = step.last_source(profile, found)
            marks = (GuideText.TO_DO if step in left else "", "")
            if source is not None:
                marks = CONFIRMED[source.how], day_text(source.at)
            self._lines.append(DialogLine((step.title, *marks), opens=True))

    def contents(self) -> Contents:
        """Return the steps as lines, with who completed them and since when."""
        return Contents(lines=tuple(self._lines), row=self._row)

    def actions(self) -> Sequence[Action]:
        """Return Undo. The session ends without an action of this dialog."""
        return [UNDO]

    def act(self, press: DialogPress) -> None:
        """Open the step that was chosen, or undo."""
        row = press.row
        if press.do == UNDO.do:
            self.guide.undo()
        elif press.do == "open" and row is not None and row <= len(self._steps):
            self._row = row
            chosen = self._steps if row == 0 else [self._steps[row - 1]]
            self.guide.go_through([step_dialog(step) for step in chosen])


class ListDialog(Dialog):
    """A step's list of things to calibrate, read again whenever kept values change."""

    def __init__(self, guide: GuideSession, step: Step, items: Items) -> None:
        super().__init__(guide, step.title, step.guidance)
        self.name = step.heading
        self._columns, self._list = step.columns, items
        self._items: list[Item] = []
        self._row = 0
        self._opened: int | None = None
        self._last: Item | None = None

    def open(self) -> None:
        """Fill the list."""
        self.refresh()

    def refresh(self) -> None:
        """See :meth:`Dialog.refresh`."""
        self.guide.attempt("", lambda: list(self._list(self.guide.session)), self._fill)

    def _fill(self, items: list[Item]) -> None:
        begins, before, opened = not self._items, self._items, self._opened
        self._items, self._opened = items, None
        left = [number for number, item in enumerate(items) if item.is_done is False]
        if not items:
            self.guide.say(GuideText.NONE)
        elif begins and left:
            self._row = left[0]
        elif opened is not None and before[opened].is_done is False and opened not in left:
            self._go_on(opened, left)

    def _go_on(self, opened: int, left: Sequence[int]) -> None:
        """Open the next item to do, after one was kept for the first time."""
        if left:
            row = next((number for number in left if number > opened), left[0])
            self._begin(row, waits=True)
        else:
            self.guide.say(GuideText.ALL_KEPT, "good")

    def _begin(self, row: int, *, waits: bool = False) -> None:
        """Open an item. If it ``waits``, nothing moves until the person begins."""
        item = self._items[row]

        def leave_last() -> None:
            last = self._last
            if last is not None and last.cells[0] != item.cells[0] and last.leave is not None:
                last.leave()
            self._last = item

        def show(measurement: Measurement) -> None:
            make = measurement_dialog(measurement, leave_last, waits=waits)
            self.guide.open(make(self.guide))

        if self.guide.attempt("", item.begin, show):
            self._row = self._opened = row

    def contents(self) -> Contents:
        """Return the list."""
        lines = [DialogLine(item.cells, opens=True) for item in self._items]
        return Contents(columns=self._columns, lines=lines, row=self._row)

    def act(self, press: DialogPress) -> None:
        """Open the measurement of a line."""
        row = press.row
        if press.do == "open" and row is not None and row < len(self._items):
            self._begin(row)


class PlacingDialog(Dialog):
    """The dialog that moves one actuator until it is where a named position should be.

    ``leave_last`` moves parts out of its way. If it ``waits``, nothing moves until the person
    begins: nobody has asked for a motion yet, and hands may be in the robot.
    """

    can_be_left = False

    def __init__(
        self,
        guide: GuideSession,
        placing: Placing,
        leave_last: Callable[[], None] = lambda: None,
        *,
        waits: bool = False,
    ) -> None:
        super().__init__(guide, placing.name, GuideText.WAITS if waits else placing.guidance)
        self._placing, self._position = placing, placing.position
        self._leave_last, self._waits = leave_last, waits
        self._first = placing.position.value
        self._path = [self._first]
        self._keeping: bool | None = None
        self._goes_there = False
        camera = next((one.name for one in guide.session.profile.cameras), None)
        self._pictures = None if camera is None else PictureFeed(guide, camera)

    def open(self) -> None:
        """Switch the actuator on and go there within the confirmed range, unless it waits."""
        if not self._waits:
            self._wake(None)
        if self._pictures is not None and self.guide.wants_pictures:
            self._pictures.look_soon(0)

    def close(self) -> None:
        """Take no more pictures."""
        if self._pictures is not None:
            self._pictures.close()

    @property
    def _is_awake(self) -> bool:
        return self._placing.reach is not None

    @property
    def _target(self) -> int:
        return self._path[-1]

    def contents(self) -> Contents:
        """Return the actuator's target and limits."""
        position = self._position
        value = Setting(
            text=str(self._target),
            unit=position.unit,
            limits=position.limits,
            kept=position.value if position.is_confirmed else None,
            original=position.original,
        )
        return Contents(value=value, purpose=PURPOSES.get(position.purpose))

    def actions(self) -> Sequence[Action]:
        """Return the motions, once the actuator is on."""
        give_up = [Action("give_up", GuideText.GIVE_UP, "Escape")]
        give_up += [Action("give_up", "", key, by_key=True) for key in "nq"]
        if not self._is_awake:
            return [Action("begin", GuideText.BEGIN, "b", moves=True), *give_up]
        return [
            *_step_actions(JOG_KEYS),
            Action("go_there", GuideText.GO_THERE, "g", moves=True, short="Go"),
            Action("step_back", GuideText.STEP_BACK, "u"),
            Action("step_back", "", "Control+z", by_key=True),
            Action("keep", GuideText.KEEP, "Enter"),
            *give_up,
        ]

    def act(self, press: DialogPress) -> None:
        """Move, keep the present place, or give up."""
        steps = {f"by {step}": step for step in JOG_KEYS}
        if self._goes_there:
            self._goes_there = False
            self.guide.say("")
            if press.do == "go_there":
                return
        if press.do == "give_up":
            self._give_up()
        elif not self._is_awake:
            if press.do == "begin":
                self._wake(None if self._waits else self._placing.middle)
        elif press.do in steps:
            self._move_by(steps[press.do])
        elif press.do == "go_there":
            self._goes_there = True
            self._go_there()
        elif press.do == "step_back" and len(self._path) > 1:
            self._path.pop()
            self._follow()
        elif press.do == "keep":
            self._keeping = True
            self._follow()

    def _move_by(self, distance: int) -> None:
        target = self._placing.aim(self._target, distance, is_moving=self.guide.busy)
        if target != self._target:
            self._path.append(target)
            self._follow()

    def _go_there(self) -> None:
        """Take one step towards the probable position."""
        at, goal = self._placing.at, self._placing.goal
        if self.guide.busy or at is None:
            return
        if at == goal:
            self._goes_there = False
            self.guide.say("")
        else:
            self._path.append(self._placing.aim(at, goal - at, is_moving=False))
            self._follow()
            self.guide.say(GuideText.GOING, place=goal)

    def _give_up(self) -> None:
        """Go back to where the actuator was, and leave."""
        self._path, self._keeping = [self._first], False
        if self._is_awake or self.guide.busy:
            self._follow()
        else:
            self.guide.back()

    def _wake(self, begin_at: int | None) -> None:
        def begin() -> bool:
            self._leave_last()
            return self._placing.begin(begin_at)

        self.guide.attempt(GuideText.AT_WORK, begin, self._begin)

    def _begin(self, is_awake: bool) -> None:
        self.guide.say("")
        self._waits = False
        self.guidance = self._placing.guidance if is_awake else NOT_CONFIRMED
        self.parameters = {"middle": self._placing.middle}
        if self._placing.at is not None:
            self._first = self._placing.at
            self._path = [self._first]
        if self._keeping is False:
            self._give_up()

    def _follow(self) -> None:
        """Go to the latest target, skipping earlier ones, then keep or leave."""
        if self.guide.busy:
            return
        if self._placing.at != self._target:
            work = partial(self._placing.approach, self._target)
            self.guide.attempt(GuideText.AT_WORK, work, self._arrive)
        elif self._keeping is not None:
            self._leave(self._placing.values_at(self._target) if self._keeping else {})

    def _arrive(self, _: object) -> None:
        self.guide.say("")
        if self._goes_there:
            self._go_there()
        else:
            self._follow()

    def _leave(self, values: JsonObject) -> None:
        if values:
            keep = partial(self.guide.session.keep, values)
            self.guide.attempt("", keep, lambda _: self.guide.back())
        else:
            self.guide.back()

    def fail(self, reason: str) -> None:
        """Discard a target that could not be reached. Leave if the person gave up."""
        super().fail(reason)
        self._goes_there = False
        gave_up, self._keeping = self._keeping is False, None
        if gave_up:
            self.guide.back()
        else:
            at = self._placing.at
            self._path = [self._position.value if at is None else at]


class MeasurementDialog(Dialog):
    """A measurement by the robot, or a value set by eye. The person decides whether to keep it."""

    def __init__(self, guide: GuideSession, measurement: Measurement, heading: str = "") -> None:
        super().__init__(guide, heading or measurement.name, measurement.guidance)
        self._measurement = measurement
        self._script: Script | None = None
        self._began_s = 0.0
        self._lines: list[DialogLine] = []
        self._question = ""

    def contents(self) -> Contents:
        """Return the value that can be set by eye, the results, and the open question."""
        value = self._measurement.value
        return Contents(
            columns=self._measurement.columns,
            lines=tuple(self._lines),
            value=None if value is None else Setting(f"{value:g}"),
            question=self._question,
            purpose=None if self._lines else PURPOSES.get(self._measurement.purpose),
        )

    def actions(self) -> Sequence[Action]:
        """Return the measurement's actions, or only the answers while it asks a question."""
        found = self._measurement
        if self._question:
            yes = Action("yes", GuideText.YES, "y", moves=True)
            return [yes, Action("no", GuideText.NO, "x", moves=True)]
        if found.keeps:
            shown = [Action("measure", GuideText.MEASURE, "m", moves=True)]
        else:
            shown = [
                Action("measure", GuideText.GO, "Enter", moves=True),
                Action("measure", "", "m", moves=True, by_key=True),
            ]
        for key, label in found.choices.items():
            shown.append(Action(f"choose {key}", label, key, moves=True))
        if found.value is not None:
            shown += _step_actions(ADJUSTMENT_KEYS)
        return [*shown, Action("keep", GuideText.KEEP, "Enter")] if found.keeps else shown

    def act(self, press: DialogPress) -> None:
        """Measure, answer, set by eye, or keep."""
        acts: dict[str, Callable[[], None]] = {
            "measure": partial(self._measure, ""),
            "yes": partial(self._answer, True),
            "no": partial(self._answer, False),
            "keep": self._keep,
        }
        acts |= {f"choose {key}": partial(self._measure, key) for key in self._measurement.choices}
        acts |= {f"by {n}": partial(self._adjust, n) for n in ADJUSTMENT_KEYS}
        if press.do in acts:
            acts[press.do]()

    def tick(self) -> None:
        """Show how long the robot has been at work."""
        if self._script is not None:
            time_text = clock_text(time.monotonic() - self._began_s)
            self.guide.say(GuideText.AT_WORK_FOR, time=time_text)

    def stop_work(self) -> None:
        """Stop at the end of the turn in progress."""
        if self._script is not None:
            self.guide.session.stop_beside()

    def close(self) -> None:
        """End the script, which withdraws its provisional values."""
        if self._script is not None and not self.guide.busy:
            self._script.close()

    def _measure(self, choice: str) -> None:
        if not self.guide.busy:
            self._lines, self._question = [], ""
            self._began_s = time.monotonic()
            self._script = self._measurement.measure(choice)
        self._go_on(None)

    def _answer(self, answer: bool) -> None:
        if self._question:
            self._question = ""
            self._go_on(answer)

    def _go_on(self, answer: bool | None) -> None:
        if self._script is not None:
            work = partial(next_of, self._script, answer)
            self.guide.attempt(GuideText.AT_WORK, work, self._show_message)

    def _show_message(self, message: Row | Confirmation | None) -> None:
        if isinstance(message, Confirmation):
            self._question = message.question
            self.guide.say("")
        elif message is not None:
            self._add(message)
            self._go_on(None)
        else:
            self._script = None
            found = self._measurement
            mood: Mood = "" if found.values else "good" if found.is_found else "bad"
            self.guide.say(found.text, mood)

    def _add(self, row: Row) -> None:
        colour = None
        if row.colour is not None:
            red, green, blue = linear_to_srgb(row.colour).tolist()
            colour = (red, green, blue)
        self._lines.append(DialogLine(row.cells, colour))

    def fail(self, reason: str) -> None:
        """See :meth:`Dialog.fail`."""
        self._script = None
        super().fail(reason)

    def _adjust(self, steps: int) -> None:
        if not self.guide.busy:
            self._measurement.adjust(steps)

    def _keep(self) -> None:
        if self._measurement.values:
            self.guide.attempt("", self._measurement.keep, self._confirm_kept)
        elif not self.guide.busy:
            self.guide.say(GuideText.MEASURE_FIRST, "bad")

    def _confirm_kept(self, _: bool) -> None:
        self._measurement.forget_values()
        self.guide.say(GuideText.KEPT, "good")


def step_dialog(step: Step, items: Items | None = None) -> MakeDialog:
    """Return the maker of a step's dialog; ``items`` replace those of its list."""
    if step is STEPS["camera"]:
        return partial(CameraDialog, step=step)
    listed = items or step.items
    if listed is not None:
        return partial(ListDialog, step=step, items=listed)

    def make(guide: GuideSession) -> Dialog:
        assert step.begin is not None
        dialog = MeasurementDialog(guide, step.begin(guide.session), step.title)
        dialog.name = step.heading
        return dialog

    return make


def measurement_dialog(
    measurement: Measurement, leave_last: Callable[[], None] = lambda: None, *, waits: bool = False
) -> MakeDialog:
    """Return the maker of one measurement's dialog; for the rest see :class:`PlacingDialog`."""
    if isinstance(measurement, Placing):
        return partial(PlacingDialog, placing=measurement, leave_last=leave_last, waits=waits)
    return partial(MeasurementDialog, measurement=measurement)
