"""Access to the page: names and origins of requests, the token, and the sessions it opens.

Each guard prevents one attack; ``tests/web/test_attacks.py`` tries them all, with and without the
guard.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from robot.records.storage import StorageError, write_atomically
from robot.text.messages import PageReason
from solver.files import BadFile, NoSuchFile, read_text

TOKEN_BYTES = 32
IDLE_LIMIT_S = 7 * 24 * 3600.0
MOST_SESSIONS = 64
MOST_FAILURES = 10
"""Maximum wrong tokens a minute from an address, which is locked out for the rest of the minute."""

MOST_KEPT = 1000

_TOKEN = re.compile("[A-Za-z0-9_-]{43}")

OWN_HEADER = "X-Cubist"
"""A header that only scripts of the same origin can send: forms cannot, others must ask first."""

HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' blob:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "Server": "cubist-web",  # no versions for strangers
}


class Refusal(Exception):
    """A rejection of a request; ``status`` is HTTP's, ``error`` a stable name."""

    def __init__(self, status: int, error: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.error = error
        self.reason = reason


def own_names(more: Collection[str] = ()) -> frozenset[str]:
    """Return the names of this machine, in lower case."""
    host = socket.gethostname().lower()
    return frozenset({"localhost", host, f"{host.split('.')[0]}.local", *map(str.lower, more)})


def check_host(request: web.Request, names: Collection[str]) -> None:
    """Guard against DNS rebinding, in which a stranger's name resolves to this machine.

    Addresses are allowed: only its owner can give this machine an address.
    """
    host = _host_of(request.headers.get("Host", ""))
    if host in names or _is_own_address(host, request):
        return
    raise Refusal(421, "wrong-host", "this page is not served under that name; see --host")


def check_origin(request: web.Request) -> None:
    """Guard against requests and WebSockets that another page opens with our cookie.

    To a browser, another port of this machine is the same site, so SameSite does not help.
    """
    host = request.headers.get("Host", "")
    if request.headers.get("Origin") not in {f"http://{host}", f"https://{host}"}:
        raise Refusal(403, "wrong-origin", "only the robot's own page may send this request")


def check_fetch_site(request: web.Request) -> None:
    """Guard against another page that loads our files; browsers report this on secure pages."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
        raise Refusal(403, "wrong-site", "only the robot's own page may send this request")


def check_own_header(request: web.Request) -> None:
    """Guard against forms, which cannot send this header."""
    if request.headers.get(OWN_HEADER) != "1":
        raise Refusal(403, "no-header", f"the header {OWN_HEADER}: 1 is missing")


def _host_of(header: str) -> str:
    """Return the name or address in a Host header, without port and brackets; empty if invalid."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _is_own_address(host: str, request: web.Request) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if address.is_loopback:
        return True
    local = local_address(request)
    return local is not None and str(address) == local[0].removeprefix("::ffff:")


def local_address(request: web.Request) -> tuple[str, int] | None:
    """Return the address and port of this machine that a request was sent to, if known."""
    local = request.transport.get_extra_info("sockname") if request.transport else None
    return (str(local[0]), int(local[1])) if local else None


def load_token(folder: Path | None, name: str = "token") -> str:
    """Return the token in ``folder``, created if missing; without a folder, a new one each time.

    Raises :class:`StorageError`.
    """
    if folder is None:
        return secrets.token_urlsafe(TOKEN_BYTES)
    path = folder / name
    try:
        token = read_text(path, MOST_KEPT).strip()
        if _TOKEN.fullmatch(token):
            return token
    except NoSuchFile:
        pass
    except BadFile as error:
        raise StorageError(f"{error}; remove it") from error
    token = secrets.token_urlsafe(TOKEN_BYTES)
    keep_token(folder, name, token)
    return token


def keep_token(folder: Path | None, name: str, token: str) -> None:
    """Write a token into ``folder``, if there is one; raises :class:`StorageError`."""
    if folder is not None:
        write_atomically(folder / name, token.encode() + b"\n", mode=0o600)


@dataclass
class _Session:
    """A session: the time of its last use, in seconds, and whether it may only watch."""

    used_at: float
    is_viewer: bool


class Sessions:
    """The open sessions by their random ids. ``clock`` gives seconds.

    A session of ``viewer_token`` may only watch. Viewers and owners have separate limits, so that
    no number of viewers ends an owner's session. ``ended`` is called with the id of each session
    that ends, so that its tabs can be closed.
    """

    def __init__(
        self,
        token: str,
        ended: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        viewer_token: str = "",
    ) -> None:
        self._token = token.encode()
        self.viewer_token = viewer_token
        self._ended = ended
        self._clock = clock
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._failures: deque[tuple[float, str]] = deque(maxlen=MOST_KEPT)

    def open(self, token: str, address: str) -> str:
        """Return the id of a new session; raises :class:`Refusal` for a wrong token.

        ``address`` is the sender's. Too many wrong tokens lock out only that address.
        """
        now = self._clock()
        while self._failures and now - self._failures[0][0] >= 60.0:
            self._failures.popleft()
        if sum(address == other for _, other in self._failures) >= MOST_FAILURES:
            raise Refusal(429, "too-many", PageReason.TOO_MANY_TOKENS)
        given = token.encode(errors="replace")
        is_owner = hmac.compare_digest(given, self._token)
        is_viewer = hmac.compare_digest(given, self.viewer_token.encode()) and bool(given)
        if not is_owner and not is_viewer:
            self._failures.append((now, address))
            raise Refusal(401, "wrong-token", PageReason.WRONG_TOKEN)
        alike = [id_ for id_, one in self._sessions.items() if one.is_viewer is not is_owner]
        for id_ in alike[: max(0, len(alike) - MOST_SESSIONS + 1)]:
            self._end(id_)
        session = secrets.token_urlsafe(TOKEN_BYTES)
        self._sessions[session] = _Session(now, is_viewer=not is_owner)
        return session

    def is_open(self, session: str) -> bool:
        """Return whether a session is open; using it keeps it open."""
        found = self._sessions.get(session)
        if found is None:
            return False
        if self._clock() - found.used_at > IDLE_LIMIT_S:
            self._end(session)
            return False
        found.used_at = self._clock()
        self._sessions.move_to_end(session)
        return True

    def is_owner(self, session: str) -> bool:
        """Return whether a session is open and may do more than watch."""
        found = self._sessions.get(session)
        return found is not None and not found.is_viewer

    def withdraw_viewers(self, token: str) -> None:
        """End the sessions of all viewers, and replace their token."""
        self.viewer_token = token
        for session in [id_ for id_, one in self._sessions.items() if one.is_viewer]:
            self._end(session)

    def close(self, session: str) -> None:
        """End a session, if it is open."""
        if session in self._sessions:
            self._end(session)

    def _end(self, session: str) -> None:
        del self._sessions[session]
        self._ended(session)
