"""A guide session and every dialog of calibration through its actions.

The session shows dialogs one above the other and gives the robot, which moves at once, one task at
a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest

from robot.api.client import DaemonError, RequestError
from robot.calibration.step import STEPS, Confirmation, Measurement, Result, Row, Script, steps_of
from robot.calibration.steps.positions import NOT_CONFIRMED, Placing, positions
from robot.guide.dialogs import MenuDialog, measurement_dialog, step_dialog
from robot.guide.session import Dialog, GuideSession
from robot.guide.state import Action, DialogPress, DialogState, Notice, Setting
from robot.guide.texts import GuideText
from robot.machine.confirmed_range import confirmable
from robot.settings import load_profile
from robot.text.purposes import PURPOSES
from solver.errors import CubistError
from tests.rig.guide import DialogRig, FakeCalibrationClient

KEY = "actuators.lid.positions_us.open"


class NotingDialog(Dialog):
    """A dialog that records its calls. ``work`` gives the robot a task."""

    def __init__(self, guide: GuideSession, name: str, notes: list[str]) -> None:
        super().__init__(guide, name, f"about {name}")
        self._notes = notes
        self.task: Callable[[], object] = partial(str, "done")

        for call in ("open", "refresh", "close"):
            setattr(self, call, partial(self._note, call))

    def _note(self, what: str) -> None:
        self._notes.append(f"{self.name} {what}")

    def fail(self, reason: str) -> None:
        super().fail(reason)
        self._note("fail")

    def actions(self) -> Sequence[Action]:
        return [Action("work", "Work")]

    def act(self, press: DialogPress) -> None:
        assert press.do == "work"
        self.guide.attempt("working", self.task, lambda result: self._note(str(result)))


class SessionRig(DialogRig):
    """A session whose dialogs record their calls in ``notes``."""

    def __init__(self, *names: str) -> None:
        self.notes: list[str] = []
        client = FakeCalibrationClient(**{KEY: 1340})
        super().__init__(client.session, *(self.make(name) for name in names))

    def make(self, name: str) -> partial[NotingDialog]:
        return partial(NotingDialog, name=name, notes=self.notes)

    def call(self, method: Callable[..., None], *given: object) -> DialogState:
        """Call a method of the guide in its own thread; return the state that follows."""
        self.guide.later(partial(method, *given))
        return self.settle()


def test_a_state_holds_all_messages_and_is_shown_once():
    rig = SessionRig("menu")
    state = rig.call(partial(rig.guide.say, "well", "good", "lid", count=2))
    assert (state.heading, state.guidance) == ("menu", "about menu")
    assert (state.place, state.busy) == (None, False)
    assert state.notice == Notice("well", "good", {"count": 2}, "lid")
    rig.call(lambda: None)
    assert len(rig.states) == 2


def test_a_dialog_is_left_for_the_one_below_and_the_last_ends_the_session():
    rig = SessionRig("menu")
    assert rig.call(rig.guide.open, rig.make("list")(rig.guide)).heading == "list"
    rig.call(rig.guide.say, "seen")
    assert (rig.press("back").heading, rig.notice) == ("menu", ("", ""))
    assert not rig.is_over
    rig.press("back")
    assert rig.is_over
    assert rig.notes == ["menu open", "list open", "list close", "menu refresh", "menu close"]


def test_a_series_goes_on_with_next_and_ends_after_the_last():
    rig = SessionRig("one", "two")
    assert (rig.state.place, rig.actions) == ((1, 2), ["work", "undo", "back", "next"])
    assert (rig.press("next").heading, rig.state.place) == ("two", (2, 2))
    rig.press("next")
    assert rig.is_over
    assert rig.notes == ["one open", "one close", "two open", "two close"]
    rig = SessionRig("menu")
    assert (rig.state.place, rig.actions) == (None, ["work", "undo", "back"])
    rig.call(rig.guide.go_through, [rig.make("one"), rig.make("two")])
    assert rig.press("back").heading == "menu", "it is left in its middle"
    rig.press("undo")
    assert rig.notice == (GuideText.NOTHING_TO_UNDO, "")


def test_the_robot_has_one_task_at_a_time():
    rig = SessionRig("menu")
    rig.robot.waits = True
    assert (rig.press("work").busy, rig.notice) == (True, ("working", ""))
    rig.press("work")
    assert rig.notice == (GuideText.WAIT, "bad")
    assert not rig.finish().busy
    rig.press("work")
    assert rig.notes == ["menu open", "menu done", "menu done"]


@pytest.mark.parametrize("error", [CubistError("stuck"), DaemonError("gone")])
def test_a_failed_task_is_reported_but_a_lost_daemon_ends_the_session(error):
    def fail() -> None:
        raise error

    rig = SessionRig("menu")
    dialog = rig.make("list")(rig.guide)
    dialog.task = fail
    rig.call(rig.guide.open, dialog)
    if isinstance(error, DaemonError):
        with pytest.raises(DaemonError, match="gone"):
            rig.press("work")
        return
    rig.press("work")
    assert (rig.notice, rig.state.busy) == (("stuck", "bad"), False)
    assert rig.notes[-1] == "list fail"


@pytest.mark.parametrize("at_work", [False, True])
def test_an_end_closes_all_dialogs_and_stops_the_robot(at_work):
    notes: list[str] = []
    client = FakeCalibrationClient()
    guide = GuideSession(client.session, lambda _: None, lambda *_: None)
    make = partial(NotingDialog, name="menu", notes=notes)

    def make_busy(guide: GuideSession) -> Dialog:
        dialog = make(guide)
        client.may_answer.clear()
        guide.attempt("", partial(client.may_answer.wait, 30), print)
        return dialog

    guide.end()
    guide.run([make_busy if at_work else make])
    assert (notes, guide.was_stopped) == (["menu open", "menu close"], at_work)
    assert client.stops == int(at_work)


def place(client: FakeCalibrationClient) -> DialogRig:
    """Open the dialog of the lid's position ``open``, 1335 us in the profile."""
    session = client.session
    position = next(one for one in positions(session) if one.key == KEY)
    return DialogRig(session, measurement_dialog(Placing(session, position)))


def open_step(client: FakeCalibrationClient, step: str, *cells: str) -> DialogRig:
    """Open a step, and the line of its list that begins with these cells."""
    rig = DialogRig(client.session, step_dialog(STEPS[step]))
    if cells:
        lines = [line.cells[: len(cells)] for line in rig.state.contents.lines]
        rig.press("open", row=lines.index(cells))
    return rig


def test_presses_move_the_actuator_and_keep_where_it_is():
    client = FakeCalibrationClient(**{KEY: 1335})
    rig = place(client)
    assert rig.state.contents.value == Setting("1335", "us", (900, 2100), 1335, 1335)
    rig.press("by 1", *["step_back"] * 3)
    assert rig.value == "1335", "no further back than the first place"
    rig.press("by 10", "by 10", "by -1", "by -50", "step_back")
    assert rig.value == "1354"
    rig.press("keep")
    assert client.moves == [1335, 1336, 1335, 1345, 1355, 1354, 1304, 1354]
    assert (client.values, rig.is_over) == ({KEY: 1354}, True)
    asked = len(client.asked)
    assert place(client).press("keep").heading == "lid open"
    assert all(body is None or path == "/move" for path, body in client.asked[asked:])


def test_a_servo_nobody_has_moved_begins_on_request_and_goes_in_small_steps():
    client = FakeCalibrationClient()
    rig = place(client)
    assert (rig.actions, rig.state.guidance) == (["begin", "give_up"], NOT_CONFIRMED)
    assert rig.state.parameters == {"middle": 1500}
    rig.press("by 10", "keep", "step_back")
    assert client.moves == []
    rig.press("begin")
    assert (rig.value, rig.state.guidance) == ("1500", Placing.guidance)
    rig.press("begin", "by -50", "by -50", "by -50", "by -1", "keep")
    assert client.moves == [1500, 1450, 1400, 1350, 1349]
    assert client.values == {KEY: 1349}


@pytest.mark.parametrize(
    ("values", "presses", "moves"),
    [
        ({KEY: 1335}, ["by 10", "by 50"], [1335, 1345, 1395, 1335]),
        ({}, [], []),
        ({}, ["begin"], [1500]),
    ],
)
def test_giving_up_goes_back_and_keeps_nothing(values, presses, moves):
    client = FakeCalibrationClient(**values)
    rig = place(client)
    rig.robot.waits = not values
    rig.press(*presses, "give_up")
    assert rig.is_over is (presses != ["begin"]), "it leaves after the motion"
    rig.finish()
    assert (rig.is_over, client.moves, client.values) == (True, moves, values)


def test_what_fails_may_be_tried_again_and_left():
    client = FakeCalibrationClient(**{KEY: 2090})
    rig = place(client)
    rig.press("by 50")
    assert (rig.notice, rig.value) == (("beyond its limits", "bad"), "2090")
    rig.press("step_back", "by -10")
    client.failures["/calibration"] = RequestError(409, "refused", "not now")
    rig.press("keep")
    assert (rig.notice, rig.is_over) == (("not now", "bad"), False)
    del client.failures["/calibration"]
    rig.press("by 1")
    assert not rig.is_over
    rig.press("keep")
    assert (client.moves, client.values) == ([2090, 2140, 2080, 2081], {KEY: 2081})
    rig = place(client)
    rig.press("by 10")
    client.failures["/maintenance/move"] = RequestError(409, "refused", "jammed")
    rig.press("give_up")
    assert rig.is_over, "even if the way back fails"


def test_presses_beyond_the_confirmed_range_are_dropped_during_a_motion():
    client = FakeCalibrationClient(**{KEY: 1335})
    rig = place(client)
    rig.robot.waits = True
    rig.press("by -50", "by -50", "by -10")
    assert rig.value == "1285"
    rig.press("by 50")
    assert rig.value == "1335", "the way back is always open"


class SpeedMeasurement(Measurement):
    """A measurement that asks a question and then finds 7, or a value set by eye."""

    name, columns = "speed", ("part", "steps")
    choices = MappingProxyType({"s": "Slowly"})
    value: Any = None

    def __init__(self) -> None:
        super().__init__(FakeCalibrationClient().session)
        self.heard: list[object] = []
        self.is_withdrawn = False

    def adjust(self, steps: int) -> None:
        self.value += steps

    def measure(self, choice: str = "") -> Script:
        self.script = self._measure(choice)  # nothing but close() ends it
        return self.script

    def _measure(self, choice: str) -> Script:
        self.heard.append(choice)
        try:
            yield Row(("lid", "1"), colour=(1.0, 0.0, 0.0))
            answer = yield Confirmation("does it turn?")
            yield Row(("lid", "2"))
        finally:
            self.is_withdrawn = True
        self.heard.append(answer)
        values = {"speed": 7} if answer and not choice else {}
        self.result = Result(values=values, text="seen", is_found=answer is True)


def measure(found: Measurement) -> DialogRig:
    return DialogRig(found.session, measurement_dialog(found))


def test_a_measurement_shows_its_lines_asks_and_is_kept_once():
    found = SpeedMeasurement()
    rig = measure(found)
    rig.press("keep")
    assert rig.notice == (GuideText.MEASURE_FIRST, "bad")
    rig.press("measure")
    assert (rig.state.contents.question, rig.notice[0]) == ("does it turn?", "")
    assert rig.actions == ["yes", "no", "undo", "back"]
    assert rig.state.contents.lines[0].colour == (255, 0, 0)
    rig.press("yes")
    assert (rig.state.contents.question, rig.notice) == ("", ("seen", ""))
    assert [line.cells for line in rig.state.contents.lines] == [("lid", "1"), ("lid", "2")]
    rig.press("keep")
    assert rig.notice == (GuideText.KEPT, "good")
    rig.press("keep")
    assert rig.notice[0] == GuideText.MEASURE_FIRST
    rig.press("measure")
    assert len(rig.state.contents.lines) == 1, "a new measurement begins with an empty table"


@pytest.mark.parametrize(
    ("begin", "answer", "mood"),
    [("measure", "no", "bad"), ("choose s", "yes", "good"), ("choose s", "no", "bad")],
)
def test_a_result_with_nothing_to_keep_is_good_or_bad(begin, answer, mood):
    found = SpeedMeasurement()
    rig = measure(found)
    rig.press(begin, answer)
    assert rig.notice == ("seen", mood)
    assert found.heard == ["s" if begin == "choose s" else "", answer == "yes"]


def test_leaving_a_measurement_stops_the_robot_and_withdraws_values_tried_out():
    found = SpeedMeasurement()
    rig = measure(found)
    rig.robot.waits = True
    rig.press("measure", "back")
    assert not rig.is_over
    rig.finish()
    assert rig.is_over and found.is_withdrawn
    assert found.heard == [""]


def test_a_value_is_set_by_eye_unless_the_robot_is_at_work():
    found = SpeedMeasurement()
    found.value = 100
    rig = measure(found)
    for do, value in (("by -10", "90"), ("by -1", "89"), ("by 1", "90"), ("by 10", "100")):
        rig.press(do)
        assert rig.value == value
    rig.robot.waits = True
    rig.press("measure", "by 10")
    assert rig.value == "100"


def test_home_is_refused_before_positions_are_confirmed():
    client = FakeCalibrationClient()
    rig = open_step(client, "home")
    rig.press("measure")
    assert "in the earlier steps" in rig.notice[0] and "cubist calibrate" not in rig.notice[0]
    client.values = confirmable(load_profile("cubotino"))
    rig.press("measure")
    assert [path for path, _ in client.asked if path == "/home"] == ["/home"]


def test_a_travel_that_was_seen_is_shown_and_kept():
    client = FakeCalibrationClient()
    values = {"actuators.holder.travel": [{"between": ["ccw", "home"], "ms": 340}]}
    asked = {"actuator": "holder", "between": ["ccw", "home"]}
    seen = {"planned_us": 700_000, "measured_us": 300_000, "within_us": 40_000}
    client.trials["/maintenance/travel"] = asked | seen | {"values": values}
    rig = open_step(client, "travel", "holder", "ccw", "home")
    rig.press("measure")
    assert rig.value == "340"
    rig.press("keep")
    assert client.values == values


def test_the_menu_opens_every_step_and_everything_goes_through_all():
    client = FakeCalibrationClient()
    client.values = confirmable(load_profile("cubotino"))
    rig = DialogRig(client.session, MenuDialog)
    steps = steps_of(load_profile("cubotino"))
    assert [line.cells[0] for line in rig.state.contents.lines] == [
        *(GuideText.EVERYTHING, *(step.title for step in steps))
    ]
    assert rig.actions == ["undo"]
    rig.press("open", row=0)
    seen = []
    while rig.state.heading != GuideText.CALIBRATE:
        seen.append((rig.state.place, rig.state.heading, rig.state.name))
        rig.press("next")
    count = len(steps)
    assert seen == [((n, count), step.title, step.heading) for n, step in enumerate(steps, 1)]
    home = [step.name for step in steps].index("home") + 1
    rig.press("open", row=home)
    assert (rig.state.place, rig.state.name) == (None, "Home")
    assert (rig.press("back").contents.row, rig.is_over) == (home, False)
    for row in (None, 99):
        assert rig.press("open", row=row).heading == GuideText.CALIBRATE, "no such line"


def test_the_next_position_follows_and_is_looked_for_where_the_last_one_tells():
    client = FakeCalibrationClient()
    rig = open_step(client, "positions", "holder", "home")
    rig.press("begin", "by 10", "keep")
    assert rig.state.heading == "holder cw"
    assert rig.state.contents.purpose == PURPOSES["table-quarter"]
    rig.press("begin", "go_there")
    assert (rig.value, client.moves[-1]) == ("2010", 2010), "as far from home as in the profile"
    client.asked.clear()
    rig.press("keep")
    assert (rig.state.heading, rig.state.contents.purpose) == ("lid open", PURPOSES["arm-open"])
    assert (rig.actions, rig.state.guidance) == (["begin", "give_up"], GuideText.WAITS)
    rig.press("keep", "by 10", "go_there", "give_up")
    assert all(path != "/move" for path, _ in client.asked), "nobody has asked for a motion"
    rig.press("open", row=rig.state.contents.row)
    assert client.moves == [1510], "the table is square before the lid moves"
    assert rig.state.guidance == NOT_CONFIRMED
    rig.press("give_up")
    assert rig.state.heading.startswith("Positions"), "who gives up chooses again"


def test_the_way_there_ends_when_it_is_asked_for_again():
    client = FakeCalibrationClient()
    rig = place(client)
    rig.press("begin")
    rig.robot.waits = True
    rig.press("go_there", "go_there")
    rig.finish()
    assert client.moves == [1500, 1450]
