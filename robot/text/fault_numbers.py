"""Numbers of faults on the wire.

Generated from firmware/protocol.toml by firmware/tools/generate_protocol.py; do not edit.
"""

from __future__ import annotations

from enum import IntEnum


class Fault(IntEnum):
    """A fault of board or link, by its code on the wire."""

    NONE = 0
    """Nothing is wrong."""
    EMERGENCY_STOP = 1
    """Emergency stop."""
    HOST_LOST = 2
    """The Raspberry Pi fell silent."""
    HOME_MISSING = 3
    """The end stop was never reached."""
    HOME_STUCK = 4
    """The end stop stays active."""
    NOT_HOMED = 5
    """An actuator that is not homed was commanded to turn."""
    BAD_STATE = 6
    """A command arrived in a state that does not allow it."""
    BAD_MESSAGE = 7
    """A message is malformed or unknown."""
    BAD_CONFIG = 8
    """The configuration of an actuator is impossible."""
    CONFIG_CRC = 9
    """The configuration arrived damaged."""
    PROFILE_CRC = 10
    """A motion profile arrived damaged."""
    PROFILE_SPACE = 11
    """Too many motion profiles for this microcontroller."""
    BAD_PROFILE = 12
    """A motion profile is impossible."""
    BAD_TURN = 13
    """A turn names a profile or actuator that does not exist."""
    OUT_OF_RANGE = 14
    """A turn leaves the limits of an actuator."""
    OVERLOAD = 15
    """The step interrupt could not keep up."""
    NOT_IN_PLACE = 16
    """An actuator is not where its turn should have ended."""
    PULSE_MISSING = 17
    """A servo's channel does not exist."""
    PULSE_REFUSED = 18
    """A servo's channel cannot be used."""
    PULSE_FAILED = 19
    """A servo's pulse could not be set."""
    LINE_REFUSED = 20
    """A line of the Raspberry Pi cannot be used."""
    PULSE_LIMITED = 21
    """A servo controller limits a pulse that it was sent."""
    PULSE_SILENT = 22
    """A servo controller does not answer."""
    DRIVER_SILENT = 23
    """A stepper driver does not answer."""
    DRIVER_RESET = 24
    """A stepper driver was reset and lost its settings."""
    DRIVER_VOLTAGE = 25
    """The supply voltage of a stepper driver is too low."""
    DRIVER_HOT = 26
    """A stepper driver switched itself off because it is too hot."""
    DRIVER_GROUND_A = 27
    """Coil A of a motor has a short to ground."""
    DRIVER_GROUND_B = 28
    """Coil B of a motor has a short to ground."""
    DRIVER_SUPPLY_A = 29
    """Coil A of a motor has a short to the supply, or between its wires."""
    DRIVER_SUPPLY_B = 30
    """Coil B of a motor has a short to the supply, or between its wires."""
    DRIVER_OPEN_A = 31
    """Coil A of a motor is not connected."""
    DRIVER_OPEN_B = 32
    """Coil B of a motor is not connected."""
    HOME_BLOCKED = 33
    """A motor stalls at once in both directions."""
    PORT_MISSING = 64
    """The serial port does not exist."""
    PORT_REFUSED = 65
    """The serial port cannot be opened."""
    NO_ANSWER = 66
    """The microcontroller does not answer."""
    WRONG_PROTOCOL = 67
    """The firmware speaks another version of the protocol."""
    LINK_LOST = 68
    """The connection to the microcontroller broke."""
    RESET = 69
    """The microcontroller was reset."""
    BEYOND_BOARD = 70
    """The plan is beyond what this microcontroller can do."""
    BAD_SCHEDULE = 71
    """The plan cannot be sent."""
    STOPPED = 72
    """The plan was stopped before its end."""
    HUNG = 73
    """The firmware hung and was reset by its watchdog."""
    BROWN_OUT = 74
    """The supply voltage broke down."""
    BOARD_ABSENT = 76
    """The program that drives the Raspberry Pi's pins is not running."""
    CLOCKS_APART = 77
    """The boards' clocks do not agree."""
    WRONG_FIRMWARE = 75
    """The firmware does not belong to this program."""
