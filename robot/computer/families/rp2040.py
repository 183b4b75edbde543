"""Boards with an RP2040, such as the Raspberry Pi Pico: built by GCC, simulated by rp2040js."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator
from pathlib import Path

from robot.computer.board_family import (
    FAMILIES,
    BoardFamily,
    BoardSimulation,
    BuiltFirmware,
    DebianPackage,
    FirmwareBoard,
    FirmwareError,
    executable,
    missing,
    sources,
)
from robot.settings import RobotProfile

MAIN_LOOP = "firmware_poll"
"""What the main loop of the firmware calls; it hangs there when told to."""
NODE = DebianPackage.with_program("nodejs", "node")
FLASH_START = 0x10000000
BOOT_STAGE_BYTES = 256
"""What the chip's ROM loads first: 252 bytes and their checksum."""
UF2_BLOCK = struct.Struct("<8I476sI")
UF2_START, UF2_SECOND, UF2_END = 0x0A324655, 0x9E5D5157, 0x0AB16F30
UF2_NAMES_FAMILY = 0x2000
UF2_FAMILY = 0xE48BFF56
UF2_PAYLOAD = 256


def boot_checksum(stage: bytes) -> int:
    """Return the checksum that the chip's ROM wants: a CRC-32 that is neither reflected nor
    inverted.
    """
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
    """The very image that is flashed, instruction by instruction."""

    about = "the RP2040's own image under rp2040js"
    runs_as_granted = True

    def command(self, profile: RobotProfile, folder: Path) -> list[str]:
        """Build the firmware and return the command that simulates it."""
        del profile, folder
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

    def is_for(self, profile: RobotProfile) -> bool:
        """False: without ``--firmware`` the firmware of this computer stands for it."""
        del profile
        return False


class Rp2040Family(BoardFamily):
    """Raspberry Pi Pico, and boards like it."""

    def build(self, board: FirmwareBoard) -> BuiltFirmware:
        """Build the firmware of a board as a UF2 file; raises :class:`FirmwareError`."""
        built = super().build(board)
        image = built.image.with_suffix(".uf2")
        blocks = b"".join(uf2_blocks(with_checksum(built.image.with_suffix(".bin").read_bytes())))
        if not image.exists() or image.read_bytes() != blocks:
            new = image.with_suffix(".new")
            new.write_bytes(blocks)
            new.replace(image)
        # All of the program runs in the RAM.
        in_ram = built.flash_bytes + built.static_ram_bytes
        return dataclasses.replace(built, image=image, static_ram_bytes=in_ram)

    def flash(self, built: BuiltFirmware, port: str) -> None:
        """Raise :class:`FirmwareError` that says how a person copies the image to the board."""
        raise FirmwareError(
            f"plug the {built.board.title} in by USB with its BOOTSEL button held down, and copy "
            f"{built.image} to the drive that appears"
        )


RP2040 = Rp2040Family(
    folder="rp2040",
    targets=("rp2040",),
    boards=(FirmwareBoard("pico", "Raspberry Pi Pico", "rp2040", 2_097_152, 270_336),),
    tools="arm-none-eabi-",
    build_packages=(
        DebianPackage.with_program("make"),
        DebianPackage.with_program("gcc-arm-none-eabi", "arm-none-eabi-gcc"),
    ),
    simulations={"rp2040": Rp2040Simulation()},
)
FAMILIES["rp2040"] = RP2040
