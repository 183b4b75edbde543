"""Processes of the demo: named when they die, ended when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from robot.computer.board_family import FirmwareError, executable
from robot.simulate.processes import Child, SimulationError, running
from robot.simulate.session import unless_ended

pytestmark = pytest.mark.quick

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
_IGNORE = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
STUBBORN = [sys.executable, "-c", f"{_IGNORE}; print('ready', flush=True); time.sleep(600)"]


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_child_ends_with_its_context(tmp_path: Path) -> None:
    async with running("sleeper", SLEEPER, tmp_path) as child:
        assert alive(child.process.pid)
    assert child.process.returncode == -signal.SIGTERM


async def test_child_that_will_not_end_is_made_to(tmp_path: Path) -> None:
    async with running("stubborn", STUBBORN, tmp_path, patience_s=0.05) as child:
        async with asyncio.timeout(240):
            while not child.log.read_text():
                await asyncio.sleep(0.01)
    assert child.process.returncode == -signal.SIGKILL


async def test_fault_tells_how_it_ended_and_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no such port'); raise SystemExit(3)"]
    async with running("firmware", command, tmp_path) as child:
        fault = await child.wait_for_end()
    assert "firmware ended unexpectedly (exit code 3)" in str(fault)
    assert "no such port" in str(fault)


@pytest.mark.parametrize("error", [ConnectionResetError, aiohttp.ClientError])
async def test_a_death_is_told_even_if_its_effect_is_noticed_first(
    tmp_path: Path, error: type[Exception]
) -> None:
    async def talking(child: Child) -> None:
        child.process.kill()
        raise error("nobody there")

    async with running("cubistd", SLEEPER, tmp_path) as child:
        with pytest.raises(SimulationError, match="cubistd ended unexpectedly"):
            await unless_ended(talking(child), [child])


async def test_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="cannot be started"):
        async with running("nothing", ["/nonexistent/program"], tmp_path):
            pass
    with pytest.raises(FirmwareError, match="make build"):
        executable("cubist-no-such-program")


def test_children_do_not_outlive_a_killed_demo(tmp_path: Path) -> None:
    script = f"""
        import asyncio, sys
        from pathlib import Path
        from robot.simulate.processes import running
        async def main():
            async with running("sleeper", {SLEEPER!r}, Path({str(tmp_path)!r})) as child:
                print(child.process.pid, flush=True)
                await asyncio.sleep(600)
        asyncio.run(main())
    """
    demo = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    assert demo.stdout is not None
    child = int(demo.stdout.readline())
    assert alive(child)
    watch = os.pidfd_open(child)
    demo.kill()
    demo.wait()
    demo.stdout.close()
    signalled = asyncio.run(_readable(watch))
    os.close(watch)
    assert signalled
    assert not alive(child)


async def _readable(descriptor: int) -> bool:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        async with asyncio.timeout(240):
            await ended.wait()
    finally:
        loop.remove_reader(descriptor)
    return True


class Standing:
    """In place of a process: it ends when told to."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def wait_for_end(self) -> SimulationError:
        await self.gone.wait()
        return SimulationError("it ended")


async def test_work_is_done_unless_a_process_ends_before() -> None:
    children: Any = [Standing(), Standing()]

    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    async def broken() -> int:
        raise ValueError("its own fault")

    assert await unless_ended(work(), children) == 7
    with pytest.raises(ValueError, match="its own"):
        await unless_ended(broken(), children)
    left = len(asyncio.all_tasks())
    children[1].gone.set()
    with pytest.raises(SimulationError, match="it ended"):
        await unless_ended(asyncio.Event().wait(), children)
    assert len(asyncio.all_tasks()) == left
