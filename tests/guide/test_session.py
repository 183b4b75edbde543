"""A guide session shows dialogs one above the other and gives the robot one task at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from robot.api.client import DaemonError
from robot.guide.session import Dialog, GuideSession
from robot.guide.state import Action, DialogPress, DialogState
from robot.guide.texts import GuideText
from solver.errors import CubistError
from tests.rig.guide import DialogRig, FakeCalibrationClient

KEY = "actuators.lid.positions_us.open"


class NotingDialog(Dialog):
    """A dialog that records its calls. ``work`` gives the robot a task."""

    def __init__(self, guide: GuideSession, name: str, notes: list[str]) -> None:
        super().__init__(guide, name, f"about {name}")
        self._notes = notes
        self.task: partial[object] = partial(str, "done")

    def _note(self, what: str) -> None:
        self._notes.append(f"{self.name} {what}")

    def open(self) -> None:
        self._note("open")

    def refresh(self) -> None:
        self._note("refresh")

    def close(self) -> None:
        self._note("close")

    def stop_work(self) -> None:
        self._note("stop")

    def fail(self, reason: str) -> None:
        super().fail(reason)
        self._note("fail")

    def actions(self) -> Sequence[Action]:
        return [Action("work", "Work")]

    def act(self, press: DialogPress) -> None:
        if press.do == "work":
            self.guide.attempt("working", self.task, lambda result: self._note(str(result)))
        else:
            self._note(press.do)


class SessionRig(DialogRig):
    """A session whose dialogs record their calls in ``notes``."""

    def __init__(self, *names: str) -> None:
        self.notes: list[str] = []
        self.client = FakeCalibrationClient(**{KEY: 1340})
        super().__init__(self.client.session, *(self.make(name) for name in names))

    def make(self, name: str) -> partial[NotingDialog]:
        return partial(NotingDialog, name=name, notes=self.notes)

    def open(self, name: str) -> DialogState:
        dialog = self.make(name)(self.guide)
        self.guide.later(partial(self.guide.open, dialog))
        return self.settle()


def test_a_state_holds_all_messages_and_is_shown_once():
    rig = SessionRig("menu")
    rig.guide.later(partial(rig.guide.say, "well", "good", "lid", count=2))
    state = rig.settle()
    assert (state.heading, state.guidance, state.place, state.busy) == (
        *("menu", "about menu", None, False),
    )
    notice = state.notice
    assert (notice.text, notice.mood, notice.about) == ("well", "good", "lid")
    assert notice.parameters == {"count": 2}
    rig.guide.later(lambda: None)
    rig.settle()
    assert len(rig.states) == 2


def test_a_dialog_is_left_for_the_one_below_and_the_last_ends_the_session():
    rig = SessionRig("menu")
    assert rig.open("list").heading == "list"
    rig.guide.later(partial(rig.guide.say, "seen"))
    rig.settle()
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
    rig.guide.later(partial(rig.guide.go_through, [rig.make("one"), rig.make("two")]))
    rig.settle()
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
    dialog.task = partial(fail)
    rig.guide.later(partial(rig.guide.open, dialog))
    rig.settle()
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
