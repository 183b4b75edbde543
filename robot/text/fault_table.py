"""Everything that may go wrong with the robot: cause, remedy, outcome.

Generated from firmware/*.toml by firmware/tools/generate_protocol.py; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from robot.text.outcomes import Outcome


class FaultRow(NamedTuple):
    """What a fault is, what usually causes it, what to do about it, and how a job ends by it.

    ``recoverable``: homing and starting over may help. ``stops_at_once``: it ends motion in its
    middle. ``names_actuator``: its detail on the wire is the number of one.
    ``names_line``: it is the number of a GPIO. ``loses_outputs``: the board has to take its outputs
    anew.
    """

    about: str
    cause: str
    remedy: str
    outcome: Outcome
    recoverable: bool = False
    stops_at_once: bool = False
    names_actuator: bool = False
    loses_outputs: bool = False
    names_line: bool = False


class Fault(IntEnum):
    """What can go wrong with board and link, by the code on the wire."""

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
    PULSE_MISSING = 17
    """A servo's channel is not there."""
    PULSE_REFUSED = 18
    """A servo's channel cannot be used."""
    PULSE_FAILED = 19
    """A servo's pulse could not be set."""
    LINE_REFUSED = 20
    """A line of the Raspberry Pi cannot be used."""
    PULSE_LIMITED = 21
    """A servo controller makes another pulse than it was told."""
    PULSE_SILENT = 22
    """A servo controller does not answer."""
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
    BOARD_ABSENT = 76
    """The program that drives the Raspberry Pi's pins does not run."""
    CLOCKS_APART = 77
    """The boards' clocks do not agree."""
    WRONG_FIRMWARE = 75
    """The firmware is not the one of this program."""


FAULTS: Mapping[str, FaultRow] = {
    "emergency-stop": FaultRow(
        "emergency stop",
        "a person or the daemon requested it",
        "check that nothing is jammed and everything is square, then home the robot: `cubist "
        "home`, or a long press of the button",
        Outcome.FAULT,
        stops_at_once=True,
    ),
    "host-lost": FaultRow(
        "the Raspberry Pi fell silent",
        "the daemon died, the cable was pulled out, or the Pi is overloaded",
        "check the cable and the Pi's power, then start again",
        Outcome.FAULT,
        recoverable=True,
    ),
    "home-missing": FaultRow(
        "the end stop was never reached",
        "the end stop is unplugged or broken, or the motor does not turn",
        "check motor power and the end stop's wiring, then start again",
        Outcome.JAMMED,
        recoverable=True,
        names_actuator=True,
    ),
    "home-stuck": FaultRow(
        "the end stop stays active",
        "its polarity is set wrong, it is stuck, or its wire is shorted",
        "check endstop_active in the profile and the switch, then start again",
        Outcome.JAMMED,
        recoverable=True,
        names_actuator=True,
    ),
    "not-homed": FaultRow(
        "a turn was asked of an actuator that is not homed",
        "the microcontroller was reset or stopped since the last homing",
        "start again: the robot homes first",
        Outcome.FAULT,
        recoverable=True,
        names_actuator=True,
    ),
    "bad-state": FaultRow(
        "a command came in a state that does not allow it",
        "the host lost track of the microcontroller",
        "start again: the robot connects anew; report it if it happens again",
        Outcome.FAULT,
        recoverable=True,
    ),
    "bad-message": FaultRow(
        "a message is malformed or unknown",
        "host and firmware were built from different sources",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
        recoverable=True,
    ),
    "bad-config": FaultRow(
        "the configuration of an actuator is impossible",
        "the profile uses a pin or a limit that this board does not have",
        "check the pins and limits of the named actuator",
        Outcome.FAULT,
        names_actuator=True,
    ),
    "config-crc": FaultRow(
        "the configuration arrived damaged",
        "host and firmware disagree about the format of messages",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
        recoverable=True,
    ),
    "profile-crc": FaultRow(
        "a motion profile arrived damaged",
        "host and firmware disagree about the format of messages",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
        recoverable=True,
    ),
    "profile-space": FaultRow(
        "too many motion profiles for this microcontroller",
        "the plan uses more kinds of motion than fit in its memory",
        "use a board with more memory, or gentler acceleration",
        Outcome.FAULT,
    ),
    "bad-profile": FaultRow(
        "a motion profile is impossible",
        "a speed in the profile is beyond the actuator's or the board's limits",
        "check the speeds of the named actuator",
        Outcome.FAULT,
        names_actuator=True,
    ),
    "bad-turn": FaultRow(
        "a turn names a profile or actuator that is not there",
        "the host lost track of the microcontroller",
        "start again: the robot connects anew; report it if it happens again",
        Outcome.FAULT,
        recoverable=True,
        names_actuator=True,
    ),
    "out-of-range": FaultRow(
        "a turn leaves the limits of an actuator",
        "limits or positions in the profile are wrong",
        "check limits_us and the positions of the named actuator, then start again",
        Outcome.FAULT,
        names_actuator=True,
    ),
    "overload": FaultRow(
        "the step interrupt could not keep up",
        "the motion needs more steps per second than this chip can make",
        "lower the speeds, or move fewer axes at a time",
        Outcome.FAULT,
        recoverable=True,
        stops_at_once=True,
    ),
    "not-in-place": FaultRow(
        "an actuator is not where its turn should have ended",
        "it is jammed or has lost steps, or its sensor is broken or out of place",
        "free it and check that it turns easily, then start again",
        Outcome.JAMMED,
        recoverable=True,
        names_actuator=True,
    ),
    "pulse-missing": FaultRow(
        "a servo's channel is not there",
        "its overlay is not loaded, it was not exported, or the servo board is unplugged",
        "load its overlay as the page on wiring shows, restart the Pi, then start again",
        Outcome.FAULT,
        names_actuator=True,
        loses_outputs=True,
    ),
    "pulse-refused": FaultRow(
        "a servo's channel cannot be used",
        "another program or driver has it, or the board's program may not write to it",
        "stop what else uses PWM or the servo board, let the board's program write to the "
        "channel's files, then start again",
        Outcome.FAULT,
        names_actuator=True,
        loses_outputs=True,
    ),
    "pulse-failed": FaultRow(
        "a servo's pulse could not be set",
        "the servo board was unplugged or lost its power, or its driver refused",
        "check the servo board's cable and power, then start again: the robot homes first",
        Outcome.FAULT,
        names_actuator=True,
        loses_outputs=True,
    ),
    "line-refused": FaultRow(
        "a line of the Raspberry Pi cannot be used",
        "another program or an overlay has the GPIO, or the board's program may not use it",
        "`gpioinfo` shows who has it; stop that, or give the actuator another pin",
        Outcome.FAULT,
        loses_outputs=True,
        names_line=True,
    ),
    "pulse-limited": FaultRow(
        "a servo controller makes another pulse than it was told",
        "a channel of the Pololu Maestro has narrower limits: 992 to 2000 us when it is new",
        "in Pololu Maestro Control Center, under Channel Settings, set Min and Max of the channel "
        "to the profile's limits_us; then start again",
        Outcome.FAULT,
        names_actuator=True,
        loses_outputs=True,
    ),
    "pulse-silent": FaultRow(
        "a servo controller does not answer",
        "the Pololu Maestro is not in the mode USB Dual Port, or another program talks to it",
        "in Pololu Maestro Control Center, under Serial Settings, choose USB Dual Port, and close "
        "other programs; then start again",
        Outcome.FAULT,
        names_actuator=True,
        loses_outputs=True,
    ),
    "port-missing": FaultRow(
        "the serial port is not there",
        "the microcontroller is unplugged, or the port's name changed",
        "plug it in; `ls /dev/serial/by-id` shows the names",
        Outcome.FAULT,
    ),
    "port-refused": FaultRow(
        "the serial port cannot be opened",
        "another program is using it, or this user has no permission to use it",
        "stop the other program, or add the user to the group dialout",
        Outcome.FAULT,
    ),
    "no-answer": FaultRow(
        "the microcontroller does not answer",
        "it has no Cubist firmware, another baud rate, or no power",
        "flash it: cubist firmware flash; check firmware.baud in the profile",
        Outcome.FAULT,
        recoverable=True,
    ),
    "wrong-protocol": FaultRow(
        "the firmware speaks another version of the protocol",
        "the firmware is older or newer than this program",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
    ),
    "link-lost": FaultRow(
        "the connection to the microcontroller broke",
        "the cable was pulled out, or the motors interfere with it",
        "check the cable; use a shorter or shielded one",
        Outcome.FAULT,
        recoverable=True,
    ),
    "reset": FaultRow(
        "the microcontroller was reset",
        "its supply voltage dropped, its reset button was pressed, or it hung",
        "check its power supply; the robot homes and looks at the cube again",
        Outcome.FAULT,
        recoverable=True,
        stops_at_once=True,
    ),
    "beyond-board": FaultRow(
        "the plan is beyond what this microcontroller can do",
        "it needs too many steps per second, or too many motion profiles",
        "lower max_speed_steps_per_s, or use a bigger board",
        Outcome.FAULT,
    ),
    "bad-schedule": FaultRow(
        "the plan cannot be sent",
        "it names an unknown actuator, or turns of one actuator overlap",
        "report it with the run's record",
        Outcome.FAULT,
    ),
    "stopped": FaultRow(
        "the plan was stopped before its end",
        "a person stopped it",
        "start again: the robot homes first",
        Outcome.STOPPED,
        recoverable=True,
    ),
    "hung": FaultRow(
        "the firmware hung and was reset by its watchdog",
        "a bug in the firmware, or electrical interference",
        "start again: the robot homes first; report it if it happens again",
        Outcome.FAULT,
        recoverable=True,
        stops_at_once=True,
    ),
    "brown-out": FaultRow(
        "the supply voltage broke down",
        "motors and microcontroller share a supply that is too weak",
        "use a stronger supply, or a separate one for the motors",
        Outcome.FAULT,
        recoverable=True,
        stops_at_once=True,
    ),
    "board-absent": FaultRow(
        "the program that drives the Raspberry Pi's pins does not run",
        "its service is stopped or keeps failing, or the Pi has no PWM channels",
        "sudo systemctl restart cubist-board; `journalctl -u cubist-board` shows why it stops; the "
        "page on wiring has the overlays for PWM channels",
        Outcome.FAULT,
    ),
    "clocks-apart": FaultRow(
        "the boards' clocks do not agree",
        "a board's clock stood still, or the computer was too busy, just before the boards had to "
        "start together; nothing of this motion began",
        "stop what keeps the computer busy, check the boards' cables and power supply, then start "
        "again",
        Outcome.FAULT,
        recoverable=True,
    ),
    "wrong-firmware": FaultRow(
        "the firmware is not the one of this program",
        "program and firmware were not updated together",
        "flash the firmware that came with this version: cubist firmware flash",
        Outcome.FAULT,
    ),
    "cube-slipped": FaultRow(
        "the cube did not move as it should have",
        "the cube sits askew or is hard to turn, or a motor is jammed",
        "check that the cube sits straight and turns freely, and that no motor is jammed, then "
        "start again",
        Outcome.SLIPPED,
        recoverable=True,
    ),
    "unreadable": FaultRow(
        "the cube cannot be read",
        "this is what the camera shows",
        "clean the lens, check the light, check that the cube sits straight, then start again",
        Outcome.UNREADABLE,
    ),
    "no-cube": FaultRow(
        "no cube is in view",
        "this is what the camera shows",
        "insert a cube, then start again",
        Outcome.NO_CUBE,
    ),
    "two-cubes": FaultRow(
        "more than one cube is in view",
        "this is what the camera shows",
        "leave only one cube, the one to be solved, in the camera's view, then start again",
        Outcome.TWO_CUBES,
    ),
    "wrong-size": FaultRow(
        "the cube is of another size",
        "this is what the camera shows",
        "insert a cube of the size that the profile names, then start again",
        Outcome.WRONG_SIZE,
    ),
    "face-covered": FaultRow(
        "something is in front of the cube",
        "this is what the camera shows",
        "take your hands and anything else in the way out of the robot, then start again",
        Outcome.FACE_COVERED,
    ),
    "camera-absent": FaultRow(
        "the camera is not there",
        "its cable is loose, or the profile names another one",
        "check the cable and the camera's name in the robot profile",
        Outcome.FAULT,
    ),
    "camera-busy": FaultRow(
        "the camera is in use",
        "another program is using it",
        "stop the other program that uses it (another cubistd?)",
        Outcome.FAULT,
    ),
    "camera-refused": FaultRow(
        "the camera may not be used",
        "this user has no permission to use it",
        "add the user to the group video (sudo usermod -aG video $USER), then log in again",
        Outcome.FAULT,
    ),
    "camera-software": FaultRow(
        "the camera's library cannot be used",
        "it is missing, or it does not fit what else is installed",
        "sudo apt install python3-picamera2, then install Cubist again; `cubist doctor` says "
        "whether the library works",
        Outcome.FAULT,
    ),
    "camera-failed": FaultRow(
        "the camera does not start",
        "its driver failed, or the computer has too little free memory",
        "restart the computer; if that does not help, lower the camera's resolution in the profile",
        Outcome.FAULT,
    ),
    "camera-vanished": FaultRow(
        "the camera disappeared",
        "its cable or its power supply failed",
        "check its cable and power supply, then start again",
        Outcome.FAULT,
    ),
    "camera-black": FaultRow(
        "the camera's pictures are black",
        "the lens is covered, or there is no light",
        "take off the lens cap, switch on the light, check the cable",
        Outcome.FAULT,
    ),
    "camera-frozen": FaultRow(
        "the camera shows the same picture again and again",
        "its driver hangs",
        "unplug the camera and plug it in again",
        Outcome.FAULT,
    ),
    "camera-stale": FaultRow(
        "the camera's pictures come too late",
        "the computer is too busy or the camera too slow",
        "lower the camera's resolution in the profile",
        Outcome.FAULT,
    ),
    "camera-empty": FaultRow(
        "there are no photographs to show",
        "the folder is empty",
        "put photographs into the folder",
        Outcome.FAULT,
    ),
    "button-stuck": FaultRow(
        "a button or touch pad is pressed all the time",
        "something lies on it, a wire is shorted, or its polarity is set wrong",
        "free it; check its wires, and start_button_active or pads_active in the profile",
        Outcome.FAULT,
    ),
    "panel-failed": FaultRow(
        "the panel's pins can no longer be used",
        "another program took them, or their library failed",
        "stop the program that uses them (`gpioinfo` shows it), then restart the service cubistd",
        Outcome.FAULT,
    ),
    "not-confirmed": FaultRow(
        "where this robot may go is not confirmed",
        "nobody has set its positions and directions on the real robot yet",
        "run `cubist calibrate` and go through all its steps; until then the robot moves in small "
        "steps. (`cubist calibrate home --as-profile` trusts the profile, at full speed)",
        Outcome.NOT_CONFIRMED,
    ),
    "calibration-unusable": FaultRow(
        "the calibration cannot be used",
        "its file is damaged, or a newer version of Cubist wrote it",
        "bring back an earlier version with `cubist calibration restore`, or install the version "
        "of Cubist that wrote it; nothing moves until then",
        Outcome.FAULT,
    ),
    "calibration-stopped": FaultRow(
        "stopped by a person",
        "`cubist stop`, the button, the display or the page asked for it",
        "see what was wrong, then calibrate again",
        Outcome.STOPPED,
    ),
    "search-failed": FaultRow(
        "no solution was found",
        "the search ended before it found one",
        "allow it more time",
        Outcome.NO_SOLUTION,
    ),
    "internal": FaultRow(
        "an internal error",
        "a bug in this program",
        "start again; report it with the journal (`cubist logs`) if it happens again",
        Outcome.FAULT,
    ),
}
"""Every fault by its stable name."""
