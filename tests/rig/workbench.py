"""The real daemon and firmware as processes, on a simulated robot that outlives both."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from robot.api.client import ControlClient
from robot.api.endpoints import Endpoint, RobotState
from robot.computer.board_family import simulations
from robot.machine.confirmed_range import confirmable
from robot.records.run_record import RunRecord
from robot.settings import RobotProfile
from robot.simulate.processes import Child, SimulationError, running
from robot.simulate.progress import DaemonFollower
from robot.twin.cube import scrambled
from robot.twin.misadjustment import Misadjustment
from robot.twin.server import SimulatedPanel, TwinServer
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio

LIMIT_S = 240.0
"""Timeout for short waits on a computer that is busy with everything else."""

POLL_S = 0.02


async def spawn(folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    """Start one of the user's commands, in a session of its own, for the daemon in ``folder``."""
    places = {"CUBIST_RUNTIME_DIR": str(folder), "CUBIST_STATE_DIR": str(folder / "state")}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "robot.cli.main", *arguments),
        env=os.environ | places,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )


@dataclass
class Bench:
    """A simulated robot; tests start, kill and restart firmware and daemons on it."""

    profile: RobotProfile
    robot: SimulatedRobot
    studio: Studio
    server: TwinServer
    folder: Path
    speed: float

    @contextlib.asynccontextmanager
    async def firmware(self) -> AsyncIterator[Child]:
        link = self.folder / "link"
        link.unlink(missing_ok=True)
        command = simulations()["host"].command(self.profile, self.folder)
        command += ["--pty-link", str(link), "--speed", f"{self.speed:g}"]
        command += ["--pins", str(self.server.pins["first"].path)]
        async with running("firmware", command, self.folder) as child:
            async with asyncio.timeout(LIMIT_S):
                while not link.exists():
                    await asyncio.sleep(POLL_S)
            yield child

    @contextlib.asynccontextmanager
    async def daemon(self) -> AsyncIterator[tuple[Child, DaemonFollower]]:
        """Yield a daemon that answers; fail if it does not."""
        profile = self.folder / "robot.yaml"
        document = self.profile.model_dump(mode="json", exclude_unset=True)
        profile.write_text(yaml.safe_dump(document), encoding="utf-8")
        command = [
            *(sys.executable, "-X", "faulthandler", "-m", "robot.daemon.main"),
            *("--profile", str(profile)),
            *("--runtime-dir", str(self.folder), "--state-dir", str(self.state_dir)),
            *("--port", str(self.folder / "link"), "--twin", str(self.server.daemon_path)),
        ]
        async with running("cubistd", command, self.folder) as child, self.view() as view:
            try:
                await view.ready()
            except SimulationError as fault:
                if child.process.returncode is None:
                    child.process.send_signal(signal.SIGABRT)  # to see where it hangs
                    await child.process.wait()
                said = f"{child.process.returncode}: {child.log.read_text()}"
                raise AssertionError(said) from fault
            yield child, view

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[DaemonFollower]:
        async with self.firmware(), self.daemon() as (_, view):
            yield view

    def view(self) -> DaemonFollower:
        return DaemonFollower(self.folder / "control.sock")

    def client(self) -> ControlClient:
        return ControlClient(self.folder / "control.sock")

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    async def spawn(self, *arguments: str) -> asyncio.subprocess.Process:
        return await spawn(self.folder, *arguments)

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        process = await self.spawn(*arguments)
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    async def run_json(self, *arguments: str) -> tuple[int, list[Any]]:
        """Run a command with ``--json``; return its exit code and documents."""
        code, out, err = await self.run(*arguments, "--json")
        assert out, err
        return code, [json.loads(line) for line in out.splitlines()]

    async def confirm(self) -> None:
        """Keep every position and direction of the profile, as if somebody had seen them all."""
        client = self.client()

        def keep() -> None:
            with client.maintenance():
                client.call(Endpoint("PUT", "/calibration"), {"values": confirmable(self.profile)})

        await asyncio.to_thread(keep)

    async def start(self, kind: str = "solve") -> str:
        return await asyncio.to_thread(self.client().start, kind)

    async def perform(self, view: DaemonFollower, kind: str = "solve") -> RunRecord:
        return await self.ended(view, await self.start(kind))

    async def cycle(self, view: DaemonFollower, seed: int) -> RunRecord:
        self.robot.insert(scrambled(self.profile.cube.size, seed))
        return await self.perform(view)

    async def rest(self, view: DaemonFollower) -> None:
        async with asyncio.timeout(LIMIT_S):
            while (await view.status()).job is not None:
                await asyncio.sleep(POLL_S)

    async def end_of_maintenance(self, view: DaemonFollower) -> None:
        async with asyncio.timeout(LIMIT_S):
            while (await view.status()).state is RobotState.MAINTENANCE:
                await asyncio.sleep(POLL_S)

    async def ended(self, view: DaemonFollower, run_id: str) -> RunRecord:
        await self.rest(view)
        return await view.run(run_id)


@contextlib.asynccontextmanager
async def workbench(
    profile: RobotProfile,
    folder: Path,
    seed: int = 5,
    speed: float = 30,
    misadjusted: Misadjustment | None = None,
) -> AsyncIterator[Bench]:
    """Yield a bench with a profile and a seed for its cube, at a multiple of real time.

    ``misadjusted``: its deviations from the profile. ``folder`` has a path short enough for
    sockets.
    """
    robot = SimulatedRobot(profile, scrambled(profile.cube.size, seed), misadjusted=misadjusted)
    studio, panel = Studio(robot, seed), SimulatedPanel()
    panel.connect(profile.panel)
    server = TwinServer(robot, studio, panel, folder)
    async with server.running():
        yield Bench(profile, robot, studio, server, folder, speed)
