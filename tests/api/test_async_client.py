"""The client of the control socket for programs with an event loop."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from robot.api.async_client import AsyncControlClient, _documents
from robot.api.client import Absence, DaemonError, RequestError
from robot.api.endpoints import EVENTS, PICTURE, RUN, RUNS, START, STATUS, STOP
from robot.simulate.progress import DaemonFollower


class Pieces:
    """A stream that comes in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    async def iter_any(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


async def documents(*pieces: bytes, most: int = 1000) -> list[Any]:
    return [one async for one in _documents(Pieces(*pieces), most)]  # type: ignore[arg-type]


async def test_each_line_is_a_document_however_it_comes() -> None:
    assert await documents(b'{"a": 1}\n{"a"', b': 2}\n\n  \n{"a": 3}', b"\n", b'{"a": 4}') == [
        *({"a": 1}, {"a": 2}, {"a": 3}),
    ]


async def test_a_line_without_an_end_is_refused() -> None:
    assert await documents(b"{  }", b"\n", most=4) == [{}]
    for line in (b"{   }", b"1234", b"[[[["):
        with pytest.raises(DaemonError):
            await documents(line, b"\n", most=4)


@pytest.fixture
async def served(short_folder: Path) -> AsyncIterator[tuple[AsyncControlClient, list[Any]]]:
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
    async with AsyncControlClient(short_folder / "s") as daemon:
        yield daemon, asked
    await runner.cleanup()


async def test_a_request_is_made_as_the_page_wants_it(
    served: tuple[AsyncControlClient, list[Any]],
) -> None:
    daemon, asked = served
    answer = await daemon.request(RUN, {"run": "7"}, query={"count": "3"})
    assert (answer.status, answer.media, answer.document) == (
        *(418, "application/json", {"path": "/runs/7"}),
    )
    method, path, body, headers = asked[0]
    assert (method, path, body) == ("GET", "/runs/7?count=3", b"")
    assert "If-None-Match" not in headers
    await daemon.request(START, body=b"{}", tag='"4"')
    method, path, body, headers = asked[1]
    assert (method, path, body) == ("POST", "/start", b"{}")
    assert (headers["Content-Type"], headers["If-None-Match"]) == ("application/json", '"4"')
    assert (await daemon.request(PICTURE)).tag == '"7"'


async def test_answers_that_cannot_be_used_are_none(
    served: tuple[AsyncControlClient, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon, _ = served
    with pytest.raises(DaemonError, match="cannot be used"):
        await daemon.request(RUNS)
    with pytest.raises(RequestError, match="the daemon answers 503"):
        async with daemon.lines(EVENTS):
            pass
    monkeypatch.setattr(daemon, "most_bytes", 50)
    assert len((await daemon.request(PICTURE, query={"bytes": "50"})).body) == 50
    with pytest.raises(DaemonError, match="cannot be used"):
        await daemon.request(PICTURE, query={"bytes": "51"})


async def test_errors_of_the_caller_are_not_the_daemon_s(short_folder: Path) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=b'{"a": 1}\n')

    app = web.Application()
    app.router.add_get("/events", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, str(short_folder / "s")).start()
    async with AsyncControlClient(short_folder / "s") as daemon:
        for error in (FileNotFoundError("mine"), ValueError("mine"), TimeoutError("mine")):
            with pytest.raises(type(error), match="mine"):
                async with daemon.lines(EVENTS) as lines:
                    assert [line async for line in lines] == [{"a": 1}]
                    raise error
    await runner.cleanup()


async def test_a_simulation_waits_for_a_daemon_that_refuses_at_first(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [
        RequestError(503, "too-many", "full"),
        DaemonError("gone"),
        SimpleNamespace(state="idle"),
    ]

    async def ask(*_: object) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with DaemonFollower(short_folder / "s") as daemon:
        monkeypatch.setattr(daemon, "ask", ask)
        assert (await daemon.ready()).state == "idle"
        assert daemon._open_session.timeout.total is None, "a simulation may be slow"


async def test_a_daemon_that_is_not_there_is_told_from_one_that_does_not_answer(
    short_folder: Path,
) -> None:
    daemon = AsyncControlClient(short_folder / "nobody")
    with pytest.raises(RuntimeError, match="async with"):
        await daemon.request(STATUS)
    async with daemon:
        with pytest.raises(DaemonError, match="not running"):
            await daemon.request(STATUS)
        with pytest.raises(DaemonError, match="not running"):
            async with daemon.lines(EVENTS):
                pass


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.EMFILE, "too many open files"), Absence.NO_ROOM),
        (PermissionError(errno.EACCES, "denied"), Absence.NOT_PERMITTED),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), Absence.NOT_RUNNING),
        (TimeoutError(), Absence.NO_ANSWER),
        (OSError(errno.EIO, "odd"), Absence.NO_ANSWER),
    ],
)
async def test_the_reason_given_is_the_system_s(
    error: OSError, reason: Absence, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(asyncio.get_running_loop(), "create_unix_connection", fails)
    async with AsyncControlClient(Path("/nonexistent")) as daemon:
        with pytest.raises(DaemonError) as caught:
            await daemon.request(STOP, urgent=True)
    assert caught.value.why is reason
