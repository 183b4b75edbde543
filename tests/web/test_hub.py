"""The hub asks the daemon once for all open tabs and sends each what it wants."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import WSMessage, WSMsgType

from robot.api.async_client import Reply
from robot.api.client import DaemonError
from robot.api.endpoints import Endpoint
from robot.text.messages import PageReason
from robot.web import hub
from robot.web.hub import FRAME_PERIOD_S, MOST_MESSAGES, NO_FRAME_S, QUEUE_LENGTH, Hub, Tab

STATUS, LIVE = {"status": {"state": "idle"}}, {"live": {"cube": None}}


class Robot:
    """The daemon: ``asked`` is what it was asked for, ``events`` what it tells."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.picture = Reply(200, "image/jpeg", b"one", '"1"')
        self.is_gone = False
        self.meanwhile: Callable[[], None] = lambda: None

    async def request(self, endpoint: Endpoint[Any], **more: object) -> Reply:
        method, route = endpoint.method, endpoint.path
        self.asked.append((method, route, *more.items()))
        if self.is_gone:
            raise DaemonError("gone away")
        await asyncio.sleep(0)
        if route == "/picture":
            return self.picture
        self.meanwhile()
        found = {"/status": STATUS["status"], "/live": LIVE["live"], "/stop": {"stopped": "yes"}}
        return Reply(200, "application/json", json.dumps(found[route]).encode())

    async def keep_ready(self) -> None:
        await asyncio.Event().wait()

    @contextlib.asynccontextmanager
    async def lines(self, endpoint: Endpoint[Any]) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        self.asked.append((endpoint.method, endpoint.path))
        if self.is_gone:
            raise DaemonError("gone away")
        yield self._told()

    async def _told(self) -> AsyncIterator[dict[str, Any]]:
        while (event := await self.events.get()) is not None:
            yield event

    def times(self, route: str) -> int:
        return sum(route in each for each in self.asked)


class Socket:
    """A tab's, which says what is put in; ``heard`` is what was sent to it."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[WSMessage | None] = asyncio.Queue()
        self.heard: list[Any] = []
        self.is_closed = False

    async def send_str(self, text: str) -> None:
        self.heard.append(json.loads(text))

    async def send_bytes(self, data: bytes) -> None:
        self.heard.append(data)

    async def close(self) -> None:
        self.is_closed = True
        self.said.put_nowait(None)

    def says(self, *texts: str) -> None:
        for text in texts:
            self.said.put_nowait(WSMessage(WSMsgType.TEXT, text, None))

    def asks(self, do: str, count: int = 1) -> None:
        self.says(*[json.dumps({"do": do})] * count)

    async def __aiter__(self) -> AsyncIterator[WSMessage]:
        while (message := await self.said.get()) is not None:
            yield message


class Transport:
    """Knows whether it was cut off."""

    is_cut = False

    def abort(self) -> None:
        self.is_cut = True


class HubRig:
    """A hub before a daemon, with the pauses that it makes: of no length here."""

    def __init__(self) -> None:
        self.robot = Robot()
        self.hub = Hub(self.robot)  # type: ignore[arg-type]
        self.pauses: list[float] = []
        self.tabs: list[asyncio.Task[None]] = []

    def opens(self, session: str = "mine") -> Socket:
        socket = Socket()
        self.tabs.append(asyncio.create_task(self.hub.serve(session, socket, None)))  # type: ignore[arg-type]
        return socket


async def settled() -> None:
    """Whatever can be done has been done."""
    for _ in range(40):
        await really_sleep(0)


really_sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@pytest.fixture
async def here(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HubRig]:
    desk = HubRig()

    async def pause(seconds: float) -> None:
        if seconds:
            desk.pauses.append(seconds)
            await really_sleep(0.001)
        await really_sleep(0)

    monkeypatch.setattr(hub.asyncio, "sleep", pause)
    async with desk.hub:
        yield desk
        for task in desk.tabs:
            task.cancel()
        await asyncio.gather(*desk.tabs, return_exceptions=True)


async def test_every_tab_is_greeted_once_and_hears_every_event(here: HubRig) -> None:
    first = here.opens()
    await settled()
    assert first.heard == [STATUS | LIVE]
    second = here.opens()
    await settled()
    assert (first.heard, second.heard) == ([STATUS | LIVE], [STATUS | LIVE])
    assert here.robot.times("/events") == 1
    here.robot.events.put_nowait({"event": "look"})
    await settled()
    assert first.heard[1:] == second.heard[1:] == [{"event": {"event": "look"}}]


@pytest.mark.parametrize(("event", "anew"), [("state", 1), ("finished", 1), ("look", 0)])
async def test_the_status_is_told_anew_when_it_may_be_another(
    here: HubRig, event: str, anew: int
) -> None:
    tab = here.opens()
    await settled()
    here.robot.events.put_nowait({"event": event})
    await settled()
    assert tab.heard[1:] == [{"event": {"event": event}}, *[STATUS] * anew]


async def test_the_state_is_asked_for_again_if_an_event_came_meanwhile(
    here: HubRig,
) -> None:
    here.opens()
    await settled()
    assert (here.robot.times("/status"), here.robot.times("/live")) == (1, 1)
    happens = [1, 0, 0, 0, 0, 0]

    def meanwhile() -> None:
        here.hub._event_count += happens.pop(0)

    here.robot.meanwhile = meanwhile
    tab = here.opens()
    await settled()
    assert (here.robot.times("/status"), here.robot.times("/live")) == (3, 3)
    assert tab.heard == [STATUS | LIVE]
    happens[:] = [1] * 20
    here.opens()
    await settled()
    assert here.robot.times("/live") == 6, "three times at most"


@pytest.mark.parametrize(("asked", "body"), [("stop", b"{}"), ("estop", b'{"emergency": true}')])
async def test_a_stop_is_answered_to_the_tab_that_asked(
    here: HubRig, asked: str, body: bytes
) -> None:
    tab, other = here.opens(), here.opens()
    await settled()
    tab.asks(asked)
    await settled()
    assert here.robot.asked[-1] == ("POST", "/stop", ("body", body), ("urgent", True))
    assert tab.heard[-1] == {"stopped": "yes"}
    here.robot.is_gone = True
    tab.asks(asked)
    await settled()
    assert tab.heard[-1] == {"stopped": asked, "reason": str(PageReason.NO_ANSWER)}
    assert other.heard == [STATUS | LIVE]


async def test_a_daemon_that_is_gone_is_told_and_asked_for_again(here: HubRig) -> None:
    here.robot.is_gone = True
    tab = here.opens()
    await settled()
    assert tab.heard[0] == {"gone": str(PageReason.NO_ANSWER)}
    assert here.pauses[0] in {hub.RETRY_S, FRAME_PERIOD_S}
    late = here.opens()
    await settled()
    assert {"status", "live"}.isdisjoint(key for each in late.heard for key in each)
    here.robot.is_gone = False
    async with asyncio.timeout(30):
        while tab.heard[-1] != STATUS | LIVE:
            await really_sleep(0.001)
    assert set(here.pauses) == {hub.RETRY_S, FRAME_PERIOD_S}


async def test_an_end_of_the_events_is_told(here: HubRig) -> None:
    tab = here.opens()
    await settled()
    here.robot.events.put_nowait(None)
    await settled()
    assert {"gone": PageReason.ENDED} in tab.heard


async def pictured(tab: Socket, number: int, jpeg: bytes) -> None:
    async with asyncio.timeout(30):
        while tab.heard[-1:] != [number.to_bytes(4, "big") + jpeg]:
            await really_sleep(0.001)


async def test_each_picture_is_got_once_and_given_to_who_wants_one(here: HubRig) -> None:
    tab, other, third = here.opens(), here.opens(), here.opens()
    await settled()
    assert here.robot.times("/picture") == 0
    tab.asks("frame")
    other.asks("frame")
    await pictured(tab, 1, b"one")
    await pictured(other, 1, b"one")
    assert here.robot.times("/picture") == 1
    assert ("GET", "/picture", ("tag", "")) in here.robot.asked
    tab.asks("frame")
    here.robot.picture = Reply(304, "", b"")
    await settled()
    third.asks("frame")  # the same picture, for who has not seen it
    await pictured(third, 1, b"one")
    assert here.robot.asked[-1] == ("GET", "/picture", ("tag", '"1"'))
    here.robot.picture = Reply(200, "image/jpeg", b"two", '"300"')
    await pictured(tab, 300, b"two")
    assert [each for each in other.heard if isinstance(each, bytes)] == [b"\0\0\0\1one"]
    assert set(here.pauses) == {FRAME_PERIOD_S}


@pytest.mark.parametrize(
    "odd", [Reply(404, "application/json", b"{}"), Reply(200, "image/jpeg", b"x", '"x"'), None]
)
async def test_where_there_is_no_picture_it_is_asked_for_less_often(
    here: HubRig, odd: Reply | None
) -> None:
    tab = here.opens()
    await settled()
    if odd is None:
        here.robot.is_gone = True
    else:
        here.robot.picture = odd
    tab.asks("frame")
    async with asyncio.timeout(30):
        while NO_FRAME_S not in here.pauses:
            await really_sleep(0.001)
    assert not any(isinstance(each, bytes) for each in tab.heard)


async def test_another_daemon_numbers_its_pictures_anew(here: HubRig) -> None:
    tab = here.opens()
    await settled()
    tab.asks("frame")
    await pictured(tab, 1, b"one")
    here.robot.events.put_nowait(None)
    here.robot.picture = Reply(200, "image/jpeg", b"new", '"1"')
    async with asyncio.timeout(30):
        while tab.heard[-1] != STATUS | LIVE:
            await really_sleep(0.001)
    tab.asks("frame")
    await pictured(tab, 1, b"new")
    assert here.robot.asked[-1] == ("GET", "/picture", ("tag", ""))


async def test_sessions_and_the_program_end_their_tabs(here: HubRig) -> None:
    mine, other = here.opens("mine"), here.opens("other")
    await settled()
    here.hub.end_session("mine")
    await settled()
    assert (mine.is_closed, other.is_closed) == (True, False)
    here.hub.end()
    await settled()
    assert other.is_closed
    assert all(task.done() for task in here.tabs)


async def test_without_a_tab_nothing_is_asked_for(here: HubRig) -> None:
    tab, other = here.opens(), here.opens()
    await settled()
    await tab.close()
    await settled()
    here.robot.events.put_nowait({"event": "look"})
    await settled()
    assert len(other.heard) == 2, "one is still open"
    await other.close()
    await settled()
    before = len(here.robot.asked)
    here.robot.events.put_nowait({"event": "state"})
    await settled()
    assert len(here.robot.asked) == before
    again = here.opens()
    await settled()
    assert again.heard[0] == STATUS | LIVE
    assert here.robot.times("/events") == 2


async def test_it_is_full_with_as_many_tabs_as_it_takes(
    here: HubRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hub.MOST_TABS == 32
    monkeypatch.setattr(hub, "MOST_TABS", 2)
    here.opens()
    await settled()
    assert not here.hub.is_full
    tab = here.opens()
    await settled()
    assert here.hub.is_full
    await tab.close()
    await settled()
    assert not here.hub.is_full


async def test_a_tab_may_say_a_hundred_things_a_second(
    here: HubRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_MESSAGES == 100
    now = 10.0
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "time", lambda: now)
    tab = here.opens()
    await settled()
    tab.asks("frame", 50)
    await settled_all(tab)
    now = 10.9
    tab.asks("frame", 50)
    await settled_all(tab)
    assert not here.tabs[0].done()
    now = 11.0
    tab.asks("frame", 100)
    await settled_all(tab)
    now = 11.9
    assert not here.tabs[0].done()
    tab.asks("frame")
    await settled_all(tab)
    assert here.tabs[0].done()


async def settled_all(tab: Socket) -> None:
    while not tab.said.empty():
        await really_sleep(0)
    await settled()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"do": 1}', '{"do": "shutdown"}', "{}"])
async def test_what_the_page_never_sends_ends_the_tab(here: HubRig, text: str) -> None:
    tab = here.opens()
    await settled()
    tab.says(text)
    await settled()
    assert here.tabs[0].done()
    other = here.opens()
    await settled()
    other.said.put_nowait(WSMessage(WSMsgType.BINARY, b'{"do": "frame"}', None))
    await settled()
    assert here.tabs[1].done()


async def test_a_tab_that_does_not_keep_up_is_cut_off_when_its_queue_is_full() -> None:
    transport = Transport()
    tab = Tab("mine", Socket(), transport)  # type: ignore[arg-type]
    for _ in range(QUEUE_LENGTH):
        tab.put("{}")
    assert not transport.is_cut
    tab.put("{}")
    assert transport.is_cut
    tab = Tab("mine", Socket(), None)  # type: ignore[arg-type]
    for _ in range(QUEUE_LENGTH + 1):
        tab.put("{}")
    assert tab._queue.qsize() == QUEUE_LENGTH


async def test_it_may_end_while_tabs_are_open_and_stops_under_way() -> None:
    desk = HubRig()
    async with desk.hub:
        tab = desk.opens()
        await settled()
        tab.asks("stop")
        await really_sleep(0)
    for task in desk.tabs:
        task.cancel()
    assert desk.hub._following is not None
    assert desk.hub._following.done()
