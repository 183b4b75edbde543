"""The date is set by years while the robot works, as on a Pi whose network comes late."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from robot.api.endpoints import RobotState
from robot.text.outcomes import Outcome
from tests.rig.wall_clock import WallClock
from tests.rig.workbench import LIMIT_S
from tests.system.service.conftest import MakeBench

YEAR_S = 365 * 24 * 3600
JUMPS = {
    RobotState.HOMING: YEAR_S,
    RobotState.SCANNING: -YEAR_S,
    RobotState.SOLVING: YEAR_S,
    RobotState.TURNING: -YEAR_S,
    RobotState.CHECKING: YEAR_S,
}


async def test_a_date_that_jumps_by_years_changes_nothing(
    make_bench: MakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = WallClock(tmp_path)
    clock.set(YEAR_S)
    assert clock.now() > time.time() + YEAR_S / 2
    for name, value in clock.environment.items():
        monkeypatch.setenv(name, value)
    async with make_bench(speed=100) as bench, bench.firmware(), bench.daemon() as (_, view):
        solving = await bench.start()
        seen: set[RobotState] = set()
        while (status := await view.status()).job is not None:
            if (jump := JUMPS.get(status.state)) and status.state not in seen:
                seen.add(status.state)
                clock.set(jump)
            assert 0 <= status.job.elapsed_s < LIMIT_S
        solved = await view.run(solving)
        assert (solved.outcome, solved.faults, solved.attempts) == (Outcome.SOLVED, [], 1)
        assert (bench.robot.solved, bench.robot.violations) == (True, [])
        assert RobotState.TURNING in seen
        assert 0 < solved.duration_s < LIMIT_S
        assert all(0 <= wait < LIMIT_S for waits in solved.latency_s.values() for wait in waits)
        clock.set(-YEAR_S)
        homed = await bench.perform(view, "home")
        assert homed.outcome is Outcome.DONE
        assert solved.started_at - homed.started_at > timedelta(days=2 * 365 - 1)
        _, listed = await bench.run_json("runs")
        assert [run["id"] for run in listed] == [homed.id, solved.id]
