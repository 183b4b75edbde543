"""Which firmware process a demo runs: built for this computer, or the AVR's program in simavr."""

from __future__ import annotations

from robot.machine import firmware_build
from robot.settings import RobotProfile
from robot.simulate.processes import DemoFault, executable, find_executable

SIMULATING = ("libsimavr-dev", "libelf-dev")
"""Debian packages with which the build makes the simulation of the AVR."""
MAIN_LOOP = "firmware_poll"
"""What the main loop of the firmware calls; it hangs there when told to."""


def firmware_command(kind: str, profile: RobotProfile) -> list[str]:
    """The program and its own options for ``kind`` ``host`` or ``avr``.

    Raises :class:`DemoFault` that says what to install, and whatever
    :func:`robot.machine.firmware_build.build` raises.
    """
    if kind == "avr":
        _require_simulation()
    program = executable(f"cubist-firmware-{kind}")
    if kind == "host":
        return [program]
    board = firmware_build.board_for(profile)
    elf = firmware_build.build(board).elf
    hang = ["--hang-at", f"{firmware_build.address(elf, MAIN_LOOP):#x}"]
    return [program, "--board", board, "--elf", str(elf), *hang]


def _require_simulation() -> None:
    """All that is missing at once: what builds the AVR's program and what simulates it."""
    built = find_executable("cubist-firmware-avr") is not None
    packages = [*firmware_build.missing(firmware_build.BUILDING), *(() if built else SIMULATING)]
    if not packages:
        return
    again = "" if built else " && make build"
    raise DemoFault(
        "the AVR's program cannot be simulated: packages are missing. In the checkout, "
        f"run:\n  sudo apt install {' '.join(packages)}{again}"
    )
