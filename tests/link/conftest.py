"""The real firmware of this computer behind a pseudo-terminal, and a witness at its pins."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from robot.firmware import Built, FirmwareTrouble, build
from robot.link import EndstopHoming, Link, SerialTransport, ServoSetup, StepperSetup
from robot.link.actuators import ActuatorSetup
from robot.motion import StepperLimits

RECORD = struct.Struct("<QHBB")
OUTPUT, TIME, RESET, READ = range(4)
STEP, DIRECTION, ENDSTOP = 2, 3, 5
LIMITS = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)
SETUPS: tuple[ActuatorSetup, ...] = (
    ServoSetup("holder", pin=9, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=100),
    ServoSetup("lid", pin=10, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=100),
    StepperSetup(
        "turner",
        step_pin=STEP,
        direction_pin=DIRECTION,
        limits=LIMITS,
        minimum_steps=-500,
        maximum_steps=2000,
        homing=EndstopHoming(
            pin=ENDSTOP,
            direction=-1,
            speed=400,
            slow_speed=100,
            backoff_steps=30,
            max_travel_steps=1000,
            edge_position=-40,
        ),
    ),
    StepperSetup("pusher", step_pin=6, direction_pin=7, limits=LIMITS),
)


@dataclass
class Witness:
    """Listens to the pins, and moves the turner's end stop."""

    path: Path
    records: list[tuple[int, int, int, int]] = field(default_factory=list)
    turner_steps: int = 200
    """Where the turner is, from the end stop's edge."""
    endstop_works: bool = True
    resets: int = 0

    def __post_init__(self) -> None:
        self._levels: dict[int, int] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rb") as stream:
                while len(data := stream.read(RECORD.size)) == RECORD.size:
                    self._take(connection, *RECORD.unpack(data))

    def _take(self, connection: socket.socket, ticks: int, pin: int, level: int, kind: int) -> None:
        if kind == READ:
            pressed = self.turner_steps <= 0 and self.endstop_works
            connection.sendall(RECORD.pack(ticks, pin, not pressed, READ))
        elif kind == OUTPUT:
            self.records.append((ticks, pin, level, kind))
            self._levels[pin] = level
            if pin == STEP and level:
                self.turner_steps += 1 if self._levels.get(DIRECTION) else -1
        elif kind == RESET:
            self.resets += 1

    def rises(self, pin: int) -> list[int]:
        """Ticks of the rising edges of a pin."""
        return [ticks for ticks, at, level, _ in list(self.records) if at == pin and level]

    def close(self) -> None:
        """Hang up; whoever waited for records is done."""
        self._listener.close()


@dataclass
class Board:
    """A running firmware process."""

    process: subprocess.Popen[bytes]
    port: Path
    pins: Witness
    setups: tuple[ActuatorSetup, ...] = SETUPS

    def reset(self) -> None:
        """Press the reset button."""
        self.process.send_signal(signal.SIGUSR1)

    def end(self) -> None:
        """Switch it off."""
        self.process.terminate()
        self.process.wait(10)


def program(name: str) -> Path:
    """Where the build installs a program of the firmware for this computer."""
    return Path(sys.executable).with_name(name)


def start_board(folder: Path, speed: float, *command: str | Path) -> Board:
    """Start a firmware program and wait until its port is there."""
    pins = Witness(folder / "pins")
    port = folder / "port"
    options = ["--pty-link", port, "--pins", pins.path, "--speed", str(speed)]
    process = subprocess.Popen([*command, *options])
    deadline = time.monotonic() + 10
    while not port.exists():
        assert process.poll() is None, "the firmware ended at once"
        assert time.monotonic() < deadline, "no port after 10 s"
        os.sched_yield()
    return Board(process, port, pins)


@contextlib.contextmanager
def starter(*command: str | Path) -> Iterator[Callable[[float], Board]]:
    """Starts boards that run a program, at a speed; all end with the block."""
    running: list[Board] = []
    with tempfile.TemporaryDirectory() as folder:

        def start(speed: float = 50.0) -> Board:
            place = Path(folder) / str(len(running))
            place.mkdir()
            running.append(start_board(place, speed, *command))
            return running[-1]

        yield start
        for board in running:
            board.end()
            board.pins.close()


@pytest.fixture
def boards() -> Iterator[Callable[[float], Board]]:
    """Starts boards with the firmware of this computer."""
    with starter(program("cubist-firmware-host")) as start:
        yield start


@pytest.fixture(scope="session")
def avr_program() -> Built:
    """The firmware of the Uno; skips where it cannot be built or simulated."""
    if not program("cubist-firmware-avr").exists():
        pytest.skip("built without simavr (Debian packages libsimavr-dev, libelf-dev)")
    try:
        return build("uno")
    except FirmwareTrouble as trouble:
        pytest.skip(str(trouble))


@pytest.fixture
def avr_boards(avr_program: Built) -> Iterator[Callable[[float], Board]]:
    """Starts Unos under simavr; SIGUSR2 makes their main loop hang."""
    shown = subprocess.run(["avr-nm", avr_program.elf], capture_output=True, text=True, check=True)
    address = next(
        line.split()[0] for line in shown.stdout.splitlines() if line.endswith(" firmware_poll")
    )
    elf = ("--elf", avr_program.elf, "--hang-at", f"0x{address}")
    with starter(program("cubist-firmware-avr"), *elf) as start:
        yield start


@pytest.fixture
async def links() -> AsyncIterator[Callable[[Board], Link]]:
    """Makes links to boards; all are closed with the test."""
    made: list[Link] = []

    def make(board: Board) -> Link:
        made.append(Link(SerialTransport(str(board.port)), SETUPS))
        return made[-1]

    yield make
    for link in made:
        await link.close()


@pytest.fixture(scope="session")
def faulty_line() -> ModuleType:
    """The module of transports that damage what passes."""
    path = Path(__file__).with_name("faulty_line.py")
    spec = importlib.util.spec_from_file_location("faulty_line", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def board(boards: Callable[[float], Board]) -> Board:
    """One board at fifty times real speed."""
    return boards(50.0)


@pytest.fixture
async def link(board: Board, links: Callable[[Board], Link]) -> Link:
    """A link to it: open, configured, homed."""
    link = links(board)
    await link.open()
    await link.configure()
    await link.home()
    return link
