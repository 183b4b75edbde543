"""The guided calibration on the page: in a browser with a whole simulated robot, and by itself."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page as BrowserPage

from robot.api.client import ControlClient
from robot.calibration.step import Session
from robot.calibration.steps.positions import positions
from robot.guide.texts import GuideText
from robot.twin.misadjustment import Misadjustment
from robot.web.guide_process import run_guide
from robot.web.main import PageOptions
from tests.rig.browser import PHONE, Scene, hold_down, needs_browser, scene, until
from tests.rig.guide import FakeCalibrationClient
from tests.rig.page_server import FakePageDaemon, PageVisitor, visited

HEADING = "document.getElementById('guide-heading')?.textContent"
MESSAGE = "document.getElementById('guide-message').textContent"
VALUE = "document.querySelector('#guide-value b').textContent"
BUSY = "document.querySelector('.guide').dataset.busy === 'true'"


async def guide(here: Scene, size: dict[str, int] | None = None, **context: Any) -> BrowserPage:
    """The page with the guide's menu."""
    page = await (here.open(**context) if size is None else here.open(size, **context))
    await page.click("#tab-calibration")
    await hold_down(page, "#guide-begin")
    await page.wait_for_selector(".choices button")
    return page


async def press(page: BrowserPage, what: str) -> None:
    """Press a button of the guide once it can be, and wait until the robot is done."""
    button = f"#guide-buttons [data-do='{what}']"
    await page.wait_for_selector(f"{button}:enabled")
    if "hold" in str(await page.get_attribute(button, "class")):
        await hold_down(page, button)
    else:
        await page.click(button)


async def choose(page: BrowserPage, text: str) -> None:
    """Open a line of the menu or of a list, and wait for its page."""
    before = await page.evaluate(HEADING)
    await page.locator("#guide-found button", has_text=text).first.click()
    await until(page, f"{HEADING} !== {json.dumps(before)} && !({BUSY})")


async def state(here: Scene) -> str:
    return str((await here.stage.daemon.status()).state)


async def maintenance_has_ended(here: Scene) -> None:
    async with asyncio.timeout(30):
        while await state(here) == "maintenance":
            await asyncio.sleep(0.02)


@needs_browser
async def test_a_position_is_moved_to_kept_and_undone() -> None:
    async with scene() as here:
        page = await guide(here)
        assert await state(here) == "maintenance"
        await choose(page, "Positions:")
        await choose(page, "holder home")
        assert "Nobody knows where this servo stands" in str(await page.text_content("#guide-text"))
        await press(page, "begin")
        await page.wait_for_selector("#guide-buttons [data-do='by 10']")
        pulse = int(str(await page.text_content("#guide-value b")))
        await press(page, "by 10")
        await until(page, f"{VALUE} === '{pulse + 10}' && !({BUSY})")
        await page.locator("#guide-heading").press("ArrowRight")
        await until(page, f"{VALUE} === '{pulse + 11}'")
        await press(page, "keep")
        await until(page, f"{HEADING}.startsWith('Positions') && !({BUSY})")
        kept = await page.evaluate("fetch('/api/calibration').then((answer) => answer.json())")
        assert kept["values"] == {"actuators.holder.positions_us.home": pulse + 11}
        assert f"{pulse + 11} us" in str(await page.text_content("#guide-found"))
        await press(page, "undo")
        await until(page, f"{MESSAGE}.startsWith('undone: actuators.holder')")
        kept = await page.evaluate("fetch('/api/calibration').then((answer) => answer.json())")
        assert kept["values"] == {}
        other = await here.tab(page.context, here.url.partition("#")[0])
        await other.click("#tab-calibration")
        assert await other.locator("#guide-begin").is_disabled()
        await page.close()
        await maintenance_has_ended(here)
        await until(other, "!document.getElementById('guide-begin').disabled")
        assert here.robot.violations == []
        assert here.complaints == []


def confirm(here: Scene) -> None:
    """Somebody has kept all positions as they are in the profile."""
    session = Session(ControlClient(here.control_socket))
    with session.maintenance():
        session.keep({one.key: one.value for one in positions(session)})


@needs_browser
async def test_the_camera_is_seen_its_frame_moved_and_colours_are_learnt() -> None:
    async with scene() as here:
        await asyncio.to_thread(confirm, here)
        page = await guide(here)
        await choose(page, "Home")
        await press(page, "measure")
        await until(page, f"{MESSAGE}.includes('start position')")
        await press(page, "back")
        await choose(page, "Camera:")
        await page.wait_for_selector(".advice li")
        assert "all is well" in str(await page.text_content(".advice"))
        await page.focus("#guide-picture")
        for _ in range(5):
            await page.keyboard.press("Shift+ArrowLeft")
        await until(page, "document.querySelector('.advice').textContent.includes('pixels off')")
        await press(page, "find")
        await until(page, "!document.querySelector('.advice').textContent.includes('pixels off')")
        await press(page, "keep")
        await until(page, f"{MESSAGE} === 'kept'")
        kept = await page.evaluate("fetch('/api/calibration').then((answer) => answer.json())")
        assert sum(key.endswith(".quad") for key in kept["values"]) == 1
        await press(page, "back")
        await choose(page, "Colours of")
        await press(page, "measure")
        await until(page, f"{MESSAGE}.startsWith('are these')")
        assert await page.locator("#guide-found .swatch").count() == 6
        await press(page, "keep")
        await until(page, f"{MESSAGE} === 'kept'")
        await page.click("#guide-end")
        await page.wait_for_selector("#guide-begin:enabled")
        assert await state(here) != "maintenance"
        assert "colours" in str(await page.text_content("#calibration"))
        assert here.robot.violations == []
        assert here.complaints == []


@needs_browser
async def test_it_fits_a_phone_in_german_is_accessible_and_shows_the_camera() -> None:
    async with scene() as here:
        page = await guide(here, PHONE, locale="de-DE", bypass_csp=True)
        for line in ("Positionen:", "Grundstellung", "Kamera:"):
            await choose(page, line)
            await page.wait_for_function("document.getElementById('guide-picture').width > 320")
            assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
            found = await Axe().run(page)
            assert found.violations_count == 0, f"{line}: {found.generate_report()}"
            await press(page, "back")
            await page.wait_for_selector(".choices button")
        assert here.complaints == []
        await here.stage.children[-1].stop(5)
        await choose_without_daemon(page)


async def choose_without_daemon(page: BrowserPage) -> None:
    """The daemon is gone: whatever is asked of the robot ends the guide, which says why."""
    await page.locator("#guide-found button", has_text="Positionen:").first.click()
    await until(page, "document.getElementById('guide-answer')?.textContent.includes('cubistd')")


@needs_browser
@pytest.mark.long
async def test_the_robot_calibrates_itself_from_the_page() -> None:
    async with scene(speed=1, misadjusted=Misadjustment(7)) as here:
        page = await guide(here)
        page.set_default_timeout(900_000)
        await choose(page, "By itself")
        await hold_down(page, "#guide-buttons [data-do='measure']")
        async with asyncio.timeout(900):
            while not await page.evaluate(f"{MESSAGE}.startsWith('c')"):
                await asyncio.sleep(1)
        assert "2 of 2 cubes solved" in await page.evaluate(MESSAGE)
        await press(page, "keep")
        await until(page, f"{MESSAGE} === 'kept'")
        assert here.robot.violations == []


@needs_browser
@pytest.mark.long
async def test_pictures_for_the_documentation(tmp_path: Path) -> None:
    """Where CUBIST_PICTURES names a folder, they are kept there: docs/pictures."""
    kept = Path(os.environ.get("CUBIST_PICTURES", tmp_path))
    async with scene() as here:
        page = await guide(here, {"width": 1180, "height": 720})
        await choose(page, "Camera:")
        await page.wait_for_selector(".advice li")
        await page.screenshot(path=kept / "page-guide.png")


# The page's server alone, in front of a fake daemon.


@pytest.fixture
async def guided(page: PageVisitor) -> PageVisitor:
    """The page's server with somebody logged in."""
    await page.log_in()
    return page


async def ended(page: PageVisitor) -> None:
    """Wait until nobody is calibrating, as far as the page's server knows."""
    async with asyncio.timeout(30):
        while page.daemon.maintenances:
            await asyncio.sleep(0.01)


async def test_nobody_calibrates_where_the_owner_has_not_allowed_it(
    daemon: FakePageDaemon, options: PageOptions
) -> None:
    async with visited(daemon, replace(options, calibrates=False)) as page:
        await page.log_in()
        assert (await page.ask("GET", "/api/guide"))[1] == {"allowed": False}
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await page.visitor.ws_connect("/ws/guide", headers=page.own)
        assert refused.value.status == 403
        assert page.daemon.posts() == []


async def test_one_calibrates_at_a_time_until_the_tab_closes(guided: PageVisitor) -> None:
    first = await guided.visitor.ws_connect("/ws/guide", headers=guided.own)
    menu = await first.receive_json(timeout=30)
    assert menu["heading"] == "Calibrate"
    assert guided.daemon.maintenances == 1
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await guided.visitor.ws_connect("/ws/guide", headers=guided.own)
    assert refused.value.status == 409
    await first.close()
    await ended(guided)


@pytest.mark.parametrize("odd", ["", '{"do": 1}', "[" * 1000])
async def test_what_the_page_never_sends_ends_it(guided: PageVisitor, odd: str) -> None:
    socket = await guided.visitor.ws_connect("/ws/guide", headers=guided.own)
    await socket.receive_json(timeout=30)
    await socket.send_str(odd)
    async with asyncio.timeout(30):
        while not socket.closed:
            await socket.receive()
    await ended(guided)


async def test_who_logs_out_calibrates_no_more(guided: PageVisitor) -> None:
    socket = await guided.visitor.ws_connect("/ws/guide", headers=guided.own)
    await socket.receive_json(timeout=30)
    await guided.ask("POST", "/logout", guided.own)
    await ended(guided)
    assert "ended" in await socket.receive_json(timeout=30)


async def test_a_robot_that_is_busy_is_not_calibrated_and_the_page_says_why(
    guided: PageVisitor,
) -> None:
    guided.daemon.refusal = {
        "error": "busy",
        "reason": "the robot is busy",
        "reason_code": "busy",
        "reason_parameters": {"state": "turning"},
    }
    socket = await guided.visitor.ws_connect("/ws/guide", headers=guided.own)
    told = await socket.receive_json(timeout=30)
    assert told["ended"] == "the robot is busy"
    assert told["reason_code"] == "busy"


def test_a_guide_process_reads_presses_until_its_input_ends() -> None:
    client = FakeCalibrationClient()
    written: list[dict[str, Any]] = []
    undone = threading.Event()

    def lines() -> Iterator[str]:
        yield "nonsense\n"
        for odd in ('"row": -1', '"row": "1"', '"corner": 4', '"x": 1.1', '"y": "0"'):
            yield f'{{"do": "undo", "dialog": 1, {odd}}}\n'
        yield '{"do": "undo", "dialog": 1}\n'
        assert undone.wait(30)

    def write(document: dict[str, Any]) -> None:
        written.append(json.loads(json.dumps(document)))
        if document["notice"]["text"]:
            undone.set()

    run_guide(client.session, lines(), write)
    texts = [one["notice"]["text"] for one in written if not one["busy"]]
    assert texts == ["", GuideText.NOTHING_TO_UNDO]
