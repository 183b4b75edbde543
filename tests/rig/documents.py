"""Documents of the control socket as the daemon sends them, and a client that returns them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from robot.api.client import ControlClient, DaemonError, RequestError
from robot.api.endpoints import Endpoint, RobotState
from robot.api.models import JobStatus, LiveMotion, LiveState, RobotStatus
from robot.daemon.live import LiveBoard
from robot.planner import build_mechanism, plan_solve
from robot.records.run_record import RunRecord
from robot.settings import load_profile
from solver.cube.cube import Cube
from solver.cube.sticker_cube import StickerCube

NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def status_json(state: str = "idle", **more: Any) -> Any:
    known = RobotStatus(
        state=RobotState(state),
        since=NOON,
        robot="cubotino",
        homed=True,
        records="/var/lib/cubist/runs",
        version="0.1",
        process=7,
    )
    return known.model_dump(mode="json") | more


def run_json(number: int = 1, outcome: str | None = "solved", **more: Any) -> Any:
    known = RunRecord(id=f"{number:06}", kind="solve", robot="cubotino", started_at=NOON)
    return known.model_dump(mode="json") | {"outcome": outcome} | more


def job_json(step: str = "", **more: Any) -> Any:
    known = JobStatus(run="000001", kind="solve", elapsed_s=12.34, step=step)
    return known.model_dump(mode="json") | more


def live_json(**more: Any) -> Any:
    return LiveState().model_dump(mode="json") | more


def motion_json(**more: Any) -> Any:
    """Return a ``LiveMotionJson`` of turns with these fields."""
    known = LiveMotion(purpose="turn", orientation="UF", duration_us=5_000_000, operations=[])
    return known.model_dump(mode="json") | more


def cube_json(cube: StickerCube, **more: Any) -> Any:
    return {"size": cube.size, "facelets": cube.letters, "seen": [], "palette": {}} | more


def turning_json(profile: str, cube: Cube, at: float = 0.0) -> Any:
    """Return a ``LiveStateJson`` of a robot that has performed a share of a solve."""
    plan = plan_solve(cube, build_mechanism(load_profile(profile)), time_limit=0.1)
    board = LiveBoard(lambda event, text, **more: None)
    board.forget_cube(3)
    board.read(cube.facelets())
    board.move("turn", [plan])
    board.advance(at)
    return board.view.model_dump(mode="json")


class FakeClient(ControlClient):
    """A client of a daemon that does not exist.

    ``now``: the status (``None``: no daemon answers); ``refuses``: reasons for refusing orders.

    ``looked`` lists the paths of queries, ``asked`` the orders with their bodies.
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
            known = {"/status": self.now, "/live": live_json(), "/calibration": {"size": 3}}
            return known.get(path, {"runs": self.listed})
        self.asked.append((method, path, body))
        self.done.set()
        if self.refuses:
            raise RequestError(409, "busy", self.refuses)
        return {"run": "000001", "stopped": True}


class EndedJobs(FakeClient):
    """A daemon whose jobs have ended with these outcomes in turn."""

    def __init__(self, *outcomes: str | None) -> None:
        super().__init__()
        self.kinds: list[str] = []
        self.details: list[dict[str, Any]] = []
        self._outcomes = outcomes

    def start(self, kind: str = "solve", **more: Any) -> str:
        self.kinds.append(kind)
        self.details.append(more)
        return str(len(self.kinds))

    def run(self, run_id: str) -> Any:
        number, outcome = int(run_id), self._outcomes[int(run_id) - 1]
        reason = "" if outcome in {"done", "solved"} else f"it {outcome}"
        times = {"duration_s": 10.0 + number + number // 8, "executed_us": (number // 2) * 10**6}
        return run_json(number, outcome, kind=self.kinds[number - 1], reason=reason, **times)
