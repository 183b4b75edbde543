"""The page's server: its routes, their guards and their answers."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final

from aiohttp import web

from robot.api.async_client import AsyncControlClient
from robot.api.client import DaemonError
from robot.api.endpoints import (
    CHECK_UP,
    EVENTS,
    EXAMINING,
    MANAGING,
    OPERATING,
    PICTURE,
    RUNNING_PROFILE,
    WATCHING,
    Endpoint,
)
from robot.api.http_server import ErrorAnswer, SparingLog, keep_connection, read_body
from robot.records.documents import ApiRequest, parse_document
from robot.records.storage import StorageError
from robot.text.languages import LANGUAGES, catalogue
from robot.text.messages import PageReason
from robot.web import simulated
from robot.web.access import (
    HEADERS,
    Refusal,
    Sessions,
    check_fetch_site,
    check_host,
    check_origin,
    check_own_header,
    local_address,
)
from robot.web.hub import LONGEST_MESSAGE, Guides, Hub, reason_of
from solver.errors import InvalidRequest
from solver.files import BadFile

log = logging.getLogger("cubist-web")

MAX_BODY = 128 * 1024
"""Maximum bytes of a request's body; the largest is a profile of 64 KB as JSON."""

HEARTBEAT_S = 20.0

MEDIA: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
"""Media types of the page's own files, all of them text."""

SOCKETS = frozenset({"/ws", "/ws/guide"})

OWNERS = frozenset({"/ws/guide", "/api/viewers", "/api/manage", "/api/simulation"}) | {
    f"/api{endpoint.path}" for endpoint in EXAMINING if "{" not in endpoint.path
}
"""Read-only paths that viewers may not use, including all paths below them."""

PUBLIC = frozenset({"/", "/login"})
"""Paths that need no session, like the page's own files; none of them is secret."""

FORWARDED = tuple(
    endpoint
    for endpoint in sorted(WATCHING | OPERATING | EXAMINING, key=lambda one: (one.path, one.method))
    # The first two come over the WebSocket, and the page needs no profile but the one in force.
    if endpoint not in {EVENTS, PICTURE, RUNNING_PROFILE}
)
"""The daemon's routes that are available below ``/api``; the daemon would answer no others."""

SLOW: Final[Mapping[Endpoint[object], float]] = {CHECK_UP: 70.0}
"""Time limits in seconds for requests that take the daemon longer than usual."""

QUERY = frozenset({"count", "level", "after"})
"""Query parameters that are passed on to the daemon."""

_PART = re.compile(r"(?!\.+$)[A-Za-z0-9._-]{1,64}")
"""A part of a path that may be passed on to the daemon."""


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Asset:
    """A file of the page, ready to be sent."""

    media: str
    zipped: bytes
    tag: str


@dataclass(frozen=True)
class Care:
    """The rights of an owner besides operating the robot.

    ``manager``: the daemon at its socket for managing, which exists only if the owner of the robot
    lets the page manage it. ``hand``: the socket of a simulation, for handling its cube.
    """

    manager: AsyncControlClient | None = None
    hand: Path | None = None

    @property
    def may_manage(self) -> bool:
        """True if the page may change the profile and restart the daemon."""
        return self.manager is not None and self.manager.path.is_socket()

    @property
    def is_simulated(self) -> bool:
        """True if there is a simulated robot whose cube can be handled."""
        return self.hand is not None and self.hand.is_socket()


class Login(ApiRequest):
    """A request for a session."""

    token: str


def load_assets() -> dict[str, Asset]:
    """Return the page's files and languages by their paths.

    They are read only once, so no path can lead to another file.
    """
    found: dict[str, Asset] = {}
    for file in files("robot.web").joinpath("static").iterdir():
        media = MEDIA.get(f".{file.name.rpartition('.')[2]}")
        if media is not None:
            path = "/" if file.name == "index.html" else f"/static/{file.name}"
            found[path] = _make_asset(media, file.read_bytes())
    for language in LANGUAGES:
        document = json.dumps(catalogue(language).document(), ensure_ascii=False)
        found[f"/static/{language}.json"] = _make_asset("application/json", document.encode())
    return found


def _make_asset(media: str, data: bytes) -> Asset:
    tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
    return Asset(media, gzip.compress(data, 9, mtime=0), tag)


def make_app(
    daemon: AsyncControlClient,
    hub: Hub,
    sessions: Sessions,
    names: frozenset[str],
    withdraw_viewers: Callable[[], None],
    care: Care,
) -> web.Application:
    """Return the application; ``names`` are the names of this machine.

    ``withdraw_viewers`` makes a new token for viewers, and announces it. ``care``: what an owner
    may do besides operating the robot.
    """
    app = web.Application(client_max_size=MAX_BODY)
    app.middlewares.append(_make_guard(sessions, names))
    app.on_response_prepare.append(_harden)
    for path, asset in load_assets().items():
        app.router.add_get(path, partial(_send_asset, asset))
    app.router.add_post("/login", partial(_log_in, sessions, SparingLog(log)))
    app.router.add_post("/logout", partial(_log_out, sessions))
    app.router.add_get("/ws", partial(_serve_tab, hub, sessions))
    app.router.add_get("/api/session", partial(_describe_session, sessions))
    app.router.add_get("/api/viewers", partial(_describe_viewers, sessions))
    app.router.add_post("/api/viewers/withdraw", partial(_withdraw_viewers, withdraw_viewers))
    app.router.add_get("/ws/guide", partial(_serve_guide, hub.guides))
    app.router.add_get("/api/guide", partial(_describe_guide, hub.guides, sessions))
    for endpoint in FORWARDED:
        forward = partial(_forward, daemon, endpoint)
        app.router.add_route(endpoint.method, f"/api{endpoint.path}", forward)
    app.router.add_get("/api/manage", partial(_describe_management, care))
    for endpoint in MANAGING:
        manage = partial(_manage, care, endpoint)
        app.router.add_route(endpoint.method, f"/api{endpoint.path}", manage)
    app.router.add_get("/api/simulation", partial(_describe_simulation, care))
    app.router.add_post("/api/simulation", partial(_handle_simulation, care))
    return app


def cookie_name(request: web.Request) -> str:
    """Return the session cookie's name, one per port: browsers share cookies between ports."""
    local = local_address(request)
    return f"cubist-{local[1]}" if local else "cubist"


def _make_guard(
    sessions: Sessions, names: frozenset[str]
) -> Callable[..., Awaitable[web.StreamResponse]]:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        check_host(request, names)
        asset = request.path == "/" or request.path.startswith("/static/")
        if not asset:
            _check_sender(request, sessions)
        return await handler(request)

    return guard


def explain(error: Exception) -> ErrorAnswer | None:
    """Return the answer to one of our errors; None for any other."""
    if isinstance(error, Refusal):
        return ErrorAnswer(error.status, error.error, error.reason)
    if isinstance(error, InvalidRequest):
        return ErrorAnswer(400, "bad-request", str(error))
    return None


def is_api(path: str) -> bool:
    """Return whether scripts use this path, not people: its errors are JSON."""
    return path.startswith(("/api/", "/ws")) or path in {"/login", "/logout"}


def _check_sender(request: web.Request, sessions: Sessions) -> None:
    """Raise :class:`Refusal` unless our own page sends this, in a session opened by the token."""
    check_fetch_site(request)
    if request.method not in {"GET", "HEAD"}:
        check_origin(request)
        check_own_header(request)
    elif request.path in SOCKETS:
        check_origin(request)
    if request.path in PUBLIC:
        return
    session = _session_of(request)
    if not sessions.is_open(session):
        raise Refusal(401, "no-session", PageReason.NO_SESSION)
    changes = request.method not in {"GET", "HEAD"} and request.path != "/logout"
    if not sessions.is_owner(session) and (changes or _is_for_owners(request.path)):
        raise Refusal(403, "viewer", PageReason.VIEWER)
    keep_connection(request)


def _is_for_owners(path: str) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in OWNERS)


def _session_of(request: web.Request) -> str:
    return request.cookies.get(cookie_name(request), "")


async def _harden(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")
    del request


async def _send_asset(asset: Asset, request: web.Request) -> web.StreamResponse:
    headers = {"ETag": asset.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("If-None-Match") == asset.tag:
        return web.Response(status=304, headers=headers)
    body = asset.zipped
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"] = "gzip"
    else:
        body = gzip.decompress(body)
    return web.Response(body=body, content_type=asset.media, charset="utf-8", headers=headers)


async def _log_in(
    sessions: Sessions, journal: SparingLog, request: web.Request
) -> web.StreamResponse:
    try:
        login = parse_document(await read_body(request), Login, "the request")
        session = sessions.open(login.token, request.remote or "")
    except BadFile as error:
        raise Refusal(400, "bad-request", 'send {"token": "..."}') from error
    except Refusal as error:
        journal.write(error.error, f"{error.error} from {request.remote}", logging.WARNING)
        raise
    response = web.json_response({})
    response.set_cookie(cookie_name(request), session, httponly=True, samesite="Strict", path="/")
    return response


async def _log_out(sessions: Sessions, request: web.Request) -> web.StreamResponse:
    sessions.close(_session_of(request))
    response = web.json_response({})
    response.del_cookie(cookie_name(request), path="/")
    return response


async def _serve_tab(hub: Hub, sessions: Sessions, request: web.Request) -> web.StreamResponse:
    session = _session_of(request)
    may_stop = sessions.is_owner(session)
    if hub.is_full(may_stop=may_stop):
        raise Refusal(503, "too-many", PageReason.TOO_MANY_TABS)
    socket = await _open_socket(request)
    if sessions.is_open(session):  # it may have ended meanwhile; then nothing closes its tab
        await hub.serve(session, socket, request.transport, may_stop=may_stop)
    else:
        await socket.close()
    return socket


async def _describe_session(sessions: Sessions, request: web.Request) -> web.StreamResponse:
    return web.json_response({"viewer": not sessions.is_owner(_session_of(request))})


async def _describe_viewers(sessions: Sessions, request: web.Request) -> web.StreamResponse:
    """Send the address for viewers, with the host name of the owner's request, and its QR code."""
    import segno

    url = f"{request.scheme}://{request.host}/#{sessions.viewer_token}"
    rows = segno.make(url, error="l", micro=False).matrix
    code = ["".join("1" if module else "0" for module in row) for row in rows]
    return web.json_response({"url": url, "code": code})


async def _withdraw_viewers(
    withdraw: Callable[[], None], request: web.Request
) -> web.StreamResponse:
    del request
    try:
        withdraw()
    except StorageError as error:
        raise Refusal(507, "disk", PageReason.WITHDRAWN_FOR_NOW) from error
    return web.json_response({})


async def _open_socket(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(max_msg_size=LONGEST_MESSAGE, heartbeat=HEARTBEAT_S)
    await socket.prepare(request)
    return socket


async def _describe_guide(
    guides: Guides, sessions: Sessions, request: web.Request
) -> web.StreamResponse:
    is_owner = sessions.is_owner(_session_of(request))
    return web.json_response({"allowed": guides.are_allowed and is_owner})


async def _serve_guide(guides: Guides, request: web.Request) -> web.StreamResponse:
    if not guides.are_allowed:
        raise Refusal(403, "not-allowed", PageReason.NO_GUIDE)
    if guides.is_open:
        raise Refusal(409, "busy", PageReason.OTHER_GUIDE)
    with guides.open_for(_session_of(request)):
        socket = await _open_socket(request)
        await guides.serve(socket, request.remote or "")
    return socket


async def _describe_management(care: Care, request: web.Request) -> web.StreamResponse:
    del request
    return web.json_response({"allowed": care.may_manage, "simulated": care.is_simulated})


async def _manage(
    care: Care, endpoint: Endpoint[object], request: web.Request
) -> web.StreamResponse:
    if not care.may_manage or care.manager is None:
        raise Refusal(403, "not-allowed", PageReason.NO_MANAGING)
    return await _forward(care.manager, endpoint, request)


async def _describe_simulation(care: Care, request: web.Request) -> web.StreamResponse:
    del request
    if care.hand is None or not care.is_simulated:
        raise Refusal(404, "no-simulation", PageReason.NO_SIMULATION)
    return web.json_response(await simulated.perform(care.hand, {"do": "list"}))


async def _handle_simulation(care: Care, request: web.Request) -> web.StreamResponse:
    if care.hand is None or not care.is_simulated:
        raise Refusal(404, "no-simulation", PageReason.NO_SIMULATION)
    try:
        asked = parse_document(await read_body(request), simulated.HandRequest, "the request")
    except BadFile as error:
        raise Refusal(400, "bad-request", str(error)) from error
    document = asked.model_dump(exclude_none=True)
    return web.json_response(await simulated.perform(care.hand, document))


async def _forward(
    daemon: AsyncControlClient, endpoint: Endpoint[object], request: web.Request
) -> web.StreamResponse:
    if not all(_PART.fullmatch(part) for part in request.match_info.values()):
        raise web.HTTPNotFound
    body = await read_body(request) if endpoint.method != "GET" else None
    query = {name: value for name, value in request.query.items() if name in QUERY}
    try:
        answer = await daemon.request(
            endpoint, request.match_info, body=body, query=query, limit_s=SLOW.get(endpoint)
        )
    except DaemonError as error:
        raise Refusal(503, "no-daemon", reason_of(error)) from error
    return web.Response(status=answer.status, body=answer.body, content_type=answer.media)
