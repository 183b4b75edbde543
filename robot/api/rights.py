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

An endpoint that is not named here is on ``control.sock`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from robot.api.endpoints import (
    ACKNOWLEDGE,
    CALIBRATION,
    EVENTS,
    HOME,
    LIVE,
    MAINTENANCE,
    PICTURE,
    RUN,
    RUN_FILE,
    RUNS,
    SET_CALIBRATION,
    SHUT_DOWN,
    START,
    STATUS,
    STOP,
    UNDO_CALIBRATION,
    Endpoint,
    is_trial,
    trial_endpoint,
)

Endpoints = frozenset[Endpoint[object]]

WATCHING: Endpoints = frozenset({STATUS, LIVE, EVENTS, PICTURE, RUNS, RUN, RUN_FILE, CALIBRATION})
OPERATING: Endpoints = frozenset({START, HOME, STOP, ACKNOWLEDGE})
CALIBRATING: Endpoints = frozenset({MAINTENANCE, SET_CALIBRATION})
LEARNING: Endpoints = frozenset({trial_endpoint("POST", "colours")})


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

    def may_ask(self, endpoint: Endpoint[object]) -> bool:
        """Return whether its socket has this endpoint."""
        return endpoint in _ENDPOINTS[self] or (self is Program.GUIDE and is_trial(endpoint))

    def may_set(self, key: str) -> bool:
        """Return whether it may set the calibrated value of this dotted key."""
        sections = _SECTIONS[self]
        return sections is None or key.partition(".")[0] in sections


_ENDPOINTS: Mapping[Program, Endpoints] = {
    Program.PAGE: WATCHING | OPERATING,
    Program.GUIDE: WATCHING | CALIBRATING | {UNDO_CALIBRATION, STOP},
    Program.DISPLAY: WATCHING | OPERATING | CALIBRATING | LEARNING | {SHUT_DOWN},
}
_SECTIONS: Mapping[Program, frozenset[str] | None] = {
    Program.PAGE: frozenset(),
    Program.GUIDE: None,
    Program.DISPLAY: frozenset({"colours"}),
}
"""Sections of the profile whose values a program may set; None: all."""
