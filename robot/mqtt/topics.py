"""Topics of the robot on a broker, and the document published there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from robot.api.endpoints import RobotStatusJson
from solver.errors import InvalidRequest, shortened
from solver.files import JsonObject

ONLINE, OFFLINE = "online", "offline"
START, STOP = "start", "stop"
"""Payloads of the command topic."""

_NODE = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Topics:
    """The topics of one robot, below ``cubist/<node>``.

    Raises :class:`InvalidRequest` for a ``node`` that Home Assistant does not allow.
    """

    node: str

    def __post_init__(self) -> None:
        if not _NODE.fullmatch(self.node):
            raise InvalidRequest(
                f"this robot's name on the broker, {shortened(self.node)!r}, has characters other "
                "than letters, digits, _ and -",
                "Set CUBIST_MQTT_NAME.",
            )

    @property
    def availability(self) -> str:
        """Return the topic that says whether the robot can be reached."""
        return f"cubist/{self.node}/availability"

    @property
    def state(self) -> str:
        """Return the topic of the robot's state, as JSON."""
        return f"cubist/{self.node}/state"

    @property
    def command(self) -> str:
        """Return the topic whose messages are commands."""
        return f"cubist/{self.node}/command"


def state_document(status: RobotStatusJson) -> JsonObject:
    """Return the published part of the robot's status.

    ``timer_s``: whole seconds of the job under way. ``outcome``, ``time_s`` (seconds) and ``moves``
    are those of the last run.
    """
    job, run, fault = status["job"], status["last_run"], status["fault"]
    return {
        "state": status["state"],
        "robot": status["robot"],
        "job": None if job is None else job["kind"],
        "timer_s": 0 if job is None else int(job["elapsed_s"]),
        "run": None if run is None else int(run["id"]),
        "outcome": None if run is None else run["outcome"],
        "time_s": None if run is None else round(run["duration_s"], 2),
        "moves": None if run is None else len((run["moves"] or "").split()),
        "fault": None if fault is None else {key: fault[key] for key in ("cause", "remedy")},
    }
