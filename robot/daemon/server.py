"""The daemon's sockets: HTTP/1.1 and JSON over Unix sockets, each for its group only."""

from __future__ import annotations

import asyncio
import contextlib
import http
import logging
import re
import secrets
import shutil
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from aiohttp import web
from pydantic import BaseModel

from robot.api import http_server
from robot.api.calibrations import CalibrationRequest, MaintenanceRequest
from robot.api.endpoints import AGE_HEADER, EVENTS, SESSION_HEADER, Program
from robot.api.http_server import HttpServer
from robot.api.models import ErrorReply
from robot.calibration.values import BadCalibration
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.daemon.management import Management
from robot.daemon.motion_run import CALLER, Caller
from robot.daemon.routes import ROUTES, Call, Content, Parameter, Route, document
from robot.daemon.service import complaint
from robot.records.documents import parse_document
from robot.records.run_record import notes_of
from robot.records.storage import NOT_STORED, StorageError
from robot.settings import BadProfile
from robot.text.faults import FAULTS, Conflict
from robot.text.messages import Note
from solver.errors import CubistError, InvalidRequest, shortened
from solver.files import BadFile, JsonObject

log = logging.getLogger("cubistd.api")

MAX_BODY = 128 * 1024
"""Maximum bytes of a body. The largest is a profile of 64 KB as JSON."""

MOST_FOLLOWERS = 64
"""Maximum number of programs that follow the events at one socket."""

TOO_MANY = "too-many"
"""Code of a :class:`CubistError`: there are too many lasting connections."""

SOCKETS = len(Program) + 1
"""Maximum number of sockets the daemon serves: its own, and one for each program."""

SOCKET_MODE = 0o660
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(
    controller: JobController,
    maintenance: Maintenance,
    management: Management,
    version: str,
    program: Program | None = None,
) -> web.Application:
    """Return the application: every route of the table, and ``/openapi.json``.

    For a ``program`` with a socket of its own, the application has only that program's routes.
    """
    app = web.Application(client_max_size=MAX_BODY)
    for route in ROUTES:
        if program is None or program.may_ask(route.endpoint):
            handler = _handler(controller, maintenance, management, route)
            app.router.add_route(route.method, route.path, _with_caller(handler, program))
    if program is not None:
        return app

    async def describe(_: web.Request) -> web.StreamResponse:
        return web.json_response(document(version))

    app.router.add_get("/openapi.json", describe)
    return app


@contextlib.asynccontextmanager
async def serving(
    app: web.Application, path: Path, group: str | None = None
) -> AsyncIterator[None]:
    """Serve at the socket ``path``, replacing what a crash left there; remove it at the end.

    ``group`` may connect. Without one, or if it does not exist or does not include the daemon (as
    without the service), the daemon's own group may.

    The caller holds the daemon's lock, so no other daemon is listening.
    """
    listener = _bind(path, group)
    server = HttpServer(app, log, explain, servers=SOCKETS, cancels_handlers=True)
    try:
        async with server.serving(listener):
            yield
    finally:
        path.unlink(missing_ok=True)


def _bind(path: Path, group: str | None = None) -> socket.socket:
    """Return a socket bound at ``path``, with its final permissions.

    Nobody can connect before it listens, so nobody connects with other permissions.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise StorageError(f"{path}: exists and is not a socket; remove it")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        listener.bind(str(path))
        path.chmod(SOCKET_MODE)
        _give_to(path, group)
    except OSError as error:
        listener.close()
        raise StorageError(f"{path}: the control socket cannot be created: {error}") from error
    return listener


def _give_to(path: Path, group: str | None) -> None:
    if group is None:
        return
    try:
        shutil.chown(path, group=group)
    except LookupError:
        log.debug("there is no group %s", group)
    except PermissionError as error:
        log.info("%s keeps the daemon's own group: %s", path.name, error)


def _with_caller(handler: Handler, program: Program | None) -> Handler:
    """Return ``handler`` for a socket of ``program``, with :data:`CALLER` set."""

    async def handle(request: web.Request) -> web.StreamResponse:
        session = request.headers.get(SESSION_HEADER, "")
        CALLER.set(Caller(program, http_server.process_of(request.transport), session))
        return await handler(request)

    return handle


def _handler(
    controller: JobController, maintenance: Maintenance, management: Management, route: Route
) -> Handler:
    handle = route.handler
    if handle is None:
        return _events(controller) if route.endpoint == EVENTS else _lease(maintenance)

    async def handler(request: web.Request) -> web.StreamResponse:
        query = _checked_query(request, route)
        body = await _checked_body(request, route.body)
        _check_rights(body, CALLER.get().program)
        call = Call(controller, maintenance, management, body, dict(request.match_info), query)
        # If the client disconnects, the operation still finishes.
        asked = asyncio.ensure_future(handle(call))
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())
        answer = await asyncio.shield(asked)
        if isinstance(answer, BaseModel):
            return web.json_response(text=answer.model_dump_json())
        if not isinstance(answer, Content):
            return web.json_response(answer)
        headers = {"ETag": answer.tag} if answer.tag else {}
        if answer.age_s is not None:
            headers[AGE_HEADER] = f"{answer.age_s:.3f}"
        if answer.tag and answer.tag == request.headers.get("If-None-Match"):
            return web.Response(status=http.HTTPStatus.NOT_MODIFIED, headers=headers)
        return web.Response(body=answer.data, content_type=answer.media, headers=headers)

    return handler


def _lease(maintenance: Maintenance) -> Handler:
    """Return the handler that keeps maintenance open until its connection ends, or until another
    person takes over. The last line of the answer is then the reason, a ``NoteRecord``. Its header
    names the session."""

    async def handler(request: web.Request) -> web.StreamResponse:
        asked = await _checked_body(request, MaintenanceRequest)
        assert isinstance(asked, MaintenanceRequest)
        caller = replace(CALLER.get(), session=secrets.token_hex(8))
        CALLER.set(caller)
        if asked.take_over:
            if caller.program is not None:
                raise InvalidRequest(f"take_over: the {caller.program} may not end a session")
            await maintenance.end_session(asked.at or f"pid {caller.process}")
        reason = maintenance.enter(asked.place, caller.process, asked.at)
        try:
            if not http_server.keep_connection(request):
                raise CubistError("too many connections are open; close one of them", code=TOO_MANY)
            response = web.StreamResponse(
                headers={"Content-Type": "application/jsonl", SESSION_HEADER: caller.session}
            )
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                await response.write(b"{}\n")
                # Cancelled when the connection ends.
                (ended,) = notes_of([await reason])
                await response.write(ended.model_dump_json().encode() + b"\n")
            return response
        finally:
            taken_over = reason.result() if reason.done() and not reason.cancelled() else None
            await asyncio.shield(maintenance.leave(taken_over))

    return handler


def _events(controller: JobController) -> Handler:
    followers = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/jsonl"})
        nonlocal followers
        if followers >= MOST_FOLLOWERS or not http_server.keep_connection(request):
            raise CubistError(
                f"{followers} programs already follow the events; end one of them", code=TOO_MANY
            )
        followers += 1
        try:
            # Listening begins before the head is sent: the client misses nothing after it.
            with controller.events.listening() as events, contextlib.suppress(ConnectionError):
                await response.prepare(request)
                async for event in events:
                    await response.write(event.line().encode() + b"\n")
        finally:
            followers -= 1
        return response

    return handler


async def _checked_body(request: web.Request, model: type[BaseModel] | None) -> BaseModel | None:
    """Return the body as its model; an absent body is an empty object.

    Raises ``InvalidRequest``.
    """
    raw = await http_server.read_body(request)
    if model is None:
        return None
    try:
        return parse_document(raw or b"{}", model, "body")
    except BadFile as error:
        raise InvalidRequest(str(error)) from error


def _check_rights(body: BaseModel | None, program: Program | None) -> None:
    """Raise ``InvalidRequest`` for a calibrated value that the program may not set."""
    if program is None or not isinstance(body, CalibrationRequest):
        return
    for key in body.values:
        if not program.may_set(key):
            raise InvalidRequest(f"values.{shortened(key)}: the {program} may not set it")


def _checked_query(request: web.Request, route: Route) -> dict[str, str]:
    """Return the query parameters, checked. An impossible path parameter is a 404."""
    for parameter in route.parameters:
        if parameter.place == "path":
            text = request.match_info[parameter.name]
            if not re.fullmatch(parameter.schema["pattern"], text, re.ASCII):
                raise web.HTTPNotFound
            continue
        given = request.query.getall(parameter.name, [])
        if len(given) > 1:
            raise InvalidRequest(f"{parameter.name}: given {len(given)} times; give it once")
        for text in given:
            _check_value(parameter, text)
    return dict(request.query)


def _check_value(parameter: Parameter, text: str) -> None:
    """Raise ``InvalidRequest`` for a value of a query parameter that its schema does not allow."""
    schema = parameter.schema
    if schema["type"] == "string":
        if len(text) > schema["maxLength"]:
            raise InvalidRequest(f"{parameter.name}: at most {schema['maxLength']} characters")
        return
    low, high = schema["minimum"], schema["maximum"]
    if not (re.fullmatch(r"[0-9]{1,9}", text) and low <= int(text) <= high):
        raise InvalidRequest(f"{parameter.name}: must be {low}..{high}, not {shortened(text)!r}")


def explain(error: Exception) -> http_server.ErrorAnswer | None:
    """Return the answer to a :class:`CubistError` (an ``ErrorReply``); None for other errors."""
    if not isinstance(error, CubistError):
        return None
    status, name = _status_of(error)
    reply: JsonObject = {"error": name, "reason": complaint(error)}
    if error.code in FAULTS:
        reply["fault"] = error.code
    note = error.args[0] if error.args else None
    if isinstance(note, Note):
        reply |= {"reason_code": note.code, "reason_parameters": note.parameters}
    checked = ErrorReply.model_validate(reply)
    more = checked.model_dump(exclude_none=True, exclude={"error", "reason"})
    return http_server.ErrorAnswer(status, name, checked.reason, more)


def _status_of(error: CubistError) -> tuple[int, str]:
    if isinstance(error, StorageError):
        return (404 if error.code == NOT_STORED else 507), "storage"
    if isinstance(error, Conflict):
        return 409, "refused"
    if error.code == TOO_MANY:
        return 503, TOO_MANY
    # An error with its own code was found deep in the program, not in the client's request.
    invalid = isinstance(error, InvalidRequest) and error.code == InvalidRequest.code
    bad = invalid or isinstance(error, (BadCalibration, BadProfile))
    return (400, "bad-request") if bad else (503, "robot")
