"""The check-up: is this machine ready to run a robot? One finding for each possible problem."""

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
from robot.text.messages import Note
from solver.files import read_text

MIN_FREE_BYTES = 200 * 1024 * 1024
EARLIEST_CLOCK_S = 1_735_689_600
"""2025-01-01: until it has asked the network, a Pi without a clock of its own is in the past."""

_THROTTLED = {
    0: "voltage-low-now",
    1: "capped-now",
    2: "throttled-now",
    16: "voltage-low-before",
    18: "throttled-before",
}
"""Codes of findings by the bit of the firmware's flags."""
_NOT_NOW = 16
"""The first of the bits about the time since the start."""


def check_up(profile: RobotProfile, state_dir: Path, machine: Computer) -> Iterator[CheckResult]:
    """Yield all findings, in the order in which a person would repair them."""
    yield CheckResult("profile", "ok", f"{profile.name}: {profile.title}")
    for family in dict.fromkeys(family_of(one.target) for one in profile.every_board.values()):
        yield from family.check_computer(profile, machine)
    for name, finding in boards(profile, machine).items():
        yield add_board_name(finding, name, profile)
    yield from sockets(profile, machine)
    found = (machine.check_camera(camera.kind, camera.device) for camera in profile.cameras)
    for camera in dict.fromkeys(found):  # report missing software once
        yield CheckResult("camera", *camera)
    if any(pin is not None for key, pin in profile.panel if key.endswith("_gpio")):
        yield gpio(machine)
    yield disk(state_dir)
    yield clock(machine)
    yield from power(machine)


def boards(profile: RobotProfile, machine: Computer) -> dict[str, CheckResult]:
    """Return the finding about each board's port, by the board's name."""
    return {
        name: family_of(settings.target).check_port(settings.port, machine)
        for name, settings in profile.every_board.items()
    }


def add_board_name(finding: CheckResult, name: str, profile: RobotProfile) -> CheckResult:
    """Return a finding about a board, with its name if there are several: ``board second``."""
    return replace(finding, about=f"{finding.about} {name}") if profile.boards else finding


def sockets(profile: RobotProfile, machine: Computer) -> Iterator[CheckResult]:
    """Check that the profile tells boards apart by the names of their USB sockets."""
    if not profile.boards:
        return
    known: dict[Path, str] = {}
    for name, settings in profile.every_board.items():
        path = Path(settings.port)
        if settings.port == "auto" or not path.exists():
            continue
        other = known.setdefault(path.resolve(), name)
        if other != name:
            text = Note.of("same-port", board=name, path=path, other=other)
            yield CheckResult("socket", "bad", text, Note.of("name-ports"))
        elif "tty" in path.name and path.parent == machine.dev:
            text = Note.of("changing-port", board=name, path=path)
            yield CheckResult("socket", "warning", text, _remedy_by_socket(path, name, machine))


def _remedy_by_socket(path: Path, board: str, machine: Computer) -> Note:
    """Return the stable name to write into the profile instead of the order of detection."""
    place = "link.port" if board == FIRST_BOARD else f"boards.{board}.port"
    for folder in ("by-path", "by-id"):
        for link in sorted((machine.dev / "serial" / folder).glob("*")):
            if link.resolve() == path.resolve():
                return Note.of("name-port", key=place, path=link)
    return Note.of("find-port", key=place, folder=machine.dev / "serial/by-path")


def firmware(port: str, baud: int, ask: Callable[[str, int], Capabilities] = ask) -> CheckResult:
    """Check the board's firmware. This resets the board, so its port must not be in use."""
    try:
        found = ask(port, baud)
    except RobotError as fault:
        return CheckResult.describe("firmware", fault)
    if not matches(found):
        text = Note.of("wrong-firmware", found=found.firmware_version, expected=FIRMWARE_VERSION)
        return CheckResult("firmware", "bad", text, f"cubist firmware flash --port {port}")
    text = Note.of("firmware-runs", version=found.firmware_version, chip=found.board.name.lower())
    return CheckResult("firmware", "ok", text)


def gpio(machine: Computer) -> CheckResult:
    """Check the library for button, light and buzzer, and that it can open the chip."""
    try:
        outdated = machine.open_gpio().is_outdated
    except PanelError as fault:
        absent = isinstance(fault.__cause__, ImportError)
        return replace(CheckResult.describe("gpio", fault), verdict="warning" if absent else "bad")
    if outdated:
        return CheckResult("gpio", "warning", Note.of("gpio-old"), REPLACE)
    return CheckResult("gpio", "ok", Note.of("gpio-works"))


def disk(state_dir: Path) -> CheckResult:
    """Check the free space for records and calibration."""
    place = next(path for path in (state_dir, *state_dir.parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = Note.of("disk-free", free=free // 1024**2, folder=state_dir)
    if free < MIN_FREE_BYTES:
        return CheckResult("disk", "bad", text, Note.of("disk-full"))
    if not os.access(place, os.W_OK):
        why = Note.of("not-writable", folder=place)
        return CheckResult("disk", "warning", why, Note.of("belongs-to-service"))
    return CheckResult("disk", "ok", text)


def clock(machine: Computer) -> CheckResult:
    """Check the time of day, for records; motion does not depend on it."""
    now = machine.now_s()
    text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    if now < EARLIEST_CLOCK_S:
        wrong = Note.of("clock-wrong", time=text)
        return CheckResult("clock", "warning", wrong, Note.of("connect-once"))
    return CheckResult("clock", "ok", text)


def power(machine: Computer) -> Iterator[CheckResult]:
    """Check voltage and temperature, as a Raspberry Pi's firmware reports them."""
    path = machine.sys / "devices/platform/soc/soc:firmware/get_throttled"
    try:
        flags = int(read_text(path, LARGEST_SETTINGS), 16)
    except ValueError:
        yield CheckResult("power", "ok", Note.of("power-unknown"))
        return
    found = [(bit, code) for bit, code in _THROTTLED.items() if flags >> bit & 1]
    if not found:
        yield CheckResult("power", "ok", Note.of("power-fine"))
    for bit, code in found:
        verdict: Verdict = "bad" if bit < _NOT_NOW else "warning"
        yield CheckResult("power", verdict, Note.of(code), Note.of("better-power"))


def worst(findings: Sequence[CheckResult]) -> Verdict:
    """Return the worst verdict of all."""
    order: tuple[Verdict, ...] = ("bad", "warning", "ok")
    return next(verdict for verdict in order if verdict in {f.verdict for f in findings})
