"""Firmware and link in simulated time: as fast as the computer allows, and every run the same.

A board grants the firmware's process its time through the socket of the pins; an event loop whose
clock is that time runs the link. Nothing depends on the computer's load.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import selectors
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from robot.link import LinkGroup, LinkThread
from robot.settings.board_table import TICKS_PER_S
from robot.simulate.boards import Damage, Line, flip
from robot.text.faults import Fault, LinkError
from robot.twin.simulated import RECORD, Kind

BUSY_STEP_TICKS = 1_000
"""Time granted at once while a message was just sent and an answer may come."""
QUIET_STEP_TICKS = 10_000

Pass = Callable[[int], bool]
"""A function that lets ticks pass and returns whether a result worth waiting for came."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop in which time passes, here and in all attached worlds, when no callback is due.

    It is not for coroutines that wait for other threads: an eternity may pass for them meanwhile.
    """

    def __init__(self) -> None:
        self._selector_of_time = _Selector(self)
        super().__init__(self._selector_of_time)
        self._ticks = 0
        self._worlds: list[Pass] = []
        self._stirred = False
        self.turn = threading.RLock()
        """Held by the thread that lets the time pass, if several may."""

    def time(self) -> float:
        return self._ticks / TICKS_PER_S

    def attach(self, world: Pass) -> None:
        self._worlds.append(world)

    def detach(self, world: Pass) -> None:
        """Detach a world that ends or stands still."""
        self._worlds.remove(world)

    def stir(self) -> None:
        """Note that a world received a message and may answer soon."""
        self._stirred = True

    def pass_time(self, seconds: float) -> None:
        """Let time pass for the worlds while nothing here runs, as if this process hung."""
        left = round(seconds * TICKS_PER_S)
        with self.turn:
            while left > 0:
                step = min(left, QUIET_STEP_TICKS)
                self._pass(step)
                left -= step

    def _wait(self, seconds: float) -> None:
        """Take a step of at most ``seconds``."""
        step = BUSY_STEP_TICKS if self._stirred else QUIET_STEP_TICKS
        ticks = max(1, min(step, -(-round(seconds * TICKS_PER_S * 1000) // 1000)))
        self._stirred = self._pass(ticks)

    def _pass(self, ticks: int) -> bool:
        self._ticks += ticks
        heard = [world(ticks) for world in list(self._worlds)]
        return any(heard)


class _Selector(selectors.DefaultSelector):
    """A selector that serves ready files at once and lets time pass instead of waiting."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            return super().select(None)
        ready: list[Any] = super().select(0)
        if not ready and timeout > 0:
            self._loop._wait(timeout)
        return ready


GRANT = struct.Struct("<QHBB")
NO_PIN = 0xFFFF
RECEIVE_BYTES = 1 << 16
SEND_BYTES = 4096
"""Maximum given to a board at once; the rest waits for its next slice of time."""
LIMIT_S = 120.0
"""Real seconds after which a silent process counts as dead."""


class BoardDied(RuntimeError):
    """The firmware's process ended or stopped answering."""


class VirtualBoard:
    """A board running ``command``, a firmware program with its own options, from time 0.

    ``listener.feed`` receives the pin records, perhaps with half a record at the end, as in
    :class:`robot.twin.simulated.PinStream`; answers to it go through :meth:`answer`. Its clock is
    faster by ``drift``: 0.0001 is 100 ppm.
    """

    def __init__(self, command: Sequence[str | Path], drift: float = 0.0) -> None:
        self.listener: Any = None
        self.running = True
        self._pins, pins = socket.socketpair()
        self._serial, serial = socket.socketpair()
        self._pins.settimeout(LIMIT_S)
        self._serial.setblocking(False)
        with pins, serial:
            numbers = serial.fileno(), pins.fileno()
            options = ("--granted", "--serial-fd", str(numbers[0]), "--pins", str(numbers[1]))
            self.process = subprocess.Popen([*map(str, command), *options], pass_fds=numbers)
        self._drift = drift
        self._owed = 0.0
        self._rest = b""
        self._unsent = bytearray()

    def answer(self, record: bytes) -> None:
        self._pins.sendall(record)

    def reset(self) -> None:
        """Press the reset button."""
        self.answer(GRANT.pack(0, NO_PIN, 0, Kind.RESET))

    def hang(self) -> None:
        """Make the program's main loop spin forever, if the program was told its location."""
        self.answer(GRANT.pack(0, NO_PIN, 0, Kind.HANG))

    def pass_time(self, ticks: int) -> bool:
        """Let ``ticks`` pass on a running board; return whether it has sent anything."""
        if not self.running:
            return False
        sent = self._serial.send(self._unsent[:SEND_BYTES]) if self._unsent else 0
        del self._unsent[:sent]
        self._owed += ticks * (1 + self._drift)
        ticks = max(0, int(self._owed))
        self._owed -= ticks
        self.answer(GRANT.pack(ticks, NO_PIN, 0, Kind.GRANT))
        while not self._listen():
            pass
        return bool(self._unsent) or self._has_said_something()

    def lose_time(self, seconds: float) -> None:
        """Stop its clock, and everything that it does, for ``seconds``."""
        self._owed -= seconds * TICKS_PER_S

    def write(self, data: bytes) -> None:
        self._unsent += data

    def read(self) -> bytes:
        """Return bytes from its serial port, empty if none have come."""
        try:
            return self._serial.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return b""

    def end(self) -> None:
        self._pins.close()
        self._serial.close()
        self.process.terminate()
        self.process.wait(LIMIT_S)

    def _listen(self) -> bool:
        """Take the records of the pins; return true when the granted time is over."""
        try:
            data = self._pins.recv(RECEIVE_BYTES)
        except (TimeoutError, ConnectionError) as error:
            raise BoardDied("the firmware's process does not answer") from error
        if not data:
            raise BoardDied("the firmware's process has ended")
        self._rest += data
        whole = len(self._rest) - len(self._rest) % RECORD.itemsize
        records, self._rest = self._rest[:whole], self._rest[whole:]
        over = whole > 0 and records[-1] == Kind.GRANT
        if self.listener is not None:
            self.listener.feed(records)
        return over

    def _has_said_something(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            return bool(self._serial.recv(1, socket.MSG_PEEK))
        return False


def drop(rate: float) -> Damage:
    return lambda rng, byte: b"" if rng.random() < rate else byte


def repeat(rate: float) -> Damage:
    return lambda rng, byte: byte * (2 if rng.random() < rate else 1)


def insert(rate: float) -> Damage:
    def damage(rng: random.Random, byte: bytes) -> bytes:
        hit, noise = rng.random() < rate, bytes([rng.randrange(256)])
        return byte + noise if hit else byte

    return damage


def reorder(rate: float) -> Damage:
    held = b""

    def damage(rng: random.Random, byte: bytes) -> bytes:
        nonlocal held
        hit = rng.random() < rate
        if hit and not held:
            held = byte
            return b""
        out, held = byte + held, b""
        return out

    return damage


DAMAGES: dict[str, Callable[[float], Damage]] = {
    damage.__name__: damage for damage in (drop, repeat, insert, flip, reorder)
}
"""Kinds of bad lines, each a function of its error rate."""


def silence(_rng: random.Random, _byte: bytes) -> bytes:
    return b""


class VirtualPort:
    """A :class:`robot.link.Transport` to a board, on the :class:`VirtualLoop` that runs it.

    The board's time passes only while the loop waits. ``seed`` decides where damage strikes.
    """

    def __init__(self, board: VirtualBoard, loop: VirtualLoop, seed: int = 1) -> None:
        self.outwards = Line(2 * seed)
        self.inwards = Line(2 * seed + 1)
        self.plugged = True
        self._attempts = -1
        self._board = board
        self._loop = loop
        self._received: asyncio.Queue[bytes | LinkError] = asyncio.Queue()
        self._open = False
        loop.attach(self._pass)

    async def open(self) -> None:
        if self._attempts == 0:
            self.plug()
        if not self.plugged:
            self._attempts -= 1
            raise LinkError(Fault.PORT_MISSING, detail="virtual")
        self._board.read()
        self._received = asyncio.Queue()
        self._open = True

    async def read(self) -> bytes:
        item = await self._received.get()
        if isinstance(item, LinkError):
            self._received.put_nowait(item)
            raise item
        return item

    def write(self, data: bytes) -> None:
        if not self._open:
            raise LinkError(Fault.LINK_LOST, detail="virtual")
        if self.plugged:
            self._board.write(self.outwards.carry(data))
            self._loop.stir()

    write_now = write  # nothing ever waits here

    def close(self) -> None:
        self._open = False

    def unplug(self, attempts: int = -1) -> None:
        """Unplug the cable: readers get an error at once, as from a USB adapter.

        It is back after ``attempts`` attempts to open it, or never by itself if negative.
        """
        self.plugged = False
        self._attempts = attempts
        if self._open:
            self._received.put_nowait(LinkError(Fault.LINK_LOST, detail="virtual"))

    def plug(self) -> None:
        self._board.read()
        self.plugged = True
        self._attempts = -1

    def end(self) -> None:
        self._loop.detach(self._pass)

    def _pass(self, ticks: int) -> bool:
        spoke = self._board.pass_time(ticks)
        if spoke and (data := self._board.read()) and self._open and self.plugged:
            left = self.inwards.carry(data)
            if left:
                self._received.put_nowait(left)
        return spoke


class VirtualLink(LinkThread[LinkGroup]):
    """A :class:`robot.link.LinkThread` without a thread; the callers' threads run the loop."""

    def __init__(self, loop: VirtualLoop, links: LinkGroup) -> None:
        self._simulated = loop
        self.link = links

    def wait(self, work: Coroutine[object, object, Any]) -> Any:
        return self._simulated.run_until_complete(work)

    def close(self) -> None:
        self.wait(self.link.close())
