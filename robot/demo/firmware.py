"""Which firmware process a demo runs: built for this computer, or the AVR's program in simavr."""

from __future__ import annotations

from typing import Literal

from robot import firmware
from robot.demo.children import executable
from robot.settings import RobotProfile
from robot.settings.actuators import Servo, Stepper

LAST_UNO_PIN = 19
MAIN_LOOP = "firmware_poll"
"""What the main loop of the firmware calls; it hangs there when told to."""


def firmware_command(kind: str, profile: RobotProfile) -> list[str]:
    """The program and its own options for ``kind`` ``host`` or ``avr``.

    Raises :class:`DemoFault` when it is not installed, and what :func:`robot.firmware.build` does.
    """
    program = executable(f"cubist-firmware-{kind}")
    if kind == "host":
        return [program]
    board = board_for(profile)
    elf = firmware.build(board).elf
    hang = ["--hang-at", f"{firmware.address(elf, MAIN_LOOP):#x}"]
    return [program, "--board", board, "--elf", str(elf), *hang]


def board_for(profile: RobotProfile) -> Literal["uno", "mega"]:
    """``uno``, or ``mega`` where the profile asks for it or has more pins than an Uno."""
    pins = [
        pin
        for actuator in profile.actuators.values()
        if isinstance(actuator, Servo | Stepper)
        for pin in actuator.pins.model_dump().values()
        if pin is not None
    ]
    needs_mega = profile.firmware.target == "atmega2560" or max(pins, default=0) > LAST_UNO_PIN
    return "mega" if needs_mega else "uno"
