"""A Pololu Maestro on a pseudo-terminal, and the pulses that it makes.

Commands as in Pololu, "Maestro Servo Controller User's Guide", section 5.e, by both protocols. Each
is read when a record on the socket of the pins says that it was sent.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import tty
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from robot.settings.base import SERVO_BOARDS
from robot.settings.board_table import FRAME_US
from robot.twin.pulses import EdgeListener, PulseMaker
from solver.errors import InvalidRequest

QUARTERS_PER_US = 4
AUTO_BAUD = 0xAA
PROTOCOL_ERROR = 1 << 4
PATIENCE_S = 5.0
SET_TARGET, SET_SPEED, SET_ACCELERATION = 0x84, 0x87, 0x89
GET_POSITION, GET_ERRORS = 0x90, 0xA1
_DATA_BYTES: Mapping[int, int] = {
    SET_TARGET: 3,
    SET_SPEED: 3,
    SET_ACCELERATION: 3,
    GET_POSITION: 1,
    GET_ERRORS: 0,
}


@dataclass(frozen=True, slots=True)
class MaestroCommand:
    """A command as it came; ``device`` is None where none was named."""

    time_us: float
    command: int
    data: bytes
    device: int | None


@dataclass
class ChannelLimits:
    """A channel's own limits, as set in the controller; it moves targets there."""

    low_us: float = 64.0
    high_us: float = 3280.0

    def limit_pulse(self, target_us: float) -> float:
        """The pulse it makes for a target; 0 ends the pulses."""
        return min(max(target_us, self.low_us), self.high_us) if target_us else 0.0


@dataclass
class MaestroFaults:
    """Injected faults of a Maestro."""

    silent: bool = False
    """In another mode than USB Dual Port: commands go to others."""
    drops: int = 0
    """So many of the next targets do not arrive."""
    limits: dict[int, ChannelLimits] = field(default_factory=dict)
    """By channel."""


class Maestro(PulseMaker):
    """The controller that makes the pulses of ``pins``, with its command port at ``port``."""

    def __init__(self, port: Path, pins: Iterable[int], edge: EdgeListener) -> None:
        super().__init__(edge)
        self.commands: list[MaestroCommand] = []
        self.faults = MaestroFaults()
        self.errors = 0
        self._first = SERVO_BOARDS["maestro"].start
        self._received = b""
        for pin in sorted(set(pins)):
            self._add_train(pin).period_us = FRAME_US
        self._ours, self._theirs = pty.openpty()
        tty.setraw(self._theirs)
        port.symlink_to(os.ttyname(self._theirs))
        self._port: Path | None = port

    def close(self) -> None:
        """Be unplugged: who has the port open gets an error. Idempotent."""
        if self._port is None:
            return
        self._port.unlink()
        self._port = None
        os.close(self._ours)
        os.close(self._theirs)

    def _take(self, time_us: float, pin: int, place: int) -> None:
        del pin, place
        if self._port is None:
            return  # sent just before it was unplugged
        command = self._next_command(time_us)
        self.commands.append(command)
        if not self.faults.silent:
            self._obey(command)

    def _next_command(self, time_us: float) -> MaestroCommand:
        device = None
        code = self._byte()
        if code == AUTO_BAUD:
            code = self._byte()
            if code < 0x80:
                device, code = code, self._byte() | 0x80
        if code not in _DATA_BYTES:
            self.errors |= PROTOCOL_ERROR
            raise InvalidRequest(f"the Maestro knows no command {code:#04x}")
        data = bytes(self._byte() for _ in range(_DATA_BYTES[code]))
        if any(byte >= 0x80 for byte in data):
            self.errors |= PROTOCOL_ERROR
            raise InvalidRequest(f"the Maestro got data of {data.hex()} in command {code:#04x}")
        return MaestroCommand(time_us, code, data, device)

    def _byte(self) -> int:
        if not self._received:
            # What was written goes from one end of the terminal to the other a little later.
            if not select.select([self._ours], [], [], PATIENCE_S)[0]:
                raise InvalidRequest("the Maestro got half a command")
            self._received = os.read(self._ours, 4096)
        first, self._received = self._received[0], self._received[1:]
        return first

    def _obey(self, command: MaestroCommand) -> None:
        if command.command == GET_ERRORS:
            self._answer(self.errors)
            self.errors = 0
            return
        train = self._trains.get(self._first + command.data[0])
        if train is None:
            raise InvalidRequest(
                f"nothing is connected to channel {command.data[0]} of the Maestro"
            )
        if command.command == GET_POSITION:
            self._answer(round(train.width_us * QUARTERS_PER_US))
        elif command.command == SET_TARGET:
            self._set_target(command)

    def _set_target(self, command: MaestroCommand) -> None:
        if self.faults.drops:
            self.faults.drops -= 1
            return
        channel, low, high = command.data
        train = self._trains[self._first + channel]
        limits = self.faults.limits.get(channel, ChannelLimits())
        train.width_us = limits.limit_pulse((low | high << 7) / QUARTERS_PER_US)
        if train.width_us and train.next_edge_us() is None:
            train.run(command.time_us)

    def _answer(self, value: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._ours, value.to_bytes(2, "little"))
