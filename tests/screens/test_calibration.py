"""The terminal shows the dialogs of calibration in full, and its keys are their actions."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import DataTable, Digits, Static

from robot.api.client import RequestError
from robot.api.endpoints import Endpoint
from robot.calibration.step import STEPS, Measurement, Row, Script, Session, steps_of
from robot.calibration.steps.positions import Placing, positions
from robot.cli.guide_screen import CalibrationApp, ImageWidget
from robot.guide.dialogs import measurement_dialog, step_dialog
from robot.guide.session import Dialog, GuideSession, MakeDialog
from tests.rig.guide import FakeCalibrationClient, press_keys, settle_app
from tests.screens.test_terminal import TERMINALS

KEY = "actuators.lid.positions_us.open"
TEXT_OF_LINE = r'<text[^>]*-line-(\d+)\)">(.*?)</text>'
"""Parts of a line in a picture of the screen; blank ones are left out."""
FOUND = (
    ("camera", "the face is in view; nothing has moved yet"),
    ("lid", "lid close: 1501 us (the cube no longer follows the table from 1484 us on)"),
    ("rotation", "the cube turned with the table " * 4 + "until the end"),
)


def text_of(pilot: Pilot[int], part: str) -> str:
    return str(pilot.app.screen.query_one(part, Static).content)


def words_on(app: App[int]) -> list[str]:
    """Return all words on a screen, in order, as a terminal draws them."""
    texts = re.findall(r"<text[^>]*>(.*?)</text>", app.export_screenshot(simplify=True))
    return html.unescape(" ".join(texts)).replace("\xa0", " ").split()


def placing(session: Session) -> MakeDialog:
    position = next(one for one in positions(session) if one.key == KEY)
    return measurement_dialog(Placing(session, position))


@pytest.mark.parametrize(
    ("before", "keys", "moves", "after"),
    [
        (
            {KEY: 1335},
            ["up", "up", "left", "pagedown", "u", "right", "ctrl+z", "enter"],
            [1335, 1345, 1355, 1354, 1304, 1354, 1355, 1354],
            {KEY: 1354},
        ),
        ({KEY: 1335}, ["up", "n"], [1335, 1345, 1335], {KEY: 1335}),
        ({}, ["up", "enter", "b", "escape"], [1500], {}),
    ],
    ids=["kept", "given up", "a servo nobody has moved"],
)
async def test_keys_move_an_actuator_and_keep_its_value(before, keys, moves, after):
    client = FakeCalibrationClient(**before)
    app = CalibrationApp(client.session, [placing(client.session)])
    async with app.run_test() as pilot:
        await settle_app(pilot)
        asked = str(before.get(KEY, "turns it to 1500 us at full speed"))
        assert asked in text_of(pilot, "#about") + text_of(pilot, "#help")
        for key in keys:
            await press_keys(pilot, [key])
            digits = app.screen.query(Digits)
            if client.moves and digits:
                assert digits.last().value == str(client.moves[-1])
    assert (client.moves, client.values, app.return_value) == (moves, after, 0)


async def test_lists_are_opened_with_enter_and_keep_their_row():
    client = FakeCalibrationClient(**{KEY: 1340})
    app = CalibrationApp(client.session)
    async with app.run_test() as pilot:
        await settle_app(pilot)
        assert "undo it afterwards" in text_of(pilot, "#help")
        row = [step.name for step in steps_of(client.session.profile)].index("positions") + 1
        await press_keys(pilot, ["down"] * row + ["enter"])
        table = app.screen.query_one(DataTable)
        row = [str(table.get_row_at(i)[1]) for i in range(table.row_count)].index("open")
        await press_keys(pilot, ["down"] * row + ["enter", "up", "enter"])
        assert client.values == {KEY: 1350}
        assert (table.cursor_row, table.get_row_at(row)[2]) == (row, "1350 us")
        await press_keys(pilot, ["ctrl+z"])
        assert text_of(pilot, "#message") == f"undone: {KEY}"
        await press_keys(pilot, ["escape", "ctrl+q"])
    assert (client.values, app.return_value) == ({KEY: 1340}, 0)


async def test_the_camera_s_picture_is_drawn_with_its_frame_and_advice():
    client = FakeCalibrationClient()
    app = CalibrationApp(client.session, [step_dialog(STEPS["camera"])])
    async with app.run_test(size=(100, 40)) as pilot:
        image = app.screen.query_one("#picture", ImageWidget)
        async with asyncio.timeout(30):
            # The picture gets its place on the screen a moment after the texts are set.
            while "all is well" not in text_of(pilot, "#advice") or not image.size:
                await pilot.pause(0.01)
        assert text_of(pilot, "#advice").startswith("camera top, face U")
        before = [image.render_line(line) for line in range(20)]
        assert before[10].text.count("▀") > 30
        await press_keys(pilot, ["tab", "shift+down", "shift+down", "shift+down", "right", "enter"])
        assert [image.render_line(line) for line in range(20)] != before
        assert list(client.values) == ["cameras.top.views.U.quad"]
        await press_keys(pilot, ["ctrl+q"])


async def test_leaving_stops_the_robot():
    client = FakeCalibrationClient()
    ask = client.call
    client.may_answer.clear()
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def call(endpoint: Endpoint, *more: Any) -> Any:
        if endpoint.path != "/maintenance/timing":
            return ask(endpoint, *more)
        loop.call_soon_threadsafe(begun.set)
        assert client.may_answer.wait(30)
        raise RequestError(503, "robot", "stopped by a person", "calibration-stopped")

    client.call = call
    app = CalibrationApp(client.session, [step_dialog(STEPS["timing"])])
    async with app.run_test() as pilot:
        await settle_app(pilot)
        await pilot.press("m")
        await asyncio.wait_for(begun.wait(), 30)
        await pilot.press("ctrl+q")
        assert await asyncio.to_thread(client.may_answer.wait, 30)
    assert app.guide.was_stopped


class Finding(Measurement):
    """A measurement whose results are too long for a line, repeated ``times`` times."""

    name = "by itself"
    guidance = "Put a scrambled cube in, square to the robot. " * 3
    columns = ("stage",)
    times = 1

    def measure(self, choice: str = "") -> Script:
        yield from (Row(cells, colour=(0.2, 0.0, 0.0)) for cells in FOUND * self.times)


@pytest.mark.parametrize(
    ("size", "times"), [(TERMINALS[0], 1), (TERMINALS[1], 1), (TERMINALS[0], 9)]
)
async def test_results_are_shown_to_their_last_word(size, times):
    finding = Finding(FakeCalibrationClient().session)
    finding.times = times
    app = CalibrationApp(finding.session, [measurement_dialog(finding)])
    async with app.run_test(size=size) as pilot:
        await settle_app(pilot)
        assert "stage" not in words_on(app), "no head without lines"
        await press_keys(pilot, ["m"])
        await drawn_until(pilot, lambda lines: "until the end" in " ".join("".join(lines).split()))
        shown = words_on(app)
        assert "until the end" in " ".join(shown) and "…" not in " ".join(shown)
        for cells in FOUND if times == 1 else FOUND[-1:]:
            assert set(cells[1].split()) <= set(shown), cells
        sideways = [one for one in app.screen.query("*") if one.show_horizontal_scrollbar]
        assert sideways == [], "something can only be reached by scrolling sideways"


def dialogs_of(session: Session) -> Iterator[tuple[str, MakeDialog]]:
    """Yield title and dialog of every step, and of the first and the longest item of each list."""
    steps = steps_of(session.profile)
    for number, step in enumerate(steps):
        place = f"step {number + 1} of {len(steps)}: "
        yield f"{place}{step.heading}", partial(place_dialog, step_dialog(step), number, len(steps))
    for step in steps:
        found = [item.begin() for item in step.items(session)] if step.items else []
        longest = max(found, key=lambda one: len(one.name), default=None)
        for measurement in dict.fromkeys([*found[:1], longest]):
            if measurement is not None:
                yield measurement.name, measurement_dialog(measurement)


def place_dialog(make: MakeDialog, number: int, count: int, guide: GuideSession) -> Dialog:
    dialog = make(guide)
    dialog.place = (number + 1, count)
    return dialog


@pytest.mark.parametrize("robot", ["mindcuber", "four-arm"])
async def test_titles_and_keys_fit_into_eighty_columns(robot):
    session = FakeCalibrationClient(robot).session
    app = CalibrationApp(session)
    async with app.run_test(size=TERMINALS[0]) as pilot:
        await settle_app(pilot)
        for title, make in dialogs_of(session):
            app.guide.later(lambda make=make: app.guide.open(make(app.guide)))
            await settle_app(pilot)
            heading = f"{app.title} — {title}"
            bindings = app.screen.active_bindings.values()
            keys = [one.binding.description for one in bindings if one.binding.show]

            def is_whole(lines: list[str], heading: str = heading, keys: list[str] = keys) -> bool:
                return heading in lines[0] and all(key in lines[-1] for key in [*keys, "^q Quit"])

            lines = await drawn_until(pilot, is_whole)
            assert is_whole(lines), (heading, keys, lines[0], lines[-1])
            app.guide.later(app.guide.back)
            await settle_app(pilot)


async def drawn_until(pilot: Pilot[int], is_there: Callable[[list[str]], bool]) -> list[str]:
    """Return the lines of the screen when a condition holds, or after ten seconds."""
    for _ in range(200):
        lines: list[str] = []
        drawn = re.findall(TEXT_OF_LINE, pilot.app.export_screenshot(simplify=True), re.DOTALL)
        for number, text in drawn:
            lines += [""] * (int(number) + 1 - len(lines))
            lines[int(number)] += html.unescape(text).replace("\xa0", " ")
        if is_there(lines):
            break
        await pilot.pause(0.05)
    return lines
