"""Families of boards: everything that Cubist has to know about each, in one place.

A family is a chip, or a computer, whose firmware is built, flashed, found and simulated in the same
way: the AVRs of Arduinos, the Raspberry Pi itself, or a process on this computer. Each is a folder
of ``firmware/`` and a module of ``robot/computer/families/``, which registers a
:class:`BoardFamily` in :data:`FAMILIES`. Profiles, ``cubist firmware``, doctor, the udev rule and
the simulation look there; none of them knows a family by name.

A microcontroller on USB whose folder has a Makefile needs little more than its data: the targets
that profiles name, its boards, the USB vendors of their ports, the compiler's prefix, and the
command that flashes. See ``families/avr.py``.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from robot.computer.computer import CheckResult, Computer
from robot.link import Capabilities, Link, LinkThread, SerialTransport
from robot.link.protocol import FIRMWARE_VERSION
from robot.settings import RobotProfile
from robot.settings.base import Kinds
from robot.settings.boards import BOARD_TARGETS
from robot.settings.profile import FIRST_BOARD
from robot.text.faults import Fault, LinkError, RobotError
from robot.text.messages import Note
from solver.errors import CubistError, InvalidRequest
from solver.tables import cache_directory

if TYPE_CHECKING:
    from robot.twin.pulses import PulseMaker
    from robot.twin.simulated import SimulatedRobot

JOIN_GROUP = Note.of("join-dialout")
"""Remedy for a user without permission to use a serial port."""
ONE_BOARD = Note.of("plug-board-in")
"""Remedy if no port is found."""


class FirmwareError(CubistError, RuntimeError):
    """The firmware could not be built, flashed or started; the text says what is missing."""

    code = "firmware-error"


@dataclass(frozen=True, slots=True)
class DebianPackage:
    """A Debian package, and a test that it is installed."""

    name: str
    is_installed: Callable[[], bool]

    @classmethod
    def with_program(cls, name: str, program: str | None = None) -> DebianPackage:
        """Return the package that has a program, by default one of the same name."""
        return cls(name, lambda: shutil.which(program or name) is not None)


@dataclass(frozen=True, slots=True)
class FirmwareBoard:
    """A board that firmware is built for and flashed to; profiles name its ``target``."""

    name: str
    title: str
    target: str
    flash_bytes: int
    ram_bytes: int


@dataclass(frozen=True, slots=True)
class BuiltFirmware:
    """A firmware built for a board."""

    board: FirmwareBoard
    elf: Path
    image: Path
    flash_bytes: int
    static_ram_bytes: int


class BoardSimulation:
    """A way to run the firmware for a simulated robot.

    ``about``: its description, the continuation of "runs the firmware as ...".
    ``runs_as_granted``: several of them can be boards of one robot and share its time.
    """

    about: str
    runs_as_granted = False

    def command(self, profile: RobotProfile, folder: Path, board: str = FIRST_BOARD) -> list[str]:
        """Return the program of a board with its own options; the demo's files are in ``folder``.

        Raises :class:`FirmwareError` that says what to install.
        """
        raise NotImplementedError

    def wire(self, profile: RobotProfile) -> RobotProfile:
        """Return the robot wired to this board, at the same pin numbers if the board has them."""
        return profile

    def is_for(self, profile: RobotProfile) -> bool:
        """True if this is how the profile's own board is simulated."""
        del profile
        return False

    def pulse_maker(self, robot: SimulatedRobot, folder: Path, board: str) -> PulseMaker | None:
        """Return the pulse maker of a board's servos; None if the firmware makes the pulses."""
        del robot, folder, board
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class BoardFamily:
    """Everything known about one family. The defaults fit a microcontroller on USB.

    ``folder``: its folder in ``firmware/``. ``targets``: the values of ``firmware.target`` in
    profiles. ``boards``: the boards that ``cubist firmware`` builds for and flashes, those with
    fewer pins first. ``tools``: the prefix of its compiler's programs. ``usb_vendors``: USB vendors
    of its boards' serial ports, each with its manufacturer. ``usb_products``: the board that a USB
    vendor and product identify. ``simulations``: by their names for ``--firmware``.
    ``simulation_among``: the simulation of such a board beside boards of other families.
    ``is_flashable``: firmware with this target is flashed to a board. ``about_new``: how to connect
    a board that has no port before it has a firmware.
    """

    folder: str
    targets: Sequence[str] = ()
    boards: Sequence[FirmwareBoard] = ()
    tools: str = ""
    build_packages: Sequence[DebianPackage] = ()
    flash_packages: Sequence[DebianPackage] = ()
    usb_vendors: Mapping[int, str] = field(default_factory=dict)
    usb_products: Mapping[tuple[int, int], str] = field(default_factory=dict)
    simulations: Mapping[str, BoardSimulation] = field(default_factory=dict)
    simulation_among: str | None = None
    is_flashable: bool = True
    about_new: str = ""

    def udev_rules(self) -> Sequence[str]:
        """Return lines for udev beyond the common one for :attr:`usb_vendors`."""
        return ()

    def find_port(self, computer: Computer) -> Path:
        """Return the serial port of the only board, for ``link.port: auto``.

        That is the port our udev rule names, else the only one in ``by-id``. Raises
        ``PORT_MISSING`` if ``by-id`` has none or several.
        """
        named = computer.dev / "cubist"
        if named.exists():
            return named
        ports = sorted((computer.dev / "serial/by-id").glob("*"))
        if len(ports) == 1:
            return ports[0]
        found = ", ".join(port.name for port in ports) or "none"
        raise LinkError(Fault.PORT_MISSING, detail=Note.of("no-board-found", ports=found))

    def check_port(self, port: str, computer: Computer) -> CheckResult:
        """Check the port of a board; ``port`` as in the profile."""
        try:
            path = Path(port) if port != "auto" else self.find_port(computer)
        except RobotError as fault:
            return CheckResult("board", "bad", fault.detail, self.remedy_for(fault), fault.code)
        if not path.exists():
            return CheckResult("board", "bad", Note.of("path-missing", path=path), ONE_BOARD)
        if not computer.may_use(path):
            return CheckResult("board", "bad", Note.of("no-permission", path=path), JOIN_GROUP)
        return CheckResult("board", "ok", str(path))

    def remedy_for(self, fault: RobotError) -> str:
        """Return the remedy if no port is found."""
        del fault
        return ONE_BOARD

    def check_computer(self, profile: RobotProfile, computer: Computer) -> Iterator[CheckResult]:
        """Check what a robot with such a board needs from the computer besides its port."""
        del profile, computer
        yield from ()

    def refuse_beside_others(self, profile: RobotProfile) -> None:
        """Raise :class:`FirmwareError` if a robot of several boards cannot be simulated."""

    def build(self, board: FirmwareBoard) -> BuiltFirmware:
        """Build the firmware of a board; raises :class:`FirmwareError`."""
        folder = build_folder(board.name)
        require(self.build_packages)
        makefile = sources() / self.folder
        command = ["make", "-C", str(makefile), f"BOARD={board.name}", f"BUILD={folder}"]
        with _lock_folder(folder):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise FirmwareError(f"the firmware for {board.title} does not build:\n{done.stderr}")
        elf = folder / "cubist.elf"
        shown = _output([f"{self.tools}size", elf])
        text, data, bss = (int(word) for word in shown.splitlines()[1].split()[:3])
        return BuiltFirmware(board, elf, folder / "cubist.hex", text + data, data + bss)

    def address(self, elf: Path, symbol: str) -> int:
        """Return the address of a routine in the flash; raises :class:`FirmwareError`."""
        for line in _output([f"{self.tools}nm", elf]).splitlines():
            if line.endswith(f" {symbol}"):
                return int(line.split()[0], 16)
        raise FirmwareError(f"{elf} has no symbol {symbol}")

    def find_drive(self) -> Path | None:
        """Return the drive of a board that waits for its firmware; None if no board waits."""
        return None

    def flash_command(self, built: BuiltFirmware, port: str) -> list[str]:
        """Return the command that puts a firmware on the board at a port."""
        raise NotImplementedError

    def flash_error(self, stderr: str) -> str:
        """Return the last reason that the flash command gave; empty if it gave none."""
        return next((line.strip() for line in reversed(stderr.splitlines()) if line.strip()), "")

    def flash(self, built: BuiltFirmware, port: str) -> None:
        """Put a firmware on the board at a serial port; raises :class:`FirmwareError`."""
        require(self.flash_packages)
        if Path(port).exists() and not os.access(port, os.R_OK | os.W_OK):
            raise FirmwareError(f"{port}: no permission. {JOIN_GROUP}")
        command = self.flash_command(built, port)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = self.flash_error(done.stderr) or f"{command[0]} gave no reason"
            raise FirmwareError(
                f"flashing {built.board.title} at {port} failed: {reason}. Is it the right board "
                "and port, and is cubistd stopped (systemctl stop cubistd)?"
            )


FAMILIES: Kinds[BoardFamily] = Kinds(
    "family of boards",
    "robot.computer.families.{kind}",
    tuple(sorted(path.stem for path in Path(__file__).with_name("families").glob("[!_]*.py"))),
)
"""Families by the name of their module in ``families/``, which registers itself."""


def family_of(target: str) -> BoardFamily:
    """Return the family of a ``firmware.target``; raises ``InvalidRequest`` if there is none."""
    found = next((family for family in FAMILIES.values() if target in family.targets), None)
    if found is None:
        known = ", ".join(name for family in FAMILIES.values() for name in family.targets)
        raise InvalidRequest(f"firmware.target: {target!r} does not exist; choose from {known}")
    return found


def firmware_boards() -> dict[str, FirmwareBoard]:
    """Return all boards that firmware is built for and flashed to, by name."""
    return {board.name: board for family in FAMILIES.values() for board in family.boards}


def simulations() -> dict[str, BoardSimulation]:
    """Return all ways to run the firmware for a simulated robot, by name."""
    return {name: one for family in FAMILIES.values() for name, one in family.simulations.items()}


def board_for(profile: RobotProfile, name: str = FIRST_BOARD) -> FirmwareBoard:
    """Return the board that a robot's target names; else the first kind that has all its pins."""
    actuators = profile.actuators_at(name).values()
    used = [pin for one in actuators for pin in one.connections.values()]
    target = profile.every_board[name].target
    boards = sorted(firmware_boards().values(), key=lambda board: board.target != target)
    roomy = (board for board in boards if all(map(BOARD_TARGETS[board.target].has_pin, used)))
    return next(roomy, boards[0])


def build(name: str) -> BuiltFirmware:
    """Build the firmware of a board; raises :class:`FirmwareError`."""
    board = firmware_boards()[name]
    return family_of(board.target).build(board)


def missing(packages: Sequence[DebianPackage]) -> list[str]:
    """Return the names of the packages that are not installed."""
    return [package.name for package in packages if not package.is_installed()]


def require(packages: Sequence[DebianPackage]) -> None:
    """Raise :class:`FirmwareError` that names all of these packages that are missing."""
    absent = missing(packages)
    if absent:
        command = f"sudo apt install {' '.join(absent)}"
        raise FirmwareError(f"{', '.join(absent)} not installed. Install with:\n  {command}")


def sources() -> Path:
    """Return the folder of the firmware's sources: the checkout's, or the installed copy."""
    for folder in (
        Path(__file__).resolve().parents[2] / "firmware",
        Path(sys.prefix) / "share" / "cubist" / "firmware",
    ):
        if (folder / "core").is_dir():
            return folder
    raise FirmwareError("the sources of the firmware are not installed")


def build_folder(board: str) -> Path:
    """Return the build folder of a board: beside the sources, else in the user's cache."""
    parent = sources().parent
    if (parent / "pyproject.toml").is_file() and os.access(parent, os.W_OK):
        return parent / "build" / f"firmware-{board}"
    return cache_directory() / f"firmware-{board}"


def executable(name: str) -> str:
    """Return the path of a program installed with Cubist; raises :class:`FirmwareError`."""
    found = find_executable(name)
    if found is None:
        raise FirmwareError(f"{name} is not installed; run `make build` in the checkout")
    return found


def find_executable(name: str) -> str | None:
    """Return the path of a program installed with Cubist; None if it is missing."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.is_file() else shutil.which(name)


def ask(port: str, baud: int) -> Capabilities:
    """Return the capabilities that the board at a port reports; raises the link's faults."""
    link = LinkThread(lambda: Link(SerialTransport(port, baud), ()))
    try:
        return link.wait(link.link.open())
    finally:
        link.close()


def matches(capabilities: Capabilities) -> bool:
    """True if the board runs the firmware that came with this program."""
    return capabilities.firmware_version == FIRMWARE_VERSION


@contextlib.contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Keep others from building in a folder; raises :class:`FirmwareError` if it is unusable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise FirmwareError(f"the firmware cannot be built in {folder}: {error}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _output(command: Sequence[str | Path]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
