"""The control socket: its operations, their answers, and JSON for any bytes that arrive."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from robot.calibration.values import BadCalibration
from robot.daemon import server
from robot.daemon.routes import ROUTES, document
from robot.motion.schedule import motion_error
from robot.records.storage import NOT_STORED, StorageError
from robot.text.faults import Conflict, RobotError, ScanError
from robot.text.messages import Note
from solver.errors import CubistError, InvalidRequest

DIGITS = "9" * 5_000


async def call(
    client: aiohttp.ClientSession, method: str, path: str, **more: Any
) -> tuple[int, dict[str, Any]]:
    async with client.request(method, path, **more) as response:
        return response.status, await response.json()


def test_every_operation_is_described_with_what_it_takes_and_how_it_fails():
    described = document("7.8.9")
    assert described["info"]["version"] == "7.8.9"
    assert set(described["components"]["schemas"]) >= {"ErrorReply", "Event", "RunRecord"}
    assert "#/$defs" not in json.dumps(described)
    for route in ROUTES:
        operation = described["paths"][route.path][route.method.lower()]
        errors = {"400", "405", "413"}
        if route.path.startswith("/maintenance/"):
            errors |= {"409", "503"}
        assert set(operation["responses"]) >= {"200", *errors}, route
        assert operation["responses"]["400"]["content"] == {
            "application/json": {"schema": {"$ref": "#/components/schemas/ErrorReply"}}
        }
        is_stream = (route.method, route.path) in {("GET", "/events"), ("POST", "/maintenance")}
        assert ("application/jsonl" in operation["responses"]["200"]["content"]) is is_stream
        assert ("requestBody" in operation) is (route.body is not None)
        assert operation["summary"] == route.summary
        for part in re.findall(r"{(\w+)}", route.path):
            assert part in [one["name"] for one in operation["parameters"] if one["required"]]


@pytest.mark.parametrize(
    ("error", "status", "name", "fault"),
    [
        (StorageError("the disk is full"), 507, "storage", None),
        (StorageError("no such run", code=NOT_STORED), 404, "storage", None),
        (Conflict(Note.of("starting")), 409, "refused", None),
        (InvalidRequest("no"), 400, "bad-request", None),
        (BadCalibration("no"), 400, "bad-request", None),
        (motion_error("a servo path needs a segment"), 503, "robot", None),
        (RobotError("board-absent", "gone", "look"), 503, "robot", "board-absent"),
        (ScanError("nothing", "U", "no-cube"), 503, "robot", "no-cube"),
        (CubistError("odd"), 503, "robot", None),
    ],
)
def test_errors_become_answers(error, status, name, fault):
    answer: Any = server.explain(error)
    assert (answer.status, answer.error) == (status, name)
    assert answer.more.get("fault") == fault
    assert answer.reason.startswith(str(error))
    noted = isinstance(error, Conflict)
    assert ("reason_code" in answer.more) is noted is ("reason_parameters" in answer.more)


async def test_who_asked_may_leave_before_it_is_done(path, controller, monkeypatch):
    asked, may_go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stop(*, emergency: bool = False) -> bool:
        asked.set()
        await may_go.wait()
        done.set()
        return emergency

    monkeypatch.setattr(controller, "stop", stop)
    _, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b"POST /stop HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
    await asyncio.wait_for(asked.wait(), 60)
    writer.close()
    await writer.wait_closed()
    for _ in range(20):
        await asyncio.sleep(0)
    may_go.set()
    await asyncio.wait_for(done.wait(), 60)
    monkeypatch.undo()


async def test_events_are_streamed_as_lines_until_the_board_is_closed(client, controller):
    async with client.get("/events") as response:
        assert response.content_type == "application/jsonl"
        controller.condition.publish("step", "one")
        controller.condition.publish("step", "two")
        lines = [json.loads(await response.content.readline())["text"] for _ in range(2)]
        assert lines == ["one", "two"]
        controller.events.close()
        assert await response.content.read() == b""


@pytest.mark.parametrize("mask", [0o000, 0o077])
async def test_the_socket_has_its_mode_whatever_the_umask(short_folder, mask, monkeypatch):
    """Leave the mask alone: other threads write files with it meanwhile."""
    before = os.umask(mask)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", lambda _: pytest.fail("the mask is everybody's"))
            async with server.serving(web.Application(), short_folder / "s"):
                assert (short_folder / "s").stat().st_mode & 0o777 == 0o660
            with pytest.raises(StorageError, match="the control socket cannot be created"):
                async with server.serving(web.Application(), short_folder / "none" / "s"):
                    pass
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "reason"),
    [
        ("POST", "/start", b"{", 400, "json"),
        ("POST", "/start", b'{"kind": "fly"}', 400, "kind"),
        ("POST", "/start", b'{"speed": 9}', 400, "speed"),
        ("POST", "/start", b"[]", 400, "body"),
        ("POST", "/start", b'{"moves": "%s"}' % (b"R " * 2000), 400, "moves"),
        ("POST", "/start", b" " * (server.MAX_BODY + 1), 413, ""),
        *(
            ("GET", f"/runs?count={n}", b"", 400, "count")
            for n in ("0", "-1", "x", "\u00b2", DIGITS)
        ),
        ("GET", "/runs?count=1&count=2&count=3", b"", 400, "count: given 3 times; give it once"),
        *(("GET", f"/runs/{n}", b"", 404, "") for n in ("2", "0", "..%2F..%2Fetc", DIGITS)),
        *(("GET", f"/runs/1/files/{n}", b"", 404, "") for n in ("no.jpg", "..%2Fa.json", "a" * 65)),
        ("GET", "/nothing", b"", 404, ""),
        ("DELETE", "/status", b"", 405, ""),
    ],
)
async def test_wrong_requests_are_refused(client, method, target, body, status, reason):
    code, answer = await call(client, method, target, data=body)
    assert (code, reason in answer["reason"].lower()) == (status, True), answer
    assert answer["error"] in {"bad-request", "not-found"} or status in {404, 405, 413}


async def test_a_stale_socket_is_replaced_and_a_file_is_not(short_folder):
    path, app = short_folder / "control.sock", web.Application()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    async with server.serving(app, path):
        _, writer = await asyncio.open_unix_connection(str(path))
        writer.close()
        await writer.wait_closed()
    assert not path.exists()
    path.write_text("precious")
    with pytest.raises(StorageError, match="not a socket"):
        async with server.serving(app, path):
            pass
    assert path.read_text() == "precious"
