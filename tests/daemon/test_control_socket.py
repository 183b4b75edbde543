"""The control socket answers what it describes, and cuts off what is malformed, huge or slow."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from robot.api import http_server
from robot.daemon import server
from robot.daemon.job_control import JobController
from robot.daemon.routes import ROUTES
from robot.daemon.server import make_app, serving
from robot.records.storage import StorageError

NOBODY = 65534


pytestmark = pytest.mark.quick


@pytest.fixture
async def path(
    controller: JobController, fake: Any, maintenance_of: Any, short_folder: Path
) -> AsyncIterator[Path]:
    socket_path = short_folder / "control.sock"
    async with serving(
        make_app(controller, maintenance_of(controller, fake), "1.2.3"), socket_path
    ):
        yield socket_path


@pytest.fixture
async def client(path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.UnixConnector(str(path))
    async with aiohttp.ClientSession("http://localhost", connector=connector) as session:
        yield session


async def call(
    client: aiohttp.ClientSession, method: str, path: str, **more: Any
) -> tuple[int, dict[str, Any]]:
    async with client.request(method, path, **more) as response:
        return response.status, await response.json()


async def raw(path: Path, request: bytes) -> bytes:
    """Send bytes as they are; everything that comes back until the server closes."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(), 240)
    finally:
        writer.close()


CONNECT = """
import os, socket, sys
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[3]))
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except PermissionError:
    sys.exit(13)
"""


async def connected(path: Path, group: int) -> int:
    """Exit code of a process of another user that connects: 0, or 13 when it may not."""
    who = (str(group), str(NOBODY))
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", CONNECT, str(path), *who
    )
    return await other.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_only_the_group_may_connect(path: Path) -> None:
    path.parent.chmod(0o755)  # the socket itself is what keeps strangers out
    assert await connected(path, NOBODY) == 13
    assert await connected(path, path.stat().st_gid) == 0


async def test_status(client: aiohttp.ClientSession) -> None:
    code, status = await call(client, "GET", "/status")
    assert code == 200
    assert (status["state"], status["robot"], status["process"]) == ("idle", "fake", os.getpid())


async def test_start_runs_and_one_run(
    client: aiohttp.ClientSession, controller: JobController
) -> None:
    assert await call(client, "POST", "/start", json={}) == (200, {"run": "000001"})
    await controller.finished()
    _, listed = await call(client, "GET", "/runs?count=5")
    assert [run["outcome"] for run in listed["runs"]] == ["solved"]
    code, record = await call(client, "GET", "/runs/1")
    assert (code, record["moves"]) == (200, "R U")
    assert (await call(client, "GET", "/runs/2"))[0] == 404


async def test_stop_and_home(client: aiohttp.ClientSession, controller: JobController) -> None:
    assert await call(client, "POST", "/stop", json={}) == (200, {"stopped": False})
    assert (await call(client, "POST", "/home"))[0] == 200
    await controller.finished()


async def test_events_are_one_json_object_per_line(
    client: aiohttp.ClientSession, controller: JobController
) -> None:
    async with client.get("/events") as response:
        await call(client, "POST", "/home")
        lines = [json.loads(await response.content.readline()) for _ in range(2)]
    assert lines[0]["state"] == "homing"
    await controller.finished()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "json"),
        (b'{"kind": "fly"}', "kind"),
        (b'{"speed": 9}', "speed"),
        (b"[]", "body"),
        (b'{"moves": "%s"}' % (b"R " * 2000), "moves"),
    ],
)
async def test_wrong_bodies_are_named(
    client: aiohttp.ClientSession, body: bytes, reason: str
) -> None:
    code, answer = await call(client, "POST", "/start", data=body)
    assert (code, answer["error"]) == (400, "bad-request")
    assert reason in answer["reason"].lower()


@pytest.mark.parametrize("count", ["0", "-1", "x", "99999999999999", "²"])
async def test_wrong_parameters_are_named(client: aiohttp.ClientSession, count: str) -> None:
    code, answer = await call(client, "GET", "/runs", params={"count": count})
    assert code == 400
    assert "count" in answer["reason"]


@pytest.mark.parametrize("run", ["0", "..%2F..%2Fetc", "x", "9" * 40])
async def test_wrong_run_numbers(client: aiohttp.ClientSession, run: str) -> None:
    code, answer = await call(client, "GET", f"/runs/{run}")
    assert code == 404
    assert answer["reason"]


async def test_unknown_paths_and_methods_are_json_too(client: aiohttp.ClientSession) -> None:
    assert (await call(client, "GET", "/nothing"))[0] == 404
    assert (await call(client, "DELETE", "/status"))[0] == 405


async def test_a_huge_body_is_cut_off(client: aiohttp.ClientSession) -> None:
    code, answer = await call(client, "POST", "/start", data=b" " * (server.MAX_BODY + 1))
    assert (code, answer["error"]) == (413, "request-entity-too-large")


async def test_a_slow_body_is_cut_off(
    path: Path, monkeypatch: pytest.MonkeyPatch, client: aiohttp.ClientSession
) -> None:
    monkeypatch.setattr(http_server, "BODY_LIMIT_S", 0.01)
    request = b"POST /start HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"
    answer = await raw(path, request + b"")
    assert b"400" in answer.split(b"\r\n")[0]
    assert (await call(client, "GET", "/status"))[0] == 200


@pytest.mark.parametrize("request_", [b"\0\1\2\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"A" * 70_000])
async def test_what_is_no_http_is_answered_and_closed(path: Path, request_: bytes) -> None:
    assert b"400" in (await raw(path, request_)).split(b"\r\n")[0]


async def test_many_clients_at_once(client: aiohttp.ClientSession) -> None:
    answers = await asyncio.gather(*(call(client, "GET", "/status") for _ in range(100)))
    assert {code for code, _ in answers} == {200}


async def test_the_description_names_every_route(client: aiohttp.ClientSession) -> None:
    code, document = await call(client, "GET", "/openapi.json")
    assert code == 200
    assert document["openapi"].startswith("3.1")
    for route in ROUTES:
        operation = document["paths"][route.path][route.method.lower()]
        schema = next(iter(operation["responses"]["200"]["content"].values()))["schema"]
        if not isinstance(route.answer, type):
            assert schema == {"type": "string", "format": "binary"}
            continue
        name = schema["$ref"].removeprefix("#/components/schemas/")
        assert name in document["components"]["schemas"]
    assert "#/$defs" not in json.dumps(document)


async def test_only_owner_and_group_may_connect(path: Path) -> None:
    mode = path.stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o660


async def test_a_stale_socket_is_replaced_and_removed_at_the_end(
    controller: JobController, fake: Any, maintenance_of: Any, short_folder: Path
) -> None:
    path = short_folder / "control.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    async with serving(make_app(controller, maintenance_of(controller, fake), "1"), path):
        assert await raw(path, b"GET /status HTTP/1.0\r\n\r\n")
    assert not path.exists()


async def test_a_file_in_the_way_is_not_removed(
    controller: JobController, fake: Any, maintenance_of: Any, short_folder: Path
) -> None:
    path = short_folder / "control.sock"
    path.write_text("precious")
    with pytest.raises(StorageError, match="no socket"):
        async with serving(make_app(controller, maintenance_of(controller, fake), "1"), path):
            pass
    assert path.read_text() == "precious"
