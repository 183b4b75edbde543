"""The firmware that a demo runs for each board of a robot, and the cable to it.

A cable can be unplugged and plugged in again, or pick up noise.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pty
import random
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

from robot.computer.board_family import BoardSimulation, family_of, simulations
from robot.settings import RobotProfile
from robot.settings.checks import check_profile
from robot.simulate.processes import SimulationError

FASTEST_TOGETHER = 2.0
"""Maximum speed of a robot of several boards, as a multiple of real time, because the daemon starts
them together in real time."""


CHUNK = 4096

Damage = Callable[[random.Random, bytes], bytes]
"""A function from one byte to none, one or several; it always draws the same random numbers."""


def own_simulation(profile: RobotProfile) -> str:
    """Return the name of the simulation of the profile's own board.

    For an Arduino it is this computer's firmware. See ``robot/computer/families/host.py``.
    """
    if profile.boards:
        return "host"
    return next((name for name, one in simulations().items() if one.is_for(profile)), "host")


def simulation_of(kind: str, profile: RobotProfile, board: str) -> BoardSimulation:
    """Return the simulation of a board of a robot that is simulated as ``kind``.

    A Raspberry Pi among several boards is its own process, independent of the others' kind.
    """
    own = family_of(profile.every_board[board].target).simulation_among
    return simulations()[own if profile.boards and own else kind]


def wire_to_board(kind: str, profile: RobotProfile) -> RobotProfile:
    """Return the robot wired to a simulation of ``kind``.

    Raise :class:`SimulationError`, or ``FirmwareError``, if that is not possible.
    """
    known = simulations()
    if profile.boards:
        if not known[kind].runs_as_granted:
            granted = (name for name, one in known.items() if one.runs_as_granted)
            raise SimulationError(
                f"{profile.name} has several boards, which {kind} cannot simulate; choose from "
                f"{', '.join(granted)}"
            )
        for board in profile.every_board.values():
            family_of(board.target).refuse_beside_others(profile)
        return profile
    moved = known[kind].wire(profile)
    if moved is profile:
        return profile
    for path, text in check_profile(moved):
        place = ".".join(map(str, path))
        raise SimulationError(f"{profile.name} cannot be driven by {kind}: {place}: {text}")
    return moved


def fastest(profile: RobotProfile) -> float:
    """Return the maximum speed of a simulation, as a multiple of real time."""
    return FASTEST_TOGETHER if profile.boards else math.inf


def require_pace(profile: RobotProfile, speed: float) -> None:
    """Raise :class:`SimulationError` for a robot that cannot be simulated at this speed."""
    if speed > fastest(profile):
        raise SimulationError(
            f"{profile.name} has several boards, which start together within milliseconds of real "
            f"time: use at most --speed {fastest(profile):g}"
        )


def flip(rate: float) -> Damage:
    """Return damage that flips a bit of each byte with probability ``rate``."""

    def damage(rng: random.Random, byte: bytes) -> bytes:
        hit, bit = rng.random() < rate, rng.randrange(8)
        return bytes([byte[0] ^ (1 << bit)]) if hit else byte

    return damage


def nothing(_rng: random.Random, byte: bytes) -> bytes:
    """Pass every byte unchanged."""
    return byte


class Line:
    """One direction of a line; ``damage`` may be set at any time."""

    def __init__(self, seed: int = 1, damage: Damage = nothing) -> None:
        self.damage = damage
        self._random = random.Random(seed)

    def carry(self, data: bytes) -> bytes:
        """Return the bytes that arrive when ``data`` is sent."""
        if self.damage is nothing:
            return data
        return b"".join(self._damage_bytes(data))

    def _damage_bytes(self, data: bytes) -> Iterator[bytes]:
        for place in range(len(data)):
            yield self.damage(self._random, data[place : place + 1])


class Cable:
    """A cable between the firmware's port and a pseudo-terminal that the daemon opens.

    It runs in the event loop. ``noise`` is the probability that a byte changes in transit.
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
        """Plug the cable in again: a new port appears under the same name."""
        if self._ours is not None:
            return
        master, slave = pty.openpty()
        tty.setraw(slave)
        os.set_blocking(master, False)
        # The slave stays open here: a port not opened yet must not read as closed.
        self._ours = (master, slave)
        asyncio.get_running_loop().add_reader(master, self._from_daemon)
        self._link.unlink(missing_ok=True)
        self._link.symlink_to(os.ttyname(slave))

    def cut(self) -> None:
        """Unplug the cable: the daemon's port disappears, bytes in transit are lost. Idempotent."""
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
