"""Each program of the robot's own has a socket with the routes that it needs, and no others."""

from __future__ import annotations

import contextlib
import grp
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from robot.daemon.job_control import JobController
from robot.daemon.rights import MOVING, WATCHING, Program
from robot.daemon.routes import ROUTES
from robot.daemon.server import make_app, serving

CALIBRATING = {("POST", "/maintenance"), ("PUT", "/calibration"), ("POST", "/calibration/undo")}
TRIALS = {(one.method, one.path) for one in ROUTES if one.path.startswith("/maintenance/")}
LEARNING = ("POST", "/maintenance/colours")
OWNERS = {
    ("POST", "/shutdown"),
    ("POST", "/calibration/restore"),
    ("POST", "/calibration/import"),
    ("GET", "/calibration/versions"),
    ("POST", "/acknowledge"),
}
"""What the page has no right to; homing acknowledges an emergency stop there."""

RIGHTS = {
    Program.PAGE: WATCHING | MOVING,
    Program.GUIDE: WATCHING | CALIBRATING | TRIALS | {("POST", "/stop")},
    Program.DISPLAY: WATCHING | MOVING | CALIBRATING | {LEARNING, ("POST", "/shutdown")},
}


def test_every_route_is_allowed_or_not_on_purpose() -> None:
    """A new route fails here until somebody says who may ask for it."""
    known = WATCHING | MOVING | CALIBRATING | TRIALS | OWNERS
    assert {(route.method, route.path) for route in ROUTES} == known
    for program, routes in RIGHTS.items():
        assert {one for one in known if program.may_ask(*one)} == routes


@pytest.fixture(params=Program)
async def program(
    request: pytest.FixtureRequest,
    controller: JobController,
    fake: Any,
    maintenance_of: Any,
    short_folder: Path,
) -> AsyncIterator[tuple[Program, Path]]:
    program: Program = request.param
    app = make_app(controller, maintenance_of(controller, fake), "1", program)
    path = program.socket_beside(short_folder / "control.sock")
    async with serving(app, path, program.group):
        yield program, path


async def test_a_program_that_was_taken_over_gets_no_other_route(
    program: tuple[Program, Path], fake: Any
) -> None:
    """It asks for everything, as what it may not ask for does not exist."""
    who, path = program
    async with aiohttp.ClientSession(
        "http://localhost", connector=aiohttp.UnixConnector(str(path))
    ) as session:
        routes = [(one.method, one.path) for one in ROUTES]
        for method, route in [*routes, ("GET", "/openapi.json")]:
            if who.may_ask(method, route):
                continue
            target = route.replace("{run}", "1").replace("{name}", "run.json")
            async with session.request(method, target, json={}) as response:
                assert response.status in {404, 405}, (method, route)
                assert (await response.json())["error"] in {"not-found", "method-not-allowed"}
        async with session.get("/status") as response:
            assert response.status == 200
    assert fake.motion.done in ([], ["open"]), "nothing has moved"


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, int]], None]:
    """Make groups known that this computer need not have."""

    def know(found: dict[str, int]) -> None:
        def by_name(name: str) -> Any:
            return grp.struct_group((name, "x", found[name], []))

        monkeypatch.setattr(grp, "getgrnam", by_name)

    return know


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes files of another group")
async def test_the_socket_is_its_group_s_alone(
    controller: JobController,
    fake: Any,
    maintenance_of: Any,
    short_folder: Path,
    groups: Callable[[dict[str, int]], None],
) -> None:
    """The page's user reaches its socket, and not the control socket beside it."""
    groups({"cubist-page": 61_001})
    short_folder.chmod(0o711)
    maintenance = maintenance_of(controller, fake)
    async with contextlib.AsyncExitStack() as stack:
        control = short_folder / "control.sock"
        page = Program.PAGE.socket_beside(control)
        for program, path in ((None, control), (Program.PAGE, page)):
            app = make_app(controller, maintenance, "1", program)
            group = program.group if program else None
            await stack.enter_async_context(serving(app, path, group))
        assert json.loads(_as_user(61_002, 61_001, control, page)) == {
            "control.sock": False,
            "page.sock": True,
        }


def _as_user(user: int, group: int, *paths: Path) -> str:
    """Which of the sockets a process of this user and group can connect to."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)
        found = {}
        for path in paths:
            with socket.socket(socket.AF_UNIX) as client:
                found[path.name] = client.connect_ex(str(path)) == 0
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as told:
        return told.read()
