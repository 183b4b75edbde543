"""The guide's pages at a desk whose robot is done at once."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from robot.web.guide.desk import Desk, GuidePage
from robot.web.guide.pages import MeasurePage, PlacingPage


class QuickDesk(Desk):
    """What is attempted has been done; ``told`` is what was shown last."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        super().__init__(session=None, tell=self.told.update)  # type: ignore[arg-type]
        self.open(GuidePage(self, "menu", ""))

    def attempt(self, text: str, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.say(text)
        done(work())

    def shown(self) -> dict[str, Any]:
        self._show()
        return self.told


class Placing:
    """A servo at 1500 us, awake from the beginning."""

    name, guidance, middle = "lid", "watch it", 1500
    reach = (1000, 2000)
    position = SimpleNamespace(value=1500, unit="us", limits=(1000, 2000), original=1400)

    def __init__(self) -> None:
        self.at = 1500

    def begin(self, _: int | None) -> bool:
        return True

    def approach(self, target: int) -> None:
        self.at = target


def test_who_gives_up_leaves_the_actuator_where_it_was() -> None:
    desk, placing = QuickDesk(), Placing()
    page = PlacingPage(desk, placing)  # type: ignore[arg-type]
    desk.open(page)
    page.press("by 10", {})
    page.press("by 50", {})
    assert (placing.at, desk.shown()["value"]) == (1560, "1560")
    page.press("give_up", {})
    assert placing.at == 1500
    assert desk.shown()["heading"] == "menu"


def test_a_page_begins_without_what_was_said_of_the_one_before() -> None:
    desk = QuickDesk()
    desk.say("there is nothing to undo", "bad")
    assert desk.shown()["message"] == "there is nothing to undo"
    desk.open(GuidePage(desk, "next", ""))
    assert (desk.shown()["heading"], desk.shown()["message"]) == ("next", "")


@pytest.mark.parametrize(("value", "shown"), [(2.5, "2.5"), (400, "400"), (None, None)])
def test_a_value_set_by_eye_is_shown_where_there_is_one(
    value: float | None, shown: str | None
) -> None:
    desk = QuickDesk()
    found: Any = SimpleNamespace(name="speed", guidance="", columns=("part", "steps"), value=value)
    assert MeasurePage(desk, found).contents().get("value") == shown
