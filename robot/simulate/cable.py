"""A serial line that can be pulled out and put back, or pick up noise."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import random
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

CHUNK = 4096

Damage = Callable[[random.Random, bytes], bytes]
"""One byte in; none, one or several out. Draws equally often whatever comes of it."""


def flip(rate: float) -> Damage:
    """Turn single bits."""

    def damage(rng: random.Random, byte: bytes) -> bytes:
        hit, bit = rng.random() < rate, rng.randrange(8)
        return bytes([byte[0] ^ (1 << bit)]) if hit else byte

    return damage


def nothing(_rng: random.Random, byte: bytes) -> bytes:
    """Let everything pass."""
    return byte


class Line:
    """One direction of a line; set ``damage`` any time."""

    def __init__(self, seed: int = 1, damage: Damage = nothing) -> None:
        self.damage = damage
        self._random = random.Random(seed)

    def carry(self, data: bytes) -> bytes:
        """Return the bytes that arrive of ``data``."""
        if self.damage is nothing:
            return data
        return b"".join(self._damage_bytes(data))

    def _damage_bytes(self, data: bytes) -> Iterator[bytes]:
        for place in range(len(data)):
            yield self.damage(self._random, data[place : place + 1])


class Cable:
    """Carries bytes between the firmware's port and a pseudo-terminal that the daemon opens.

    Runs in the event loop. ``noise`` is the probability that a byte is changed on its way.
    """

    def __init__(self, firmware_port: Path, link: Path, seed: int = 0) -> None:
        self.noise = 0.0
        self._firmware_port = firmware_port
        self._link = link
        self._lines = (Line(2 * seed), Line(2 * seed + 1))
        self._firmware = -1
        self._ours: tuple[int, int] | None = None

    @contextlib.contextmanager
    def plug_in(self) -> Iterator[None]:
        """Keep the cable plugged in while the context lasts."""
        self._firmware = os.open(self._firmware_port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        tty.setraw(self._firmware)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._firmware, self._from_firmware)
        self.mend()
        try:
            yield
        finally:
            self.cut()
            loop.remove_reader(self._firmware)
            os.close(self._firmware)

    def mend(self) -> None:
        """Put the plug back: a new port appears under the same name."""
        if self._ours is not None:
            return
        master, slave = pty.openpty()
        tty.setraw(slave)
        os.set_blocking(master, False)
        # The slave stays open here: a port nobody has opened yet must not read as closed.
        self._ours = (master, slave)
        asyncio.get_running_loop().add_reader(master, self._from_daemon)
        self._link.unlink(missing_ok=True)
        self._link.symlink_to(os.ttyname(slave))

    def cut(self) -> None:
        """Pull the plug: the daemon's port is gone, bytes under way are lost. Idempotent."""
        if self._ours is None:
            return
        asyncio.get_running_loop().remove_reader(self._ours[0])
        for descriptor in self._ours:
            os.close(descriptor)
        self._ours = None
        self._link.unlink(missing_ok=True)

    def _from_firmware(self) -> None:
        with contextlib.suppress(OSError):
            data = os.read(self._firmware, CHUNK)
            if self._ours is not None:
                os.write(self._ours[0], self._damage(1, data))

    def _from_daemon(self) -> None:
        if self._ours is not None:
            with contextlib.suppress(OSError):
                os.write(self._firmware, self._damage(0, os.read(self._ours[0], CHUNK)))

    def _damage(self, direction: int, data: bytes) -> bytes:
        line = self._lines[direction]
        line.damage = flip(self.noise) if self.noise else nothing
        return line.carry(data)
