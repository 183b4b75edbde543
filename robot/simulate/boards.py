"""Which firmware process a demo runs, and what its outputs go through to the simulated robot."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from robot.computer import firmware_build
from robot.settings import RobotProfile, Servo
from robot.settings.boards import BOARD_TARGETS
from robot.settings.checks import check_profile
from robot.settings.kinds import Kinds
from robot.settings.pins import SERVO_BOARDS
from robot.simulate.processes import DemoFault, executable, find_executable
from robot.twin.maestro import Maestro
from robot.twin.pulses import PulseMaker
from robot.twin.pwm import PwmChips
from robot.twin.simulated import SimulatedRobot

FASTEST_TOGETHER = 2.0
"""Times real time for a robot of several boards: the daemon starts them together by real time."""
SIMULATING = ("libsimavr-dev", "libelf-dev")
"""Debian packages with which the build makes the simulation of the AVR."""
MAIN_LOOP = "firmware_poll"
"""What the main loop of the firmware calls; it hangs there when told to."""
CHIPS, CONTROLLER = "pwm", "maestro"
"""The simulated PWM chips and the port of the simulated Maestro, in the folder of the demo."""

Command = Callable[[RobotProfile, Path], list[str]]


def _no_pulse_maker(robot: SimulatedRobot, folder: Path, board: str) -> PulseMaker | None:
    """The firmware makes the edges itself."""
    del robot, folder, board
    return None


@dataclass(frozen=True, slots=True)
class FirmwareProcess:
    """A way to run the firmware.

    ``about``: for people, as the continuation of "runs the firmware as ...". ``command``: the
    program with its own options, for a profile in a demo's folder. ``moved``: the robot wired to
    it, at pins of the same numbers where it has them. ``pulse_maker``: what makes the pulses of a
    board's servos, if the firmware only says how long they are. ``is_own``: whether this is how the
    profile's own board is simulated. ``runs_as_granted``: whether several can be boards of one
    robot, that share its time.
    """

    about: str
    command: Command
    moved: Callable[[RobotProfile], RobotProfile] = lambda profile: profile
    pulse_maker: Callable[[SimulatedRobot, Path, str], PulseMaker | None] = _no_pulse_maker
    is_own: Callable[[RobotProfile], bool] = lambda profile: False
    runs_as_granted: bool = False


FIRMWARES: Kinds[FirmwareProcess] = Kinds("firmware")
"""By the name that ``--firmware`` gives it."""


def own_firmware(profile: RobotProfile) -> str:
    """What simulates the profile's own board. An Arduino's is the firmware of this computer: the
    same program, without the hours that single instructions take."""
    if profile.boards:
        return "host"
    own = (name for name, process in FIRMWARES.items() if process.is_own(profile))
    return next(own, "host")


def firmware_at(kind: str, profile: RobotProfile, board: str) -> FirmwareProcess:
    """What runs as a board of a robot that is simulated as ``kind``: the Raspberry Pi among several
    boards is its own process whatever the others are."""
    among = bool(profile.boards) and profile.every_board[board].target == "linux"
    return FIRMWARES["linux" if among else kind]


def at_board(kind: str, profile: RobotProfile) -> RobotProfile:
    """The robot wired to what runs as ``kind``; raises :class:`DemoFault` when that cannot be."""
    if profile.boards:
        if not FIRMWARES[kind].runs_as_granted:
            granted = (name for name, process in FIRMWARES.items() if process.runs_as_granted)
            raise DemoFault(
                f"{profile.name} has several boards, which {kind} cannot simulate; choose from "
                f"{', '.join(granted)}"
            )
        if any(pin in SERVO_BOARDS["maestro"] for pin in _pulse_pins(profile)):
            raise DemoFault(f"{profile.name}: a Maestro beside other boards cannot be simulated")
        return profile
    moved = FIRMWARES[kind].moved(profile)
    if moved is profile:
        return profile
    for path, text in check_profile(moved):
        place = ".".join(map(str, path))
        raise DemoFault(f"{profile.name} cannot be driven by {kind}: {place}: {text}")
    return moved


def fastest(profile: RobotProfile) -> float:
    """How many times as fast as real time a robot can be simulated."""
    return FASTEST_TOGETHER if profile.boards else math.inf


def require_pace(profile: RobotProfile, speed: float) -> None:
    """Raise :class:`DemoFault` for a robot that cannot be simulated so many times as fast."""
    if speed > fastest(profile):
        raise DemoFault(
            f"{profile.name} has several boards, which start together within milliseconds of real "
            f"time: --speed {fastest(profile):g} at most"
        )


def _host_command(profile: RobotProfile, folder: Path) -> list[str]:
    del profile, folder
    return [executable("cubist-firmware-host")]


def _avr_command(profile: RobotProfile, folder: Path) -> list[str]:
    """Raises :class:`DemoFault` that says what to install, and whatever
    :func:`robot.computer.firmware_build.build` raises."""
    del folder
    _require_simulation()
    program = executable("cubist-firmware-avr")
    board = firmware_build.board_for(profile)
    elf = firmware_build.build(board).elf
    hang = ["--hang-at", f"{firmware_build.address(elf, MAIN_LOOP):#x}"]
    return [program, "--board", board, "--elf", str(elf), *hang]


def _linux_command(profile: RobotProfile, folder: Path) -> list[str]:
    del profile
    program = executable("cubist-firmware-linux")
    return [program, "--pwm", str(folder / CHIPS), "--maestro", str(folder / CONTROLLER)]


def _to_pi(profile: RobotProfile) -> RobotProfile:
    return profile if profile.firmware.target == "linux" else profile.on_board("linux")


def _to_maestro(profile: RobotProfile) -> RobotProfile:
    """All servos at channels from 0 on, in the profile's order."""
    if _on_maestro(profile):
        return profile
    servos = profile.actuators_of(Servo)
    if not servos:
        raise DemoFault(f"{profile.name} has no servos, and a Maestro drives nothing else")
    return profile.on_board(
        "linux", {name: {"pulse": f"maestro:{number}"} for number, name in enumerate(servos)}
    )


def _pulse_pins(profile: RobotProfile, board: str | None = None) -> list[int]:
    """Those of the servos, of one board or of all."""
    actuators = profile.actuators if board is None else profile.actuators_at(board)
    return [servo.pins.pulse for servo in actuators.values() if isinstance(servo, Servo)]


def _servo_boards(profile: RobotProfile) -> set[str | None]:
    """What makes the servos' pulses at the Pi; None for its own pins."""
    board = BOARD_TARGETS["linux"]
    return {board.servo_board(pin) for pin in _pulse_pins(profile)}


def _on_pi(profile: RobotProfile) -> bool:
    return profile.firmware.target == "linux" and not _on_maestro(profile)


def _on_maestro(profile: RobotProfile) -> bool:
    return profile.firmware.target == "linux" and "maestro" in _servo_boards(profile)


def _pulse_maker(robot: SimulatedRobot, folder: Path, board: str) -> PulseMaker:
    pins = _pulse_pins(robot.profile, board)
    edge = functools.partial(robot.pin_changed, board=board)
    if not _on_maestro(robot.profile):
        return PwmChips(folder / CHIPS, pins, edge)
    if len(_servo_boards(robot.profile)) > 1:
        raise DemoFault(f"{robot.profile.name}: a simulated Maestro drives all servos or none")
    return Maestro(folder / CONTROLLER, pins, edge)


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


FIRMWARES["host"] = FirmwareProcess(
    "the build for this computer", _host_command, runs_as_granted=True
)
FIRMWARES["avr"] = FirmwareProcess(
    "the AVR's own binary under simavr", _avr_command, runs_as_granted=True
)
FIRMWARES["linux"] = FirmwareProcess(
    "the Raspberry Pi's process with a folder of PWM files",
    _linux_command,
    _to_pi,
    _pulse_maker,
    _on_pi,
)
FIRMWARES["maestro"] = FirmwareProcess(
    "the Raspberry Pi's process with a Pololu Maestro at its port",
    _linux_command,
    _to_maestro,
    _pulse_maker,
    _on_maestro,
)
