"""The control socket: HTTP/1.1 and JSON over a Unix socket, for the socket's group alone."""

from __future__ import annotations

import asyncio
import contextlib
import http
import json
import logging
import os
import re
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler
from pydantic import BaseModel, ValidationError

from robot.calibration.store import BadCalibration
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.daemon.models import ErrorReply
from robot.daemon.routes import ROUTES, Call, Parameter, Route, document
from robot.daemon.service import complaint
from robot.faults import FAULTS, InvalidRequest, Refused, fault_code
from robot.notes import Note
from robot.records.storage import StorageError
from solver.errors import CubistError, shortened

log = logging.getLogger("cubistd.api")

MAX_BODY = 64 * 1024
REQUEST_LIMIT_S = 10.0
MOST_PROBLEMS = 5
"""Of a body that are told."""

LINGER_S = 0.5
"""How long to go on reading a request that was refused, so that its sender sees the answer."""

SOCKET_MODE = 0o660
BACKLOG = 64

_BODY_ERRORS = (web.RequestPayloadError, HttpProcessingError, ClientPayloadError)
"""What reading a body raises that is not what its head announced."""

_SILENT = logging.getLogger("cubistd.access")
_SILENT.disabled = True

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(controller: JobController, maintenance: Maintenance, version: str) -> web.Application:
    """The application: every route of the table, and ``/openapi.json``."""
    app = web.Application(client_max_size=MAX_BODY)
    for route in ROUTES:
        app.router.add_route(route.method, route.path, _handler(controller, maintenance, route))
    description = document(version)

    async def describe(_: web.Request) -> web.StreamResponse:
        return web.json_response(description)

    app.router.add_get("/openapi.json", describe)
    return app


@contextlib.asynccontextmanager
async def serving(app: web.Application, path: Path) -> AsyncIterator[None]:
    """Serve at the socket ``path``, replacing what a crash left there; remove it at the end.

    Only for the holder of the daemon's lock: nobody else can then be listening. Whatever goes wrong
    with a request is answered in JSON: also what no route of ``app`` ever sees.
    """
    listener = _listen(path)
    runner = web.AppRunner(app, shutdown_timeout=1.0, handler_cancellation=True)
    await runner.setup()
    server: Any = runner.server
    server.request_handler = _answering_errors(server.request_handler)
    loop = asyncio.get_running_loop()
    connection = partial(
        _Connection,
        server,
        loop=loop,
        access_log=_SILENT,
        keepalive_timeout=15.0,
        lingering_time=LINGER_S,
        auto_decompress=False,
    )
    try:
        listening = await loop.create_unix_server(connection, sock=listener, backlog=BACKLOG)
        try:
            yield
        finally:
            listening.close()
    finally:
        await runner.cleanup()
        path.unlink(missing_ok=True)


class _Connection(RequestHandler):
    """A client's connection, on which also what is no HTTP is answered in JSON."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a request that could not be read; a line of the journal, no traceback."""
        if request.writer.output_size > 0 or isinstance(exc, ConnectionError):
            raise ConnectionError("an answer has begun, or nobody is there to get one")
        if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log_exception("a request failed", exc_info=exc)
            answer = _refusal(status, "internal", "internal error; see the journal")
        else:
            reason = _one_line(message or str(exc))
            log.info("not HTTP/1.1: %s", reason)
            answer = _refusal(status, "bad-request", f"not HTTP/1.1: {reason}")
        answer.force_close()
        return answer

    def log_exception(self, *args: object, **kwargs: object) -> None:
        """A body that breaks off or is cut up wrongly is its sender's fault, not worth a trace."""
        error = kwargs.get("exc_info")
        if isinstance(error, _BODY_ERRORS):
            log.info("a request's body cannot be read: %s", _one_line(str(error)))
        else:
            super().log_exception(*args, **kwargs)


def _one_line(text: str) -> str:
    """The first line of ``text``, fit for a line of the journal."""
    line = text.strip().partition("\n")[0].strip()
    return shortened("".join(c if c.isprintable() else "?" for c in line), 120)


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


def _handler(controller: JobController, maintenance: Maintenance, route: Route) -> Handler:
    if route.handler is not None:
        return _answering(controller, maintenance, route)
    return _events(controller) if route.path == "/events" else _lease(maintenance)


def _answering(controller: JobController, maintenance: Maintenance, route: Route) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        query = _checked_query(request, route)
        body = await _checked_body(request, route.body)
        call = Call(controller, maintenance, body, dict(request.match_info), query)
        assert route.handler is not None
        # Who asked may leave; what was asked for is done to its end all the same.
        answer = await asyncio.shield(route.handler(call))
        if isinstance(answer, BaseModel):
            return web.json_response(text=answer.model_dump_json())
        if answer.tag and answer.tag == request.headers.get("If-None-Match"):
            return web.Response(status=http.HTTPStatus.NOT_MODIFIED)
        headers = {"ETag": answer.tag} if answer.tag else None
        return web.Response(body=answer.data, content_type=answer.media, headers=headers)

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


def _events(controller: JobController) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/jsonl"})
        # Who has the answer's head misses nothing that happens from then on.
        with controller.events.listening() as events, contextlib.suppress(ConnectionError):
            await response.prepare(request)
            async for event in events:
                await response.write(event.line().encode() + b"\n")
        return response

    return handler


async def _checked_body(request: web.Request, model: type[BaseModel] | None) -> BaseModel | None:
    """The body as its model; an absent body is an empty object. Raises ``_BadRequest``."""
    try:
        raw = await asyncio.wait_for(request.read(), REQUEST_LIMIT_S)
    except TimeoutError as error:
        raise _BadRequest("the body did not arrive in time") from error
    except _BODY_ERRORS as error:
        raise _BadRequest(f"the body cannot be read: {_one_line(str(error))}") from error
    if model is None:
        return None
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        told = [f"{_dotted(item['loc'])}: {item['msg']}" for item in problems[:MOST_PROBLEMS]]
        more = len(problems) - len(told)
        raise _BadRequest("; ".join(told) + (f"; and {more} more" if more else "")) from error


def _checked_query(request: web.Request, route: Route) -> dict[str, str]:
    """Query parameters in their range; a path parameter that cannot be is a thing not found."""
    for parameter in route.parameters:
        if parameter.place == "path":
            text = request.match_info[parameter.name]
            if not re.fullmatch(parameter.schema["pattern"], text, re.ASCII):
                raise web.HTTPNotFound
            continue
        given = request.query.getall(parameter.name, [])
        if len(given) > 1:
            raise _BadRequest(f"{parameter.name}: given {len(given)} times; once is allowed")
        for text in given:
            _check_value(parameter, text)
    return dict(request.query)


def _check_value(parameter: Parameter, text: str) -> None:
    """Raise ``_BadRequest`` for a value of a query parameter that its schema does not allow."""
    schema = parameter.schema
    if schema["type"] == "string":
        if len(text) > schema["maxLength"]:
            raise _BadRequest(f"{parameter.name}: at most {schema['maxLength']} characters")
        return
    low, high = schema["minimum"], schema["maximum"]
    if not (re.fullmatch(r"[0-9]{1,9}", text) and low <= int(text) <= high):
        raise _BadRequest(f"{parameter.name}: {low}..{high} is allowed, not {shortened(text)!r}")


def _dotted(location: tuple[int | str, ...]) -> str:
    return ".".join(shortened(str(part)) for part in location) or "body"


class _BadRequest(CubistError, ValueError):
    """A request that does not follow the description."""


def _answering_errors(handler: Handler) -> Handler:
    """``handler``, which is asked for every request, with whatever it raises answered in JSON."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            # Named by aiohttp's class: Python's phrases for a status differ between versions.
            name = re.sub(
                r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__.removeprefix("HTTP")
            ).lower()
            return _refusal(error.status, name, error.reason, error.headers.get("Allow"))
        except CubistError as error:
            return _refusal(
                *_status_of(error), complaint(error), fault=_fault_of(error), note=_note_of(error)
            )
        except UnicodeEncodeError:
            # What aiohttp says of an unknown Expect repeats it, whatever bytes it has.
            return _refusal(400, "bad-request", "a header holds bytes that are no text")
        except ConnectionError:
            # Nobody is there any more who could be answered.
            raise
        except Exception:
            log.exception("%s %s", request.method, _one_line(request.path))
            return _refusal(500, "internal", "internal error; see the journal")

    return answer


def _status_of(error: CubistError) -> tuple[int, str]:
    """HTTP status and stable name of an error."""
    if isinstance(error, StorageError):
        return (404 if isinstance(error.__cause__, FileNotFoundError) else 507), "storage"
    if isinstance(error, Refused):
        return 409, "refused"
    bad = isinstance(error, _BadRequest | BadCalibration | InvalidRequest)
    return (400, "bad-request") if bad else (503, "robot")


def _fault_of(error: CubistError) -> str | None:
    """The name by which the table of faults knows an error, if it does."""
    code = fault_code(error)
    return code if code in FAULTS else None


def _note_of(error: CubistError) -> Note | None:
    """Its text, where that has a code."""
    told = error.args[0] if error.args else None
    return told if isinstance(told, Note) else None


def _refusal(
    status: int,
    error: str,
    reason: str,
    allow: str | None = None,
    *,
    fault: str | None = None,
    note: Note | None = None,
) -> web.Response:
    told = {} if note is None else {"reason_code": note.code, "reason_parameters": note.parameters}
    answer = ErrorReply.model_validate({"error": error, "reason": reason, "fault": fault, **told})
    reply = answer.model_dump(exclude_none=True)
    headers = {"Allow": allow} if allow else None
    return web.Response(
        status=status, text=json.dumps(reply), content_type="application/json", headers=headers
    )
