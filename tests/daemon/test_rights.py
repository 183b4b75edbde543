"""Each of the robot's own programs has a socket with the routes that it needs, and no others."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import sys
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from robot.api.endpoints import Program
from robot.daemon.routes import ROUTES
from robot.daemon.server import make_app, serving
from tests.rig.fake_robot import management_of

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
            app = make_app(controller, maintenance, management, "1", program)
            await stack.enter_async_context(serving(app, path))
            connector = aiohttp.UnixConnector(str(path))
            sessions[program] = await stack.enter_async_context(
                aiohttp.ClientSession("http://localhost", connector=connector)
            )
        yield sessions


@pytest.mark.parametrize("program", Program)
async def test_a_program_that_was_taken_over_gets_no_other_route(sockets, program, fake):
    """Request every route: those it may not use do not exist for it."""
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
    """Check that the page's user reaches its socket, but not the control socket beside it."""
    monkeypatch.setattr(grp, "getgrnam", {"cubist-page": ("cubist-page", "x", 61_001, [])}.get)
    control, page = short_folder / "control.sock", short_folder / "page.sock"
    async with (
        serving(web.Application(), control),
        serving(web.Application(), page, Program.PAGE.group),
    ):
        owners = [(path.stat().st_gid, path.stat().st_mode & 0o777) for path in (control, page)]
    assert owners == [(os.getgid(), 0o660), (61_001, 0o660)]
