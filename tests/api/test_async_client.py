"""The client of the control socket for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from aiohttp import web

from robot.api.async_client import AsyncControlClient
from robot.api.client import DaemonError, RequestError
from robot.api.endpoints import EVENTS, PICTURE, RUN, RUNS, START, STATUS
from robot.simulate.progress import DaemonFollower

PIECES = [b'{"a": 1}\n{"a"', b': 2}\n\n  \n{"a": 3}', b"\n", b'{"a": 4}']


class Daemon:
    """A daemon whose answer depends on the path. ``events`` are pieces of a stream."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.events: list[bytes] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append((request.method, request.path_qs, body, request.headers))
        if request.path == "/picture":
            large = b"x" * int(request.query.get("bytes", 3))
            return web.Response(body=large, content_type="image/jpeg", headers={"ETag": '"7"'})
        if request.path == "/runs":
            return web.Response(body=b"<p>", content_type="text/html")
        if request.path == "/events":
            return await self.tell(request) if self.events else web.Response(status=503)
        return web.json_response({"path": request.path}, status=418)

    async def tell(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in self.events:
            await response.write(piece)
            await asyncio.sleep(0.01)
        return response


@pytest.fixture
async def served(short_folder: Path) -> AsyncIterator[tuple[AsyncControlClient, Daemon]]:
    daemon, app = Daemon(), web.Application()
    app.router.add_route("*", "/{path:.*}", daemon.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, str(short_folder / "s")).start()
    async with AsyncControlClient(short_folder / "s") as client:
        yield client, daemon
    await runner.cleanup()


async def documents(client: AsyncControlClient) -> list[Any]:
    async with client.lines(EVENTS) as lines:
        return [line async for line in lines]


async def test_each_line_is_a_document_however_it_comes(served):
    client, daemon = served
    daemon.events = PIECES
    assert await documents(client) == [{"a": 1}, {"a": 2}, {"a": 3}]
    for error in (FileNotFoundError("mine"), ValueError("mine"), TimeoutError("mine")):
        with pytest.raises(type(error), match="mine"):
            async with client.lines(EVENTS) as lines:
                async for _ in lines:
                    raise error


async def test_a_line_without_an_end_is_refused(served, monkeypatch):
    client, daemon = served
    monkeypatch.setattr(client, "most_bytes", 4)
    daemon.events = [b"{  }", b"\n"]
    assert await documents(client) == [{}]
    for line in (b"{   }", b"1234", b"[[[["):
        daemon.events = [line, b"\n"]
        with pytest.raises(DaemonError):
            await documents(client)


async def test_a_request_is_made_as_the_page_wants_it(served):
    client, daemon = served
    answer = await client.request(RUN, {"run": "7"}, query={"count": "3"})
    found = (answer.status, answer.media, answer.document)
    assert found == (418, "application/json", {"path": "/runs/7"})
    *asked, headers = daemon.asked[0]
    assert asked == ["GET", "/runs/7?count=3", b""]
    assert "If-None-Match" not in headers
    await client.request(START, body=b"{}", tag='"4"')
    *asked, headers = daemon.asked[1]
    assert asked == ["POST", "/start", b"{}"]
    assert (headers["Content-Type"], headers["If-None-Match"]) == ("application/json", '"4"')
    assert (await client.request(PICTURE)).tag == '"7"'


async def test_answers_that_cannot_be_used_are_none(served, monkeypatch):
    daemon, _ = served
    with pytest.raises(DaemonError, match="cannot be used"):
        await daemon.request(RUNS)
    with pytest.raises(RequestError, match="the daemon answered 503"):
        async with daemon.lines(EVENTS):
            pass
    monkeypatch.setattr(daemon, "most_bytes", 50)
    assert len((await daemon.request(PICTURE, query={"bytes": "50"})).body) == 50
    with pytest.raises(DaemonError, match="cannot be used"):
        await daemon.request(PICTURE, query={"bytes": "51"})


async def test_a_simulation_waits_for_a_daemon_that_refuses_at_first(short_folder, monkeypatch):
    answers = [
        RequestError(503, "too-many", "full"),
        DaemonError("gone"),
        SimpleNamespace(state="idle"),
    ]

    async with DaemonFollower(short_folder / "s") as daemon:
        monkeypatch.setattr(daemon, "ask", AsyncMock(side_effect=answers))
        assert (await daemon.ready()).state == "idle"
        assert daemon.answer_limit_s is None, "a simulation may be slow"


async def test_a_daemon_that_is_not_there_is_told_from_one_that_does_not_answer(short_folder):
    daemon = AsyncControlClient(short_folder / "nobody")
    with pytest.raises(RuntimeError, match="async with"):
        await daemon.request(STATUS)
    async with daemon:
        with pytest.raises(DaemonError, match="not running"):
            await daemon.request(STATUS)
        with pytest.raises(DaemonError, match="not running"):
            async with daemon.lines(EVENTS):
                pass
