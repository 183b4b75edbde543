"""Rights of the robot's own programs, which hold even for a program that was taken over.

People and ``cubist`` talk to ``control.sock``, which has every route. Each program that others
reach (the page over the network, the display by its buttons) has a socket of its own, which has the
routes named here and no others::

    control.sock   group cubist           every route
    page.sock      group cubist-page      watch; start, home, stop, acknowledge
    guide.sock     group cubist-guide     watch; calibrate, stop: only where the owner allows it
    display.sock   group cubist-display   as the page; shut down; learn the colours

The display may set colours and no other calibrated value: a position or a direction that it set
would count as confirmed, and it may also start jobs.

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
OPERATING: frozenset[Call] = frozenset(
    {("POST", "/start"), ("POST", "/home"), ("POST", "/stop"), ("POST", "/acknowledge")}
)
KEEPING: frozenset[Call] = frozenset({("POST", "/maintenance"), ("PUT", "/calibration")})
TRIALS = "/maintenance/"
"""Beginning of the path of every trial of calibration."""


class Program(StrEnum):
    """A program with a socket of its own."""

    PAGE = "page"
    GUIDE = "guide"
    DISPLAY = "display"

    @property
    def group(self) -> str:
        """Group whose members may use its socket."""
        return f"cubist-{self}"

    def socket_beside(self, control: Path) -> Path:
        """Return the path of its socket, in the folder of the control socket."""
        return control.with_name(f"{self}.sock")

    def may_ask(self, method: str, path: str) -> bool:
        """Return whether its socket has this route."""
        if self is Program.GUIDE and path.startswith(TRIALS):
            return True
        return (method, path) in _ROUTES[self]

    def may_set(self, key: str) -> bool:
        """Return whether it may set the calibrated value of this dotted key."""
        sections = _SECTIONS[self]
        return sections is None or key.partition(".")[0] in sections


_ROUTES: Mapping[Program, frozenset[Call]] = {
    Program.PAGE: WATCHING | OPERATING,
    Program.GUIDE: WATCHING | KEEPING | {("POST", "/calibration/undo"), ("POST", "/stop")},
    Program.DISPLAY: WATCHING
    | OPERATING
    | KEEPING
    | {("POST", "/shutdown"), ("POST", "/maintenance/colours")},
}
_SECTIONS: Mapping[Program, frozenset[str] | None] = {
    Program.PAGE: frozenset(),
    Program.GUIDE: None,
    Program.DISPLAY: frozenset({"colours"}),
}
"""Sections of the profile whose values a program may set; None: all."""
