"""Devices of the virtual machine: GPIO chips, a servo board, the Pi's process, kernel traces."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robot.computer.board_family import executable
from robot.link import Link, SerialTransport
from robot.link.actuators import ActuatorSetup
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.text.faults import RobotError

LINES = 28
CONFIG = Path("/sys/kernel/config/gpio-sim")
HOLD = """
import lgpio, sys
chip = lgpio.gpiochip_open(int(sys.argv[1]))
lgpio.gpio_claim_input(chip, int(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


class Chip:
    """A GPIO chip and the world outside its lines."""

    def __init__(self, name: str, label: str | None = None) -> None:
        self._config = CONFIG / name
        bank = self._config / "bank0"
        bank.mkdir(parents=True)
        (bank / "num_lines").write_text(str(LINES))
        if label is not None:
            (bank / "label").write_text(label)
        self.plug_in()

    def plug_in(self) -> None:
        """Let the kernel see the chip."""
        (self._config / "live").write_text("1")
        device = (self._config / "dev_name").read_text().strip()
        self.name = (self._config / "bank0/chip_name").read_text().strip()
        self._lines = Path("/sys/devices/platform") / device / self.name

    def unplug(self) -> None:
        """Remove the chip while programs may use it."""
        (self._config / "live").write_text("0")

    def remove(self) -> None:
        self.unplug()
        (self._config / "bank0").rmdir()
        self._config.rmdir()

    @property
    def number(self) -> int:
        """Number of its device, ``/dev/gpiochipN``."""
        return int(self.name.removeprefix("gpiochip"))

    @property
    def base(self) -> int:
        """Number of its first line among the lines of all chips."""
        [base] = self._lines.parent.glob("gpio/gpiochip*/base")
        return int(base.read_text())

    def close_contact(self, pin: int, closed: bool) -> None:
        """Close a contact to ground, or open it so that the resistor pulls up."""
        pull = "pull-down" if closed else "pull-up"
        (self._lines / f"sim_gpio{pin}" / "pull").write_text(pull)

    def level(self, pin: int) -> int:
        """Return the level that an output drives."""
        return int((self._lines / f"sim_gpio{pin}" / "value").read_text())

    def bounce(self, pin: int, closed: bool) -> None:
        """Simulate twenty milliseconds of contact bounce that end closed or open."""
        for _ in range(5):
            for level in (closed, not closed):
                self.close_contact(pin, level)
                time.sleep(0.002)
        self.close_contact(pin, closed)

    def press(self, pin: int, seconds: float) -> None:
        """Press a cheap button with a finger."""
        self.bounce(pin, True)
        time.sleep(seconds)
        self.bounce(pin, False)
        time.sleep(0.1)

    def hum(self, pin: int, hertz: float, seconds: float) -> None:
        """Simulate a long wire that picks up mains hum: the input follows its half waves."""
        for _ in range(int(seconds * hertz)):
            for closed in (True, False):
                self.close_contact(pin, closed)
                time.sleep(0.5 / hertz)

    @contextmanager
    def taken(self, pin: int) -> Iterator[None]:
        """Let another program hold a line."""
        command = [sys.executable, "-c", HOLD, str(self.number), str(pin)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd="/run") as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            yield
            holder.communicate()


@contextmanager
def plugged_in(name: str, label: str | None = None) -> Iterator[Chip]:
    chip = Chip(name, label)
    try:
        yield chip
    finally:
        chip.remove()


ADDRESS = 0x40
DRIVER = Path("/sys/bus/i2c/drivers/pca9685-pwm")
I2C_SLAVE_FORCE, I2C_SMBUS = 0x0706, 0x0720
WRITE, READ, BYTE_DATA = 0, 1, 2
MODE1, PRESCALE = 0x00, 0xFE
WHEN_SWITCHED_ON = {MODE1: 0x11, PRESCALE: 0x1E}


class _Transfer(ctypes.Structure):
    _fields_ = (
        ("way", ctypes.c_uint8),
        ("register", ctypes.c_uint8),
        ("size", ctypes.c_uint32),
        ("data", ctypes.c_void_p),
    )


class ServoBoard:
    """The PCA9685 and its driver."""

    def __init__(self) -> None:
        [adapter] = (
            name.parent
            for name in Path("/sys/bus/i2c/devices").glob("i2c-*/name")
            if "stub" in name.read_text()
        )
        self._number = adapter.name.removeprefix("i2c-")
        self._bus = os.open(f"/dev/{adapter.name}", os.O_RDWR)
        fcntl.ioctl(self._bus, I2C_SLAVE_FORCE, ADDRESS)
        self.lose_power()  # the stub begins with zeros, which no real chip does
        (adapter / "new_device").write_text(f"pca9685 {ADDRESS:#x}")

    @property
    def _device(self) -> str:
        return f"{self._number}-{ADDRESS:04x}"

    def unplug(self) -> None:
        """Unbind the driver from the chip."""
        (DRIVER / "unbind").write_text(self._device)

    def plug_in(self) -> None:
        """Bind the driver to the chip again."""
        (DRIVER / "bind").write_text(self._device)

    def lose_power(self) -> None:
        """Reset the chip's registers as a short power loss does."""
        for register, value in WHEN_SWITCHED_ON.items():
            self._transfer(WRITE, register, value)

    def read(self, register: int) -> int:
        return self._transfer(READ, register, 0)

    def _transfer(self, way: int, register: int, value: int) -> int:
        data = (ctypes.c_uint8 * 34)(value)
        transfer = _Transfer(way, register, BYTE_DATA, ctypes.addressof(data))
        fcntl.ioctl(self._bus, I2C_SMBUS, transfer)
        return data[0]

    def counts(self, channels: Sequence[int]) -> list[list[int]]:
        """Return the registers that switch each channel on and off."""
        return [
            [
                self.read(base + low) | self.read(base + low + 1) << 8
                for base in (6 + 4 * channel,)
                for low in (0, 2)
            ]
            for channel in channels
        ]


NOBODY, GROUP = 65534, 60
"""User the process runs as, and the group that may use lines and channels."""
FOLDER = Path("/run/board")
PORT = FOLDER / "port"
PATIENCE_S = 60.0
SILENCE_MS = 2000
REAL_TIME = ("prlimit", "--rtprio=20", "--memlock=unlimited:unlimited")
UNPRIVILEGED = ("setpriv", f"--reuid={NOBODY}", f"--regid={GROUP}", "--clear-groups")


@contextmanager
def running(*options: str) -> Iterator[list[str]]:
    """Run the process for a while. When it has ended, the list yielded holds its complaints."""
    FOLDER.mkdir(exist_ok=True)
    shutil.copy(executable("cubist-firmware-linux"), FOLDER / "firmware")
    shutil.chown(FOLDER, NOBODY, GROUP)
    for device in Path("/dev").glob("gpiochip*"):
        os.chown(device, 0, GROUP)
        device.chmod(0o660)
    command = [*REAL_TIME, *UNPRIVILEGED, FOLDER / "firmware", "--pty-link", PORT, *options]
    complaints: list[str] = []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not PORT.exists():
                assert process.poll() is None, "the board ended at once"
                time.sleep(0.01)
            yield complaints
        finally:
            process.terminate()
            assert process.stderr is not None
            complaints += process.stderr.read().splitlines()
            sys.stderr.write("\n".join(complaints) + "\n")


def link_to(setups: Sequence[ActuatorSetup]) -> Link:
    """Return a closed link to the process."""
    return Link(SerialTransport(str(PORT)), setups, silence_hold_ms=SILENCE_MS)


async def configured(link: Link) -> None:
    """Connect, and send the board its actuators."""
    await link.open(PATIENCE_S)
    await link.configure()


async def fault_of(deed: Coroutine[Any, Any, Any]) -> str:
    """Return the fault that a coroutine ends with, or "nothing"."""
    try:
        await asyncio.wait_for(deed, PATIENCE_S)
    except RobotError as fault:
        return str(fault)
    return "nothing"


def at_once(*ways: MotionProfile) -> Schedule:
    """Return a schedule whose motions start together."""
    turns = tuple(TimedTurn(0, number) for number in range(len(ways)))
    return Schedule(ways, turns, max(way.duration_us for way in ways))


TRACE = Path("/sys/kernel/tracing")
KILOBYTES = 16384
NOTE = re.compile(r"\s+(\d+\.\d+): (\w+): (.*)$")


@dataclass(frozen=True, slots=True)
class Note:
    """One kernel event: time in seconds, name and details."""

    time_s: float
    event: str
    text: str


def notes_in(text: str) -> list[Note]:
    """Return the events in the kernel's trace text."""
    found = (NOTE.search(line) for line in text.splitlines())
    return [Note(float(note[1]), note[2], note[3]) for note in found if note is not None]


@contextmanager
def _enabled(events: Sequence[str]) -> Iterator[None]:
    """Note events such as ``gpio/gpio_value``, from an empty trace on."""
    (TRACE / "trace_clock").write_text("mono")
    (TRACE / "buffer_size_kb").write_text(str(KILOBYTES))
    (TRACE / "trace").write_text("")
    switches = [TRACE / "events" / event / "enable" for event in events]
    for switch in switches:
        switch.write_text("1")
    try:
        yield
    finally:
        for switch in switches:
            switch.write_text("0")


@contextmanager
def noting(*events: str) -> Iterator[Callable[[], str]]:
    """Yield a function that returns the events noted so far, for :func:`notes_in`."""
    with _enabled(events):
        yield (TRACE / "trace").read_text


@contextmanager
def following(hear: Callable[[Note], None], *events: str) -> Iterator[None]:
    """Call ``hear`` with each event as it happens."""
    ended = threading.Event()

    def listen() -> None:
        with (TRACE / "trace_pipe").open() as pipe:
            for line in pipe:
                for note in notes_in(line):
                    hear(note)
                if ended.is_set():
                    return

    with _enabled(events):
        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        try:
            yield
        finally:
            ended.set()
            (TRACE / "trace_marker").write_text("the end")
            listener.join()
