"""The real daemon with the real firmware and the simulated robot: stopping, dying, coming back."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robot.api.client import RequestError
from robot.simulate.follow import DaemonFollower
from robot.simulate.processes import running
from solver.tables import cache_directory

Bench = Any
LIMIT_S = 240.0


async def started(bench: Bench, view: DaemonFollower, state: str) -> None:
    """Start a solve and wait until the daemon enters a state."""
    async with asyncio.timeout(LIMIT_S), view.events() as events:
        await asyncio.to_thread(bench.client().start)
        async for event in events:
            if event.state == state:
                return


@pytest.mark.parametrize(
    ("number", "code", "state"),
    [
        (signal.SIGTERM, 0, "scanning"),
        (signal.SIGHUP, 129, "turning"),
        (signal.SIGQUIT, 131, "turning"),
    ],
)
async def test_a_stopped_daemon_leaves_the_robot_at_rest_and_the_next_one_solves(
    bench: Bench, number: signal.Signals, code: int, state: str
) -> None:
    async with bench.daemon() as (child, view):
        await started(bench, view, state)
        child.process.send_signal(number)
        assert await asyncio.wait_for(child.process.wait(), LIMIT_S) == code
        assert not bench.robot.moving
        assert "Traceback" not in child.log.read_text()
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


async def test_a_table_that_is_cut_short_in_use_ends_the_daemon_in_order(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, cache = cache_directory(), bench.folder / "cache"
    shutil.copytree(kept, cache, ignore=lambda _, names: {n for n in names if n[:5] != "phase"})
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(cache))
    async with bench.daemon() as (child, view):
        async with asyncio.timeout(LIMIT_S):
            while (await view.status()).preparation is not None:
                await asyncio.sleep(0.02)
        await started(bench, view, "scanning")
        for table in cache.glob("*.table"):
            os.truncate(table, 4096)
        assert await asyncio.wait_for(child.process.wait(), LIMIT_S) == 128 + signal.SIGQUIT
        assert not bench.robot.moving
        log = child.log.read_text()
        assert f"the table {cache}" in log and "was cut short" in log
        assert "Traceback" not in log, log
    assert bench.robot.violations == []


def write_newer(file: Path) -> None:
    file.write_text('{"format": 99, "robot": "cubotino", "values": {}, "of_size": {}}')


def write_nan(file: Path) -> None:
    file.write_text(file.read_text().replace("1500", "NaN", 1))


SPOILT: dict[str, Callable[[Path], object]] = {
    "newer": write_newer,
    "NaN": write_nan,
    "cut off": lambda file: os.truncate(file, 30),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a device": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize(
    "damage", [*("newer", "a pipe"), *(pytest.param(d, marks=pytest.mark.long) for d in SPOILT)]
)
async def test_a_daemon_whose_files_cannot_be_read_says_so_and_moves_nothing(
    bench: Bench, damage: str
) -> None:
    async with bench.daemon():
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
                await asyncio.to_thread(bench.client().start, kind)
        shown = " ".join(map(str, await bench.run("status")))
        assert file.name in shown and "restore" in shown
        child.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(child.process.wait(), LIMIT_S) == 0
        assert "Traceback" not in child.log.read_text()
    assert bench.robot.edges == before


async def test_an_earlier_calibration_brings_a_robot_back(bench: Bench) -> None:
    async with bench.daemon():
        await bench.confirm()
        await bench.confirm()
    write_newer(bench.state_dir / "calibration.json")
    async with bench.daemon() as (_, view):
        assert (await view.status()).state == "fault"
        assert (await bench.run("calibration", "restore"))[0] == 0
        assert (await view.status()).state == "idle"
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
