"""Is this machine ready to run a robot? One finding for each thing that can be amiss."""

from __future__ import annotations

import grp
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from robot.computer.boot_change import LIMIT
from robot.computer.boot_config import needs, pi_board
from robot.computer.firmware_build import JOIN_GROUP, ask, matches
from robot.computer.serial_ports import OWN_PORT, find_board
from robot.link import Capabilities
from robot.link.protocol import FIRMWARE_VERSION
from robot.panel.gpio import REPLACE, PanelFault, RpiGpio
from robot.settings import RobotProfile, Servo
from robot.settings.boards import BOARD_TARGETS
from robot.settings.profile import FIRST_BOARD
from robot.text.faults import RobotError
from solver.files import BadFile, read_file, read_text
from vision.cameras.registry import CameraCheck, check_camera

Verdict = Literal["ok", "warning", "bad"]

MIN_FREE_BYTES = 200 * 1024 * 1024
LARGEST_SETTINGS = 64 * 1024
"""Bytes of a file of settings, or of what the kernel shows as one."""
EARLIEST_CLOCK_S = 1_735_689_600
"""2025-01-01: a Pi without a clock of its own starts in the past until it has asked the network."""

ONE_BOARD = (
    "Plug the board in; check its USB cable and power. Where there are several serial ports, say "
    "which in the profile: link.port."
)

MAESTROS = "serial/by-id/usb-Pololu_Corporation_*Maestro*-if00"
"""The command port of a Pololu Maestro at USB, as firmware/linux/maestro.c looks for it."""
ONE_MAESTRO = (
    "Plug it into USB; one at a UART is named by CUBIST_BOARD_OPTIONS in /etc/cubist/cubistd.env. "
    "A new one needs the serial mode USB Dual Port: see the page on wiring."
)

SERVICE_USER = "cubist"
"""Whom the service's programs run as, and the group of people who may use them."""
FIX = "sudo cubist doctor --fix"

_THROTTLED = {
    0: "the supply voltage is too low now",
    1: "the processor's frequency is capped now",
    2: "the processor is throttled now",
    16: "the supply voltage was too low since the start",
    18: "the processor was throttled since the start",
}


@dataclass(frozen=True)
class CheckResult:
    """What was found about one thing, and what to do unless it is ``ok``."""

    about: str
    verdict: Verdict
    text: str
    remedy: str = ""


def members_of(group: str) -> frozenset[str] | None:
    """The users that a group lists; None where there is no such group."""
    try:
        return frozenset(grp.getgrnam(group).gr_mem)
    except KeyError:
        return None


def own_groups() -> frozenset[str] | None:
    """The groups that this process is in; None for root, who needs none."""
    if os.geteuid() == 0:
        return None
    ours = {os.getegid(), *os.getgroups()}
    return frozenset(entry.gr_name for entry in grp.getgrall() if entry.gr_gid in ours)


@dataclass(frozen=True)
class Computer:
    """Where to look; tests look elsewhere."""

    boot: Path = Path("/boot")
    dev: Path = Path("/dev")
    etc: Path = Path("/etc")
    sys: Path = Path("/sys")
    run: Path = Path("/run")
    now_s: Callable[[], float] = time.time
    check_camera: Callable[[str, int | str], CameraCheck] = check_camera
    open_gpio: Callable[[], RpiGpio] = RpiGpio
    may_use: Callable[[Path], bool] = field(default=lambda path: os.access(path, os.R_OK | os.W_OK))
    members_of: Callable[[str], frozenset[str] | None] = members_of
    own_groups: Callable[[], frozenset[str] | None] = own_groups

    @property
    def boot_config(self) -> Path | None:
        """A Raspberry Pi's config.txt; None where there is none.

        Since Raspberry Pi OS 12 it is in ``firmware``; what stays beside it is not read any more.
        """
        newer = self.boot / "firmware"
        path = (newer if newer.is_dir() else self.boot) / "config.txt"
        return path if path.is_file() else None

    @property
    def model(self) -> str:
        """What a Raspberry Pi calls itself; empty elsewhere."""
        path = self.sys / "firmware/devicetree/base/model"
        try:
            return read_file(path, LARGEST_SETTINGS).rstrip(b"\0").decode("utf-8", "replace")
        except BadFile:
            return ""

    @property
    def service_profile(self) -> str | None:
        """The robot that the settings of the service name; None where they name none."""
        return self.service_setting("CUBIST_PROFILE")

    def service_setting(self, name: str) -> str | None:
        """A setting of the service; None where there is none, or an empty one."""
        try:
            data = read_file(self.etc / "cubist/cubistd.env", LARGEST_SETTINGS)
        except BadFile:
            return None
        lines = data.decode("utf-8", "replace").splitlines()
        pairs = [line.strip().partition("=") for line in lines]
        found = [value.strip().strip("\"'") for key, _, value in pairs if key == name]
        return found[-1] if found and found[-1] else None


def check_up(profile: RobotProfile, state_dir: Path, machine: Computer) -> Iterator[CheckResult]:
    """All findings, in the order in which a person would repair them."""
    yield CheckResult("profile", "ok", f"{profile.name}: {profile.title}")
    if pi_board(profile) is not None:
        yield from pulses(profile, machine)
        yield from groups(machine)
    for name, finding in boards(profile, machine).items():
        yield of_board(finding, name, profile)
    yield from sockets(profile, machine)
    for camera in profile.cameras:
        yield CheckResult("camera", *machine.check_camera(camera.kind, camera.device))
    if any(pin is not None for key, pin in profile.panel if key.endswith("_gpio")):
        yield gpio(machine)
    yield disk(state_dir)
    yield clock(machine)
    yield power(machine)


def boards(profile: RobotProfile, machine: Computer) -> dict[str, CheckResult]:
    """What :func:`board` finds of each board, by its name."""
    return {
        name: board(settings.port, machine, is_pi=BOARD_TARGETS[settings.target].is_pi)
        for name, settings in profile.every_board.items()
    }


def of_board(finding: CheckResult, name: str, profile: RobotProfile) -> CheckResult:
    """A finding about a board, with its name where there are several."""
    return replace(finding, text=f"{name}: {finding.text}") if profile.boards else finding


def board(port: str, machine: Computer, *, is_pi: bool = False) -> CheckResult:
    """The microcontroller's serial port, or that of the program that drives the Pi's pins."""
    own = machine.run / OWN_PORT.relative_to("/run")
    try:
        path = Path(port) if port != "auto" else find_board(machine.dev, is_pi=is_pi, own=own)
    except RobotError as fault:
        return CheckResult("board", "bad", fault.detail, fault.remedy if is_pi else ONE_BOARD)
    if not path.exists():
        return CheckResult("board", "bad", f"{path} does not exist", ONE_BOARD)
    if not machine.may_use(path):
        return CheckResult("board", "bad", f"{path}: no permission", JOIN_GROUP)
    return CheckResult("board", "ok", str(path))


def sockets(profile: RobotProfile, machine: Computer) -> Iterator[CheckResult]:
    """Whether boards that look alike will be told apart: each by the name of its own USB socket."""
    if not profile.boards:
        return
    known: dict[Path, str] = {}
    for name, settings in profile.every_board.items():
        path = Path(settings.port)
        if settings.port == "auto" or not path.exists():
            continue
        other = known.setdefault(path.resolve(), name)
        if other != name:
            text = f"{name}: {path} is the port of {other} too"
            yield CheckResult(
                "socket", "bad", text, f"Say in the profile which is which: {_PORTS}."
            )
        elif "tty" in path.name and path.parent == machine.dev:
            text = f"{name}: {path} is whichever board was found first"
            yield CheckResult("socket", "warning", text, _by_socket(path, name, machine))


_PORTS = "link.port, and port of every board below boards"


def _by_socket(path: Path, board: str, machine: Computer) -> str:
    """What to write into the profile instead of a name that is given in the order of detection."""
    place = "link.port" if board == FIRST_BOARD else f"boards.{board}.port"
    for folder in ("by-path", "by-id"):
        for link in sorted((machine.dev / "serial" / folder).glob("*")):
            if link.resolve() == path.resolve():
                return f"In the profile, and label the cable: {place}: {link}"
    return f"In the profile, {place}: its name below {machine.dev}/serial/by-path"


def pulses(profile: RobotProfile, machine: Computer) -> Iterator[CheckResult]:
    """What config.txt sets up for servos at the Pi's own pins, and whether that is in force."""
    by_kernel, by_maestro = _pulse_makers(profile)
    if by_maestro:
        yield maestro(machine)
    if not by_kernel:
        return
    path = machine.boot_config
    if path is None:
        remedy = f"On a Raspberry Pi, mount its boot partition at {machine.boot / 'firmware'}."
        yield CheckResult("boot", "bad", f"there is no config.txt below {machine.boot}", remedy)
        return
    try:
        lacking = needs(profile, read_file(path, LIMIT), machine.model)
    except BadFile as error:
        yield CheckResult("boot", "bad", str(error), "Look at it as root: sudo cubist doctor")
        return
    for need in lacking:
        remedy = need.remedy or f"{FIX} adds this line: {need.line}"
        yield CheckResult("boot", "bad", f"{path}: {need.text}", remedy)
    if lacking:
        return
    yield CheckResult("boot", "ok", f"{path} sets up what the servos need")
    if not list((machine.sys / "class/pwm").glob("pwmchip*")):
        text = "there are no PWM channels, though config.txt asks for them"
        yield CheckResult("pwm", "bad", text, "Restart the Pi, which reads it then: sudo reboot")


def _pulse_makers(profile: RobotProfile) -> tuple[bool, bool]:
    """Whether servos hang on what the kernel drives, and whether on a Maestro."""
    name = pi_board(profile)
    if name is None:
        return False, False
    board = BOARD_TARGETS[profile.every_board[name].target]
    servos = [one for one in profile.actuators_at(name).values() if isinstance(one, Servo)]
    makers = {board.servo_board(one.pins.pulse) for one in servos}
    return bool(makers - {"maestro"}), "maestro" in makers


def maestro(machine: Computer) -> CheckResult:
    """The command port of the Maestro that drives servos."""
    named = re.search(r"--maestro[= ]+(\S+)", machine.service_setting("CUBIST_BOARD_OPTIONS") or "")
    found = [Path(named[1])] if named else sorted(machine.dev.glob(MAESTROS))
    if not found or not found[0].exists():
        text = f"there is no Pololu Maestro at {found[0] if found else machine.dev / MAESTROS}"
        return CheckResult("maestro", "bad", text, ONE_MAESTRO)
    if not machine.may_use(found[0]):
        return CheckResult("maestro", "bad", f"{found[0]}: no permission", JOIN_GROUP)
    return CheckResult("maestro", "ok", str(found[0]))


def groups(machine: Computer) -> Iterator[CheckResult]:
    """The groups that the service's user and the person at the keyboard have to be in."""
    people = machine.members_of(SERVICE_USER)
    if people is None:
        text = "Cubist is not installed as a service"
        yield CheckResult("groups", "warning", text, "sudo make install, in a checkout of Cubist")
        return
    if SERVICE_USER not in (machine.members_of("gpio") or ()):
        remedy = "sudo systemd-sysusers cubist.conf, then sudo systemctl restart cubist-board"
        text = f"the service's user {SERVICE_USER} is not in the group gpio"
        yield CheckResult("groups", "bad", text, remedy)
    ours = machine.own_groups()
    if ours is not None and SERVICE_USER not in ours:
        remedy = f"sudo usermod -aG {SERVICE_USER} $USER, then log in again."
        text = f"you are not in the group {SERVICE_USER}, which may use the robot"
        yield CheckResult("groups", "warning", text, remedy)


def firmware(port: str, baud: int, ask: Callable[[str, int], Capabilities] = ask) -> CheckResult:
    """What the board runs; only for when nobody else uses its port, which resets it."""
    try:
        found = ask(port, baud)
    except RobotError as fault:
        return CheckResult("firmware", "bad", fault.cause, fault.remedy)
    if not matches(found):
        text = f"{found.firmware_version} on the board, {FIRMWARE_VERSION} expected"
        return CheckResult("firmware", "bad", text, f"cubist firmware flash --port {port}")
    return CheckResult("firmware", "ok", f"{found.firmware_version} on {found.board.name.lower()}")


def gpio(machine: Computer) -> CheckResult:
    """The library for button, light and buzzer, and whether it can open the chip."""
    try:
        outdated = machine.open_gpio().is_outdated
    except PanelFault as fault:
        absent = isinstance(fault.__cause__, ImportError)
        more = " Without it only the command line works." if absent else ""
        return CheckResult("gpio", "warning" if absent else "bad", fault.what, fault.remedy + more)
    if outdated:
        return CheckResult("gpio", "warning", "the GPIO library is out of date", REPLACE)
    return CheckResult("gpio", "ok", "the GPIO library works")


def disk(state_dir: Path) -> CheckResult:
    """Room for records and calibration."""
    place = next(path for path in (state_dir, *state_dir.parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{free // 1024**2} MB free at {state_dir}"
    if free < MIN_FREE_BYTES:
        return CheckResult("disk", "bad", text, "Remove old files; `sudo apt clean` helps.")
    if not os.access(place, os.W_OK):
        return CheckResult("disk", "warning", f"{place}: not writable by you", "The service's own.")
    return CheckResult("disk", "ok", text)


def clock(machine: Computer) -> CheckResult:
    """The time of day, for records; motion does not depend on it."""
    now = machine.now_s()
    text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    if now < EARLIEST_CLOCK_S:
        return CheckResult("clock", "warning", f"it says {text}", "Connect to a network once.")
    return CheckResult("clock", "ok", text)


def power(machine: Computer) -> CheckResult:
    """Voltage and temperature, as a Raspberry Pi's firmware saw them."""
    path = machine.sys / "devices/platform/soc/soc:firmware/get_throttled"
    try:
        flags = int(read_text(path, LARGEST_SETTINGS), 16)
    except ValueError:
        return CheckResult("power", "ok", "cannot be read (not a Raspberry Pi?)")
    found = [text for bit, text in _THROTTLED.items() if flags >> bit & 1]
    if not found:
        return CheckResult("power", "ok", "voltage and temperature are fine")
    remedy = "Use the official power supply; give the motors one of their own; cool the Pi."
    now = bool(flags & 0xF)
    return CheckResult("power", "bad" if now else "warning", "; ".join(found), remedy)


def worst(findings: Sequence[CheckResult]) -> Verdict:
    """The worst verdict of all."""
    order: tuple[Verdict, ...] = ("bad", "warning", "ok")
    return next(verdict for verdict in order if verdict in {f.verdict for f in findings})
