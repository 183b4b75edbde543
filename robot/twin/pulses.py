"""Pulses made by a chip beside the firmware: PWM chips in the kernel's file system, and a Maestro.

A chip's pulses come in periods. The firmware does not know their phase, and a new width takes
effect with the next period. The files that a firmware writes to PWM chips are pipes, so every
single value arrives, in order. A record on the pins' socket states the time.

A Pololu Maestro has a pseudo-terminal. Commands are as in Pololu, "Maestro Servo Controller User's
Guide", section 5.e, in both protocols. Each is read when a record announces it.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import tty
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from robot.settings.board_table import FRAME_US
from robot.settings.boards import SERVO_BOARDS
from solver.errors import InvalidRequest

PHASE_US = 7_919.0
"""Phase of a channel's periods relative to those of the one before."""

EdgeListener = Callable[[float, int, bool], None]
"""Callback for an edge, with time in microseconds, pin and level."""

FILES = ("duty_cycle", "period", "enable")
"""Files of a channel, in the order in which records number them."""
OWN_CHANNELS: Mapping[int, int] = {12: 0, 18: 0, 13: 1, 19: 1}
"""Channel of the Pi's own PWM by BCM number, up to the Pi 4 and the Zero 2."""
NS_PER_US = 1000


class PulseTrain:
    """The output of a channel: a counter. A new width takes effect with the next period."""

    def __init__(self, pin: int, phase_us: float) -> None:
        self.pin = pin
        self.period_us = 0.0
        self.width_us = 0.0
        self._phase_us = phase_us
        self._next_us: float | None = None
        self._fall_us: float | None = None

    def run(self, time_us: float) -> None:
        """Start the periods, one phase from now."""
        self._next_us = time_us + self._phase_us

    def halt(self) -> None:
        """Stop the periods."""
        self._next_us = None

    def next_edge_us(self) -> float | None:
        """Return the time of the next edge, or of the next period without a pulse."""
        return self._next_us if self._fall_us is None else self._fall_us

    def step(self, edge: EdgeListener) -> None:
        """Make the next edge: the end of a pulse, or the start of a period."""
        if self._fall_us is not None:
            edge(self._fall_us, self.pin, False)
            self._fall_us = None
            return
        assert self._next_us is not None
        if self.width_us:
            edge(self._next_us, self.pin, True)
            self._fall_us = self._next_us + self.width_us
        self._next_us += self.period_us

    def shift(self, by_us: float) -> None:
        """Restart the clock: all later times count from ``by_us``."""
        self._next_us = None if self._next_us is None else self._next_us - by_us
        self._fall_us = None if self._fall_us is None else self._fall_us - by_us


class PulseMaker(ABC):
    """A maker of pulses for firmware that only states their widths."""

    def __init__(self, edge: EdgeListener) -> None:
        self._edge = edge
        self._now_us = 0.0
        self._trains: dict[int, PulseTrain] = {}

    def write(self, time_us: float, pin: int, place: int) -> None:
        """Handle a write for a pin, or raise :class:`InvalidRequest`."""
        self.advance(time_us)
        if pin not in self._trains:
            raise InvalidRequest(f"pin {pin} has no channel")
        self._take(time_us, pin, place)

    def advance(self, time_us: float) -> None:
        """Make all edges up to a time, in order."""
        while True:
            due = [
                (when, train.pin)
                for train in self._trains.values()
                if (when := train.next_edge_us()) is not None and when <= time_us
            ]
            if not due:
                break
            self._trains[min(due)[1]].step(self._edge)
        self._now_us = max(self._now_us, time_us)

    def restart(self) -> None:
        """Restart the clock with the firmware; the pulses go on."""
        for train in self._trains.values():
            train.shift(self._now_us)
        self._now_us = 0.0

    @abstractmethod
    def close(self) -> None:
        """Unplug the chip. Idempotent."""

    @abstractmethod
    def _take(self, time_us: float, pin: int, place: int) -> None:
        """Read the data written at this ``place`` of a pin."""

    def _add_train(self, pin: int) -> PulseTrain:
        phase_us = len(self._trains) * PHASE_US % FRAME_US
        self._trains[pin] = PulseTrain(pin, phase_us)
        return self._trains[pin]


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A value written to a file."""

    time_us: float
    pin: int
    file: str
    value: int


class _Channel:
    """The files of one output of a chip."""

    def __init__(self, folder: Path, train: PulseTrain) -> None:
        self._pin = train.pin
        self._train = train
        self._pipes = {file: _make_pipe(folder / file) for file in FILES}
        self._rests = dict.fromkeys(FILES, b"")
        self._ns = dict.fromkeys(FILES, 0)

    def take(self, time_us: float, number: int) -> FileWrite:
        """Read the next value written to a file and apply it."""
        file = FILES[number]
        while b"\n" not in self._rests[file]:
            self._rests[file] += os.read(self._pipes[file], 4096)
        text, _, self._rests[file] = self._rests[file].partition(b"\n")
        if not text.isdigit():
            raise InvalidRequest(f"pin {self._pin}, {file}: {text!r}")
        before, self._ns[file] = self._ns[file], int(text)
        if file != "enable" and self._ns["duty_cycle"] > self._ns["period"]:
            raise InvalidRequest(f"pin {self._pin}: a duty of {self._ns['duty_cycle']} ns")
        if self._ns["enable"] and not self._ns["period"]:
            raise InvalidRequest(f"pin {self._pin}: enabled without a period")
        self._train.width_us = self._ns["duty_cycle"] / NS_PER_US
        self._train.period_us = self._ns["period"] / NS_PER_US
        if file == "enable" and self._ns["enable"] != before:
            if self._ns["enable"]:
                self._train.run(time_us)
            else:
                self._train.halt()
        return FileWrite(time_us, self._pin, file, self._ns[file])

    def close(self) -> None:
        """Close the pipes."""
        for pipe in self._pipes.values():
            os.close(pipe)


class PwmChips(PulseMaker):
    """The chips that make the pulses of ``pins``, numbered as on the wire, in ``folder``.

    12, 13, 18 and 19 are outputs of the Pi's own chip. Other BCM numbers have a ``pwm-gpio`` chip
    each. Channels of a PCA9685 are on its own chip.
    """

    def __init__(self, folder: Path, pins: Iterable[int], edge: EdgeListener) -> None:
        super().__init__(edge)
        self.folder = folder
        self.writes: list[FileWrite] = []
        self._channels: dict[int, _Channel] = {}
        self._chips: dict[str, Path] = {}
        folder.mkdir(exist_ok=True)
        for pin in sorted(set(pins)):
            self._add(pin)

    def close(self) -> None:
        """Close all pipes, as an unplugged chip does. Idempotent."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
        self._trains.clear()

    def _take(self, time_us: float, pin: int, place: int) -> None:
        self.writes.append(self._channels[pin].take(time_us, place))

    def _add(self, pin: int) -> None:
        if pin in SERVO_BOARDS["pca9685"]:
            channel = SERVO_BOARDS["pca9685"].index(pin)
            place = self._chip("1-0040", name=b"pca9685"), channel
        elif pin in OWN_CHANNELS:
            place = self._chip("fe20c000.pwm"), OWN_CHANNELS[pin]
        else:
            gpios = b"".join(cell.to_bytes(4, "big") for cell in (7, pin, 0))
            place = self._chip(f"pwm_gpio@{pin:x}", gpios=gpios), 0
        files = place[0] / f"pwm{place[1]}"
        files.mkdir()
        self._channels[pin] = _Channel(files, self._add_train(pin))

    def _chip(self, device: str, name: bytes = b"", gpios: bytes = b"") -> Path:
        """Return the folder of a device's chip; the first call makes it."""
        if device in self._chips:
            return self._chips[device]
        behind = self.folder / "devices" / device
        (behind / "of_node").mkdir(parents=True)
        if name:
            (behind / "name").write_bytes(name + b"\n")
        if gpios:
            (behind / "of_node" / "gpios").write_bytes(gpios)
        chip = self.folder / f"pwmchip{2 * len(self._chips)}"
        chip.mkdir()
        (chip / "device").symlink_to(behind)
        self._chips[device] = chip
        return chip


def _make_pipe(path: Path) -> int:
    """Make a pipe and open both ends, so that a writer never waits for a reader."""
    os.mkfifo(path)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


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
    """A received command; ``device`` is None if it names none."""

    time_us: float
    command: int
    data: bytes
    device: int | None


@dataclass
class ChannelLimits:
    """A channel's own limits, as set in the controller, which clamps targets to them."""

    low_us: float = 64.0
    high_us: float = 3280.0

    def limit_pulse(self, target_us: float) -> float:
        """Return the pulse for a target; 0 ends the pulses."""
        return min(max(target_us, self.low_us), self.high_us) if target_us else 0.0


@dataclass
class MaestroFaults:
    """Injected faults of a Maestro."""

    silent: bool = False
    """True in a mode other than USB Dual Port: commands go to other devices."""
    drops: int = 0
    """Number of the next targets to drop."""
    limits: dict[int, ChannelLimits] = field(default_factory=dict)
    """Limits by channel."""


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
        """Simulate unplugging: open handles get an error. Idempotent."""
        if self._port is None:
            return
        self._port.unlink()
        self._port = None
        os.close(self._ours)
        os.close(self._theirs)

    def _take(self, time_us: float, pin: int, place: int) -> None:
        del pin, place
        if self._port is None:
            return  # sent just before the unplugging
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
            # Data takes a moment from one end of the terminal to the other.
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
