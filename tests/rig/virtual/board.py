"""A firmware process that lives only in the time it is granted."""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from robot.settings.board_table import TICKS_PER_S
from robot.twin.simulated import RECORD, Kind

GRANT = struct.Struct("<QHBB")
NO_PIN = 0xFFFF
RECEIVE_BYTES = 1 << 16
SEND_BYTES = 4096
"""The most a board is given at once; the rest waits for its next piece of time."""
LIMIT_S = 120.0
"""Real seconds after which a process that does not answer is taken for dead."""


class BoardDied(RuntimeError):
    """The firmware's process ended or stopped to answer."""


class PinListener(Protocol):
    """What the pins are connected to, as :class:`robot.twin.simulated.PinStream`."""

    def feed(self, data: bytes) -> None:
        """Records from the board, perhaps with half a one at the end."""


class VirtualBoard:
    """A board running ``command``, a firmware program with its own options, from time 0.

    ``listener`` gets the pin records; answers to it go through :meth:`answer`. Its clock goes
    faster by ``drift``: 0.0001 is 100 ppm.
    """

    def __init__(self, command: Sequence[str | Path], drift: float = 0.0) -> None:
        self.listener: PinListener | None = None
        self.running = True
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as its:
            self._pins, pins = socket.socketpair()
            self._serial, serial = socket.socketpair()
            for stack, ends in ((ours, (self._pins, self._serial)), (its, (pins, serial))):
                for end in ends:
                    stack.callback(end.close)
            self._pins.settimeout(LIMIT_S)
            self._serial.setblocking(False)
            numbers = serial.fileno(), pins.fileno()
            options = ("--granted", "--serial-fd", str(numbers[0]), "--pins", str(numbers[1]))
            self.process = subprocess.Popen([*map(str, command), *options], pass_fds=numbers)
            ours.pop_all()
        self._drift = drift
        self._owed = 0.0
        self._rest = b""
        self._unsent = bytearray()

    def answer(self, record: bytes) -> None:
        """Send a pin record to the board."""
        self._pins.sendall(record)

    def reset(self) -> None:
        """Press the reset button."""
        self.answer(GRANT.pack(0, NO_PIN, 0, Kind.RESET))

    def hang(self) -> None:
        """The main loop of its program goes round in circles, if the program was told where."""
        self.answer(GRANT.pack(0, NO_PIN, 0, Kind.HANG))

    def pass_time(self, ticks: int) -> bool:
        """Let so many ticks pass on the board, if it runs; whether it has said something."""
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
        """Let its clock, and all that it does, stand still for so long."""
        self._owed -= seconds * TICKS_PER_S

    def write(self, data: bytes) -> None:
        """Bytes for its serial port; they are there when time passes."""
        self._unsent += data

    def read(self) -> bytes:
        """Bytes from its serial port; none when nothing has come."""
        try:
            return self._serial.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return b""

    def end(self) -> None:
        """Switch it off. Idempotent."""
        self._pins.close()
        self._serial.close()
        self.process.terminate()
        self.process.wait(LIMIT_S)

    def _listen(self) -> bool:
        """Take what the pins tell; True when the time granted is over."""
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
