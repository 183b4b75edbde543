"""Faults by their code on the wire, with cause and remedy.

Generated from firmware/protocol.toml by firmware/tools/generate_protocol.py; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from robot.outcomes import Outcome


class FaultRow(NamedTuple):
    """What a fault is, what usually causes it, what to do about it, and how a job ends by it.

    ``recoverable``: homing and starting over may help.
    """

    about: str
    cause: str
    remedy: str
    outcome: Outcome
    recoverable: bool


class Fault(IntEnum):
    """What can go wrong, by the code on the wire."""

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
    """A turn was asked of an actuator that is not homed."""
    BAD_STATE = 6
    """A command came in a state that does not allow it."""
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
    """A turn names a profile or actuator that is not there."""
    OUT_OF_RANGE = 14
    """A turn leaves the limits of an actuator."""
    OVERLOAD = 15
    """The step interrupt could not keep up."""
    NOT_IN_PLACE = 16
    """An actuator is not where its turn should have ended."""
    PORT_MISSING = 64
    """The serial port is not there."""
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
    WRONG_FIRMWARE = 75
    """The firmware is not the one of this program."""


WIRE_FAULTS: Mapping[Fault, FaultRow] = {
    Fault.EMERGENCY_STOP: FaultRow(
        "emergency stop",
        "somebody or the daemon asked for it",
        "see that nothing is jammed and that all stands square, then start again: it homes first",
        Outcome.FAULT,
        False,
    ),
    Fault.HOST_LOST: FaultRow(
        "the Raspberry Pi fell silent",
        "the daemon died, the cable was pulled, or the Pi is overloaded",
        "check cable and power of the Pi, then start again",
        Outcome.FAULT,
        True,
    ),
    Fault.HOME_MISSING: FaultRow(
        "the end stop was never reached",
        "the end stop is unplugged or broken, or the motor does not turn",
        "check motor power and the end stop's wiring, then start again",
        Outcome.JAMMED,
        True,
    ),
    Fault.HOME_STUCK: FaultRow(
        "the end stop stays active",
        "its polarity is set wrong, it is stuck, or its wire is shorted",
        "check endstop_active in the profile and the switch, then start again",
        Outcome.JAMMED,
        True,
    ),
    Fault.NOT_HOMED: FaultRow(
        "a turn was asked of an actuator that is not homed",
        "the microcontroller was reset or stopped since the last homing",
        "start again: the robot homes first",
        Outcome.FAULT,
        True,
    ),
    Fault.BAD_STATE: FaultRow(
        "a command came in a state that does not allow it",
        "the host lost track of the microcontroller",
        "start again: the robot connects anew; report it if it comes again",
        Outcome.FAULT,
        True,
    ),
    Fault.BAD_MESSAGE: FaultRow(
        "a message is malformed or unknown",
        "host and firmware were built from different sources",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
        True,
    ),
    Fault.BAD_CONFIG: FaultRow(
        "the configuration of an actuator is impossible",
        "a pin or a limit in the profile that this board does not have",
        "check pins and limits of the named actuator",
        Outcome.FAULT,
        False,
    ),
    Fault.CONFIG_CRC: FaultRow(
        "the configuration arrived damaged",
        "host and firmware disagree about the messages",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
        True,
    ),
    Fault.PROFILE_CRC: FaultRow(
        "a motion profile arrived damaged",
        "host and firmware disagree about the messages",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
        True,
    ),
    Fault.PROFILE_SPACE: FaultRow(
        "too many motion profiles for this microcontroller",
        "the plan uses more kinds of motion than fit in its memory",
        "use a board with more memory, or gentler acceleration",
        Outcome.FAULT,
        False,
    ),
    Fault.BAD_PROFILE: FaultRow(
        "a motion profile is impossible",
        "a speed in the profile is beyond the actuator's or the board's limits",
        "check speeds of the actuators",
        Outcome.FAULT,
        False,
    ),
    Fault.BAD_TURN: FaultRow(
        "a turn names a profile or actuator that is not there",
        "the host lost track of the microcontroller",
        "start again: the robot connects anew; report it if it comes again",
        Outcome.FAULT,
        True,
    ),
    Fault.OUT_OF_RANGE: FaultRow(
        "a turn leaves the limits of an actuator",
        "limits or positions in the profile are wrong",
        "check limits_us and the positions of the named actuator, then start again",
        Outcome.FAULT,
        False,
    ),
    Fault.OVERLOAD: FaultRow(
        "the step interrupt could not keep up",
        "more steps per second than this chip can make",
        "lower the speeds, or use fewer axes at a time",
        Outcome.FAULT,
        True,
    ),
    Fault.NOT_IN_PLACE: FaultRow(
        "an actuator is not where its turn should have ended",
        "it is jammed or has lost steps, or its sensor is broken or out of place",
        "free it and see that it turns easily, then start again",
        Outcome.JAMMED,
        True,
    ),
    Fault.PORT_MISSING: FaultRow(
        "the serial port is not there",
        "the microcontroller is unplugged, or the port's name changed",
        "plug it in; `ls /dev/serial/by-id` shows the names",
        Outcome.FAULT,
        False,
    ),
    Fault.PORT_REFUSED: FaultRow(
        "the serial port cannot be opened",
        "another program has it, or the user may not use it",
        "stop the other program; add the user to group dialout",
        Outcome.FAULT,
        False,
    ),
    Fault.NO_ANSWER: FaultRow(
        "the microcontroller does not answer",
        "no Cubist firmware on it, a wrong baud rate, or no power",
        "flash it: cubist firmware flash; check firmware.baud in the profile",
        Outcome.FAULT,
        True,
    ),
    Fault.WRONG_PROTOCOL: FaultRow(
        "the firmware speaks another version of the protocol",
        "the firmware is older or newer than this program",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
        False,
    ),
    Fault.LINK_LOST: FaultRow(
        "the connection to the microcontroller broke",
        "the cable was pulled, or disturbed by the motors",
        "check the cable; use a shorter or shielded one",
        Outcome.FAULT,
        True,
    ),
    Fault.RESET: FaultRow(
        "the microcontroller was reset",
        "its power broke down, its reset button was pressed, or it hung",
        "check the supply; the robot homes and looks at the cube again",
        Outcome.FAULT,
        True,
    ),
    Fault.BEYOND_BOARD: FaultRow(
        "the plan is beyond what this microcontroller can do",
        "too many steps per second, or too many motion profiles",
        "lower max_speed_steps_per_s, or use a bigger board",
        Outcome.FAULT,
        False,
    ),
    Fault.BAD_SCHEDULE: FaultRow(
        "the plan cannot be sent",
        "it names an unknown actuator, or turns of one actuator overlap",
        "report it with the run's record",
        Outcome.FAULT,
        False,
    ),
    Fault.STOPPED: FaultRow(
        "the plan was stopped before its end",
        "somebody asked for it",
        "start again: the robot homes first",
        Outcome.STOPPED,
        True,
    ),
    Fault.HUNG: FaultRow(
        "the firmware hung and was reset by its watchdog",
        "a fault of the firmware, or electrical disturbance",
        "start again: the robot homes first; report it if it comes again",
        Outcome.FAULT,
        True,
    ),
    Fault.BROWN_OUT: FaultRow(
        "the supply voltage broke down",
        "motors and microcontroller share a supply that is too weak",
        "use a stronger supply, or a separate one for the motors",
        Outcome.FAULT,
        True,
    ),
    Fault.WRONG_FIRMWARE: FaultRow(
        "the firmware is not the one of this program",
        "program and firmware were not updated together",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
        False,
    ),
}
"""The faults of the microcontroller and its link."""
