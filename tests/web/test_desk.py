"""The guide's desk: the page that is open, what is pressed, one thing at a time with the robot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from robot.api.client import DaemonError
from robot.settings import load_profile
from robot.web.guide.desk import (
    LEAVING,
    NOTHING_TO_UNDO,
    UNDONE,
    WAIT,
    Desk,
    GuideButton,
    GuidePage,
)
from robot.web.guide.main import guide
from solver.errors import CubistError

USUAL = [
    {"do": "undo", "label": "Undo", "moves": False, "key": ""},
    {"do": "back", "label": "Back", "moves": False, "key": "Escape"},
]
NEXT = {"do": "next", "label": "Next", "moves": False, "key": ""}


class Keeper:
    """A session that has kept some values."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)

    def undo(self) -> list[str]:
        return self.keys


class Noting(GuidePage):
    """Notes what becomes of it."""

    def __init__(self, desk: Desk, heading: str, notes: list[str]) -> None:
        super().__init__(desk, heading, f"about {heading}")
        self.note: Callable[[str], None] = lambda what: notes.append(f"{heading} {what}")

    def opened(self) -> None:
        self.note("opened")

    def kept(self) -> None:
        self.note("kept")

    def left(self) -> None:
        self.note("left")

    def failed(self, reason: str) -> None:
        super().failed(reason)
        self.note("failed")

    def press(self, do: str, message: Any) -> None:
        self.note(do)


class Stage:
    """A desk with its menu open; ``told`` is all that it showed, ``notes`` what its pages heard."""

    def __init__(self, *kept: str) -> None:
        self.told: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.desk = Desk(Keeper(*kept), self.told.append)  # type: ignore[arg-type]
        self.desk.open(self.page("menu"))
        self.desk._show()

    def page(self, heading: str) -> Noting:
        return Noting(self.desk, heading, self.notes)

    def does(self, *events: Callable[[], None]) -> dict[str, Any]:
        """What is shown once these events are over, and what they had the robot do."""
        for event in events:
            self.desk.later(event)
        while self.desk.busy or not self.desk._events.empty():
            happened = self.desk._events.get(timeout=30)
            assert happened is not None
            happened()
            self.desk._show()
        return self.told[-1]

    def press(self, do: object, page: int = 0) -> dict[str, Any]:
        self.desk.hear({"do": do, "page": page or self.told[-1]["page"]})
        return self.does()

    def opens(self, heading: str) -> dict[str, Any]:
        return self.does(partial(self.desk.open, self.page(heading)))

    def goes_through(self, *headings: str) -> dict[str, Any]:
        series = [partial(self.page, heading) for heading in headings]
        return self.does(partial(self.desk.go_through, series))


def test_a_page_is_shown_with_its_number_and_all_that_is_said() -> None:
    here = Stage()
    here.desk.say("well", "good", "lid")
    here.desk._show()
    assert here.told[-1] == {
        "page": 1,
        "heading": "menu",
        "guidance": "about menu",
        "parameters": {},
        "place": None,
        "message": "well",
        "mood": "good",
        "about": "lid",
        "busy": False,
        "buttons": [],
    }
    here.desk._show()
    assert len(here.told) == 2, "what has not changed is not told again"


def test_a_page_is_left_for_the_one_below_but_never_the_first() -> None:
    here = Stage()
    assert here.press("back")["heading"] == "menu"
    assert here.opens("list")["buttons"] == USUAL
    here.desk.say("seen")
    shown = here.press("back")
    assert (shown["heading"], shown["page"], shown["message"]) == ("menu", 3, "")
    assert shown["buttons"] == []
    assert here.notes == ["menu opened", "list opened", "list left", "menu kept"]


def test_what_was_pressed_on_a_page_that_was_left_meanwhile_is_not_heard() -> None:
    here = Stage()
    here.opens("list")
    for page in (1, 3):
        here.press("go", page)
    for odd in (None, 1, ["go"]):
        here.press(odd)
    assert here.notes == ["menu opened", "list opened"]
    here.press("go")
    assert here.notes[-1] == "list go"


def test_a_page_with_a_way_out_of_its_own_hears_the_usual_ones_itself() -> None:
    here = Stage("a")
    page = here.page("lid")
    page.can_be_left = False
    page.place = (1, 2)
    assert here.does(partial(here.desk.open, page))["buttons"] == []
    for do in ("back", "next", "undo"):
        assert here.press(do)["heading"] == "lid"
    assert here.notes == ["menu opened", "lid opened", "lid back", "lid next", "lid undo"]


def test_a_series_is_gone_through_page_after_page() -> None:
    here = Stage()
    shown = here.goes_through("one", "two")
    assert (shown["heading"], shown["place"], shown["buttons"]) == ("one", (1, 2), [*USUAL, NEXT])
    shown = here.press("next")
    assert (shown["heading"], shown["place"], shown["buttons"]) == ("two", (2, 2), [*USUAL, NEXT])
    assert here.press("next")["heading"] == "menu"
    assert here.notes[1:] == [
        *("one opened", "one left", "menu kept", "two opened", "two left", "menu kept"),
    ]


def test_a_series_may_be_left_in_its_middle_and_one_page_is_none() -> None:
    here = Stage()
    here.goes_through("one", "two")
    assert here.press("back")["heading"] == "menu"
    shown = here.goes_through("one")
    assert (shown["place"], shown["buttons"]) == (None, USUAL)
    assert here.press("next")["heading"] == "menu"


def test_the_robot_does_one_thing_at_a_time() -> None:
    here, may_end, done = Stage(), threading.Event(), list[int]()

    def work() -> int:
        assert may_end.wait(30)
        return 7

    def asks_again() -> None:
        here.desk.attempt("second", lambda: 8, done.append)
        may_end.set()

    here.does(partial(here.desk.attempt, "at work", work, done.append), asks_again)
    assert done == [7]
    said = [(told["message"], told["mood"], told["busy"]) for told in here.told]
    assert said == [
        ("", "", False),
        ("at work", "", True),
        (WAIT, "bad", True),
        (WAIT, "bad", False),
    ]
    here.does(partial(here.desk.attempt, "", lambda: 9, done.append))
    assert done == [7, 9]


def test_who_leaves_while_the_robot_works_leaves_after_that() -> None:
    here, may_end, done = Stage(), threading.Event(), list[None]()
    here.opens("list")

    def leaves() -> None:
        here.desk._press({"do": "back", "page": 2})
        here.desk._show()
        may_end.set()

    def work() -> None:
        assert may_end.wait(30)

    here.does(partial(here.desk.attempt, "", work, done.append), leaves)
    assert [told["message"] for told in here.told if told["busy"]] == ["", LEAVING]
    assert (here.told[-1]["heading"], done) == ("menu", [])
    here.does(partial(here.desk.attempt, "", lambda: None, done.append))
    assert (here.told[-1]["heading"], done) == ("menu", [None]), "it has been left once"


def raising(error: Exception) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


def test_what_does_not_succeed_is_told_to_the_page() -> None:
    here, done = Stage(), list[None]()
    shown = here.does(partial(here.desk.attempt, "", raising(CubistError("stuck")), done.append))
    assert (shown["message"], shown["mood"], shown["busy"]) == ("stuck", "bad", False)
    assert (here.notes[-1], done) == ("menu failed", [])


def test_a_daemon_that_goes_away_ends_it() -> None:
    here = Stage()
    with pytest.raises(DaemonError, match="gone"):
        here.does(partial(here.desk.attempt, "", raising(DaemonError("gone")), print))


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ((), (NOTHING_TO_UNDO, "", "")),
        (("lid.home", "lid.open"), (UNDONE, "good", "lid.home, lid.open")),
    ],
)
def test_what_was_kept_is_undone(kept: tuple[str, ...], said: tuple[str, ...]) -> None:
    here = Stage(*kept)
    here.opens("list")
    shown = here.press("undo")
    assert (shown["message"], shown["mood"], shown["about"]) == said
    assert here.notes == ["menu opened", "list opened", "list kept"]


def test_it_runs_until_its_end_and_shows_what_each_event_changes() -> None:
    told: list[dict[str, Any]] = []
    desk = Desk(Keeper(), told.append)  # type: ignore[arg-type]
    desk.later(partial(desk.say, "one"))
    desk.later(partial(desk.say, "two"))
    desk.end()
    desk.later(partial(desk.say, "three"))
    desk.run(GuidePage(desk, "menu", ""))
    assert [(each["heading"], each["message"]) for each in told] == [
        *(("menu", ""), ("menu", "one"), ("menu", "two")),
    ]


def test_a_button_is_told_with_its_key() -> None:
    button = GuideButton("by 1", "+1", moves=True, key="ArrowUp")
    assert button.document() == {"do": "by 1", "label": "+1", "moves": True, "key": "ArrowUp"}


def test_a_guide_hears_line_after_line_until_there_are_no_more() -> None:
    told: list[dict[str, Any]] = []
    keeper: Any = Keeper("lid.home")
    keeper.profile = load_profile("cubotino")
    done = threading.Event()

    def lines() -> Any:
        yield '{"do": "undo", "page": 1}\n'
        assert done.wait(30)

    def tell(document: dict[str, Any]) -> None:
        told.append(document)
        if document["message"]:
            done.set()

    guide(keeper, lines(), tell)
    assert [each["message"] for each in told if not each["busy"]] == ["", UNDONE]
