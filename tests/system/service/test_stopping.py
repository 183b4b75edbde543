"""The real daemon with the real firmware and the simulated robot: stopping, dying, restarting."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robot.api.client import RequestError
from robot.simulate.processes import running
from robot.simulate.progress import DaemonFollower
from solver.tables import cache_directory
from tests.rig.workbench import LIMIT_S, Bench


async def start_and_await(bench: Bench, view: DaemonFollower, state: str) -> None:
    """Start a solve and wait until the daemon enters a state."""
    async with asyncio.timeout(LIMIT_S), view.events() as events:
        await bench.start()
        async for event in events:
            if event.state == state:
                return


async def test_a_stopped_or_killed_daemon_hinders_no_next_one(bench):
    socket = bench.folder / "control.sock"
    before: str | None = None
    for number, state, code, outcome in (
        (signal.SIGTERM, "scanning", 0, "stopped"),
        (signal.SIGHUP, "turning", 128 + signal.SIGHUP, "stopped"),
        (signal.SIGKILL, "scanning", -signal.SIGKILL, "interrupted"),
    ):
        async with bench.daemon() as (child, view):
            last = (await view.status()).last_run
            assert (last and last.outcome) == before
            await start_and_await(bench, view, state)
            child.process.send_signal(number)
            assert await asyncio.wait_for(child.process.wait(), LIMIT_S) == code
            assert number == signal.SIGKILL or not bench.robot.moving
            assert "Traceback" not in child.log.read_text()
        assert socket.exists() == (number == signal.SIGKILL)
        before = outcome
    async with bench.daemon() as (_, view):
        last = (await view.status()).last_run
        assert last is not None and last.outcome == before
        assert (await bench.perform(view)).outcome == "solved"
        command = [sys.executable, "-m", "robot.daemon.main"]
        command += ["--runtime-dir", str(bench.folder), "--state-dir", str(bench.state_dir)]
        async with running("second", command, bench.folder) as second:
            assert await asyncio.wait_for(second.process.wait(), LIMIT_S) == 2
            assert "already running" in second.log.read_text()
    assert (bench.robot.solved, bench.robot.violations) == (True, [])


async def test_a_table_that_is_cut_short_in_use_ends_the_daemon_in_order(bench, monkeypatch):
    kept, cache = cache_directory(), bench.folder / "cache"
    shutil.copytree(kept, cache, ignore=lambda _, names: {n for n in names if n[:5] != "phase"})
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(cache))
    async with bench.daemon() as (child, view):
        async with asyncio.timeout(LIMIT_S):
            while (await view.status()).preparation is not None:
                await asyncio.sleep(0.02)
        await start_and_await(bench, view, "scanning")
        for table in cache.glob("*.table"):
            os.truncate(table, 4096)
        assert await asyncio.wait_for(child.process.wait(), LIMIT_S) == 128 + signal.SIGQUIT
        assert not bench.robot.moving
        log = child.log.read_text()
        assert f"the table {cache}" in log and "was cut short" in log
        assert "Traceback" not in log, log
    assert bench.robot.violations == []


SPOILT: dict[str, Callable[[Path], object]] = {
    "newer": lambda file: file.write_text('{"format": 99, "robot": "cubotino", "values": {}}'),
    "NaN": lambda file: file.write_text(file.read_text().replace("1500", "NaN", 1)),
    "cut off": lambda file: os.truncate(file, 30),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a device": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize(
    "damage",
    ["a pipe", *(pytest.param(d, marks=pytest.mark.long) for d in SPOILT if d != "a pipe")],
)
async def test_a_daemon_whose_files_cannot_be_read_says_so_and_moves_nothing(bench, damage):
    async with bench.daemon():
        await bench.confirm()
        await bench.confirm()
    file = max((bench.state_dir / "calibration").rglob("*.json"))
    if damage.startswith("a "):
        file.unlink()
    SPOILT[damage](file)
    for name in ("drift.json", "runs"):
        os.mkfifo(bench.state_dir / name)
    bench.robot.violations.clear()
    before = bench.robot.edges
    async with bench.daemon() as (child, view):
        status = await view.status()
        assert status.state == "fault" and status.fault is not None
        assert status.fault.code == "calibration-unusable"
        assert str(file) in status.fault.cause
        assert "cubist calibration restore" in status.fault.remedy
        for kind in ("home", "solve"):
            with pytest.raises(RequestError, match="cubist calibration restore"):
                await bench.start(kind)
        shown = " ".join(map(str, await bench.run("status")))
        assert file.name in shown and "restore" in shown
        child.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(child.process.wait(), LIMIT_S) == 0
        assert "Traceback" not in child.log.read_text()
    assert bench.robot.edges == before
    (bench.state_dir / "runs").unlink()
    async with bench.daemon() as (_, view):
        assert (await bench.run("calibration", "restore"))[0] == 0
        assert (await view.status()).state == "idle"
        assert (await bench.perform(view, "home")).outcome == "done"
