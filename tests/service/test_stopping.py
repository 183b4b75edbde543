"""The real daemon with the real firmware and the simulated robot: stopping, dying, coming back."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

from robot.simulate.follow import DaemonView
from robot.simulate.processes import running

Bench = Any
LIMIT_S = 240.0


async def started(bench: Bench, view: DaemonView, state: str) -> None:
    """Start a solve and wait until the daemon enters a state."""
    async with asyncio.timeout(LIMIT_S), view.events() as events:
        await asyncio.to_thread(bench.client().start)
        async for event in events:
            if event.state == state:
                return


async def test_a_stopped_daemon_leaves_the_robot_at_rest_and_the_next_one_solves(
    bench: Bench,
) -> None:
    async with bench.daemon() as (child, view):
        await started(bench, view, "scanning")
        child.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(child.process.wait(), LIMIT_S) == 0
    assert not (bench.folder / "control.sock").exists()
    async with bench.daemon() as (_, view):
        last = (await view.status()).last_run
        assert last is not None
        assert last.outcome == "stopped"
        run_id = await asyncio.to_thread(bench.client().start)
        assert (await bench.ended(view, run_id)).outcome == "solved"
    assert bench.robot.solved
    assert bench.robot.violations == []


async def test_a_killed_daemon_leaves_no_lock_and_an_interrupted_run(bench: Bench) -> None:
    async with bench.daemon() as (child, view):
        await started(bench, view, "scanning")
        child.process.kill()
        await child.process.wait()
    assert (bench.folder / "control.sock").exists()
    async with bench.daemon() as (_, view):
        last = (await view.status()).last_run
        assert last is not None
        assert last.outcome == "interrupted"
        run_id = await asyncio.to_thread(bench.client().start, "home")
        assert (await bench.ended(view, run_id)).outcome == "done"


async def test_a_second_daemon_is_refused(bench: Bench) -> None:
    async with bench.daemon():
        command = [
            *(sys.executable, "-m", "robot.daemon.main"),
            *("--runtime-dir", str(bench.folder), "--state-dir", str(bench.folder / "state")),
        ]
        async with running("second", command, bench.folder) as second:
            assert await asyncio.wait_for(second.process.wait(), LIMIT_S) == 2
        assert "already running" in (bench.folder / "second.log").read_text()
