"""The terminal's guide keeps its shape while a robot is measured."""

from __future__ import annotations

import html
import re
from functools import partial

import pytest
from textual.app import App
from textual.pilot import Pilot

from robot.calibration.step import STEPS, Measurement, Row, Script, Session
from robot.cli.guide.app import CalibrationApp
from robot.cli.guide.screens import MeasureScreen
from robot.settings import load_profile
from tests.screens.shape import TERMINALS

FOUND = (
    ("camera", "the face is in view; nothing has moved yet"),
    ("lid", "lid close: 1501 us (the cube no longer follows the table from 1484 us on)"),
    ("rotation", "the cube turned with the table " * 4 + "until the end"),
)


class Finding(Measurement):
    """A measurement that finds what is too long for a line, and more than fits the screen."""

    name = "by itself"
    guidance = "Put a scrambled cube in, square to the robot. " * 3
    columns = ("stage",)

    def measure(self, choice: str = "") -> Script:
        yield from (Row(cells) for cells in FOUND * self.times)

    times = 1


class FindingMore(Finding):
    times = 9


def words_on(app: App[int]) -> list[str]:
    """Return all words that a screen shows, in their order, as a terminal draws them."""
    texts = re.findall(r"<text[^>]*>(.*?)</text>", app.export_screenshot(simplify=True))
    return html.unescape(" ".join(texts)).replace("\xa0", " ").split()


async def settled(pilot: Pilot[int]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@pytest.mark.parametrize("size", TERMINALS)
async def test_what_is_found_is_shown_to_its_last_word(size: tuple[int, int]) -> None:
    session = Session(profile=load_profile("cubotino"))
    app = CalibrationApp(session, [partial(MeasureScreen, Finding(session), "By itself")])
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        assert "stage" not in words_on(app), "no head without lines"
        await pilot.press("m")
        await settled(pilot)
        shown = " ".join(words_on(app))
        for cells in FOUND:
            assert set(cells[1].split()) <= set(shown.split()), cells
        assert "until the end" in shown and "…" not in shown
        sideways = [one for one in app.screen.query("*") if one.show_horizontal_scrollbar]
        assert sideways == [], "something can only be reached by scrolling sideways"


async def test_the_latest_finding_is_in_sight() -> None:
    session = Session(profile=load_profile("cubotino"))
    app = CalibrationApp(session, [partial(MeasureScreen, FindingMore(session), "By itself")])
    async with app.run_test(size=TERMINALS[0]) as pilot:
        await settled(pilot)
        await pilot.press("m")
        await settled(pilot)
        await pilot.pause()
        assert "until the end" in " ".join(words_on(app))


def test_headings_are_names_for_people() -> None:
    for step in STEPS.values():
        assert step.heading and step.heading != step.name and len(step.heading) <= 24
