"""The real daemon with the real firmware and the simulated robot: stopped, killed, restarted.

Killing daemon, firmware or command at any moment leaves files whole, locks free and the robot safe.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from robot.api.client import RequestError
from robot.api.endpoints import CALIBRATION
from robot.calibration.store import CalibrationStore
from robot.records.runs import RunStore
from robot.simulate.processes import running
from robot.simulate.progress import DaemonFollower
from robot.twin.misadjustment import Misadjustment
from solver.errors import ExitCode
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


async def break_off(bench: Bench, findings: int, number: signal.Signals) -> tuple[int, list[str]]:
    """Signal calibration after some findings; return its exit code and the stages it reported."""
    command = await bench.spawn("calibrate", "auto", "--real", "--robot", "cubotino", "--json")
    assert command.stdout is not None
    stages: list[str] = []
    async with asyncio.timeout(LIMIT_S), bench.view() as view:
        while len(stages) < findings:
            line = await command.stdout.readline()
            assert line, "it ended by itself"
            stages.append(json.loads(line).get("stage", "the end"))
        command.send_signal(number)
        await command.communicate()
        await bench.end_of_maintenance(view)
    assert command.returncode is not None
    return command.returncode, stages


def read_versions(bench: Bench) -> dict[str, bytes]:
    """Return all stored files, byte for byte."""
    folder = bench.state_dir / "calibration"
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    "findings", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 3, 4))]
)
async def test_calibration_that_is_broken_off_changes_nothing_and_can_be_begun_again(
    make_bench, findings
):
    async with make_bench(speed=5, misadjusted=Misadjustment(7)) as bench, bench.working():
        await bench.confirm()
        before = read_versions(bench)
        values = await asyncio.to_thread(bench.client().call, CALIBRATION)
        expected = {signal.SIGINT: ExitCode.STOPPED, signal.SIGKILL: -signal.SIGKILL}
        found = []
        for number, code in expected.items():
            ended, stages = await break_off(bench, findings, number)
            found.append(stages)
            assert ended == code
            assert read_versions(bench) == before
            assert await asyncio.to_thread(bench.client().call, CALIBRATION) == values
        assert found[0] == found[1]
        assert bench.robot.violations == []


VICTIMS = ("daemon", "firmware", "command")
COMMANDS: tuple[Callable[[random.Random], list[str]], ...] = (
    lambda _: ["start"],
    lambda _: ["home"],
    lambda _: ["scramble"],
    lambda pick: ["calibrate", "servo", "lid", "open", "--to", str(pick.randint(1490, 1520))],
    lambda _: ["calibration", "restore"],
    lambda _: ["stop"],
    lambda _: ["runs", "--count", "3"],
)
"""Commands that may be running when a process dies."""
LONGEST_S = 2.5
"""Latest moment of a kill after the command is typed. Most of its work is done by then."""


class Scene:
    """A daemon and a firmware that are replaced when they die."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._stacks = {name: contextlib.AsyncExitStack() for name in ("firmware", "daemon")}
        self._children: dict[str, Any] = {}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._stacks["firmware"], self._stacks["daemon"]:
            for name in self._stacks:
                await self._start(name)
            yield

    async def _start(self, name: str) -> None:
        found = await self._stacks[name].enter_async_context(getattr(self.bench, name)())
        self._children[name] = found if name == "firmware" else found[0]

    async def replace(self, name: str) -> None:
        self._children[name].process.kill()
        await self._children[name].process.wait()
        await self._stacks[name].aclose()
        await self._start(name)

    def assert_alive(self) -> None:
        for name, child in self._children.items():
            assert child.process.returncode is None, (name, child.log.read_text())


async def kill_in_the_midst(scene: Scene, pick: random.Random) -> None:
    """Type a command, and kill a process while it runs."""
    arguments, victim = pick.choice(COMMANDS)(pick), pick.choice(VICTIMS)
    command = await scene.bench.spawn(*arguments, "--json")
    output = asyncio.create_task(command.communicate())
    await asyncio.sleep(pick.uniform(0, LONGEST_S))
    scene.assert_alive()
    with contextlib.suppress(ProcessLookupError):
        if victim == "command":
            command.send_signal(signal.SIGKILL)
        else:
            await scene.replace(victim)
        if pick.random() < 0.5:
            command.terminate()
    async with asyncio.timeout(LIMIT_S):
        await output


async def assert_whole(scene: Scene) -> None:
    """Check that all files can be read, daemon and firmware run, and the robot did no harm."""
    scene.assert_alive()
    bench = scene.bench
    store = RunStore(bench.state_dir / "runs")
    for run_id in store.ids():
        # A folder without a record is one that the daemon is just making.
        if (store.directory_of(run_id) / "run.json").exists():
            store.load(run_id)
    CalibrationStore(bench.state_dir).load(bench.profile)
    files = [path for path in bench.state_dir.iterdir() if path.is_file()]
    half_written = [path for path in files if path.name.startswith(".")]
    assert len(half_written) <= 1, "one may be under way"
    assert bench.robot.violations == []
    async with bench.view() as view:
        await view.status()


async def assert_solves(bench: Bench) -> None:
    async with bench.view() as view, asyncio.timeout(LIMIT_S):
        await bench.end_of_maintenance(view)
        await asyncio.to_thread(bench.client().stop)
        await bench.rest(view)
        record = await bench.perform(view)
    assert record.outcome in {"solved", "already-solved"}, record
    assert (bench.robot.solved, bench.robot.violations) == (True, [])


@pytest.mark.parametrize(
    ("seed", "kills", "every"),
    [(1, 3, 3), *(pytest.param(1000 + n, 50, 25, marks=pytest.mark.long) for n in range(20))],
)
async def test_a_daemon_killed_at_any_moment_recovers(make_bench, seed, kills, every):
    pick = random.Random(seed)
    async with make_bench(seed=seed) as bench:
        scene = Scene(bench)
        async with scene.running():
            for number in range(1, kills + 1):
                await kill_in_the_midst(scene, pick)
                await assert_whole(scene)
                if number % every == 0:
                    await assert_solves(bench)
