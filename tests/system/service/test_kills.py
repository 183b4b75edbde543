"""Killing daemon, firmware or command at random moments: files whole, locks free, robot safe."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from robot.calibration.store import CalibrationStore
from robot.records.runs import RunStore
from tests.rig.workbench import LIMIT_S, Bench

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
"""Commands that may be running when a process dies."""

LONGEST_S = 2.5
"""Latest moment of a kill after the command is typed. Most of its work is done by then."""


class Scene:
    """A daemon and a firmware that are replaced when they die."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._stacks = {name: contextlib.AsyncExitStack() for name in ("firmware", "cubistd")}
        self._children: dict[str, Any] = {}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._stacks["firmware"], self._stacks["cubistd"]:
            for name in self._stacks:
                await self._start(name)
            yield

    async def _start(self, name: str) -> None:
        context: Any = self.bench.firmware() if name == "firmware" else self.bench.daemon()
        found = await self._stacks[name].enter_async_context(context)
        self._children[name] = found if name == "firmware" else found[0]

    async def replace(self, name: str) -> None:
        """Kill a process and start another one."""
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
    """Check that the robot still works after the kills."""
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
