"""What keeps strangers out: the names that the page answers to, and who may ask for what.

Each guard stands against one attack; ``tests/web/test_attacks.py`` makes them all, with and without
the guard.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from aiohttp import web

OWN_HEADER = "X-Cubist"
"""Only scripts of the same origin can send it: a form cannot, and others need leave first."""

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
}


class Refusal(Exception):
    """A request that a guard stops; ``status`` is HTTP's, ``error`` a stable name."""

    def __init__(self, status: int, error: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.error = error
        self.reason = reason


def own_names(more: Collection[str] = ()) -> frozenset[str]:
    """The names under which this machine is asked for, in small letters."""
    host = socket.gethostname().lower()
    return frozenset({"localhost", host, f"{host.split('.')[0]}.local", *map(str.lower, more)})


def check_host(request: web.Request, names: Collection[str]) -> None:
    """Against DNS rebinding: a stranger's name that was made to mean this machine is refused.

    An address is no name: nobody but its owner can make it mean this machine.
    """
    host = _host_of(request.headers.get("Host", ""))
    if host in names or _is_own_address(host, request):
        return
    raise Refusal(421, "wrong-host", "this page is not served under that name; see --host")


def check_origin(request: web.Request) -> None:
    """Against requests that another page makes with our cookie, and against its WebSockets.

    Another port of this machine is the same site to a browser, so that SameSite does not help.
    """
    host = request.headers.get("Host", "")
    if request.headers.get("Origin") not in {f"http://{host}", f"https://{host}"}:
        raise Refusal(403, "wrong-origin", "only the robot's own page may ask for that")


def check_fetch_site(request: web.Request) -> None:
    """Against another page that loads what is ours; browsers say so where the page is secure."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
        raise Refusal(403, "wrong-site", "only the robot's own page may ask for that")


def check_own_header(request: web.Request) -> None:
    """Against forms: they cannot send a header of ours."""
    if request.headers.get(OWN_HEADER) != "1":
        raise Refusal(403, "no-header", f"the header {OWN_HEADER}: 1 is missing")


def _host_of(header: str) -> str:
    """The name or address in a Host header, without port and brackets; empty for what is none."""
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
    local = request.transport.get_extra_info("sockname") if request.transport else None
    return local is not None and str(address) == str(local[0]).removeprefix("::ffff:")
