"""Processes, folder and cables of a demo: named when they die, gone when it ends or is killed."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from robot.api.client import DaemonError
from robot.computer.board_family import FirmwareError, executable
from robot.simulate.boards import Cable
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

LIMIT_S = 240
SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
_IGNORE = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
STUBBORN = [sys.executable, "-c", f"{_IGNORE}; print('ready', flush=True); time.sleep(600)"]


async def test_a_child_ends_with_its_context(tmp_path):
    async with running("sleeper", SLEEPER, tmp_path) as child:
        assert child.process.returncode is None
    assert child.process.returncode == -signal.SIGTERM
    async with running("stubborn", STUBBORN, tmp_path, patience_s=0.05) as child:
        async with asyncio.timeout(LIMIT_S):
            while not child.log.read_text():
                await asyncio.sleep(0.01)
    assert child.process.returncode == -signal.SIGKILL


async def test_a_fault_tells_how_it_ended_and_its_last_words(tmp_path):
    command = [sys.executable, "-c", "print('no such port'); raise SystemExit(3)"]
    async with running("firmware", command, tmp_path) as child:
        fault = await child.wait_for_end()
    assert "firmware ended unexpectedly (exit code 3)" in str(fault)
    assert "no such port" in str(fault)
    with pytest.raises(SimulationError, match="cannot be started"):
        async with running("nothing", ["/nonexistent/program"], tmp_path):
            pass
    with pytest.raises(FirmwareError, match="make build"):
        executable("cubist-no-such-program")


@pytest.mark.parametrize("error", [ConnectionResetError, DaemonError])
async def test_a_death_is_told_even_if_its_effect_is_noticed_first(tmp_path, error):
    async def talking(child: Child) -> None:
        child.process.kill()
        raise error("nobody there")

    async with running("cubistd", SLEEPER, tmp_path) as child:
        with pytest.raises(SimulationError, match="cubistd ended unexpectedly"):
            await unless_ended(talking(child), [child])


def test_a_folder_is_removed_whatever_happens(tmp_path):
    """Check also that the folder of a killed demo is recognised by its free lock."""
    killed = tmp_path / f"{PREFIX}killed"
    killed.mkdir()
    (killed / LOCK_NAME).touch()
    (killed / "link").symlink_to("/dev/pts/none")

    def use() -> None:
        with workspace(tmp_path) as folder:
            assert not killed.exists()
            (folder / "run").mkdir()
            (folder / "run" / "file").write_text("x")
            raise RuntimeError("something broke")

    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(RuntimeError, match="broke"):
        use()
    with workspace(tmp_path) as first, workspace(tmp_path) as second:
        assert first != second and remove_abandoned(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


@pytest.fixture
def board() -> Iterator[tuple[int, Path]]:
    """Yield the firmware's end of its pseudo-terminal, and the name of the port."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    yield master, Path(os.ttyname(slave))
    os.close(master)
    os.close(slave)


async def read(descriptor: int, count: int) -> bytes:
    data = b""
    async with asyncio.timeout(LIMIT_S):
        while len(data) < count:
            data += await asyncio.to_thread(os.read, descriptor, count)
    return data


async def test_a_cable_carries_bytes_unchanged_but_for_its_noise(board, tmp_path):
    firmware, port = board
    every_byte = bytes(range(256))
    cable = Cable(port, tmp_path / "link", seed=1)
    with cable.plug_in():
        daemon = os.open(tmp_path / "link", os.O_RDWR | os.O_NOCTTY)
        os.write(daemon, every_byte)
        assert await read(firmware, 256) == every_byte
        os.write(firmware, every_byte)
        assert await read(daemon, 256) == every_byte
        cable.noise = 0.1
        os.write(daemon, bytes(1000))
        assert 50 < sum(byte != 0 for byte in await read(firmware, 1000)) < 200
        os.close(daemon)
    assert not (tmp_path / "link").is_symlink()
