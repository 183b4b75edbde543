"""The control socket: its operations and answers, JSON for any bytes that arrive, and rights.

Each of the robot's own programs has a socket with the routes that it needs, and no others.
"""

from __future__ import annotations

import asyncio
import contextlib
import grp
import json
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from robot.api.endpoints import Program
from robot.calibration.values import BadCalibration
from robot.daemon import server
from robot.daemon.routes import ROUTES, document
from robot.motion.schedule import motion_error
from robot.records.storage import NOT_STORED, StorageError
from robot.text.faults import Conflict, RobotError, ScanError
from robot.text.messages import Note
from solver.errors import CubistError, InvalidRequest
from tests.rig.fake_robot import management_of

DIGITS = "9" * 5_000


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
        content = operation["responses"]["200"]["content"]
        has_lines = route.path in {"/events", "/maintenance", "/exports/{name}"}
        assert ("application/jsonl" in content) is has_lines
        json_schema = content.get("application/json", {}).get("schema", {})
        assert json_schema.get("type") != "string", route
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
    async with client.request(method, target, data=body) as response:
        answer = await response.json()
    assert (response.status, reason in answer["reason"].lower()) == (status, True), answer
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


# Rights

RUN = ("runs", "runs/{run}", "runs/{run}/files/{name}", "runs/{run}/collage", "statistics")
OTHERS = ("status", "live", "events", "picture", "patterns", "exports/{name}", "calibration")
WATCHING = {f"GET /{path}" for path in (*RUN, *OTHERS, "profile/running")}
VERSIONS = ("profile", "profile/versions", "profile/versions/{version}")
EXAMINING = {"POST /checkup", "POST /profile/check"} | {f"GET /{at}" for at in ("log", *VERSIONS)}
MANAGING = {"PUT /profile", "POST /profile/restore", "POST /restart"}
OPERATING = {"POST /start", "POST /home", "POST /stop", "POST /acknowledge"}
CALIBRATING = {"POST /maintenance", "PUT /calibration"}
TRIALS = {f"{one.method} {one.path}" for one in ROUTES if one.path.startswith("/maintenance/")}
RIGHTS = {
    Program.PAGE: WATCHING | OPERATING | EXAMINING,
    Program.MANAGE: MANAGING | {"GET /status"},
    Program.GUIDE: WATCHING | CALIBRATING | TRIALS | {"POST /calibration/undo", "POST /stop"},
    Program.DISPLAY: WATCHING
    | OPERATING
    | CALIBRATING
    | {"POST /maintenance/colours", "POST /shutdown"},
    Program.MQTT: {"GET /status", "GET /events", "POST /start", "POST /stop"},
}


@pytest.mark.parametrize("program", Program)
def test_a_program_has_its_routes_and_a_new_route_is_nobody_s(program):
    allowed = {f"{one.method} {one.path}" for one in ROUTES if program.may_ask(one.endpoint)}
    assert allowed == RIGHTS[program]


Sockets = dict[Program | None, aiohttp.ClientSession]


@pytest.fixture
async def sockets(controller, fake, maintenance_of, short_folder) -> AsyncIterator[Sockets]:
    """Yield a client of each socket of one daemon."""
    control, maintenance = short_folder / "control.sock", maintenance_of(controller, fake)
    management = management_of(controller, short_folder)
    async with contextlib.AsyncExitStack() as stack:
        sessions: Sockets = {}
        for program in (None, *Program):
            path = program.socket_beside(control) if program else control
            app = server.make_app(controller, maintenance, management, "1", program)
            await stack.enter_async_context(server.serving(app, path))
            connector = aiohttp.UnixConnector(str(path))
            sessions[program] = await stack.enter_async_context(
                aiohttp.ClientSession("http://localhost", connector=connector)
            )
        yield sessions


@pytest.mark.parametrize("program", Program)
async def test_a_program_that_was_taken_over_gets_no_other_route(sockets, program, fake):
    session = sockets[program]
    denied = [(one.method, one.path) for one in ROUTES if not program.may_ask(one.endpoint)]
    for method, route in [*denied, ("GET", "/openapi.json")]:
        target = route.replace("{run}", "1").replace("{name}", "run.json").replace("{version}", "1")
        async with session.request(method, target, json={}) as response:
            assert response.status in {404, 405}, (method, route)
            assert (await response.json())["error"] in {"not-found", "method-not-allowed"}
    async with session.get("/status") as response:
        assert response.status == 200
    assert fake.motion.done in ([], ["open"]), "nothing has moved"


LIGHTS = {face: [0.1 * (n + 1), 0.5, 0.2] for n, face in enumerate("URFDLB")}
COLOURS = {"colours": {"linear_rgb": LIGHTS}}
POSITION = {"actuators.lid.positions_us.open": 1345}


@pytest.mark.parametrize("provisional", [False, True])
async def test_the_display_sets_colours_and_nothing_that_counts_as_confirmed(sockets, provisional):
    display = sockets[Program.DISPLAY]
    async with display.post("/maintenance", json={"place": "display"}) as lease:
        assert lease.status == 200
        for values in (POSITION, COLOURS | POSITION, {"coloursx": 1}, dict.fromkeys(POSITION)):
            body = {"values": values, "provisional": provisional}
            async with display.put("/calibration", json=body) as answer:
                assert answer.status == 400, values
                assert "may not set" in (await answer.json())["reason"]
        async with display.get("/calibration") as answer:
            assert (await answer.json())["values"] == {}
        body = {"values": COLOURS, "provisional": provisional}
        async with display.put("/calibration", json=body) as answer:
            assert answer.status == 200, await answer.text()


ASKS_AS_ANOTHER = """
import sys
from pathlib import Path
from robot.api.client import ControlClient, RequestError
from robot.api.endpoints import Endpoint
client = ControlClient(Path(sys.argv[1]))
for method, path, body in (
    ("PUT", "/calibration", {"values": {"actuators.lid.positions_us.open": 1345}}),
    ("PUT", "/calibration", {"values": {}, "provisional": True}),
    ("POST", "/calibration/undo", {}),
    ("POST", "/maintenance/move", {"actuator": "lid", "to": 1500}),
):
    try:
        client.call(Endpoint(method, path), body)
    except RequestError as refused:
        print(refused.status, refused.reason)
    else:
        print("done", path)
"""


@pytest.mark.parametrize("who", [None, Program.GUIDE])
async def test_only_the_program_that_calibrates_may_keep_and_move(sockets, fake, short_folder, who):
    """Refuse another process at the same socket, and the same process at another one."""
    owner, path = sockets[who], short_folder / "control.sock"
    async with owner.post("/maintenance", json={}) as lease:
        assert lease.status == 200
        for other in sockets.keys() - {who, Program.PAGE, Program.MANAGE, Program.MQTT}:
            async with sockets[other].put("/calibration", json={"values": {}}) as answer:
                assert answer.status == 409, other
        path = who.socket_beside(path) if who else path
        asking = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", ASKS_AS_ANOTHER, str(path)), stdout=asyncio.subprocess.PIPE
        )
        told, _ = await asking.communicate()
        lines = told.decode().splitlines()
        assert len(lines) == 4
        assert all(line.startswith("409 a terminal") for line in lines)
        async with owner.put("/calibration", json={"values": POSITION}) as answer:
            assert answer.status == 200, "on another connection of the same process"
    assert "jog" not in " ".join(fake.motion.done)


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes files of another group")
async def test_the_socket_is_its_group_s_alone(short_folder, monkeypatch):
    monkeypatch.setattr(grp, "getgrnam", {"cubist-page": ("cubist-page", "x", 61_001, [])}.get)
    control, page = short_folder / "control.sock", short_folder / "page.sock"
    async with (
        server.serving(web.Application(), control),
        server.serving(web.Application(), page, Program.PAGE.group),
    ):
        owners = [(path.stat().st_gid, path.stat().st_mode & 0o777) for path in (control, page)]
    assert owners == [(os.getgid(), 0o660), (61_001, 0o660)]
