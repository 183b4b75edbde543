"""An HTTP/1.1 server for clients that may send anything.

``cubistd`` at its sockets and ``cubist-web`` in the network both use it. Every bad request gets an
answer: a JSON document or, for a browser, a readable page. The journal gets at most one line a
minute of each kind. A flooded server stays usable, because it limits connections and every peer
gets its share of them::

    200 connections, all from host A, 3 of them kept  +  host B connects
    -> the server closes the oldest of A's others, idle ones first: B, and A's 3, go on

A peer is a host or, at a Unix socket, a process. The server keeps (:func:`keep_connection`)
connections of known people and long-lasting answers: at most three quarters of all connections, so
that there is always room for another request.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import html
import http
import json
import logging
import re
import resource
import socket
import struct
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from solver.errors import InvalidRequest, one_line, shortened
from solver.files import JsonMapping

BACKLOG = 128
HEAD_LIMIT_S = 15.0
"""Longest time for a request to arrive, up to its empty line, and for a connection to be idle."""

BODY_LIMIT_S = 10.0
LINGER_S = 0.5
"""Time to continue reading a refused request, so that its sender sees the answer."""

MOST_CONNECTIONS = 200
FEWEST_CONNECTIONS = 4
RETRY_S = 0.05
"""Pause after a failure to accept a connection."""

LINE_PERIOD_S = 60.0

BODY_ERRORS = (web.RequestPayloadError, HttpProcessingError, ClientPayloadError)
"""aiohttp's errors for a request body that is truncated or contradicts its header."""

_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PEER = struct.Struct("3i")
"""Process, user and group at the other end of a Unix socket."""
_SILENT = logging.getLogger("cubist.access")
_SILENT.disabled = True

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class ErrorAnswer:
    """An error as the client gets it: HTTP's status, a stable name, and a text for people."""

    status: int
    error: str
    reason: str
    more: JsonMapping = field(default_factory=dict)


Explain = Callable[[Exception], ErrorAnswer | None]
"""Map a handler's exception to an answer; None if it is unknown."""


@dataclass(frozen=True)
class HttpServer:
    """An application and the settings to serve it.

    ``explain`` maps the errors of ``app``'s handlers to answers; ``log`` gets the journal's lines;
    ``headers`` are added to answers that bypass ``app``; ``is_api`` returns whether a path is
    answered in JSON even to a browser; ``servers``: number of servers in this process;
    ``cancels_handlers``: cancel a handler when its client disconnects.
    """

    app: web.Application
    log: logging.Logger
    explain: Explain
    headers: Mapping[str, str] = field(default_factory=dict)
    is_api: Callable[[str], bool] = lambda _: True
    internal: str = "internal error; see the journal"
    most_connections: int = MOST_CONNECTIONS
    servers: int = 1
    cancels_handlers: bool = False

    @contextlib.asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        """Serve at ``listener``, which is already bound, and close it when the context ends."""
        with contextlib.closing(listener):
            connections = _Connections(self)
            async with self._running(connections.journal) as server:
                make = partial(_Connection, server, connections, asyncio.get_running_loop())
                listener.setblocking(False)
                listener.listen(BACKLOG)
                accepting = asyncio.create_task(_accept(listener, make, connections))
                try:
                    yield
                finally:
                    accepting.cancel()
                    await asyncio.gather(accepting, return_exceptions=True)
                    listener.close()  # accept no connection while the last answers are sent

    @contextlib.asynccontextmanager
    async def _running(self, journal: SparingLog) -> AsyncIterator[Any]:
        """Run aiohttp's server, to which we pass the connections."""
        runner = web.AppRunner(
            self.app,
            shutdown_timeout=1.0,
            handle_signals=False,
            handler_cancellation=self.cancels_handlers,
        )
        try:
            await runner.setup()
            server: Any = runner.server
            server.request_handler = _answering_errors(server.request_handler, self, journal)
            yield server
        finally:
            await runner.cleanup()


def keep_connection(request: web.BaseRequest) -> bool:
    """Protect this request's connection from being closed to make room for another.

    Returns False, and changes nothing, if three quarters of all connections are kept already.
    """
    return isinstance(request.protocol, _Connection) and request.protocol.keep()


async def read_body(request: web.Request) -> bytes:
    """Return the whole body; raises ``InvalidRequest`` if it is late or malformed."""
    try:
        return await asyncio.wait_for(request.read(), BODY_LIMIT_S)
    except TimeoutError as error:
        raise InvalidRequest("the body did not arrive in time") from error
    except BODY_ERRORS as error:
        raise InvalidRequest(f"the body cannot be read: {_quote(str(error))}") from error


def _quote(text: str) -> str:
    """Return the first line of a text from aiohttp or a client, short enough for a log."""
    return shortened(one_line(text.strip().partition("\n")[0]), 120)


class SparingLog:
    """A log of at most one line a minute of each kind, with the number of lines left out.

    Strangers can cause any number of such lines, and the journal is on an SD card.
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._written_at: dict[str, float] = {}
        self._left_out: Counter[str] = Counter()

    def write(
        self, kind: str, text: str, level: int = logging.INFO, error: BaseException | None = None
    ) -> None:
        """Log ``text``, unless a line of this ``kind`` was logged within the last minute."""
        now = self._clock()
        if now - self._written_at.get(kind, -LINE_PERIOD_S) < LINE_PERIOD_S:
            self._left_out[kind] += 1
            return
        self._written_at[kind] = now
        count = self._left_out.pop(kind, 0)
        more = f" ({count} more of this kind since the last such line)" if count else ""
        self._log.log(level, "%s%s", text, more, exc_info=error)


class _Connections:
    """The open connections of a server, with its journal; the oldest comes first."""

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self.journal = SparingLog(server.log)
        self._limit = _affordable(server)
        self._open: dict[_Connection, str] = {}

    def add(self, connection: _Connection, peer: str) -> None:
        self._open[connection] = peer
        if len(self._open) > self._limit:
            self.make_room()

    def has_room_to_keep(self) -> bool:
        """Return whether another connection may be kept."""
        kept = sum(one.is_kept for one in self._open)
        return kept < self._limit * 3 // 4

    def remove(self, connection: _Connection) -> None:
        self._open.pop(connection, None)

    def make_room(self) -> None:
        """Close a connection of the peer that has most of those not kept.

        Close its oldest idle one, else its oldest, which may be sending its request slowly. Spare
        its newest, which has had no time to send a request. If all are kept, close the newest.
        """
        shares = Counter(peer for one, peer in self._open.items() if not one.is_kept)
        if shares:
            greedy, count = shares.most_common(1)[0]
            theirs = [one for one, peer in self._open.items() if peer == greedy and not one.is_kept]
            older = theirs[:-1] or theirs
            victim = next((one for one in older if not one.is_working), older[0])
            about = f"{count} of {greedy}; one of them is closed"
        elif self._open:
            victim, about = next(reversed(self._open)), "all are kept; the newest is closed"
        else:
            return
        self.journal.write("room", f"too many connections: {about}", logging.WARNING)
        self.remove(victim)
        victim.abort()


class _Connection(RequestHandler):
    """A client's connection, which also answers input that is not HTTP."""

    __slots__ = ("_connections", "is_kept")

    def __init__(
        self,
        manager: Any,  # noqa: ANN401  # aiohttp's server, which it does not export
        connections: _Connections,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(
            manager,
            loop=loop,
            access_log=_SILENT,
            keepalive_timeout=HEAD_LIMIT_S,
            lingering_time=LINGER_S,
            auto_decompress=False,
        )
        self._connections = connections
        self.is_kept = False

    def keep(self) -> bool:
        """Keep the connection open, if there is room. Return whether it is kept."""
        self.is_kept = self.is_kept or self._connections.has_room_to_keep()
        return self.is_kept

    @property
    def is_working(self) -> bool:
        """Return whether the server is answering one of its requests."""
        return self._current_request is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Add the connection to those that are limited."""
        super().connection_made(transport)
        self._connections.add(self, _peer_of(transport))

    def connection_lost(self, exc: BaseException | None) -> None:
        """Remove the connection from those that are limited."""
        self._connections.remove(self)
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close the connection at once; data not yet sent is lost."""
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the answer to an unreadable request, and log a line instead of a traceback."""
        if request.writer.output_size > 0 or isinstance(exc, ConnectionError):
            raise ConnectionError("an answer has begun, or the client is gone")
        server, journal = self._connections.server, self._connections.journal
        if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log_exception("a request failed", exc_info=exc)
            refused = ErrorAnswer(status, "internal", server.internal)
        else:
            reason = _quote(message or str(exc))
            journal.write("not-http", f"not HTTP/1.1: {reason}")
            refused = ErrorAnswer(status, "bad-request", f"not HTTP/1.1: {reason}")
        answer = _answer(refused, None, server)
        answer.headers.update(server.headers)
        answer.force_close()
        return answer

    def log_exception(self, *args: object, **kwargs: object) -> None:
        """Log an error; without a traceback for a malformed body, which is the sender's fault."""
        error = kwargs.get("exc_info")
        if isinstance(error, BODY_ERRORS):
            text = f"a request's body cannot be read: {_quote(str(error))}"
            self._connections.journal.write("body", text)
        else:
            text = str(args[0]) if args else "a request failed"
            found = error if isinstance(error, BaseException) else None
            self._connections.journal.write(text, text, logging.ERROR, found)


async def _accept(
    listener: socket.socket,
    make: Callable[[], _Connection],
    connections: _Connections,
) -> None:
    """Accept connections; if the system has no room for one, close one of ours.

    An error with one connection does not affect the next. asyncio's own loop would log a traceback
    for each that waits, and again every second.
    """
    loop, journal = asyncio.get_running_loop(), connections.journal
    while True:
        try:
            accepted, _ = await loop.sock_accept(listener)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _NO_ROOM:
                journal.write("accept", f"no room for a connection: {error}", logging.WARNING)
                connections.make_room()
            else:
                _log_lost(error, journal)
            await asyncio.sleep(RETRY_S)
            continue
        try:
            await loop.connect_accepted_socket(make, accepted)
        except Exception as error:
            accepted.close()
            _log_lost(error, journal)


def _log_lost(error: Exception, journal: SparingLog) -> None:
    """Log the loss of a new connection. Any error that is not the system's is a defect."""
    if isinstance(error, OSError):
        journal.write("lost", f"a connection ended at once: {error}")
    else:
        journal.write("defect", "a connection was not accepted", logging.ERROR, error)


def _affordable(server: HttpServer) -> int:
    """Return the largest number of connections a server may have open.

    All servers of the process together get half of its descriptors. The other half stays for
    everything else, such as a descriptor for a stop at each of its sockets.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return server.most_connections
    share = soft // 2 // server.servers
    return max(FEWEST_CONNECTIONS, min(server.most_connections, share))


def _peer_of(transport: asyncio.BaseTransport) -> str:
    """Return the host that a connection comes from, or the process for a Unix socket."""
    name = transport.get_extra_info("peername")
    if isinstance(name, tuple):
        return str(name[0])
    return f"process {process_of(transport)}"


def process_of(transport: asyncio.BaseTransport | None) -> int:
    """Return the process at the other end of a Unix socket, from the kernel; 0 if unknown."""
    end = transport.get_extra_info("socket") if transport is not None else None
    if end is None:
        return 0
    with contextlib.suppress(OSError):
        data = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        process, _, _ = _PEER.unpack(data)
        return int(process)
    return 0


def _answering_errors(handler: Handler, server: HttpServer, journal: SparingLog) -> Handler:
    """Wrap ``handler``, which gets every request, to answer each of its errors."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await handler(request)
        except ConnectionError:
            # The client is gone.
            raise
        except Exception as error:
            refused = _explain_error(error) or server.explain(error)
            if refused is None:
                text = f"{request.method} {_quote(request.path)}"
                journal.write("internal", f"{text} failed", logging.ERROR, error)
                refused = ErrorAnswer(500, "internal", server.internal)
            found = _answer(refused, request, server)
            allow = error.headers.get("Allow") if isinstance(error, web.HTTPException) else None
            if allow:
                found.headers["Allow"] = allow
            return found

    return answer


def _explain_error(error: Exception) -> ErrorAnswer | None:
    """Return the answer to an error of aiohttp itself; None for any other error."""
    if isinstance(error, web.HTTPException):
        # Use the name of aiohttp's class: Python's phrases for a status differ between versions.
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__.removeprefix("HTTP"))
        return ErrorAnswer(error.status, name.lower(), error.reason)
    if isinstance(error, UnicodeEncodeError):
        # aiohttp quotes an unknown Expect header, whatever bytes it has.
        return ErrorAnswer(400, "bad-request", "a header has bytes that are not text")
    return None


def _answer(
    refused: ErrorAnswer, request: web.BaseRequest | None, server: HttpServer
) -> web.Response:
    """Return a refusal as JSON, or as a page if a browser asks for one."""
    if request is not None and not server.is_api(request.path):
        accepted = request.headers.get("Accept", "")
        if request.method in {"GET", "HEAD"} and "text/html" in accepted:
            return _page(refused)
    document = {"error": refused.error, "reason": refused.reason, **refused.more}
    return web.Response(
        status=refused.status, text=json.dumps(document), content_type="application/json"
    )


def _page(refused: ErrorAnswer) -> web.Response:
    title = f"{refused.status} {http.HTTPStatus(refused.status).phrase}"
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title}</h1><p>{html.escape(refused.reason)}</p>"
        '<p><a href="/">The robot\'s page</a></p></html>\n'
    )
    return web.Response(status=refused.status, text=text, content_type="text/html")
