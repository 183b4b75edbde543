"""What the page asks of the daemon, and the process of a guide, by themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import WSMessage, WSMsgType

from robot.web import guides
from robot.web.guides import Guides, _hear, _pressed, _show
from robot.web.reasons import Reason


class Tab:
    """A WebSocket: says what it is given, keeps what it is sent."""

    def __init__(self, *said: WSMessage) -> None:
        self.said, self.heard, self.is_closed = said, list[str](), False

    async def __aiter__(self) -> AsyncIterator[WSMessage]:
        for message in self.said:
            yield message

    async def send_str(self, text: str) -> None:
        self.heard.append(text)

    async def close(self) -> None:
        self.is_closed = True


class Process:
    """A guide's process: shows lines, keeps what is pressed."""

    def __init__(self, *lines: bytes) -> None:
        self.lines, self.pressed, self.killed = lines, list[bytes](), 0
        self.stdin, self.stdout = self, self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for line in self.lines:
            yield line

    def write(self, data: bytes) -> None:
        self.pressed.append(data)

    async def drain(self) -> None: ...

    def kill(self) -> None:
        self.killed += 1

    async def wait(self) -> int:
        return 0


def text(message: str) -> WSMessage:
    return WSMessage(WSMsgType.TEXT, message, None)


@pytest.mark.parametrize("said_why", [True, False])
async def test_what_a_guide_shows_is_handed_on_and_its_end_told(said_why: bool) -> None:
    tab: Any = Tab()
    last = b'{"ended": "so"}\n' if said_why else b'{"page": 2}\n'
    await _show(Process(b'{"page": 1}\n', last), tab)  # type: ignore[arg-type]
    ended = [] if said_why else [json.dumps({"ended": Reason.GUIDE_FAILED})]
    assert tab.heard == ['{"page": 1}\n', last.decode(), *ended]
    assert tab.is_closed


async def test_what_is_pressed_is_handed_on_until_it_is_odd() -> None:
    process: Any = Process()
    tab: Any = Tab(text('{"do": "a", "page": 1}'), text('{"do": 1}'), text('{"do": "b"}'))
    await _hear(process, tab)
    assert process.pressed == [b'{"do": "a", "page": 1}\n']
    other: Any = Tab(WSMessage(WSMsgType.BINARY, b'{"do": "a"}', None), text('{"do": "b"}'))
    await _hear(process, other)
    assert len(process.pressed) == 1
    for odd in ("", "[", "[]", "1", '{"page": 1}', '{"do": null}', "[" * 100_000):
        assert _pressed(odd) is None
    assert _pressed('{"do": "a"}') == {"do": "a"}


async def test_a_hundred_presses_a_second_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])
    process: Any = Process()
    await _hear(process, Tab(*[text('{"do": "a"}')] * 120))  # type: ignore[arg-type]
    assert len(process.pressed) == guides.MOST_MESSAGES == 100

    class Slowly(Tab):
        async def __aiter__(self) -> AsyncIterator[WSMessage]:
            for message in self.said:
                yield message
                now[0] += 0.011

    process = Process()
    await _hear(process, Slowly(*[text('{"do": "a"}')] * 220))  # type: ignore[arg-type]
    assert len(process.pressed) == 220


async def test_one_guide_at_a_time_ends_with_its_tab_or_session(
    daemon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not Guides(None).are_allowed
    assert not Guides(Path("/nonexistent")).are_allowed, "the daemon allows it to nobody"
    here = Guides(daemon.path)
    assert here.are_allowed
    assert not here.is_open
    with here.open_for("mine"):
        assert here.is_open
        process = Process()

        async def started() -> Any:
            return process

        monkeypatch.setattr(here, "_started", started)
        here.end()  # there is none yet
        begun = asyncio.Event()

        class Waiting(Tab):
            async def __aiter__(self) -> AsyncIterator[WSMessage]:
                begun.set()
                await asyncio.sleep(0.01)
                yield text("")

        serving = asyncio.create_task(here.serve(Waiting()))  # type: ignore[arg-type]
        await begun.wait()
        here.end_session("other")
        assert process.killed == 0
        here.end_session("mine")
        assert process.killed == 1
        await serving
        assert process.killed == 2
        here.end_session("mine")
        assert process.killed == 2, "it is over"
    assert not here.is_open
