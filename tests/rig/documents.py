"""Documents of the control socket, whole as the daemon sends them, with what a test cares about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from robot.api.endpoints import RobotState
from robot.api.models import LiveMotion, LiveState, RobotStatus
from robot.records.runs import RunRecord

NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def status_json(state: str = "idle", **more: Any) -> Any:
    """Return a ``RobotStatusJson`` with these fields."""
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
    """Return a ``RunRecordJson`` with these fields."""
    known = RunRecord(id=f"{number:06}", kind="solve", robot="cubotino", started_at=NOON)
    return known.model_dump(mode="json") | {"outcome": outcome} | more


def job_json(step: str = "", **more: Any) -> Any:
    """Return a ``JobStatusJson`` with these fields."""
    known: dict[str, Any] = {"run": "000001", "kind": "solve", "elapsed_s": 12.34, "step": step}
    coded = {"step_code": "", "step_parameters": {}}
    return known | coded | {"progress": None, "remaining_s": None} | more


def live_json(**more: Any) -> Any:
    """Return a ``LiveStateJson`` with these fields."""
    return LiveState().model_dump(mode="json") | more


def motion_json(**more: Any) -> Any:
    """Return a ``LiveMotionJson`` of turns with these fields."""
    known = LiveMotion(purpose="turn", orientation="UF", duration_us=5_000_000, operations=[])
    return known.model_dump(mode="json") | more
