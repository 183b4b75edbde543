"""The Raspberry Pi itself as a board: a program drives its pins, and several devices its servos.

The kernel makes the pulses at the Pi's own pins and those of a PCA9685, which config.txt has to set
up. A Pololu Maestro makes its own pulses, as the program commands over its port.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robot.computer.board_family import (
    FAMILIES,
    JOIN_GROUP,
    BoardFamily,
    BoardSimulation,
    FirmwareError,
    executable,
)
from robot.computer.boot_config import LIMIT, needs, pi_board
from robot.computer.computer import CheckResult, Computer
from robot.settings import RobotProfile, Servo
from robot.settings.boards import BOARD_TARGETS, SERVO_BOARDS
from robot.settings.profile import FIRST_BOARD
from robot.text.faults import Fault, LinkError, RobotError
from robot.text.messages import Note
from solver.files import BadFile, read_file

if TYPE_CHECKING:
    from robot.twin.pulses import PulseMaker
    from robot.twin.simulated import SimulatedRobot

MAESTROS = "serial/by-id/usb-Pololu_Corporation_*Maestro*-if00"
"""The command port of a Pololu Maestro at USB, as firmware/linux/maestro.c looks for it."""
MAESTRO_RULE = (
    'SUBSYSTEM=="tty", ENV{ID_USB_VENDOR_ID}=="1ffb", GROUP="dialout", MODE="0660", '
    'ENV{ID_MM_DEVICE_IGNORE}="1", TAG+="systemd", ENV{SYSTEMD_WANTS}+="cubist-board.service"'
)
SERVICE_USER = "cubist"
"""The user that the service's programs run as, and the group of people who may use them."""
OWN_PORT = "cubist-board/port"
"""The port of the Pi's program, below /run; systemd/cubist-board.service creates it."""
CHIPS, CONTROLLER = "pwm", "maestro"
"""The simulated PWM chips and the port of the simulated Maestro, in the folder of the demo."""


class LinuxSimulation(BoardSimulation):
    """The Raspberry Pi's program, which only sets the lengths of pulses."""

    about = "the Raspberry Pi's process with a folder of PWM files"

    def command(self, profile: RobotProfile, folder: Path, board: str = FIRST_BOARD) -> list[str]:
        """Return the program with the simulated devices that make the pulses."""
        del profile, board
        program = executable("cubist-firmware-linux")
        return [program, "--pwm", str(folder / CHIPS), "--maestro", str(folder / CONTROLLER)]

    def wire(self, profile: RobotProfile) -> RobotProfile:
        """Return the robot wired to the Pi's pins."""
        return profile if profile.firmware.target == "linux" else profile.with_board("linux")

    def is_for(self, profile: RobotProfile) -> bool:
        """True for a robot at the Pi's pins, unless a Maestro drives its servos."""
        return profile.firmware.target == "linux" and not _has_maestro(profile)

    def pulse_maker(self, robot: SimulatedRobot, folder: Path, board: str) -> PulseMaker:
        """Return the simulated PWM chips, or the Maestro, of the board's servos."""
        from robot.twin.pulses import Maestro, PwmChips

        pins = _pulse_pins(robot.profile, board)
        edge = functools.partial(robot.pin_changed, board=board)
        if not _has_maestro(robot.profile):
            return PwmChips(folder / CHIPS, pins, edge)
        if len(_servo_boards(robot.profile)) > 1:
            name = robot.profile.name
            raise FirmwareError(f"{name}: a simulated Maestro must drive all servos or none")
        return Maestro(folder / CONTROLLER, pins, edge)


class MaestroSimulation(LinuxSimulation):
    """The firmware of a Linux computer, with its servos on a Maestro."""

    about = "the Raspberry Pi's process with a Pololu Maestro at its port"

    def wire(self, profile: RobotProfile) -> RobotProfile:
        """Return the robot with all servos at channels from 0 on, in the profile's order."""
        if _has_maestro(profile):
            return profile
        servos = profile.actuators_of(Servo)
        if not servos:
            text = f"{profile.name} has no servos, and a Maestro drives nothing else"
            raise FirmwareError(text)
        return profile.with_board(
            "linux", {name: {"pulse": f"maestro:{number}"} for number, name in enumerate(servos)}
        )

    def is_for(self, profile: RobotProfile) -> bool:
        """True for a robot whose servos a Maestro drives."""
        return _has_maestro(profile)


class LinuxFamily(BoardFamily):
    """The Raspberry Pi's own pins."""

    def udev_rules(self) -> Sequence[str]:
        """Return the rule for a Pololu Maestro, which starts the Pi's program when plugged in."""
        return (
            "# A Pololu Maestro, which is no board of its own: the Pi's program talks to it.",
            MAESTRO_RULE,
        )

    def find_port(self, computer: Computer) -> Path:
        """Return the port of the Pi's program; raises ``BOARD_ABSENT`` if it does not run."""
        own = computer.run / OWN_PORT
        if not own.exists():
            raise LinkError(Fault.BOARD_ABSENT, detail=Note.of("path-missing", path=own))
        return own

    def remedy_for(self, fault: RobotError) -> str:
        """Return the fault's own remedy: it is about the program."""
        return fault.remedy

    def check_computer(self, profile: RobotProfile, computer: Computer) -> Iterator[CheckResult]:
        """Check the devices that make the servos' pulses, and the groups that may use them."""
        yield from check_pulses(profile, computer)
        yield from check_groups(computer)

    def refuse_beside_others(self, profile: RobotProfile) -> None:
        """Raise :class:`FirmwareError` for a Maestro, which can only be simulated alone."""
        if any(pin in SERVO_BOARDS["maestro"] for pin in _pulse_pins(profile)):
            text = f"{profile.name}: a Maestro beside other boards cannot be simulated"
            raise FirmwareError(text)


def _pulse_pins(profile: RobotProfile, board: str | None = None) -> list[int]:
    """Return the pins of the servos, of one board or of all."""
    actuators = profile.actuators if board is None else profile.actuators_at(board)
    return [servo.pins.pulse for servo in actuators.values() if isinstance(servo, Servo)]


def _servo_boards(profile: RobotProfile, board: str | None = None) -> set[str | None]:
    """Return the devices that make the servos' pulses at the Pi; None stands for its own pins."""
    pi = BOARD_TARGETS["linux"]
    return {pi.servo_board(pin) for pin in _pulse_pins(profile, board)}


def _has_maestro(profile: RobotProfile) -> bool:
    return profile.firmware.target == "linux" and "maestro" in _servo_boards(profile)


def check_pulses(profile: RobotProfile, computer: Computer) -> Iterator[CheckResult]:
    """Check that config.txt sets up the servos at the Pi's pins, and that it is in force."""
    makers = _servo_boards(profile, pi_board(profile))
    if "maestro" in makers:
        yield check_maestro(computer)
    if not makers - {"maestro"}:
        return
    path = computer.boot_config
    if path is None:
        text = Note.of("config-missing", folder=computer.boot)
        mount = Note.of("mount-boot", folder=computer.boot / "firmware")
        yield CheckResult("boot", "bad", text, mount)
        return
    try:
        lacking = needs(profile, read_file(path, LIMIT), computer.model)
    except BadFile as error:
        yield CheckResult("boot", "bad", str(error), Note.of("look-as-root"))
        return
    for need in lacking:
        remedy = need.remedy or Note.of("add-line", line=need.line)
        yield CheckResult("boot", "bad", need.text, remedy)
    if lacking:
        return
    yield CheckResult("boot", "ok", Note.of("config-right", path=path))
    if not list((computer.sys / "class/pwm").glob("pwmchip*")):
        yield CheckResult("pwm", "bad", Note.of("no-channels"), Note.of("restart-pi"))


def check_maestro(computer: Computer) -> CheckResult:
    """Check the command port of the Maestro that drives servos."""
    options = computer.service_setting("CUBIST_BOARD_OPTIONS") or ""
    named = re.search(r"--maestro[= ]+(\S+)", options)
    found = [Path(named[1])] if named else sorted(computer.dev.glob(MAESTROS))
    if not found or not found[0].exists():
        text = Note.of("no-maestro", path=found[0] if found else computer.dev / MAESTROS)
        return CheckResult("maestro", "bad", text, Note.of("plug-maestro-in"))
    if not computer.may_use(found[0]):
        refused = Note.of("no-permission", path=found[0])
        return CheckResult("maestro", "bad", refused, JOIN_GROUP)
    return CheckResult("maestro", "ok", str(found[0]))


def check_groups(computer: Computer) -> Iterator[CheckResult]:
    """Check the groups that the service's user and the person at the keyboard have to be in."""
    people = computer.members_of(SERVICE_USER)
    if people is None:
        remedy = Note.of("install-service")
        yield CheckResult("groups", "warning", Note.of("no-service"), remedy)
        return
    if SERVICE_USER not in (computer.members_of("gpio") or ()):
        text = Note.of("service-not-in-gpio", user=SERVICE_USER)
        yield CheckResult("groups", "bad", text, Note.of("make-users"))
    ours = computer.own_groups()
    if ours is not None and SERVICE_USER not in ours:
        text = Note.of("you-not-in-group", group=SERVICE_USER)
        yield CheckResult("groups", "warning", text, Note.of("join-group", group=SERVICE_USER))


FAMILIES["linux"] = LinuxFamily(
    folder="linux",
    targets=("linux",),
    simulations={"linux": LinuxSimulation(), "maestro": MaestroSimulation()},
    simulation_among="linux",
    is_flashable=False,
)
