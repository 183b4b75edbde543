"""The guide's pages at a desk whose robot is done at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from robot.calibration.step import (
    STEPS,
    Confirmation,
    Item,
    Measurement,
    Result,
    Row,
    Script,
    Step,
    steps_of,
)
from robot.calibration.steps.positions import NOT_CONFIRMED
from robot.calibration.steps.positions import Placing as RealPlacing
from robot.settings import load_profile
from robot.web.guide import pages
from robot.web.guide.camera import CameraPage
from robot.web.guide.desk import AT_WORK, KEPT, Desk, GuidePage
from robot.web.guide.pages import (
    EVERYTHING,
    HEADING,
    MEASURE_FIRST,
    MENU,
    NONE,
    MeasurePage,
    PlacingPage,
    StepsPage,
    page_for,
    page_of,
)
from solver.errors import CubistError


class Keeping:
    """A session that notes what is kept."""

    def __init__(self) -> None:
        self.profile = load_profile("cubotino")
        self.kept: list[Any] = []
        self.refuses = False

    def keep(self, values: Any, *_: object) -> bool:
        if self.refuses:
            raise CubistError("refused")
        self.kept.append(values)
        return True


class QuickDesk(Desk):
    """What is attempted has been done, unless it ``waits`` for :meth:`finish`; ``told`` is what was
    shown last."""

    session: Any

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        super().__init__(session=Keeping(), tell=self._tell)  # type: ignore[arg-type]
        self.waits = False
        self.texts: list[str] = []
        self.open(GuidePage(self, "menu", ""))

    def _tell(self, document: dict[str, Any]) -> None:
        self.told = document

    def attempt(self, text: str, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.say(text)
        self.texts.append(text)
        if self.waits:
            self.busy, self._undone_yet = True, (work, done)
        else:
            self._do(work, done)

    def finish(self) -> None:
        """What was attempted is done now, and so is what follows."""
        self.busy = self.waits = False
        self._do(*self._undone_yet)

    def _do(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        try:
            found = work()
        except CubistError as error:
            self.page.failed(str(error))
        else:
            done(found)

    def shown(self) -> dict[str, Any]:
        self._show()
        return self.told


class Placing:
    """A servo at 1500 us, ``reach`` of which is confirmed; asleep where there is none."""

    name, guidance, middle = "lid", "watch it", 1550
    position = SimpleNamespace(value=1490, unit="us", limits=(900, 2100), original=1400, step=50)
    aim = RealPlacing.aim

    def __init__(self, at: int | None = 1500) -> None:
        self.at = at
        self.reach = None if at is None else (1000, 2000)
        self.begun: list[int | None] = []
        self.farthest = 2000

    def begin(self, begin_at: int | None) -> bool:
        self.begun.append(begin_at)
        if begin_at is not None:
            self.at, self.reach = begin_at, (1000, 2000)
        return self.at is not None

    def approach(self, target: int) -> None:
        if target > self.farthest:
            raise CubistError("it is stuck")
        self.at = target

    def values_at(self, target: int) -> dict[str, int]:
        return {} if target == self.position.value else {"lid.home": target}


def placed(placing: Placing) -> tuple[QuickDesk, PlacingPage]:
    desk = QuickDesk()
    page = PlacingPage(desk, placing)  # type: ignore[arg-type]
    desk.open(page)
    return desk, page


def dos(desk: QuickDesk) -> list[str]:
    return [each["do"] for each in desk.shown()["buttons"]]


def test_a_position_is_shown_with_all_that_is_known_of_it() -> None:
    desk, _ = placed(Placing())
    shown = desk.shown()
    assert (shown["heading"], shown["guidance"]) == ("lid", "watch it")
    known = ("value", "unit", "limits", "kept", "original", "parameters")
    assert [shown[name] for name in known] == [
        *("1500", "us", (900, 2100), 1490, 1400, {"middle": 1550}),
    ]
    assert shown["buttons"] == [
        {"do": f"by {step}", "label": label, "moves": False, "key": key}
        for step, label, key in (
            (-50, "-50", "PageDown"),
            (-10, "-10", "ArrowDown"),
            (-1, "-1", "ArrowLeft"),
            (1, "+1", "ArrowRight"),
            (10, "+10", "ArrowUp"),
            (50, "+50", "PageUp"),
        )
    ] + [
        {"do": "keep", "label": "Keep", "moves": False, "key": ""},
        {"do": "give_up", "label": "Give up", "moves": False, "key": "Escape"},
    ]


def test_a_servo_that_nobody_moved_yet_begins_in_the_middle_when_somebody_says_so() -> None:
    placing = Placing(None)
    desk, page = placed(placing)
    assert (placing.begun, desk.shown()["guidance"]) == ([None], NOT_CONFIRMED)
    assert desk.shown()["buttons"] == [
        {"do": "begin", "label": "Begin", "moves": True, "key": ""},
        {"do": "give_up", "label": "Give up", "moves": False, "key": "Escape"},
    ]
    for asleep in ("by 10", "keep"):
        page.press(asleep, {})
        assert (placing.at, desk.shown()["value"]) == (None, "1490")
    page.press("begin", {})
    assert (placing.begun, desk.shown()["guidance"]) == ([None, 1550], "watch it")
    assert (desk.shown()["value"], desk.shown()["message"]) == ("1550", "")
    page.press("begin", {})
    assert placing.begun == [None, 1550], "it is awake"


def test_who_gives_up_before_it_is_awake_leaves() -> None:
    desk, page = placed(Placing(None))
    page.press("give_up", {})
    assert desk.shown()["heading"] == "menu"
    assert desk.session.kept == []


def test_a_position_is_kept_where_it_is() -> None:
    desk, page = placed(Placing())
    page.press("by -10", {})
    page.press("by -1", {})
    assert desk.shown()["heading"] == "lid"
    page.press("keep", {})
    assert desk.session.kept == [{"lid.home": 1489}]
    assert (desk.shown()["heading"], desk.shown()["message"]) == ("menu", "")


def test_a_position_that_is_kept_already_is_not_kept_again() -> None:
    desk, page = placed(Placing())
    page.press("by -10", {})
    page.press("keep", {})
    assert (desk.session.kept, desk.shown()["heading"]) == ([], "menu")


def test_what_is_pressed_meanwhile_counts_in_the_end() -> None:
    placing = Placing()
    desk, page = placed(placing)
    desk.waits = True
    page.press("by 10", {})
    assert desk.shown()["message"] == AT_WORK
    page.press("by 50", {})
    page.press("keep", {})
    assert (placing.at, desk.shown()["value"], desk.session.kept) == (1500, "1560", [])
    desk.finish()
    assert (placing.at, desk.session.kept) == (1560, [{"lid.home": 1560}])
    assert desk.shown()["heading"] == "menu"


def test_presses_beyond_what_is_confirmed_are_dropped_while_it_moves() -> None:
    desk, page = placed(Placing(1990))
    desk.waits = True
    for pressed in ("by 50", "by 50", "by 10"):
        page.press(pressed, {})
    assert desk.shown()["value"] == "2040"
    page.press("by -50", {})
    assert desk.shown()["value"] == "1990", "back it goes at any time"


def test_who_gives_up_while_it_wakes_leaves_once_it_is_awake() -> None:
    placing = Placing()
    desk = QuickDesk()
    desk.waits = True
    page = PlacingPage(desk, placing)  # type: ignore[arg-type]
    desk.open(page)
    page.press("give_up", {})
    assert desk.shown()["heading"] == "lid"
    desk.finish()
    assert (placing.at, desk.shown()["heading"]) == (1490, "menu"), "where it should be"
    assert desk.session.kept == []


def test_a_target_that_cannot_be_got_to_is_forgotten() -> None:
    placing = Placing()
    placing.farthest = 1505
    desk, page = placed(placing)
    page.press("by 10", {})
    assert (desk.shown()["message"], desk.shown()["mood"]) == ("it is stuck", "bad")
    assert (desk.shown()["heading"], desk.shown()["value"]) == ("lid", "1500")
    page.press("by 1", {})
    assert (desk.shown()["heading"], placing.at) == ("lid", 1501)


def test_a_keeping_that_failed_is_forgotten_too() -> None:
    placing = Placing()
    desk, page = placed(placing)
    desk.session.refuses = True
    page.press("by 1", {})
    page.press("keep", {})
    assert (desk.shown()["heading"], desk.shown()["message"]) == ("lid", "refused")
    desk.session.refuses = False
    page.press("by 1", {})
    assert (desk.shown()["heading"], desk.session.kept) == ("lid", [])


def test_who_gives_up_leaves_even_if_the_way_back_fails() -> None:
    placing = Placing()
    desk, page = placed(placing)
    page.press("by 50", {})
    placing.farthest = 0
    page.press("give_up", {})
    assert (placing.at, desk.shown()["heading"]) == (1550, "menu")


def test_who_gives_up_leaves_the_actuator_where_it_was() -> None:
    placing = Placing()
    desk, page = placed(placing)
    page.press("by 10", {})
    page.press("by 50", {})
    assert (placing.at, desk.shown()["value"]) == (1560, "1560")
    page.press("give_up", {})
    assert placing.at == 1500
    assert (desk.shown()["heading"], desk.session.kept) == ("menu", [])
    assert dos(desk) == []


def test_a_page_begins_without_what_was_said_of_the_one_before() -> None:
    desk = QuickDesk()
    desk.say("there is nothing to undo", "bad")
    assert desk.shown()["message"] == "there is nothing to undo"
    desk.open(GuidePage(desk, "next", ""))
    assert (desk.shown()["heading"], desk.shown()["message"]) == ("next", "")


class Speed(Measurement):
    """Found by asking, or set by eye."""

    name, guidance, columns = "speed", "look", ("part", "steps")
    choices = MappingProxyType({"slow": "Slowly"})

    def __init__(self, value: float | None = None, keeps: bool = True) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self._value, self.keeps = value, keeps
        self.heard: list[object] = []
        self.withdrawn = False
        self.fails = False

    @property
    def value(self) -> float | None:
        return self._value

    def adjust(self, steps: int) -> None:
        assert self._value is not None
        self._value += steps
        self.result = Result(values={"speed": self._value})

    def measure(self, choice: str = "") -> Script:
        self.heard.append(choice)
        self.result = Result(text="seen")
        try:
            yield Row(("lid", "1"), colour=(1.0, 0.0, 0.0))
            self.heard.append((yield Confirmation("does it turn?")))
            yield Row(("lid", "2"))
            found = self.heard[-1] is True
            values = {"speed": 7} if found and choice != "slow" else {}
            self.result = Result(values=values, text="seen", is_found=found)
            if self.fails:
                raise CubistError("it broke off")
        finally:
            self.withdrawn = True


def measured(found: Measurement) -> tuple[QuickDesk, MeasurePage]:
    desk = QuickDesk()
    found.session = desk.session
    page = MeasurePage(desk, found)
    desk.open(page)
    return desk, page


@pytest.mark.parametrize(("value", "shown"), [(2.5, "2.5"), (400, "400"), (None, None)])
def test_a_value_set_by_eye_is_shown_where_there_is_one(
    value: float | None, shown: str | None
) -> None:
    assert measured(Speed(value))[0].shown().get("value") == shown


def test_a_measurement_has_the_buttons_that_mean_something() -> None:
    desk, _ = measured(Speed())
    shown = desk.shown()
    assert (shown["heading"], shown["guidance"], shown["columns"]) == (
        *("speed", "look", ["part", "steps"]),
    )
    measure = {"do": "measure", "label": "Measure", "moves": True, "key": ""}
    slow = {"do": "choose slow", "label": "Slowly", "moves": True, "key": ""}
    keep = {"do": "keep", "label": "Keep", "moves": False, "key": ""}
    assert shown["buttons"][:-2] == [measure, slow, keep]
    desk, _ = measured(Speed(2, keeps=False))
    assert desk.shown()["buttons"][:-2] == [
        measure | {"label": "Go"},
        slow,
        {"do": "by -10", "label": "-10", "moves": False, "key": "PageDown"},
        {"do": "by -1", "label": "-1", "moves": False, "key": "ArrowDown"},
        {"do": "by 1", "label": "+1", "moves": False, "key": "ArrowUp"},
        {"do": "by 10", "label": "+10", "moves": False, "key": "PageUp"},
    ]


def test_a_measurement_shows_what_it_finds_asks_and_is_kept_once() -> None:
    found = Speed()
    desk, page = measured(found)
    page.press("keep", {})
    assert (desk.shown()["message"], desk.shown()["mood"]) == (MEASURE_FIRST, "bad")
    page.press("measure", {})
    shown = desk.shown()
    assert (shown["question"], shown["message"]) == ("does it turn?", "")
    assert shown["rows"] == [{"cells": ["lid", "1"], "colour": [255, 0, 0]}]
    assert [(each["do"], each["label"], each["moves"]) for each in shown["buttons"][:-2]] == [
        *(("yes", "Yes", True), ("no", "No", True)),
    ]
    page.press("yes", {})
    shown = desk.shown()
    assert (shown["question"], shown["message"], shown["mood"]) == ("", "seen", "")
    assert [row["cells"] for row in shown["rows"]] == [["lid", "1"], ["lid", "2"]]
    assert "colour" not in shown["rows"][1]
    assert found.heard == ["", True]
    assert set(desk.texts) == {AT_WORK}
    page.press("keep", {})
    assert (desk.shown()["message"], desk.shown()["mood"]) == (KEPT, "good")
    page.press("keep", {})
    assert desk.session.kept == [{"speed": 7}]
    assert desk.shown()["message"] == MEASURE_FIRST


@pytest.mark.parametrize(
    ("begin", "answer", "mood"),
    [("measure", "no", "bad"), ("choose slow", "yes", "good"), ("choose slow", "no", "bad")],
)
def test_what_was_found_is_good_or_bad_where_nothing_is_to_be_kept(
    begin: str, answer: str, mood: str
) -> None:
    found = Speed()
    desk, page = measured(found)
    page.press(begin, {})
    page.press(answer, {})
    assert (desk.shown()["message"], desk.shown()["mood"]) == ("seen", mood)
    assert found.heard == ["slow" if begin != "measure" else "", answer == "yes"]


def test_an_answer_that_nobody_asked_for_is_none() -> None:
    found = Speed()
    desk, page = measured(found)
    for answer in ("yes", "no", "choose fast", "by 5"):
        page.press(answer, {})
    assert (found.heard, desk.shown()["message"]) == ([], "")
    page.press("measure", {})
    page.press("no", {})
    page.press("yes", {})
    assert found.heard == ["", False]


def test_a_measurement_made_again_begins_with_no_rows() -> None:
    desk, page = measured(Speed())
    for _ in range(2):
        page.press("measure", {})
        page.press("yes", {})
    assert len(desk.shown()["rows"]) == 2


def test_a_value_is_set_by_eye_unless_the_robot_is_at_work() -> None:
    found = Speed(100)
    desk, page = measured(found)
    for press, value in (("by -10", "90"), ("by -1", "89"), ("by 1", "90"), ("by 10", "100")):
        page.press(press, {})
        assert desk.shown()["value"] == value
    desk.busy = True
    page.press("by 10", {})
    assert desk.shown()["value"] == "100"


def test_while_the_robot_is_at_work_nothing_else_is_begun() -> None:
    found = Speed()
    desk, page = measured(found)
    desk.waits = True
    page.press("measure", {})
    assert (desk.shown()["message"], found.heard) == (AT_WORK, [])
    page.press("keep", {})
    assert desk.shown()["message"] == AT_WORK
    page.press("measure", {})
    desk.finish()
    assert found.heard == [""]
    assert desk.shown()["question"] == "does it turn?"


def test_who_leaves_a_measurement_breaks_it_off() -> None:
    found = Speed()
    desk, page = measured(found)
    desk.back()
    assert not found.withdrawn, "it had not begun"
    desk.open(page)
    page.press("measure", {})
    assert not found.withdrawn
    desk.back()
    assert found.withdrawn


def test_a_measurement_that_breaks_off_says_why_and_can_be_made_again() -> None:
    found = Speed()
    found.fails = True
    desk, page = measured(found)
    page.press("measure", {})
    page.press("yes", {})
    assert (desk.shown()["message"], desk.shown()["mood"]) == ("it broke off", "bad")
    desk.say("")
    page._go_on(None)
    assert desk.shown()["message"] == "", "it does not go on"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> QuickDesk:
    """The menu, whose steps open pages with nothing in them."""
    monkeypatch.setattr(pages, "page_of", lambda desk, step: GuidePage(desk, step.title, ""))
    desk = QuickDesk()
    desk.open(StepsPage(desk))
    return desk


def test_the_menu_lists_all_steps_and_everything(opened: QuickDesk) -> None:
    titles = [step.title for step in steps_of(opened.session.profile)]
    shown = opened.shown()
    assert (shown["heading"], shown["guidance"]) == (HEADING, MENU)
    assert shown["rows"] == [{"cells": [title], "opens": True} for title in [EVERYTHING, *titles]]
    for row, title in enumerate(titles):
        opened.page.press("open", {"row": row + 1})
        shown = opened.shown()
        assert (shown["heading"], shown["place"]) == (title, None)
        opened.back()
    opened.page.press("open", {"row": 0})
    shown = opened.shown()
    assert (shown["heading"], shown["place"]) == (titles[0], (1, len(titles)))


@pytest.mark.parametrize(
    ("do", "row"), [("open", -1), ("open", 99), ("open", "1"), ("open", None), ("shut", 1)]
)
def test_a_row_that_is_not_there_opens_nothing(opened: QuickDesk, do: str, row: object) -> None:
    opened.page.press(do, {"row": row})
    assert opened.shown()["heading"] == HEADING
    count = len(opened.shown()["rows"])
    opened.page.press("open", {"row": count})
    assert opened.shown()["heading"] == HEADING
    opened.page.press("open", {"row": count - 1})
    assert opened.shown()["heading"] != HEADING


def listed(*found: Measurement) -> tuple[QuickDesk, list[list[Item]]]:
    """A list of measurements, open; the second are all lists that it made."""
    lists: list[list[Item]] = []

    def items(_: object) -> list[Item]:
        lists.append([Item((each.name, "!"), partial(_itself, each)) for each in found])
        return lists[-1]

    step = Step("speeds", "Speeds", "choose", columns=("which", "how"), items=items)
    desk = QuickDesk()
    desk.open(page_of(desk, step))
    return desk, lists


def _itself(found: Measurement) -> Measurement:
    return found


def test_a_list_opens_what_is_chosen_and_is_made_anew_after_it() -> None:
    desk, lists = listed(Speed(1), Speed(2))
    shown = desk.shown()
    assert (shown["heading"], shown["guidance"]) == ("Speeds", "choose")
    assert (shown["columns"], shown["message"]) == (["which", "how"], "")
    assert shown["rows"] == [{"cells": ["speed", "!"], "opens": True}] * 2
    for row in (2, -1):
        desk.page.press("open", {"row": row})
        assert desk.shown()["heading"] == "Speeds"
    desk.page.press("open", {"row": 1})
    assert (desk.shown()["heading"], desk.shown()["value"]) == ("speed", "2")
    desk.back()
    assert (desk.shown()["heading"], len(lists)) == ("Speeds", 2)


def test_an_empty_list_says_so() -> None:
    desk, _ = listed()
    assert (desk.shown()["rows"], desk.shown()["message"]) == ([], NONE)


def test_a_step_has_the_page_that_belongs_to_it() -> None:
    desk = QuickDesk()
    step = Step("speed", "The speed", begin=lambda _: Speed(3))
    page = page_of(desk, step)
    assert isinstance(page, MeasurePage)
    assert (page.heading, page.guidance) == ("The speed", "look")
    camera = page_of(desk, STEPS["camera"])
    assert isinstance(camera, CameraPage)
    assert (camera.heading, camera.guidance) == (STEPS["camera"].title, STEPS["camera"].guidance)
    placing = SimpleNamespace(value=1490, unit="us", limits=(1000, 2000), original=1400)
    placing.actuator, placing.name = "lid", "home"
    assert isinstance(page_for(desk, RealPlacing(desk.session, placing)), PlacingPage)  # type: ignore[arg-type]
    assert isinstance(page_for(desk, Speed()), MeasurePage)
