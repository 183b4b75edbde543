"""Boards with an RP2040, such as the Raspberry Pi Pico: built by GCC, simulated by rp2040js."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from robot.computer.board_family import (
    FAMILIES,
    BoardFamily,
    BoardSimulation,
    BuiltFirmware,
    DebianPackage,
    FirmwareBoard,
    FirmwareError,
    ask,
    executable,
    matches,
    missing,
    sources,
)
from robot.computer.computer import CheckResult, Computer
from robot.link import Link, LinkThread, SerialTransport, touch_port
from robot.settings import RobotProfile
from robot.settings.profile import FIRST_BOARD
from robot.text.faults import RobotError
from robot.text.messages import Note
from solver.files import BadFile, read_file, read_text

MAIN_LOOP = "firmware_poll"
"""The function that the firmware's main loop calls; the simulation can make it hang here."""
NODE = DebianPackage.with_program("nodejs", "node")
BAUD = 500_000
DRIVE_LIMIT_S = 15.0
RASPBERRY_PI = 0x2E8A
"""USB vendor. A Pico has product 0003 in its bootloader, and 000a with our firmware or any other
program for the chip that has a serial port on USB."""
PORT_LIMIT_S = 15.0
"""Maximum seconds from flashing a firmware to its first answer."""
ASK_EVERY_S = 0.2
BY_HAND = "Plug the Pico in by USB with its BOOTSEL button held down, then flash it again."
"""Remedy if a board cannot be asked to restart into its bootloader."""
DISK = ("RPI", "RP2")
"""Maker and model of the disk that the chip's ROM pretends to be."""
ABOUT_DRIVE = "INFO_UF2.TXT"
"""A file that the ROM shows on its drive."""
FLASH_START = 0x10000000
BOOT_STAGE_BYTES = 256
"""Size of the part that the chip's ROM loads first: 252 bytes and their checksum."""
UF2_BLOCK = struct.Struct("<8I476sI")
UF2_START, UF2_SECOND, UF2_END = 0x0A324655, 0x9E5D5157, 0x0AB16F30
UF2_NAMES_FAMILY = 0x2000
UF2_FAMILY = 0xE48BFF56
UF2_PAYLOAD = 256
FLASH_BYTES, RAM_BYTES = 2_097_152, 270_336
LARGEST_FILE = 1 << 22
"""Maximum bytes of an image; the chip's RAM holds less than a tenth of that."""


def boot_checksum(stage: bytes) -> int:
    """Return the checksum that the chip's ROM expects: a CRC-32, neither reflected nor inverted."""
    crc = 0xFFFFFFFF
    for byte in stage:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc


def with_checksum(program: bytes) -> bytes:
    """Return the content of the flash with the checksum of its boot stage."""
    stage = program[: BOOT_STAGE_BYTES - 4]
    return stage + struct.pack("<I", boot_checksum(stage)) + program[BOOT_STAGE_BYTES:]


def uf2_blocks(flash: bytes) -> Iterator[bytes]:
    """Cut the content of the flash into blocks of a UF2 file."""
    count = -(-len(flash) // UF2_PAYLOAD)
    for number in range(count):
        start = number * UF2_PAYLOAD
        payload = flash[start : start + UF2_PAYLOAD].ljust(UF2_PAYLOAD, b"\0")
        yield UF2_BLOCK.pack(
            *(UF2_START, UF2_SECOND, UF2_NAMES_FAMILY),
            *(FLASH_START + start, UF2_PAYLOAD, number, count, UF2_FAMILY),
            *(payload, UF2_END),
        )


class Rp2040Simulation(BoardSimulation):
    """A simulation of the flashed image itself, instruction by instruction."""

    about = "the RP2040's own image under rp2040js"
    runs_as_granted = True

    def command(self, profile: RobotProfile, folder: Path, board: str = FIRST_BOARD) -> list[str]:
        """Build the firmware and return the command that simulates it."""
        del profile, folder, board
        library = sources().parent / "build/rp2040js/node_modules/rp2040js"
        absent = missing([*RP2040.build_packages, NODE])
        if absent or not library.is_dir():
            names = ", ".join([*absent, *([] if library.is_dir() else ["rp2040js"])])
            raise FirmwareError(
                f"the RP2040's program cannot be simulated: {names} not installed. In the "
                "checkout, run:\n  make pico"
            )
        built = RP2040.build(RP2040.boards[0])
        return [
            executable("cubist-firmware-rp2040"),
            *("--image", str(built.image)),
            *("--emulator", str(sources() / "rp2040/rp2040js/emulator.mjs")),
            *("--library", str(library)),
            *("--hang-at", f"{RP2040.address(built.elf, MAIN_LOOP):#x}"),
        ]

    def wire(self, profile: RobotProfile) -> RobotProfile:
        """Return the robot wired to GPIOs of the same numbers."""
        own = profile.firmware.target in RP2040.targets
        return profile if own else profile.with_board("rp2040")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Rp2040Family(BoardFamily):
    """Raspberry Pi Pico, and boards like it.

    ``drive``: the drive of a board in its bootloader, one of ``disks``; ``mounts`` lists where it
    is mounted. ``usb_port``: the port of a board with our firmware on USB. ``by_path``: ports by
    their sockets.
    """

    drive: Path = Path("/dev/disk/by-label/RPI-RP2")
    usb_port: Path = Path("/dev/serial/by-id/usb-Cubist_Pico-if00")
    by_path: Path = Path("/dev/serial/by-path")
    mounts: Path = Path("/proc/self/mounts")
    disks: Path = Path("/sys/block")

    def build(self, board: FirmwareBoard) -> BuiltFirmware:
        """Build the firmware of a board as a UF2 file; raises :class:`FirmwareError`."""
        built = super().build(board)
        image = built.image.with_suffix(".uf2")
        blocks = b"".join(
            uf2_blocks(with_checksum(read_file(built.image.with_suffix(".bin"), LARGEST_FILE)))
        )
        if not image.exists() or read_file(image, LARGEST_FILE) != blocks:
            new = image.with_suffix(".new")
            new.write_bytes(blocks)
            new.replace(image)
        # The whole program runs in the RAM.
        in_ram = built.flash_bytes + built.static_ram_bytes
        return dataclasses.replace(built, image=image, static_ram_bytes=in_ram)

    def udev_rules(self) -> Sequence[str]:
        """Return the rule that gives the drive of a board in its bootloader to our group."""
        return (
            "# A Pico in its bootloader: a drive that takes its firmware.",
            (
                f'SUBSYSTEM=="block", ENV{{ID_USB_VENDOR_ID}}=="{RASPBERRY_PI:04x}", '
                'ENV{ID_USB_MODEL_ID}=="0003", GROUP="dialout", MODE="0660", TAG+="uaccess"'
            ),
        )

    def find_drive(self) -> Path | None:
        """Return the drive of a board that waits in its bootloader."""
        return self.drive if self.drive.exists() else None

    def check_computer(self, profile: RobotProfile, computer: Computer) -> Iterator[CheckResult]:
        """Check that no board waits for a firmware."""
        del profile, computer
        if self.find_drive() is not None:
            yield CheckResult("firmware", "bad", Note.of("pico-waits"), "cubist firmware flash")

    def flash(self, built: BuiltFirmware, port: str) -> None:
        """Copy the image to the board's drive, and check the firmware that runs afterwards.

        ``port`` is the drive, or the serial port of a running board, which is asked to restart into
        its bootloader: on USB by 1200 baud, which other programs for the chip also understand.
        Raises :class:`FirmwareError`.
        """
        if Path(port) == self.drive:
            port = str(self.usb_port)
        elif self.find_drive() is not None:
            raise FirmwareError(
                f"a board is already waiting in its bootloader at {self.drive}, and would get the "
                f"image instead of the one at {port}. Flash it without --port, or unplug it."
            )
        else:
            at_usb = Path(port).resolve().name.startswith("ttyACM")
            lasting = str(self._find_socket(port)) if at_usb else port
            self._restart(port, at_usb)
            port = lasting
        self._require_one_disk()
        with self._mount_drive() as folder:
            if not (folder / ABOUT_DRIVE).exists():
                raise FirmwareError(
                    f"{self.drive} is not the drive of a Pico: it has no {ABOUT_DRIVE}. {BY_HAND}"
                )
            try:
                shutil.copyfile(built.image, folder / built.image.name)
            except OSError as error:
                raise FirmwareError(
                    f"{built.image} cannot be copied to {folder}: {error}. {BY_HAND}"
                ) from error
            os.sync()
        if not self._wait_for_drive(False):
            raise FirmwareError("the Pico did not take the image; pull it out and try again")
        self._check_version(port)

    def _require_one_disk(self) -> None:
        """Raise :class:`FirmwareError` if several boards wait: their drives have the same label."""
        waiting = []
        for disk in self.disks.glob("*/device"):
            with contextlib.suppress(BadFile):
                files = [disk / name for name in ("vendor", "model")]
                names = tuple(read_text(file, LARGEST_FILE).strip() for file in files)
                waiting += [disk.parent.name] if names == DISK else []
        if len(waiting) > 1:
            raise FirmwareError(
                f"{len(waiting)} boards are in their bootloaders ({', '.join(sorted(waiting))}), "
                "and nothing tells them apart. Unplug all but the one to flash."
            )

    def _find_socket(self, port: str) -> Path:
        """Return a name that a USB port has again after a restart.

        That is the name of its socket, as two boards look the same.
        """
        links = self.by_path.glob("*")
        here = (link for link in links if link.resolve() == Path(port).resolve())
        return next(here, self.usb_port)

    def _restart(self, port: str, at_usb: bool) -> None:
        """Restart a board that runs into its bootloader."""
        try:
            if at_usb:
                touch_port(port)
            else:
                _order_bootloader(port)
        except RobotError as fault:
            raise FirmwareError(f"{fault} {BY_HAND}") from fault
        if not self._wait_for_drive(True):
            raise FirmwareError(
                f"the Pico at {port} was asked to restart, but its drive did not appear. It does "
                f"not restart while anything moves. {BY_HAND}"
            )

    def _check_version(self, port: str) -> None:
        """Wait for the new firmware's answer and check that it is ours."""
        deadline = time.monotonic() + PORT_LIMIT_S
        while True:
            try:
                found = ask(port, BAUD)
                break
            except RobotError as fault:  # its port is missing or not accessible yet
                if time.monotonic() > deadline:
                    raise FirmwareError(
                        f"the Pico's drive went away, but no firmware answers: {fault} If its "
                        f"cable was out meanwhile: {BY_HAND}"
                    ) from fault
            time.sleep(ASK_EVERY_S)
        if not matches(found):
            raise FirmwareError(f"the Pico at {port} still runs another firmware")

    def _wait_for_drive(self, there: bool) -> bool:
        """Wait until the drive is there, or is not; return False on a timeout."""
        deadline = time.monotonic() + DRIVE_LIMIT_S
        while self.drive.exists() != there:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    @contextlib.contextmanager
    def _mount_drive(self) -> Iterator[Path]:
        """Yield the folder of the drive; if it is not mounted, root mounts it for the body."""
        device = str(self.drive.resolve())
        for line in read_text(self.mounts, LARGEST_FILE).splitlines():
            if line.split()[0] == device:
                yield Path(line.split()[1].encode().decode("unicode_escape"))
                return
        with tempfile.TemporaryDirectory(prefix="cubist-pico-") as folder:
            command = ["mount", device, folder]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                raise FirmwareError(
                    f"{device} is not mounted: sudo cubist firmware flash --board pico does that"
                )
            try:
                yield Path(folder)
            finally:
                subprocess.run(["umount", folder], capture_output=True, check=False)


def _order_bootloader(port: str) -> None:
    """Restart a board into its bootloader by a message of our protocol."""
    link = LinkThread(lambda: Link(SerialTransport(port, BAUD), ()))
    try:
        link.wait(link.link.open())
        link.wait(link.link.enter_bootloader())
    finally:
        link.close()


RP2040 = Rp2040Family(
    folder="rp2040",
    targets=("rp2040", "skr-pico"),
    boards=(
        FirmwareBoard("pico", "Raspberry Pi Pico", "rp2040", FLASH_BYTES, RAM_BYTES),
        FirmwareBoard("skr-pico", "SKR Pico", "skr-pico", FLASH_BYTES, RAM_BYTES),
    ),
    tools="arm-none-eabi-",
    build_packages=(
        DebianPackage.with_program("make"),
        DebianPackage.with_program("gcc-arm-none-eabi", "arm-none-eabi-gcc"),
    ),
    usb_vendors={RASPBERRY_PI: "Raspberry Pi"},
    about_new=f"A new Pico has no port yet. {BY_HAND}",
    simulations={"rp2040": Rp2040Simulation()},
)
FAMILIES["rp2040"] = RP2040
