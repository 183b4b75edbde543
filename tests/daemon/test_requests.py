"""The control socket piece by piece: its operations, what a request may say, what errors become."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from robot.api.calibrations import Calibration
from robot.api.endpoints import RobotState
from robot.calibration.values import BadCalibration
from robot.daemon import routes, server
from robot.daemon.job_control import JobController
from robot.daemon.routes import ROUTES, RUN_NUMBER, document
from robot.daemon.server import make_app, serving
from robot.motion.schedule import motion_error
from robot.records.storage import NOT_STORED, StorageError
from robot.text.faults import Conflict, Fault, LinkError, RobotError, ScanError
from robot.text.notes import Note
from solver.errors import CubistError, InvalidRequest

CALIBRATED = Calibration(robot="cubotino", values={})
STREAMED = {("GET", "/events"), ("POST", "/maintenance")}
ERRORS = {
    "/picture": (409, 503),
    "/maintenance": (409, 503),
    "/calibration": (),
    "/calibration/restore": (409, 503, 507),
    "/calibration/import": (409, 503, 507),
    "/calibration/undo": (409, 503, 507),
    "/acknowledge": (409, 503),
    "/start": (409, 503),
    "/home": (409, 503),
    "/runs/{run}": (404,),
    "/runs/{run}/files/{name}": (404,),
}


@pytest.fixture
async def path(
    controller: JobController, fake: Any, maintenance_of: Any, short_folder: Path
) -> AsyncIterator[Path]:
    socket_path = short_folder / "control.sock"
    app = make_app(controller, maintenance_of(controller, fake), "1.2.3")
    async with serving(app, socket_path):
        yield socket_path


@pytest.fixture
async def client(path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.UnixConnector(str(path))
    async with aiohttp.ClientSession("http://localhost", connector=connector) as session:
        yield session


def test_every_operation_is_described_with_what_it_takes_and_how_it_fails() -> None:
    paths = document("7.8.9")["paths"]
    assert document("7.8.9")["info"]["version"] == "7.8.9"
    for route in ROUTES:
        where = (route.method, route.path)
        told = paths[route.path][route.method.lower()]
        trial = route.path.startswith("/maintenance/")
        errors = (409, 503) if trial else ERRORS.get(route.path, ())
        errors = (409, 503, 507) if where == ("PUT", "/calibration") else errors
        image = isinstance(route.answer, tuple)
        expected = {200, 400, 405, 413, *errors} | ({304} if image else set())
        assert set(map(int, told["responses"])) == expected, where
        assert told["responses"]["413"]["description"] == "The request is too large."
        assert told["responses"]["400"]["content"] == {
            "application/json": {"schema": {"$ref": "#/components/schemas/ErrorReply"}}
        }
        kinds = list(told["responses"]["200"]["content"])
        if not image:
            assert kinds == ["application/jsonl" if where in STREAMED else "application/json"]
        assert (route.handler is None) is (where in STREAMED)
        assert ("requestBody" in told) is (route.body is not None)
        words = route.path.strip("/").replace("{", "").replace("}", "").split("/")
        assert told["operationId"] == "_".join([route.method.lower(), *words])
        assert told["summary"] == route.summary
    files = paths["/runs/{run}/files/{name}"]["get"]
    assert [(one["name"], one["in"], one["required"]) for one in files["parameters"]] == [
        ("run", "path", True),
        ("name", "path", True),
    ]
    (camera,) = paths["/picture"]["get"]["parameters"]
    schema = {"type": "string", "maxLength": 64}
    assert camera == {"name": "camera", "in": "query", "required": False, "schema": schema}
    assert paths["/maintenance/picture"]["get"]["parameters"] == [camera]
    assert paths["/maintenance/film"]["post"]["parameters"] == []
    (count,) = paths["/runs"]["get"]["parameters"]
    assert count["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000}


def test_a_body_has_to_be_there_where_a_part_of_it_has_no_default() -> None:
    required = {
        route.path: document("1")["paths"][route.path][route.method.lower()]["requestBody"][
            "required"
        ]
        for route in ROUTES
        if route.body is not None and not route.path.startswith("/maintenance/")
    }
    assert required == {
        "/calibration": True,
        "/calibration/import": False,
        "/calibration/restore": False,
        "/start": False,
        "/maintenance": False,
        "/stop": False,
        "/shutdown": False,
    }
    assert set(document("1")["components"]["schemas"]) >= {"ErrorReply", "Event", "RunRecord"}


class Asked:
    """A controller and a maintenance that say what they were asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.live = SimpleNamespace(view="the view")

    def __getattr__(self, name: str) -> Any:
        async def note(*told: Any, **more: Any) -> Any:
            self.asked.append((name, *told, *more.items()))
            return "000007" if name == "start" else self.answer

        return note

    answer: Any = True


@pytest.mark.parametrize(
    ("method", "path", "body", "asked"),
    [
        ("POST", "/stop", {"emergency": True}, ("stop", ("emergency", True))),
        ("POST", "/stop", {}, ("stop", ("emergency", False))),
        ("POST", "/shutdown", {}, ("shut_down", ("power_off", True))),
        ("PUT", "/calibration", {"values": {"a": 1}}, ("save", {"a": 1}, "person", {})),
        ("PUT", "/calibration", {"values": {"a": 1}, "provisional": True}, ("try_out", {"a": 1})),
        ("POST", "/calibration/restore", {}, ("restore", None)),
        ("POST", "/calibration/restore", {"version": 3}, ("restore", 3)),
        ("POST", "/calibration/undo", None, ("undo",)),
        ("GET", "/calibration/versions", None, ("versions",)),
        ("GET", "/calibration", None, ("values",)),
    ],
)
async def test_operations_do_what_they_are_asked(
    method: str, path: str, body: Any, asked: tuple[Any, ...]
) -> None:
    both = Asked()
    (route,) = (one for one in ROUTES if (one.method, one.path) == (method, path))
    assert route.handler is not None
    given = None if route.body is None else route.body.model_validate(body)
    call = routes.Call(both, both, given, {}, {})  # type: ignore[arg-type]
    answer = await route.handler(call)
    assert both.asked == [asked]
    stopped = method == "POST" and path in {"/stop", "/shutdown"}
    assert answer == ({"stopped": True} if stopped else True)


async def test_a_trial_gets_its_body_or_what_it_knows_of_the_query() -> None:
    both = Asked()
    both.answer = "done"
    found = {(one.method, one.path): one for one in ROUTES}
    look = found["GET", "/maintenance/picture"]
    assert look.handler is not None and look.body is None
    query = {"camera": "top", "more": "x"}
    assert await look.handler(routes.Call(both, both, None, {}, query)) == "done"  # type: ignore[arg-type]
    name, trial, request = both.asked[-1]
    assert (name, trial.endpoint.path) == ("perform", "/maintenance/picture")
    assert request.model_dump() == {"camera": "top"}
    timing = found["POST", "/maintenance/timing"]
    assert timing.handler is not None and timing.body is None, "there is nothing to be said"
    await timing.handler(routes.Call(both, both, None, {}, {}))  # type: ignore[arg-type]
    assert both.asked[-1][1].endpoint.path == "/maintenance/timing"
    move = found["POST", "/maintenance/move"]
    assert move.handler is not None and move.body is not None
    given = move.body.model_validate({"actuator": "lid", "to": 1500})
    await move.handler(routes.Call(both, both, given, {}, {}))  # type: ignore[arg-type]
    assert both.asked[-1][2] is given


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


def test_only_a_note_has_a_code() -> None:
    note = Note.of("starting")
    assert server._note_of(Conflict(note)) is note
    assert server._note_of(CubistError("text")) is None
    assert server._note_of(CubistError()) is None


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        *[("0", False), ("1", True), ("1000", True), ("1001", False), ("000000005", True)],
        *[("0000000005", False), ("+5", False), ("5 ", False), ("", False), ("٣", False)],
    ],
)
def test_counts_are_digits_within_their_range(text: str, allowed: bool) -> None:
    (count,) = next(one for one in ROUTES if one.path == "/runs").parameters
    assert accepted(count, text) is allowed


def accepted(parameter: Any, text: str) -> bool:
    try:
        server._check_value(parameter, text)
    except InvalidRequest as error:
        assert str(error).startswith(f"{parameter.name}: ")
        return False
    return True


@pytest.mark.parametrize(
    ("run", "found"), [("1", True), ("1" * 18, True), ("1" * 19, False), ("1x", False)]
)
def test_a_run_is_a_number_of_at_most_eighteen_digits(run: str, found: bool) -> None:
    route = next(one for one in ROUTES if one.path == "/runs/{run}")
    request: Any = SimpleNamespace(match_info={"run": run}, query={})
    assert route.parameters == (RUN_NUMBER,)
    if found:
        assert server._checked_query(request, route) == {}
    else:
        with pytest.raises(web.HTTPNotFound):
            server._checked_query(request, route)


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
