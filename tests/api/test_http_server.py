"""The shared server of cubistd and cubist-web: its answers, and its endurance in a flood."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import resource
import socket
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints
from unittest.mock import AsyncMock

import pytest
from aiohttp import web

from robot.api import calibrations, endpoints, http_server, management, models
from robot.api.endpoints import Endpoint
from robot.api.http_server import ErrorAnswer, HttpServer, keep_connection, read_body
from robot.daemon.routes import ROUTES
from robot.records import runs, statistics
from solver.errors import InvalidRequest

LOG = logging.getLogger("http-server-under-test")
LIMIT_S = 60.0
POST = b"POST /fine HTTP/1.1\r\nHost: x\r\n"
CROWD = 12
"""Connections that the server under test allows."""

FLOODING, VISITING = "127.0.0.2", "127.0.0.3"
"""Two different hosts, as seen by the server."""


FLOOD = """
import socket, sys
sys.stdin.readline()
opened = []
for path in sys.argv[1:] * 100:
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(1.0)
    try:
        one.connect(path)
    except OSError:
        continue
    opened.append(one)
print("full", flush=True)
sys.stdin.read()
"""
"""A program that uses all connections of the given sockets until its input ends."""


class Known(Exception):
    """An error that the server under test can explain."""


async def handle(request: web.Request) -> web.StreamResponse:
    what = request.match_info["what"]
    if what == "wait":
        await asyncio.Event().wait()
    if what == "kept":
        keep_connection(request)
    errors: dict[str, Exception] = {
        **dict.fromkeys(("known", "page"), Known()),
        "odd": ZeroDivisionError("odd"),
        "garbled": UnicodeEncodeError("utf-8", "\udc80", 0, 1, "no text"),
        "gone": ConnectionResetError(),
    }
    if what in errors:
        raise errors[what]
    return web.json_response({"body": len(await read_body(request))})


@contextlib.asynccontextmanager
async def served(
    listener: socket.socket, most: int = CROWD, servers: int = 1
) -> AsyncIterator[None]:
    app = web.Application()
    app.router.add_get("/{what}", handle)
    app.router.add_post("/{what}", handle)

    def explain(error: Exception) -> ErrorAnswer | None:
        if isinstance(error, InvalidRequest):
            return ErrorAnswer(400, "bad-request", str(error))
        return ErrorAnswer(418, "known", "<why>", {"more": 1}) if isinstance(error, Known) else None

    server = HttpServer(app, LOG, explain, {"X-Own": "1"}, lambda path: path != "/page")
    server = replace(server, most_connections=most, servers=servers)
    async with server.serving(listener):
        yield


@pytest.fixture
async def port() -> AsyncIterator[int]:
    listener = socket.create_server(("0.0.0.0", 0))
    async with served(listener):
        yield int(listener.getsockname()[1])


class Visitor:
    """A connection from an address of this machine's own network."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, path: str, *headers: str) -> tuple[int, str, bytes]:
        """Return status, head and body of the answer."""
        lines = [f"GET {path} HTTP/1.1", "Host: x", *headers]
        return await self.send("\r\n".join([*lines, "", ""]).encode())

    async def send(self, data: bytes) -> tuple[int, str, bytes]:
        self.writer.write(data)
        async with asyncio.timeout(LIMIT_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
            body = await self.reader.readexactly(int(fields["content-length"]))
        return int(head.split(" ")[1]), head, body

    async def wait_until_closed(self) -> None:
        async with asyncio.timeout(LIMIT_S):
            with contextlib.suppress(ConnectionError):
                await self.reader.read()


@contextlib.asynccontextmanager
async def visiting(port: int, host: str = VISITING) -> AsyncIterator[Visitor]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(host, 0))
    try:
        yield Visitor(reader, writer)
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("path", "status", "answer"),
    [
        ("/known", 418, {"error": "known", "reason": "<why>", "more": 1}),
        ("/odd", 500, {"error": "internal", "reason": "internal error; see the journal"}),
        ("/garbled", 400, {"error": "bad-request"}),
        ("/a/b", 404, {"error": "not-found"}),
    ],
)
async def test_errors_are_answered_in_json(port, path, status, answer):
    async with visiting(port) as visitor:
        found, head, body = await visitor.ask(path)
        assert (found, "application/json" in head) == (status, True)
        assert answer.items() <= json.loads(body).items()
        assert (await visitor.ask("/fine"))[0] == 200, "the connection goes on"


@pytest.mark.parametrize(
    ("path", "accept", "is_page"),
    [("/page", "text/html,*/*", True), ("/page", "*/*", False), ("/known", "text/html", False)],
)
async def test_a_browser_gets_a_page_where_people_look(port, path, accept, is_page):
    async with visiting(port) as visitor:
        _, head, body = await visitor.ask(path, f"Accept: {accept}")
    assert ("text/html" in head) is is_page
    assert (b"&lt;why&gt;" in body) is is_page is (b"<why>" not in body)


async def test_no_answer_comes_after_one_that_has_begun(port):
    async with visiting(port) as visitor:
        visitor.writer.write(b"GET /gone HTTP/1.1\r\nHost: x\r\n\r\n")
        await visitor.wait_until_closed()


HOSTILE = {
    "no method": b"rubbish\r\n\r\n",
    "bad header": b"GET / HTTP/1.1\r\nHost\r\n\r\n",
    "long header": b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "odd expectation": b"GET /fine HTTP/1.1\r\nHost: x\r\nExpect: \xff\xff\r\n\r\n",
    "odd encoding": POST + b"Transfer-Encoding: gzip\r\n\r\n",
    "bad chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_strangers_send_is_refused_in_json_and_leaves_no_traceback(port, name, caplog):
    async with visiting(port) as visitor:
        status, _, body = await visitor.send(HOSTILE[name])
    assert status in {400, 417}
    assert {"error", "reason"} <= json.loads(body).keys()
    assert not [one for one in caplog.records if one.exc_info or "\n" in one.getMessage()]


async def test_a_head_that_does_not_end_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(http_server, "HEAD_LIMIT_S", 0.2)
    listener = socket.create_server(("127.0.0.1", 0))
    async with served(listener), visiting(listener.getsockname()[1]) as visitor:
        visitor.writer.write(b"GET /fine HTTP/1.1\r\nHost: x\r\n")
        dripping = asyncio.create_task(_drip(visitor))
        await visitor.wait_until_closed()
        dripping.cancel()


async def _drip(visitor: Visitor) -> None:
    while True:
        visitor.writer.write(b"X: 1\r\n")
        await asyncio.sleep(0.02)


async def test_a_host_that_takes_all_connections_closes_only_its_own_idle_ones(port, caplog):
    async with contextlib.AsyncExitStack() as stack:

        async def come(host: str) -> Visitor:
            return await stack.enter_async_context(visiting(port, host))

        kept, working = await come(FLOODING), await come(FLOODING)
        assert (await kept.ask("/kept"))[0] == 200
        working.writer.write(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        other = await come(VISITING)
        assert (await other.ask("/fine"))[0] == 200
        flood = [await come(FLOODING) for _ in range(3 * CROWD)]
        late = await come(VISITING)
        assert (await late.ask("/fine"))[0] == 200
        assert (await other.ask("/fine"))[0] == 200, "idle, but of a host that has few"
        assert (await kept.ask("/fine"))[0] == 200
        for gone in flood[:CROWD]:
            await gone.wait_until_closed()
        assert not working.reader.at_eof()
        assert (await flood[-1].ask("/fine"))[0] == 200, "the latest have a share, too"
    assert len([text for text in caplog.messages if "too many connections" in text]) == 1


@pytest.mark.parametrize("host", [VISITING, FLOODING])
async def test_bodies_that_never_come_take_nobody_s_place(port, host):
    """Send such requests: they stay in progress all the time, even from the same host."""
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(2 * CROWD):
            slow = await stack.enter_async_context(visiting(port, FLOODING))
            slow.writer.write(POST + b"Content-Length: 9\r\n\r\n")
        async with visiting(port, host) as visitor:
            assert (await visitor.ask("/fine"))[0] == 200
            assert (await visitor.ask("/fine"))[0] == 200


@pytest.mark.parametrize(
    ("broken", "failures", "logged"),
    [
        ("sock_accept", [OSError(24, "Too many open files")] * 3, "no room"),
        ("sock_accept", [RuntimeError("a defect"), MemoryError()], "not accepted"),
        ("connect_accepted_socket", [RuntimeError("a defect"), MemoryError()], "not accepted"),
    ],
)
async def test_accepting_goes_on_after_errors(port, broken, failures, logged, monkeypatch, caplog):
    loop = asyncio.get_running_loop()
    working: Callable[..., Any] = getattr(loop, broken)
    left = list(failures)

    async def failing(*arguments: Any) -> Any:
        if left:
            raise left.pop()
        return await working(*arguments)

    async with visiting(port, FLOODING) as idle:
        assert (await idle.ask("/fine"))[0] == 200
        monkeypatch.setattr(loop, broken, failing)
        async with visiting(port), visiting(port), visiting(port) as visitor:
            assert (await visitor.ask("/fine"))[0] == 200
        if logged == "no room":  # an idle connection makes room
            await idle.wait_until_closed()
    assert not left
    assert len([text for text in caplog.messages if logged in text]) == 1


async def test_those_who_stay_leave_room_for_others(port):
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(CROWD):
            staying = await stack.enter_async_context(visiting(port, FLOODING))
            assert (await staying.ask("/kept"))[0] == 200
        visitor = await stack.enter_async_context(visiting(port))
        for _ in range(3):
            assert (await visitor.ask("/fine"))[0] == 200


async def test_a_flood_of_all_other_servers_leaves_this_one_a_descriptor(short_folder):
    paths = [short_folder / str(number) for number in range(4)]
    flood = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", FLOOD, *map(str, paths[1:])),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    own = len(list(Path("/proc/self/fd").iterdir()))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3 * own, before[1]))
    try:
        async with contextlib.AsyncExitStack() as stack:
            for path in paths:
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(str(path))
                await stack.enter_async_context(served(listener, most=1000, servers=4))
            flood.stdin.write(b"begin\n")
            async with asyncio.timeout(LIMIT_S):
                assert await flood.stdout.readline() == b"full\n"
            reader, writer = await asyncio.open_unix_connection(paths[0])
            assert (await Visitor(reader, writer).ask("/fine"))[0] == 200
            writer.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        flood.stdin.close()
        await flood.wait()


async def test_what_cannot_be_set_up_leaves_no_listener():
    app = web.Application()
    app.on_startup.append(AsyncMock(side_effect=Known))
    listener = socket.create_server(("127.0.0.1", 0))
    with pytest.raises(Known):
        async with HttpServer(app, LOG, lambda _: None).serving(listener):
            pass
    assert listener.fileno() == -1


async def test_at_a_unix_socket_each_process_is_a_peer(short_folder):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(short_folder / "s"))
    async with served(listener):
        idle = [await asyncio.open_unix_connection(short_folder / "s") for _ in range(CROWD * 2)]
        visitor = Visitor(*idle[-1])
        assert (await visitor.ask("/fine"))[0] == 200
        await Visitor(*idle[0]).wait_until_closed()
        for _, writer in idle:
            writer.close()


DOCUMENTS = {name: document for name, document in vars(endpoints).items() if name.endswith("Json")}


def may_be_none(kind: Any) -> bool:
    return NoneType in get_args(kind)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_has_the_fields_of_its_model(name):
    modules = (models, calibrations, management, runs, statistics)
    (model,) = {
        vars(one)[key] for one in modules if (key := name.removesuffix("Json")) in vars(one)
    }
    hints = get_type_hints(DOCUMENTS[name])
    assert hints.keys() == model.model_fields.keys()
    for key, hint in hints.items():
        field = model.model_fields[key].annotation
        is_optional = "NotRequired" in str(DOCUMENTS[name].__annotations__[key])
        assert is_optional or hint is Any or may_be_none(hint) == may_be_none(field), key


def test_every_endpoint_is_served():
    said = {one for one in vars(endpoints).values() if isinstance(one, Endpoint)}
    missing = said - {route.endpoint for route in ROUTES}
    assert not missing, f"robot/daemon/routes.py: ROUTES has no Route for {missing}"
    assert all(endpoints.is_trial(one.endpoint) for one in ROUTES if one.endpoint not in said)
