"""The real daemon with the real firmware and the simulated robot: stopping, dying, coming back."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from robot.daemon.client import ControlClient
from robot.demo.children import Child, executable, running
from robot.demo.follow import DaemonView
from robot.settings import load_profile
from robot.twin.cube import scrambled
from robot.twin.panel import Panel
from robot.twin.server import TwinServer
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio

SPEED = "30"
LIMIT_S = 240.0


@dataclass
class Bench:
    """A simulated robot with its firmware; daemons are started on it."""

    robot: SimulatedRobot
    server: TwinServer
    folder: Path

    @contextlib.asynccontextmanager
    async def daemon(self) -> AsyncIterator[tuple[Child, DaemonView]]:
        command = [
            *(sys.executable, "-m", "robot.daemon.main", "--profile", "cubotino"),
            *("--runtime-dir", str(self.folder), "--state-dir", str(self.folder / "state")),
            *("--port", str(self.folder / "link"), "--twin", str(self.server.daemon_path)),
        ]
        async with (
            running("cubistd", command, self.folder) as child,
            DaemonView(self.folder / "control.sock") as view,
        ):
            await view.ready()
            yield child, view

    def client(self) -> ControlClient:
        return ControlClient(self.folder / "control.sock")


@pytest.fixture
async def bench(short_folder: Path) -> AsyncIterator[Bench]:
    profile = load_profile("cubotino")
    robot = SimulatedRobot(profile, scrambled(3, 5))
    server = TwinServer(robot, Studio(robot), Panel(), short_folder)
    link = short_folder / "link"
    command = [executable("cubist-firmware-host"), "--pty-link", str(link), "--speed", SPEED]
    command += ["--pins", str(server.pins_path)]
    async with server.running(), running("firmware", command, short_folder):
        async with asyncio.timeout(LIMIT_S):
            while not link.exists():
                await asyncio.sleep(0.01)
        yield Bench(robot, server, short_folder)


async def started(bench: Bench, view: DaemonView, state: str) -> None:
    """Start a solve and wait until the daemon enters a state."""
    async with asyncio.timeout(LIMIT_S), view.events() as events:
        await asyncio.to_thread(bench.client().start)
        async for event in events:
            if event.state == state:
                return


async def outcome(bench: Bench, run_id: str) -> str | None:
    async with asyncio.timeout(LIMIT_S), DaemonView(bench.folder / "control.sock") as view:
        while (await view.status()).job is not None:
            await asyncio.sleep(0.1)
        return (await view.run(run_id)).outcome


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
        assert await outcome(bench, run_id) == "solved"
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
        assert await outcome(bench, run_id) == "done"


async def test_a_second_daemon_is_refused(bench: Bench) -> None:
    async with bench.daemon():
        command = [
            *(sys.executable, "-m", "robot.daemon.main"),
            *("--runtime-dir", str(bench.folder), "--state-dir", str(bench.folder / "state")),
        ]
        async with running("second", command, bench.folder) as second:
            assert await asyncio.wait_for(second.process.wait(), LIMIT_S) == 2
        assert "already running" in (bench.folder / "second.log").read_text()
