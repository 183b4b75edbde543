"""What the page asks of the daemon, and the process of a guide, by themselves."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import WSMessage, WSMsgType, web

from robot.web import daemon as asking
from robot.web import guides
from robot.web.daemon import Daemon, DaemonGone, _documents
from robot.web.guides import Guides, _hear, _pressed, _show
from robot.web.reasons import Reason


class Pieces:
    """A stream that comes in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    async def iter_any(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


async def documents(*pieces: bytes) -> list[Any]:
    return [one async for one in _documents(Pieces(*pieces))]  # type: ignore[arg-type]


async def test_each_line_is_a_document_however_it_comes() -> None:
    assert await documents(b'{"a": 1}\n{"a"', b': 2}\n\n  \n{"a": 3}', b"\n", b'{"a": 4}') == [
        *({"a": 1}, {"a": 2}, {"a": 3}),
    ]


async def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_BYTES", 4)
    assert await documents(b"{  }", b"\n") == [{}]
    for line in (b"{   }", b"1234", b"[[[["):
        with pytest.raises(DaemonGone):
            await documents(line, b"\n")


@pytest.fixture
async def served(short_folder: Path) -> AsyncIterator[tuple[Daemon, list[Any]]]:
    """A daemon that answers as its path says, and what it was asked."""
    asked: list[Any] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        asked.append((request.method, request.path_qs, body, dict(request.headers)))
        if request.path == "/picture":
            large = b"x" * (int(request.query["bytes"]) if "bytes" in request.query else 3)
            return web.Response(body=large, content_type="image/jpeg", headers={"ETag": '"7"'})
        if request.path == "/runs":
            return web.Response(body=b"<p>", content_type="text/html")
        if request.path == "/events":
            return web.Response(status=503)
        return web.json_response({"path": request.path}, status=418)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, str(short_folder / "s")).start()
    async with Daemon(short_folder / "s") as daemon:
        yield daemon, asked
    await runner.cleanup()


async def test_a_request_is_made_as_the_page_wants_it(served: tuple[Daemon, list[Any]]) -> None:
    daemon, asked = served
    answer = await daemon.call("GET", "/runs/{run}", {"run": "7"}, query={"count": "3"})
    assert (answer.status, answer.media, answer.document) == (
        *(418, "application/json", {"path": "/runs/7"}),
    )
    method, path, body, headers = asked[0]
    assert (method, path, body) == ("GET", "/runs/7?count=3", b"")
    assert "If-None-Match" not in headers
    await daemon.call("POST", "/start", body=b"{}", tag='"4"')
    method, path, body, headers = asked[1]
    assert (method, path, body) == ("POST", "/start", b"{}")
    assert (headers["Content-Type"], headers["If-None-Match"]) == ("application/json", '"4"')
    assert (await daemon.call("GET", "/picture")).tag == '"7"'


async def test_answers_that_cannot_be_used_are_none(
    served: tuple[Daemon, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon, _ = served
    with pytest.raises(DaemonGone, match="cannot be used"):
        await daemon.call("GET", "/runs")
    with pytest.raises(DaemonGone, match="the daemon answers 503"):
        async with daemon.lines("GET", "/events"):
            pass
    monkeypatch.setattr(asking, "MOST_BYTES", 50)
    assert len((await daemon.call("GET", "/picture", query={"bytes": "50"})).body) == 50
    with pytest.raises(DaemonGone, match="cannot be used"):
        await daemon.call("GET", "/picture", query={"bytes": "51"})


async def test_a_daemon_that_is_not_there_is_told_from_one_that_does_not_answer(
    short_folder: Path,
) -> None:
    daemon = Daemon(short_folder / "nobody")
    with pytest.raises(RuntimeError, match="async with"):
        await daemon.call("GET", "/status")
    async with daemon:
        with pytest.raises(DaemonGone, match=Reason.NOT_RUNNING):
            await daemon.call("GET", "/status")
        with pytest.raises(DaemonGone, match=Reason.NOT_RUNNING):
            async with daemon.lines("GET", "/events"):
                pass


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.EMFILE, "too many open files"), Reason.NO_ROOM),
        (PermissionError(errno.EACCES, "denied"), Reason.NOT_PERMITTED),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), Reason.NOT_RUNNING),
        (TimeoutError(), Reason.NO_ANSWER),
        (OSError(errno.EIO, "odd"), Reason.NO_ANSWER),
    ],
)
async def test_the_reason_given_is_the_system_s(
    error: OSError, reason: Reason, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(asyncio.get_running_loop(), "create_unix_connection", fails)
    async with Daemon(Path("/nonexistent")) as daemon:
        with pytest.raises(DaemonGone, match=reason):
            await daemon.call("POST", "/stop", urgent=True)


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
