"""What each program of the robot's own may ask of the daemon, whoever has taken it over.

People and ``cubist`` talk to ``control.sock``, which has every route. Each program that others
reach (the page over the network, the display by its buttons) has a socket of its own, which has the
routes named here and no others::

    control.sock   group cubist           every route
    page.sock      group cubist-page      watch; start, home, stop
    guide.sock     group cubist-guide     watch; calibrate, stop: only where the owner allows it
    display.sock   group cubist-display   watch; start, home, stop, shut down; learn the colours

This module imports nothing of the daemon, because those programs are small.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

Call = tuple[str, str]
"""Method and path of a route."""

WATCHING: frozenset[Call] = frozenset(
    {
        ("GET", "/status"),
        ("GET", "/live"),
        ("GET", "/events"),
        ("GET", "/picture"),
        ("GET", "/runs"),
        ("GET", "/runs/{run}"),
        ("GET", "/runs/{run}/files/{name}"),
        ("GET", "/calibration"),
    }
)
MOVING: frozenset[Call] = frozenset({("POST", "/start"), ("POST", "/home"), ("POST", "/stop")})
KEEPING: frozenset[Call] = frozenset(
    {("POST", "/maintenance"), ("PUT", "/calibration"), ("POST", "/calibration/undo")}
)
TRIALS = "/maintenance/"
"""What all trials of calibration begin with."""


class Program(StrEnum):
    """A program with a socket of its own."""

    PAGE = "page"
    GUIDE = "guide"
    DISPLAY = "display"

    @property
    def group(self) -> str:
        """Those who may use its socket."""
        return f"cubist-{self}"

    def socket_beside(self, control: Path) -> Path:
        """Its socket, in the folder of the control socket."""
        return control.with_name(f"{self}.sock")

    def may_ask(self, method: str, path: str) -> bool:
        """Whether its socket has this route."""
        if self is Program.GUIDE and path.startswith(TRIALS):
            return True
        return (method, path) in _ROUTES[self]


_ROUTES: Mapping[Program, frozenset[Call]] = {
    Program.PAGE: WATCHING | MOVING,
    Program.GUIDE: WATCHING | KEEPING | {("POST", "/stop")},
    Program.DISPLAY: WATCHING
    | MOVING
    | KEEPING
    | {("POST", "/shutdown"), ("POST", "/maintenance/colours")},
}
