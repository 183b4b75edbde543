"""The control socket: its operations, their answers and errors, and refusals of what is wrong."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from robot.api import http_server
from robot.api.endpoints import RobotState
from robot.calibration.values import BadCalibration
from robot.daemon import server
from robot.daemon.job_control import JobController
from robot.daemon.routes import ROUTES, document
from robot.daemon.server import make_app, serving
from robot.motion.schedule import motion_error
from robot.records.storage import NOT_STORED, StorageError
from robot.text.faults import Conflict, Fault, LinkError, RobotError, ScanError
from robot.text.notes import Note
from solver.errors import CubistError, InvalidRequest


def test_every_operation_is_described_with_what_it_takes_and_how_it_fails() -> None:
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
def test_errors_become_answers(
    error: CubistError, status: int, name: str, fault: str | None
) -> None:
    answer: Any = server.explain(error)
    assert (answer.status, answer.error) == (status, name)
    assert answer.more.get("fault") == fault
    assert answer.reason.startswith(str(error))
    noted = isinstance(error, Conflict)
    assert ("reason_code" in answer.more) is noted is ("reason_parameters" in answer.more)


async def test_an_invalid_request_found_by_the_robot_says_its_code(
    client: aiohttp.ClientSession, controller: JobController, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise motion_error("left cannot move 0 steps")

    monkeypatch.setattr(controller, "start", fail)
    async with client.post("/start", json={}) as response:
        assert response.status == 503
        assert (await response.json())["error"] == "robot"

    async def refuse(*_: object, **__: object) -> None:
        raise InvalidRequest(Note.of("starting"))

    monkeypatch.setattr(controller, "start", refuse)
    async with client.post("/start", json={}) as response:
        assert response.status == 400
        assert (await response.json())["reason_code"] == "starting"


async def test_a_parameter_given_twice_is_counted(client: aiohttp.ClientSession) -> None:
    async with client.get("/runs?count=1&count=2&count=3") as response:
        assert response.status == 400
        told = await response.json()
    assert told["reason"] == "count: given 3 times; once is allowed"
    async with client.get("/runs?count=1&else=2") as response:
        assert response.status == 200


async def test_a_broken_link_is_answered(
    client: aiohttp.ClientSession, controller: JobController, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no broken connection of the one who asks."""

    async def stop(*, emergency: bool = False) -> bool:
        raise LinkError(Fault.LINK_LOST, detail="/dev/ttyACM0")

    monkeypatch.setattr(controller, "stop", stop)
    async with client.post("/stop", json={"emergency": True}) as response:
        told = await response.json()
    assert (response.status, told["error"], told["fault"]) == (503, "robot", "link-lost")
    assert "What to do: " in told["reason"]
    monkeypatch.undo()


async def test_who_asked_may_leave_before_it_is_done(
    path: Path, controller: JobController, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_maintenance_lasts_as_long_as_its_answer_is_read(
    client: aiohttp.ClientSession, controller: JobController
) -> None:
    async with client.post("/maintenance") as lease:
        assert lease.content_type == "application/jsonl"
        assert await lease.content.readline() == b"{}\n"
        assert controller.state is RobotState.MAINTENANCE
        async with client.post("/maintenance") as second:
            assert second.status == 409
            assert (await second.json())["reason_code"] == "calibrated-terminal"
        assert controller.is_calibrated
        lease.close()
    async with asyncio.timeout(60):
        while controller.is_calibrated:
            await asyncio.sleep(0.001)
    assert controller.state is RobotState.IDLE


async def test_events_are_streamed_as_lines_and_nobody_stays_behind(
    client: aiohttp.ClientSession, controller: JobController
) -> None:
    async with client.get("/events") as response:
        assert response.content_type == "application/jsonl"
        controller.condition.publish("step", "one")
        controller.condition.publish("step", "two")
        lines = [json.loads(await response.content.readline())["text"] for _ in range(2)]
        assert lines == ["one", "two"]
        controller.events.close()
        assert await response.content.read() == b""
    assert not controller.events._queues


async def test_a_picture_has_a_tag_and_is_not_sent_twice(
    client: aiohttp.ClientSession, controller: JobController, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = SimpleNamespace(jpeg=b"jpeg", number=7)

    async def picture(_: str | None) -> Any:
        return shown

    monkeypatch.setattr(controller, "picture", picture)
    for tag, status, body in (("", 200, b"jpeg"), ('"6"', 200, b"jpeg"), ('"7"', 304, b"")):
        async with client.get("/picture", headers={"If-None-Match": tag} if tag else {}) as got:
            assert (got.status, await got.read()) == (status, body)
            assert got.headers.get("ETag") == ('"7"' if status == 200 else None)
            assert status == 304 or got.content_type == "image/jpeg"


@pytest.mark.parametrize("mask", [0o000, 0o077])
async def test_the_socket_has_its_mode_whatever_the_process_s_mask_and_leaves_that_alone(
    short_folder: Path, mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other threads write files meanwhile, with the same mask."""
    before = os.umask(mask)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", lambda _: pytest.fail("the mask is everybody's"))
            async with server.serving(web.Application(), short_folder / "s"):
                assert (short_folder / "s").stat().st_mode & 0o777 == 0o660
            with pytest.raises(StorageError, match="the control socket cannot be made"):
                async with server.serving(web.Application(), short_folder / "none" / "s"):
                    pass
    finally:
        os.umask(before)


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


async def test_status(client: aiohttp.ClientSession) -> None:
    code, status = await call(client, "GET", "/status")
    assert code == 200
    assert (status["state"], status["robot"], status["process"]) == ("idle", "fake", os.getpid())


@pytest.mark.quick
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


async def test_many_clients_at_once(client: aiohttp.ClientSession) -> None:
    answers = await asyncio.gather(*(call(client, "GET", "/status") for _ in range(100)))
    assert {code for code, _ in answers} == {200}


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
