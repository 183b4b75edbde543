"""Which firmware process a demo runs, and what its outputs go through to the simulated robot."""

from __future__ import annotations

from pathlib import Path

from robot.machine import firmware_build
from robot.settings import RobotProfile, Servo
from robot.settings.checks import check_profile
from robot.simulate.processes import DemoFault, executable, find_executable
from robot.twin.pwm import PwmChips
from robot.twin.simulated import SimulatedRobot

FIRMWARES = ("host", "avr", "linux")
"""The firmware built for this computer, the AVR's program in simavr, the Raspberry Pi's process."""
SIMULATING = ("libsimavr-dev", "libelf-dev")
"""Debian packages with which the build makes the simulation of the AVR."""
MAIN_LOOP = "firmware_poll"
"""What the main loop of the firmware calls; it hangs there when told to."""
CHIPS = "pwm"
"""The folder of the simulated PWM chips, in that of the demo."""


def own_firmware(profile: RobotProfile) -> str:
    """What simulates the profile's own board. An Arduino's is the firmware of this computer: the
    same program, without the hours that single instructions take."""
    target = profile.firmware.target
    return target if target in FIRMWARES else "host"


def at_board(kind: str, profile: RobotProfile) -> RobotProfile:
    """The robot wired to the board of firmware ``kind``, at pins of the same numbers.

    Raises :class:`DemoFault` when that board cannot drive it.
    """
    if kind in ("host", "avr", profile.firmware.target):
        return profile
    moved = profile.on_board(kind)
    for path, text in check_profile(moved):
        place = ".".join(map(str, path))
        raise DemoFault(f"{profile.name} cannot be driven by {kind}: {place}: {text}")
    return moved


def firmware_command(kind: str, profile: RobotProfile, folder: Path) -> list[str]:
    """The program and its own options for one of :data:`FIRMWARES`, in a demo's folder.

    Raises :class:`DemoFault` that says what to install, and whatever
    :func:`robot.machine.firmware_build.build` raises.
    """
    if kind == "avr":
        _require_simulation()
    program = executable(f"cubist-firmware-{kind}")
    if kind == "host":
        return [program]
    if kind == "linux":
        return [program, "--pwm", str(folder / CHIPS)]
    board = firmware_build.board_for(profile)
    elf = firmware_build.build(board).elf
    hang = ["--hang-at", f"{firmware_build.address(elf, MAIN_LOOP):#x}"]
    return [program, "--board", board, "--elf", str(elf), *hang]


def pulse_chips(kind: str, robot: SimulatedRobot, folder: Path) -> PwmChips | None:
    """What makes the servos' pulses, if the firmware only says how long they are."""
    if kind != "linux":
        return None
    pins = [servo.pins.pulse for servo in robot.profile.actuators_of(Servo).values()]
    return PwmChips(folder / CHIPS, pins, robot.pin_changed)


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
