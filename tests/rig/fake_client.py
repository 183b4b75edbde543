"""A client of a daemon that is not there: it answers as a test says, and notes what was asked."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robot.api.client import ControlClient, DaemonError, RequestError
from robot.api.endpoints import Endpoint
from tests.rig.documents import live_json, status_json


class FakeClient(ControlClient):
    """``now``: the status (None: no daemon answers); ``refuses``: why orders are refused.

    ``looked`` lists the paths of questions, ``asked`` the orders with their bodies.
    """

    def __init__(self, now: Any = None, listed: Sequence[Any] = (), refuses: str = "") -> None:
        super().__init__(Path("/nowhere"))
        self.now: dict[str, Any] | None = now or status_json()
        self.listed, self.refuses = listed, refuses
        self.looked: list[str] = []
        self.asked: list[tuple[str, str, Any]] = []
        self.done = threading.Event()

    def call(self, endpoint: Endpoint[Any], body: Any = None, **more: Any) -> Any:
        method, path = endpoint.method, endpoint.target(**more)
        if self.now is None:
            raise DaemonError("gone")
        if method == "GET":
            self.looked.append(path)
            return {"/status": self.now, "/live": live_json()}.get(path, {"runs": self.listed})
        self.asked.append((method, path, body))
        self.done.set()
        if self.refuses:
            raise RequestError(409, "busy", self.refuses)
        return {"run": "000001", "stopped": True}
