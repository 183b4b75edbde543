"""The open tabs of the page, and the guide of a tab, in front of a fake daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import Mock

import aiohttp
import pytest

from robot.web import hub
from robot.web.hub import MOST_MESSAGES, QUEUE_LENGTH, Tab
from tests.rig.page_server import NOTHING, STATUS, FakePageDaemon, PageVisitor, visited

STATE = {"status": STATUS, "live": NOTHING}
ODD_MESSAGES = ["", "{", "[]", '{"do": 1}', "{}", "[" * 1000]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the hub's pauses, except for that of a robot without pictures."""
    monkeypatch.setattr(hub, "RETRY_S", 0.01)
    monkeypatch.setattr(hub, "FRAME_PERIOD_S", 0.01)
    monkeypatch.setattr(hub, "NO_FRAME_S", 3600.0)


@pytest.fixture
async def page(page: PageVisitor) -> PageVisitor:
    """Return the page's server with a visitor logged in."""
    await page.log_in()
    return page


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


async def test_every_tab_is_greeted_once_and_hears_every_event(page):
    async with page.tab() as first:
        assert await first.hear() == STATE
        async with page.tab() as second:
            assert await second.hear() == STATE
            for kind in ("look", "state", "finished"):
                page.daemon.events.put_nowait({"event": kind})
            for tab in (first, second):
                heard = [await tab.hear() for _ in range(5)]
                # The page requests the status again when it may have changed.
                assert heard == [
                    {"event": {"event": "look"}},
                    {"event": {"event": "state"}},
                    {"status": STATUS},
                    {"event": {"event": "finished"}},
                    {"status": STATUS},
                ]
    assert page.daemon.count("/events") == 1


async def test_a_stop_is_answered_to_the_tab_that_asked(page):
    async with page.tab() as tab, page.tab() as other:
        for kind, body in (("stop", b"{}"), ("estop", b'{"emergency": true}')):
            await tab.ask(kind)
            assert await tab.hear("stopped") is True
            assert page.daemon.posts()[-1] == ("/stop", body)
        page.daemon.events.put_nowait({"event": "look"})
        while "event" not in (heard := await other.hear()):
            assert "stopped" not in heard


async def test_a_daemon_that_is_gone_is_told_and_asked_for_again(options, short_folder):
    daemon = FakePageDaemon(short_folder / "control.sock")
    async with visited(daemon, options) as page:
        await page.log_in()
        code, answer = await page.ask("GET", "/api/status")
        assert code == 503 and "not running" in answer["reason"]
        async with page.tab() as tab:
            assert "not running" in await tab.hear("gone")
            await tab.ask("estop")
            assert "not running" in await tab.hear("reason")
            async with daemon.serving():
                assert (await tab.hear("status"))["state"] == "idle"
                await tab.ask("frame")
                assert await tab.picture() == (1, b"jpeg")
            assert await tab.hear("gone")
            async with daemon.serving():
                await tab.hear("status")
                await tab.ask("frame")
                # Another daemon numbers its pictures from 1.
                assert await tab.picture() == (1, b"jpeg")


async def test_each_picture_is_got_once_and_given_to_who_wants_one(page):
    daemon = page.daemon
    async with page.tab() as tab, page.tab() as other:
        await tab.hear("status")
        assert daemon.pictures == 0
        for one in (tab, other):
            await one.ask("frame")
            assert await one.picture() == (1, b"jpeg")
        await tab.ask("frame")
        before = daemon.pictures
        await eventually(lambda: daemon.pictures > before)
        daemon.frame = 300
        assert await tab.picture() == (300, b"jpeg")
        await other.ask("frame")
        assert await other.picture() == (300, b"jpeg"), "the one in between is skipped"


async def test_a_tab_may_say_a_hundred_things_a_second(page):
    async with page.tab() as tab:
        for _ in range(2):
            await tab.ask(*["frame"] * (MOST_MESSAGES - 1), "stop")
            assert await tab.hear("stopped")
            await asyncio.sleep(1.05)
        await tab.ask(*["frame"] * 10 * MOST_MESSAGES)
        await tab.closed()


@pytest.mark.parametrize("text", [*ODD_MESSAGES, '{"do": "shutdown"}', b'{"do": "frame"}'])
async def test_what_the_page_never_sends_ends_the_tab(page, text):
    async with page.tab() as tab:
        send = tab.socket.send_str if isinstance(text, str) else tab.socket.send_bytes
        await send(text)
        await tab.closed()


async def test_a_tab_that_does_not_keep_up_is_cut_off_when_its_queue_is_full():
    transport = Mock()
    tab = Tab("mine", Mock(), transport)
    for _ in range(QUEUE_LENGTH):
        tab.put("{}")
    assert not transport.abort.called
    tab.put("{}")
    assert transport.abort.called


# The guide of a tab.


async def test_nobody_calibrates_where_the_owner_has_not_allowed_it(daemon, options):
    async with visited(daemon, replace(options, calibrates=False)) as page:
        await page.log_in()
        assert (await page.ask("GET", "/api/guide"))[1] == {"allowed": False}
        assert await refused(page) == 403
        assert page.daemon.posts() == []


async def refused(page: PageVisitor) -> int:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await page.visitor.ws_connect("/ws/guide", headers=page.own)
    return refusal.value.status


async def test_one_calibrates_at_a_time_until_the_tab_closes(page):
    async with page.tab("/ws/guide") as tab:
        assert await tab.hear("heading") == "Calibrate"
        assert page.daemon.maintenances == 1
        assert await refused(page) == 409
    await eventually(lambda: page.daemon.maintenances == 0)


@pytest.mark.parametrize("ending", ["odd message", "logging out"])
async def test_odd_messages_and_logging_out_end_a_guide(page, ending):
    async with page.tab("/ws/guide") as tab:
        await tab.hear("heading")
        if ending == "odd message":
            await tab.socket.send_str("")
            await tab.closed()
        else:
            await page.ask("POST", "/logout", page.own)
            assert await tab.hear("ended")
        await eventually(lambda: page.daemon.maintenances == 0)


async def test_a_robot_that_is_busy_is_not_calibrated_and_the_page_says_why(page):
    why = {"reason_code": "busy", "reason_parameters": {"state": "turning"}}
    page.daemon.refusal = {"error": "busy", "reason": "the robot is busy", **why}
    async with page.tab("/ws/guide") as tab:
        heard = await tab.hear()
    assert heard["ended"] == "the robot is busy"
    assert heard.items() >= why.items()
