"""The control socket: HTTP/1.1 and JSON over a Unix socket, for the socket's group alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ValidationError

from robot.calibration import BadCalibration
from robot.daemon.conductor import Conductor
from robot.daemon.journal import complaint
from robot.daemon.maintenance import Maintenance
from robot.daemon.models import ErrorReply
from robot.daemon.openapi import document
from robot.daemon.ports import BadOrder
from robot.daemon.routes import ROUTES, Call, Route
from robot.daemon.states import Refused
from robot.faults import FAULTS, fault_code
from robot.storage import StorageError
from solver.errors import CubistError

log = logging.getLogger("cubistd.api")

MAX_BODY = 64 * 1024
REQUEST_LIMIT_S = 10.0
LINGER_S = 0.5
"""How long to go on reading a request that was refused, so that its sender sees the answer."""

SOCKET_MODE = 0o660
BACKLOG = 64

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(conductor: Conductor, maintenance: Maintenance, version: str) -> web.Application:
    """The application: every route of the table, ``/openapi.json``, and errors as JSON."""
    app = web.Application(client_max_size=MAX_BODY, middlewares=[_errors_as_json])
    for route in ROUTES:
        app.router.add_route(route.method, route.path, _handler(conductor, maintenance, route))
    description = document(version)

    async def describe(_: web.Request) -> web.StreamResponse:
        return web.json_response(description)

    app.router.add_get("/openapi.json", describe)
    return app


@contextlib.asynccontextmanager
async def serving(app: web.Application, path: Path) -> AsyncIterator[None]:
    """Serve at the socket ``path``, replacing what a crash left there; remove it at the end.

    Only for the holder of the daemon's lock: nobody else can then be listening.
    """
    listener = _listen(path)
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=1.0,
        keepalive_timeout=15.0,
        lingering_time=LINGER_S,
        handler_cancellation=True,
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listener, backlog=BACKLOG).start()
        yield
    finally:
        await runner.cleanup()
        path.unlink(missing_ok=True)


def _listen(path: Path) -> socket.socket:
    """Bind with the final permissions from the first moment on."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise StorageError(f"{path}: exists and is no socket; remove it")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    before = os.umask(0o777 & ~SOCKET_MODE)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise StorageError(f"{path}: the control socket cannot be made: {error}") from error
    finally:
        os.umask(before)
    return listener


def _handler(conductor: Conductor, maintenance: Maintenance, route: Route) -> Handler:
    if route.handler is not None:
        return _answering(conductor, maintenance, route)
    return _events(conductor) if route.path == "/events" else _lease(maintenance)


def _answering(conductor: Conductor, maintenance: Maintenance, route: Route) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        query = _checked_query(request, route)
        body = await _checked_body(request, route.body)
        call = Call(conductor, maintenance, body, dict(request.match_info), query)
        assert route.handler is not None
        # Who asked may leave; what was asked for is done to its end all the same.
        answer = await asyncio.shield(route.handler(call))
        return web.Response(text=answer.model_dump_json(), content_type="application/json")

    return handler


def _lease(maintenance: Maintenance) -> Handler:
    """Maintenance for as long as its connection lives, whoever or whatever ends that."""

    async def handler(request: web.Request) -> web.StreamResponse:
        maintenance.enter()
        try:
            response = web.StreamResponse(headers={"Content-Type": "application/jsonl"})
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                await response.write(b"{}\n")
                # Cancelled when the connection ends.
                await asyncio.Event().wait()
            return response
        finally:
            await asyncio.shield(maintenance.leave())

    return handler


def _events(conductor: Conductor) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/jsonl"})
        # Who has the answer's head misses nothing that happens from then on.
        with conductor.events.listening() as events, contextlib.suppress(ConnectionError):
            await response.prepare(request)
            async for event in events:
                await response.write(event.model_dump_json().encode() + b"\n")
        return response

    return handler


async def _checked_body(request: web.Request, model: type[BaseModel] | None) -> Any:
    """The body as its model; an absent body is an empty object. Raises ``_BadRequest``."""
    try:
        raw = await asyncio.wait_for(request.read(), REQUEST_LIMIT_S)
    except TimeoutError as error:
        raise _BadRequest("the body did not arrive in time") from error
    if model is None:
        return None
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        where = "; ".join(f"{_dotted(item['loc'])}: {item['msg']}" for item in problems)
        raise _BadRequest(where) from error


def _checked_query(request: web.Request, route: Route) -> dict[str, str]:
    """Query parameters in their range; a path parameter that cannot be is a thing not found."""
    for parameter in route.parameters:
        if parameter.place == "path":
            text = request.match_info[parameter.name]
            if not re.search(parameter.schema["pattern"], text, re.ASCII):
                raise web.HTTPNotFound
            continue
        if parameter.schema["type"] == "string":
            continue
        text = request.query.get(parameter.name, str(parameter.schema["minimum"]))
        low, high = parameter.schema["minimum"], parameter.schema["maximum"]
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise _BadRequest(f"{parameter.name}: {low}..{high} is allowed, not {text!r}")
    return dict(request.query)


def _dotted(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "body"


class _BadRequest(CubistError, ValueError):
    """A request that does not follow the description."""


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        # Named by aiohttp's class: Python's phrases for a status differ between versions.
        name = re.sub(
            r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__.removeprefix("HTTP")
        ).lower()
        return _refusal(error.status, name, error.reason, error.headers.get("Allow"))
    except CubistError as error:
        return _refusal(*_status_of(error), complaint(error), fault=_fault_of(error))
    except Exception:
        log.exception("%s %s", request.method, request.path)
        return _refusal(500, "internal", "internal error; see the journal")


def _status_of(error: CubistError) -> tuple[int, str]:
    """HTTP status and stable name of an error."""
    if isinstance(error, StorageError):
        return (404 if isinstance(error.__cause__, FileNotFoundError) else 507), "storage"
    if isinstance(error, Refused):
        return 409, "refused"
    bad = isinstance(error, _BadRequest | BadCalibration | BadOrder)
    return (400, "bad-request") if bad else (503, "robot")


def _fault_of(error: CubistError) -> str | None:
    """The name by which the table of faults knows an error, if it does."""
    code = fault_code(error)
    return code if code in FAULTS else None


def _refusal(
    status: int, error: str, reason: str, allow: str | None = None, fault: str | None = None
) -> web.Response:
    reply = ErrorReply(error=error, reason=reason, fault=fault).model_dump(exclude_none=True)
    headers = {"Allow": allow} if allow else None
    return web.Response(
        status=status, text=json.dumps(reply), content_type="application/json", headers=headers
    )
