"""The serial line between firmware and daemon: carries, breaks, mends, picks up noise."""

from __future__ import annotations

import asyncio
import os
import pty
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from robot.simulate.cable import Cable


@pytest.fixture
def board() -> Iterator[tuple[int, Path]]:
    """The firmware's end of its pseudo-terminal, and the name of the port."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    yield master, Path(os.ttyname(slave))
    os.close(master)
    os.close(slave)


def opened(link: Path) -> int:
    return os.open(link, os.O_RDWR | os.O_NOCTTY)


async def read(descriptor: int, count: int) -> bytes:
    data = b""
    async with asyncio.timeout(240):
        while len(data) < count:
            data += await asyncio.to_thread(os.read, descriptor, count)
    return data


async def test_bytes_go_both_ways_unchanged(board: tuple[int, Path], tmp_path: Path) -> None:
    firmware, port = board
    every_byte = bytes(range(256))
    with Cable(port, tmp_path / "link").plug_in():
        daemon = opened(tmp_path / "link")
        os.write(daemon, every_byte)
        assert await read(firmware, 256) == every_byte
        os.write(firmware, every_byte)
        assert await read(daemon, 256) == every_byte
        os.close(daemon)
    assert not (tmp_path / "link").is_symlink()


async def test_a_cut_cable_is_no_port_until_it_is_mended(
    board: tuple[int, Path], tmp_path: Path
) -> None:
    firmware, port = board
    cable = Cable(port, tmp_path / "link")
    with cable.plug_in():
        daemon = opened(tmp_path / "link")
        cable.cut()
        cable.cut()
        assert not (tmp_path / "link").exists()
        with pytest.raises(OSError, match="Input/output"):
            os.write(daemon, b"lost")
        os.close(daemon)
        os.write(firmware, b"nobody hears this")
        await asyncio.sleep(0)
        cable.mend()
        again = opened(tmp_path / "link")
        os.write(again, b"hello")
        assert await read(firmware, 5) == b"hello"
        os.close(again)


async def test_noise_changes_some_bytes(board: tuple[int, Path], tmp_path: Path) -> None:
    firmware, port = board
    cable = Cable(port, tmp_path / "link", seed=1)
    cable.noise = 0.1
    with cable.plug_in():
        daemon = opened(tmp_path / "link")
        os.write(daemon, bytes(1000))
        received = await read(firmware, 1000)
        os.close(daemon)
    assert 50 < sum(byte != 0 for byte in received) < 200
