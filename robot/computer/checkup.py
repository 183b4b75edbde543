"""Is this machine ready to run a robot? One finding for each thing that can be amiss."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from robot.computer.board_family import ask, family_of, matches
from robot.computer.computer import LARGEST_SETTINGS, CheckResult, Computer, Verdict
from robot.link import Capabilities
from robot.link.protocol import FIRMWARE_VERSION
from robot.panel.gpio import REPLACE, PanelError
from robot.settings import RobotProfile
from robot.settings.profile import FIRST_BOARD
from robot.text.faults import RobotError
from solver.files import read_text

MIN_FREE_BYTES = 200 * 1024 * 1024
EARLIEST_CLOCK_S = 1_735_689_600
"""2025-01-01: a Pi without a clock of its own starts in the past until it has asked the network."""

_THROTTLED = {
    0: "the supply voltage is too low now",
    1: "the processor's frequency is capped now",
    2: "the processor is throttled now",
    16: "the supply voltage was too low since the start",
    18: "the processor was throttled since the start",
}


def check_up(profile: RobotProfile, state_dir: Path, machine: Computer) -> Iterator[CheckResult]:
    """Yield all findings, in the order in which a person would repair them."""
    yield CheckResult("profile", "ok", f"{profile.name}: {profile.title}")
    for family in dict.fromkeys(family_of(one.target) for one in profile.every_board.values()):
        yield from family.check_computer(profile, machine)
    for name, finding in boards(profile, machine).items():
        yield add_board_name(finding, name, profile)
    yield from sockets(profile, machine)
    for camera in profile.cameras:
        yield CheckResult("camera", *machine.check_camera(camera.kind, camera.device))
    if any(pin is not None for key, pin in profile.panel if key.endswith("_gpio")):
        yield gpio(machine)
    yield disk(state_dir)
    yield clock(machine)
    yield power(machine)


def boards(profile: RobotProfile, machine: Computer) -> dict[str, CheckResult]:
    """Return the finding about each board's port, by the board's name."""
    return {
        name: family_of(settings.target).check_port(settings.port, machine)
        for name, settings in profile.every_board.items()
    }


def add_board_name(finding: CheckResult, name: str, profile: RobotProfile) -> CheckResult:
    """Return a finding about a board, with its name if there are several."""
    return replace(finding, text=f"{name}: {finding.text}") if profile.boards else finding


def sockets(profile: RobotProfile, machine: Computer) -> Iterator[CheckResult]:
    """Check that boards that look alike are distinguished by the names of their USB sockets."""
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
            yield CheckResult("socket", "warning", text, _remedy_by_socket(path, name, machine))


_PORTS = "link.port, and port of every board below boards"


def _remedy_by_socket(path: Path, board: str, machine: Computer) -> str:
    """Return the stable name to write into the profile instead of the order of detection."""
    place = "link.port" if board == FIRST_BOARD else f"boards.{board}.port"
    for folder in ("by-path", "by-id"):
        for link in sorted((machine.dev / "serial" / folder).glob("*")):
            if link.resolve() == path.resolve():
                return f"In the profile, and label the cable: {place}: {link}"
    return f"In the profile, {place}: its name below {machine.dev}/serial/by-path"


def firmware(port: str, baud: int, ask: Callable[[str, int], Capabilities] = ask) -> CheckResult:
    """Check the board's firmware. This resets the board, so its port must not be in use."""
    try:
        found = ask(port, baud)
    except RobotError as fault:
        return CheckResult("firmware", "bad", fault.cause, fault.remedy)
    if not matches(found):
        text = f"{found.firmware_version} on the board, {FIRMWARE_VERSION} expected"
        return CheckResult("firmware", "bad", text, f"cubist firmware flash --port {port}")
    return CheckResult("firmware", "ok", f"{found.firmware_version} on {found.board.name.lower()}")


def gpio(machine: Computer) -> CheckResult:
    """Check the library for button, light and buzzer, and that it can open the chip."""
    try:
        outdated = machine.open_gpio().is_outdated
    except PanelError as fault:
        absent = isinstance(fault.__cause__, ImportError)
        more = " Without it only the command line works." if absent else ""
        return CheckResult("gpio", "warning" if absent else "bad", fault.cause, fault.remedy + more)
    if outdated:
        return CheckResult("gpio", "warning", "the GPIO library is out of date", REPLACE)
    return CheckResult("gpio", "ok", "the GPIO library works")


def disk(state_dir: Path) -> CheckResult:
    """Check the room for records and calibration."""
    place = next(path for path in (state_dir, *state_dir.parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{free // 1024**2} MB free at {state_dir}"
    if free < MIN_FREE_BYTES:
        return CheckResult("disk", "bad", text, "Remove old files; `sudo apt clean` helps.")
    if not os.access(place, os.W_OK):
        return CheckResult("disk", "warning", f"{place}: not writable by you", "The service's own.")
    return CheckResult("disk", "ok", text)


def clock(machine: Computer) -> CheckResult:
    """Check the time of day, for records; motion does not depend on it."""
    now = machine.now_s()
    text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    if now < EARLIEST_CLOCK_S:
        return CheckResult("clock", "warning", f"it says {text}", "Connect to a network once.")
    return CheckResult("clock", "ok", text)


def power(machine: Computer) -> CheckResult:
    """Check voltage and temperature, as a Raspberry Pi's firmware saw them."""
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
    """Return the worst verdict of all."""
    order: tuple[Verdict, ...] = ("bad", "warning", "ok")
    return next(verdict for verdict in order if verdict in {f.verdict for f in findings})
