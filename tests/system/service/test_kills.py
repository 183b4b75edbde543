"""Killing daemon, firmware or command at random moments: files whole, locks free, robot safe."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.calibration.store import CalibrationStore
from robot.records.runs import RunStore

Bench = Any
MakeBench = Any
LIMIT_S = 240.0
VICTIMS = ("cubistd", "firmware", "command")

COMMANDS: tuple[Callable[[random.Random], list[str]], ...] = (
    lambda _: ["start"],
    lambda _: ["home"],
    lambda _: ["scramble"],
    lambda pick: ["calibrate", "servo", "lid", "open", "--to", str(pick.randint(1490, 1520))],
    lambda _: ["calibration", "restore"],
    lambda _: ["stop"],
    lambda _: ["runs", "--count", "3"],
)
"""What a person may be at when something dies."""

LONGEST_S = 2.5
"""Latest moment of a kill after the command was typed; most of what it does is over by then."""


class Scene:
    """A daemon and a firmware that are replaced when they die."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._stacks = {name: contextlib.AsyncExitStack() for name in ("firmware", "cubistd")}
        self._processes: dict[str, Any] = {}

    async def start(self, name: str) -> None:
        context = self._bench.firmware() if name == "firmware" else self._bench.daemon()
        found = await self._stacks[name].enter_async_context(context)
        self._processes[name] = found if name == "firmware" else found[0]

    async def kill(self, name: str) -> None:
        process = self._processes[name].process
        assert process.returncode is None, f"{name} had died before: {await self.ended(name)}"
        process.kill()
        await process.wait()
        await self.close(name)

    async def ended(self, name: str) -> str:
        return str(await self._processes[name].ended())

    async def close(self, name: str) -> None:
        await self._stacks[name].aclose()

    def alive(self) -> None:
        for name, child in self._processes.items():
            assert child.process.returncode is None, (name, child.log.read_text())


async def kill_in_the_midst(bench: Bench, scene: Scene, pick: random.Random) -> tuple[str, str]:
    """Type a command, and kill somebody while it goes on; who, and what was typed."""
    arguments = pick.choice(COMMANDS)(pick)
    victim = pick.choice(VICTIMS)
    command = await asyncio.create_subprocess_exec(
        *bench.command(*arguments, "--json"),
        env=bench.environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    await asyncio.sleep(pick.uniform(0, LONGEST_S))
    if victim == "command":
        with contextlib.suppress(ProcessLookupError):
            os.kill(command.pid, signal.SIGKILL)
    else:
        await scene.kill(victim)
        await scene.start(victim)
    if command.returncode is None and pick.random() < 0.5:
        with contextlib.suppress(ProcessLookupError):
            command.terminate()
    async with asyncio.timeout(LIMIT_S):
        await command.wait()
    return victim, arguments[0]


async def assert_whole(bench: Bench, scene: Scene) -> None:
    """Whatever is on the disk can be read; daemon and firmware live; the robot did no harm."""
    scene.alive()
    store = RunStore(bench.state_dir / "runs")
    for run_id in store.ids():
        # A folder without a record yet is one that the daemon is just making.
        if (store.directory_of(run_id) / "run.json").exists():
            store.load(run_id)
    CalibrationStore(bench.state_dir).load(bench.profile)
    assert leftovers(bench.state_dir) <= 1
    assert bench.robot.violations == []
    async with bench.view() as view:
        assert (await view.status()).state in set(RobotState)


def leftovers(folder: Path) -> int:
    """Half-written files outside the record under way."""
    return sum(path.name.startswith(".") for path in folder.iterdir() if path.is_file())


async def solves_a_cube(bench: Bench) -> None:
    """Nothing of what was killed keeps the robot from its work."""
    client = bench.client()
    async with bench.view() as view, asyncio.timeout(LIMIT_S):
        while (await view.status()).state is RobotState.MAINTENANCE:
            await asyncio.sleep(0.02)
        await asyncio.to_thread(client.stop)
        await bench.rest(view)
        record = await bench.ended(view, await asyncio.to_thread(client.start))
    assert record.outcome in {"solved", "already-solved"}, record
    assert (bench.robot.solved, bench.robot.violations) == (True, [])


async def campaign(make_bench: MakeBench, seed: int, kills: int, every: int) -> Counter[str]:
    """So many kills; after ``every`` of them the robot has to solve a cube."""
    pick = random.Random(seed)
    told: Counter[str] = Counter()
    async with make_bench("cubotino", seed=seed, speed=30) as bench:
        scene = Scene(bench)
        try:
            await scene.start("firmware")
            await scene.start("cubistd")
            for number in range(1, kills + 1):
                victim, command = await kill_in_the_midst(bench, scene, pick)
                told[victim] += 1
                told[command] += 1
                await assert_whole(bench, scene)
                if number % every == 0:
                    await solves_a_cube(bench)
                    told["solved"] += 1
        finally:
            await scene.close("cubistd")
            await scene.close("firmware")
    return told


async def test_some_kills(make_bench: MakeBench) -> None:
    told = await campaign(make_bench, seed=1, kills=5, every=5)
    assert told["solved"] == 1


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
async def test_a_thousand_kills(make_bench: MakeBench, seed: int) -> None:
    told = await campaign(make_bench, seed=1000 + seed, kills=50, every=25)
    print(json.dumps(told))
    assert sum(told[victim] for victim in VICTIMS) == 50
