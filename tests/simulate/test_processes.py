"""Processes and the folder of a demo: named when they die, gone when it ends or is killed."""

from __future__ import annotations

import asyncio
import fcntl
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
from robot.simulate.processes import (
    LOCK_NAME,
    PREFIX,
    Child,
    SimulationError,
    remove_abandoned,
    running,
    workspace,
)
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


def test_folder_is_removed_whatever_happens(tmp_path: Path) -> None:
    def use() -> None:
        with workspace(tmp_path) as folder:
            (folder / "run").mkdir()
            (folder / "run" / "file").write_text("x")
            raise RuntimeError("something broke")

    with pytest.raises(RuntimeError, match="broke"):
        use()
    assert list(tmp_path.iterdir()) == []


def test_folder_of_a_killed_demo_is_removed(tmp_path: Path) -> None:
    killed = tmp_path / f"{PREFIX}killed"
    killed.mkdir()
    (killed / LOCK_NAME).touch()
    (killed / "link").symlink_to("/dev/pts/none")
    with workspace(tmp_path):
        assert not killed.exists()


def test_what_is_not_known_to_be_abandoned_stays(tmp_path: Path) -> None:
    young = tmp_path / f"{PREFIX}young"
    young.mkdir()
    other = tmp_path / "unrelated"
    other.mkdir()
    (other / LOCK_NAME).touch()
    used = tmp_path / f"{PREFIX}used"
    used.mkdir()
    lock = os.open(used / LOCK_NAME, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_abandoned(tmp_path) == []
    finally:
        os.close(lock)
    assert young.is_dir()
    assert other.is_dir()
    assert remove_abandoned(tmp_path) == [used]


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    for _ in range(3):
        with workspace(tmp_path) as first, workspace(tmp_path) as second:
            assert first != second and remove_abandoned(tmp_path) == []
        assert list(tmp_path.iterdir()) == []
    assert count() == before
