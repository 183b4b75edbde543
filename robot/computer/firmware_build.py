"""Building the AVR firmware, putting it on a board, and asking a board what it runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from robot.link import Capabilities, Link, LinkThread, SerialTransport
from robot.link.protocol import FIRMWARE_VERSION
from robot.settings import RobotProfile
from robot.settings.boards import BOARD_TARGETS
from robot.settings.kinds import Kinds
from robot.settings.profile import FIRST_BOARD
from solver.errors import CubistError
from solver.tables import cache_directory


class FirmwareTrouble(CubistError, RuntimeError):
    """The firmware could not be built or flashed; the text says what is missing."""

    code = "firmware-trouble"


@dataclass(frozen=True, slots=True)
class FirmwareBoard:
    """A board that the AVR firmware is built for and flashed to; ``chip`` is also its target."""

    name: str
    title: str
    chip: str
    programmer: str
    flash_baud: int
    flash_bytes: int
    ram_bytes: int


BOARDS: Kinds[FirmwareBoard] = Kinds("board")
"""Boards by their name, those with fewer pins first."""

for _board in (
    FirmwareBoard("uno", "Arduino Uno or Nano", "atmega328p", "arduino", 115_200, 32_256, 2_048),
    FirmwareBoard("mega", "Arduino Mega 2560", "atmega2560", "wiring", 115_200, 253_952, 8_192),
):
    BOARDS[_board.name] = _board

AVR_HEADER = Path("/usr/lib/avr/include/avr/io.h")
"""A file of avr-libc, where Debian has it."""
BUILDING = ("make", "gcc-avr", "avr-libc")
"""Debian packages that build the firmware."""
JOIN_GROUP = "Join its group: sudo usermod -aG dialout $USER, then log in again."
"""What helps who may not use a serial port."""
FLASHING = ("avrdude",)
"""Debian packages that put it on a board."""


@dataclass(frozen=True, slots=True)
class Built:
    """A firmware built for a board."""

    board: FirmwareBoard
    elf: Path
    hex: Path
    flash_bytes: int
    static_ram_bytes: int


def board_for(profile: RobotProfile, name: str = FIRST_BOARD) -> str:
    """The kind of a board by its target; without one, the first kind that has all its pins."""
    actuators = profile.actuators_at(name).values()
    used = [pin for one in actuators for pin in one.connections.values()]
    target = profile.every_board[name].target
    boards = sorted(BOARDS.values(), key=lambda board: board.chip != target)
    roomy = (board for board in boards if all(map(BOARD_TARGETS[board.chip].has_pin, used)))
    return next(roomy, boards[0]).name


def missing(packages: Sequence[str]) -> list[str]:
    """Those of :data:`BUILDING` and :data:`FLASHING` whose programs are not installed."""
    programs = {"make": "make", "gcc-avr": "avr-gcc", "avrdude": "avrdude"}
    present = {package: shutil.which(program) is not None for package, program in programs.items()}
    present["avr-libc"] = _has_avr_libc()
    return [package for package in packages if not present[package]]


def require(packages: Sequence[str]) -> None:
    """Raise :class:`FirmwareTrouble` that names all of these packages that are missing."""
    absent = missing(packages)
    if absent:
        command = f"sudo apt install {' '.join(absent)}"
        raise FirmwareTrouble(f"{', '.join(absent)} not installed. Install with:\n  {command}")


def _has_avr_libc() -> bool:
    """Wherever the compiler finds it; without a compiler, where Debian has it."""
    if shutil.which("avr-gcc") is None:
        return AVR_HEADER.exists()
    command = ["avr-gcc", "-mmcu=atmega328p", "-E", "-include", "avr/io.h", "-x", "c", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def sources() -> Path:
    """The folder of the firmware's sources: the checkout's, or the installed copy."""
    for folder in (
        Path(__file__).resolve().parents[2] / "firmware",
        Path(sys.prefix) / "share" / "cubist" / "firmware",
    ):
        if (folder / "avr" / "Makefile").is_file():
            return folder
    raise FirmwareTrouble("the sources of the firmware are not installed")


def build_folder(board: str) -> Path:
    """Where the firmware of a board is built: beside the sources, else in the user's cache."""
    parent = sources().parent
    if (parent / "pyproject.toml").is_file() and os.access(parent, os.W_OK):
        return parent / "build" / f"firmware-{board}"
    return cache_directory() / f"firmware-{board}"


def build(name: str) -> Built:
    """Build the firmware of a board; raises :class:`FirmwareTrouble`."""
    board = BOARDS[name]
    folder = build_folder(name)
    require(BUILDING)
    command = ["make", "-C", str(sources() / "avr"), f"BOARD={name}", f"BUILD={folder}"]
    with _alone_in(folder):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FirmwareTrouble(f"the firmware for {board.title} does not build:\n{done.stderr}")
    elf = folder / "cubist.elf"
    flash, ram = sizes(elf)
    return Built(board, elf, folder / "cubist.hex", flash, ram)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Nobody else builds there meanwhile; raises :class:`FirmwareTrouble` if nothing can be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise FirmwareTrouble(f"the firmware cannot be built in {folder}: {error}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sizes(elf: Path) -> tuple[int, int]:
    """Bytes of flash and of static RAM, as ``avr-size`` tells."""
    shown = subprocess.run(["avr-size", elf], capture_output=True, text=True, check=True).stdout
    text, data, bss = (int(word) for word in shown.splitlines()[1].split()[:3])
    return text + data, data + bss


def address(elf: Path, symbol: str) -> int:
    """Where in the flash a routine is, as ``avr-nm`` tells; raises :class:`FirmwareTrouble`."""
    shown = subprocess.run(["avr-nm", elf], capture_output=True, text=True, check=True).stdout
    for line in shown.splitlines():
        if line.endswith(f" {symbol}"):
            return int(line.split()[0], 16)
    raise FirmwareTrouble(f"there is no {symbol} in {elf}")


def flash_command(built: Built, port: str) -> list[str]:
    """The ``avrdude`` command that puts a firmware on the board at a port."""
    board = built.board
    return [
        "avrdude",
        *("-p", board.chip),
        *("-c", board.programmer),
        *("-P", port),
        *("-b", str(board.flash_baud)),
        "-D",
        *("-U", f"flash:w:{built.hex}:i"),
    ]


def flash(built: Built, port: str) -> None:
    """Put a firmware on the board at a serial port; raises :class:`FirmwareTrouble`."""
    require(FLASHING)
    if Path(port).exists() and not os.access(port, os.R_OK | os.W_OK):
        raise FirmwareTrouble(f"{port}: no permission. {JOIN_GROUP}")
    done = subprocess.run(flash_command(built, port), capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        reasons = [line for line in said if not line.startswith("avrdude done")]
        last = (reasons or ["avrdude gave no reason"])[-1]
        raise FirmwareTrouble(
            f"flashing {built.board.title} at {port} failed: {last}. Is it the right board and "
            "port, and is cubistd stopped (systemctl stop cubistd)?"
        )


def ask(port: str, baud: int) -> Capabilities:
    """What the board at a port says of itself; raises the link's faults."""
    link = LinkThread(lambda: Link(SerialTransport(port, baud), ()))
    try:
        return link.wait(link.link.open())
    finally:
        link.close()


def matches(capabilities: Capabilities) -> bool:
    """True when the board runs the firmware that came with this program."""
    return capabilities.firmware_version == FIRMWARE_VERSION
