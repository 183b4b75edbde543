"""Arduinos with an AVR: built by avr-gcc, flashed by avrdude, simulated by simavr."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robot.computer.board_family import (
    FAMILIES,
    BoardFamily,
    BoardSimulation,
    BuiltFirmware,
    DebianPackage,
    FirmwareBoard,
    FirmwareError,
    board_for,
    executable,
    find_executable,
    missing,
)
from robot.settings import RobotProfile
from robot.settings.profile import FIRST_BOARD

AVR_HEADER = Path("/usr/lib/avr/include/avr/io.h")
"""A file of avr-libc, where Debian has it."""
SIMAVR_PACKAGES = ("libsimavr-dev", "libelf-dev")
"""Debian packages that the build needs for the simulation of the AVR."""
MAIN_LOOP = "firmware_poll"
"""The function that the firmware's main loop calls; the simulation can make it hang here."""
ARDUINO = {0x2341: "Arduino", 0x2A03: "Arduino"}
"""Vendors of boards whose USB product number identifies them."""
ADAPTERS = {0x1A86: "CH340", 0x10C4: "CP210x", 0x0403: "FT232"}
"""Vendors of the adapters on other boards, which do not identify the board."""
PRODUCTS: Mapping[int, str] = {
    **dict.fromkeys((0x0001, 0x0043, 0x0243), "uno"),
    **dict.fromkeys((0x0010, 0x0042, 0x0242), "mega"),
}


@dataclass(frozen=True, slots=True)
class Programmer:
    """The bootloader's protocol, as avrdude names it, and its speed."""

    protocol: str
    baud: int = 115_200


_PROGRAMMERS = {"uno": Programmer("arduino"), "mega": Programmer("wiring")}


def _has_avr_libc() -> bool:
    """Look for the header wherever the compiler does; without a compiler, where Debian has it."""
    if shutil.which("avr-gcc") is None:
        return AVR_HEADER.exists()
    command = ["avr-gcc", "-mmcu=atmega328p", "-E", "-include", "avr/io.h", "-x", "c", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class AvrSimulation(BoardSimulation):
    """A simulation of the flashed binary itself, instruction by instruction."""

    about = "the AVR's own binary under simavr"
    runs_as_granted = True

    def command(self, profile: RobotProfile, folder: Path, board: str = FIRST_BOARD) -> list[str]:
        """Build the firmware and return the command that simulates it."""
        del folder
        self._require_packages()
        program = executable("cubist-firmware-avr")
        chosen = board_for(profile, board)
        elf = AVR.build(chosen).elf
        hang = ["--hang-at", f"{AVR.address(elf, MAIN_LOOP):#x}"]
        return [program, "--board", chosen.name, "--elf", str(elf), *hang]

    def _require_packages(self) -> None:
        """Raise an error that names all missing packages for building and simulating at once."""
        built = find_executable("cubist-firmware-avr") is not None
        packages = [*missing(AVR.build_packages), *(() if built else SIMAVR_PACKAGES)]
        if packages:
            again = "" if built else " && make build"
            raise FirmwareError(
                "the AVR's program cannot be simulated: packages are missing. In the checkout, "
                f"run:\n  sudo apt install {' '.join(packages)}{again}"
            )


class AvrFamily(BoardFamily):
    """Arduino Uno, Nano and Mega, and boards like them."""

    def flash_command(self, built: BuiltFirmware, port: str) -> list[str]:
        """Return the ``avrdude`` command."""
        programmer = _PROGRAMMERS[built.board.name]
        return [
            "avrdude",
            *("-p", built.board.target),
            *("-c", programmer.protocol),
            *("-P", port),
            *("-b", str(programmer.baud)),
            "-D",
            *("-U", f"flash:w:{built.image}:i"),
        ]

    def flash_error(self, stderr: str) -> str:
        """Return avrdude's last line before its "avrdude done", or "Avrdude done" since 7.3."""
        lines = stderr.splitlines()
        reasons = [line for line in lines if not line.lower().startswith("avrdude done")]
        return super().flash_error("\n".join(reasons))


AVR = AvrFamily(
    folder="avr",
    targets=("atmega328p", "atmega2560"),
    boards=(
        FirmwareBoard("uno", "Arduino Uno or Nano", "atmega328p", 32_256, 2_048),
        FirmwareBoard("mega", "Arduino Mega 2560", "atmega2560", 253_952, 8_192),
    ),
    tools="avr-",
    build_packages=(
        DebianPackage.with_program("make"),
        DebianPackage.with_program("gcc-avr", "avr-gcc"),
        DebianPackage("avr-libc", _has_avr_libc),
    ),
    flash_packages=(DebianPackage.with_program("avrdude"),),
    usb_vendors={**ARDUINO, **ADAPTERS},
    usb_products={
        (vendor, product): board for vendor in ARDUINO for product, board in PRODUCTS.items()
    },
    simulations={"avr": AvrSimulation()},
)
FAMILIES["avr"] = AVR
