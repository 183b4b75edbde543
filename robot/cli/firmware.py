"""``cubist firmware``: build the firmware, flash it, and show the version that a board runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from robot.cli.numbers import RegisteredName, Whole
from robot.cli.output import Listing, answer, json_option, note, require_terminal
from robot.computer.board_family import (
    BuiltFirmware,
    FirmwareError,
    ask,
    board_for,
    build,
    family_of,
    firmware_boards,
    matches,
    missing,
    require,
)
from robot.computer.serial_ports import SerialPort, serial_ports
from robot.link.protocol import FIRMWARE_VERSION
from robot.settings import RobotProfile, load_profile
from solver.errors import ExitCode

BOARD_NAMES = ", ".join(f"{name} ({board.title})" for name, board in firmware_boards().items())


@click.group(cls=Listing)
def firmware() -> None:
    """Build, flash and inspect the firmware of the microcontroller."""


@firmware.command(name="build")
@click.option(
    "--board", type=RegisteredName(firmware_boards), help=f"{BOARD_NAMES} (default: all boards)."
)
@json_option
def build_command(board: str | None, as_json: bool) -> int:
    """Build the firmware and report its size.

    Without ``--board``, boards whose compiler is not installed are left out.
    """
    boards = firmware_boards()
    lacking = {name: missing(family_of(boards[name].target).build_packages) for name in boards}
    if board is None and not all(lacking.values()):
        for name in filter(lacking.__getitem__, boards):
            note(f"{boards[name].title}: skipped, {', '.join(lacking[name])} not installed")
        boards = {name: one for name, one in boards.items() if not lacking[name]}
    for name in [board] if board else boards:
        _report(build(name), as_json)
    return ExitCode.DONE


@firmware.command(name="flash")
@click.option(
    "--board",
    type=RegisteredName(firmware_boards),
    help=f"{BOARD_NAMES} (default: the one detected at the port, else the robot's).",
)
@click.option(
    "--port",
    help="Serial port (default: that of the robot's profile, else the only board connected, or one "
    "you choose).",
)
@click.option("--robot", "profile", help="Profile of the robot that the board belongs to.")
@json_option
def flash_command(board: str | None, port: str | None, profile: str | None, as_json: bool) -> int:
    """Build the firmware and flash the only board connected, or the one you name.

    A Pico in its bootloader, which appears as a drive, takes precedence. If the robot has several
    boards, all of them are flashed, each at its port, unless you name one by its port. In a
    terminal, the command asks for anything it cannot detect.
    """
    robot = load_profile(profile) if profile else None
    if robot is not None:
        _require_kind(robot, board)
    _require_tools([board] if board else _possible_kinds(robot, serial_ports()))
    if robot is not None and robot.boards and port is None:
        if board is not None:
            raise click.UsageError("--board is for one board: name its --port, too")
        for name in robot.every_board:
            _flash_of_several(robot, name, as_json)
        return ExitCode.DONE
    waiting = None if port else _find_waiting(board or _kind_of(robot))
    ports = serial_ports()
    kinds = [board] if board else _possible_kinds(robot, ports)
    at = waiting or choose_port(ports, port or _port_of(robot), kinds)
    kind = board or choose_board(at, _board_at(robot, at))
    _flash(kind, at, "", as_json)
    return ExitCode.DONE


def _require_kind(robot: RobotProfile, board: str | None) -> None:
    """Raise ``UsageError`` unless the robot has a board to flash, of kind ``board`` if given."""
    boards = robot.every_board.items()
    own = [name for name, one in boards if family_of(one.target).is_flashable]
    if not own:
        raise click.UsageError(
            f"robot {robot.name} has no board to flash: the Raspberry Pi drives its pins itself. "
            "For a board of another robot, name that robot with --robot, or give --board"
        )
    kinds = {board_for(robot, name).name for name in own}
    if board is not None and board not in kinds:
        has = " and ".join(firmware_boards()[kind].title for kind in sorted(kinds))
        raise click.UsageError(
            f"--board {board} is not on robot {robot.name}, which has {has}. Omit --board, or "
            "change the profile first"
        )


def _kind_of(robot: RobotProfile | None) -> str | None:
    """Return the kind of a robot's only board; None if it has several or is unknown."""
    return None if robot is None or robot.boards else board_for(robot).name


def _port_of(robot: RobotProfile | None) -> str | None:
    """Return the port that a robot's profile names; None if the port has to be searched for."""
    named = robot is not None and not robot.boards and robot.link.port != "auto"
    return robot.link.port if robot is not None and named else None


def _find_waiting(board: str | None) -> SerialPort | None:
    """Return the drive of a board that waits for its firmware, as a port that identifies it."""
    boards = firmware_boards()
    for name in [board] if board else boards:
        drive = family_of(boards[name].target).find_drive()
        if drive is not None:
            note(f"{boards[name].title} is waiting at {drive}")
            return SerialPort(str(drive), boards[name].title, board_name=name)
    return None


def _possible_kinds(robot: RobotProfile | None, ports: Sequence[SerialPort]) -> Iterable[str]:
    """Return the kinds of a robot's boards; for an unknown robot, those that fit these ports."""
    if robot is not None:
        return [board_for(robot, name).name for name in robot.every_board]
    vendors = {port.vendor for port in ports}
    boards = firmware_boards().items()
    found = [name for name, one in boards if vendors & set(family_of(one.target).usb_vendors)]
    return found or firmware_boards()


def _require_tools(kinds: Iterable[str]) -> None:
    """Raise ``FirmwareError``, before any question, if tools of the only possible family miss."""
    boards = firmware_boards()
    families = set(map(family_of, (boards[kind].target for kind in kinds)))
    if len(families) == 1:
        family = families.pop()
        require([*family.build_packages, *family.flash_packages])


def _board_at(robot: RobotProfile | None, at: SerialPort) -> str | None:
    """Return the kind of board that a robot has at a port; None if that is not known."""
    if robot is None:
        return None
    boards = robot.every_board.items()
    there = [name for name, one in boards if str(Path(one.port).resolve()) == at.device]
    kinds = {board_for(robot, name).name for name in there or robot.every_board}
    return kinds.pop() if len(kinds) == 1 else None


def _flash_of_several(robot: RobotProfile, name: str, as_json: bool) -> None:
    """Flash one board of a robot that has several, at the port where the profile has it."""
    settings = robot.every_board[name]
    if not family_of(settings.target).is_flashable:
        return
    try:
        at = choose_port(serial_ports(), settings.port)
        _flash(choose_board(at, board_for(robot, name).name), at, name, as_json)
    except FirmwareError as trouble:
        raise FirmwareError(f"board {name}: {trouble}") from trouble


def _flash(kind: str, at: SerialPort, name: str, as_json: bool) -> None:
    """Build and flash. ``name``: the board's name, if the robot has several."""
    family = family_of(firmware_boards()[kind].target)
    require(
        [*family.build_packages, *family.flash_packages]
    )  # the family may not have been known before
    built = build(kind)
    family.flash(built, at.device)
    which = f" of board {name}, {at.device}" if name else ""
    text = f"Firmware {FIRMWARE_VERSION} is on the {built.board.title}{which}."
    document = {"board": kind, "port": at.device, "version": FIRMWARE_VERSION}
    named = {"name": name} if name else {}
    answer(document | named, as_json, click.style(text, fg="green"))


@firmware.command()
@click.option("--port", required=True, help="Serial port, see /dev/serial/by-id.")
@click.option(
    "--baud",
    type=Whole(1_200, 4_000_000),
    default=500_000,
    show_default=True,
    help="Speed of the link.",
)
@json_option
def version(port: str, baud: int, as_json: bool) -> int:
    """Show the firmware of the board at PORT; exit code 1 if it should be flashed."""
    found = ask(port, baud)
    right = matches(found)
    document = {
        "board": found.board.name.lower(),
        "version": found.firmware_version,
        "expected": FIRMWARE_VERSION,
        "matches": right,
        "steps_per_s": [found.rate_one, found.rate_two, found.rate_six],
        "reset_cause": found.reset_cause.name.lower(),
    }
    text = f"{found.board.name}: firmware {found.firmware_version}"
    if not right:
        remedy = f"Expected {FIRMWARE_VERSION}: cubist firmware flash --port {port}"
        text += "\n" + click.style(remedy, fg="yellow")
    answer(document, as_json, text)
    return ExitCode.DONE if right else ExitCode.NO


def choose_port(
    ports: Sequence[SerialPort], named: str | None, kinds: Iterable[str] = ()
) -> SerialPort:
    """Return the port of this name, else the only one with a board, else one the person chooses.

    ``kinds``: the possible kinds of the board, for advice if none is found. Raises
    :class:`FirmwareError` with the names of all ports if no board is found, and ``UsageError`` if
    several boards are connected and there is no terminal to ask at.
    """
    if named is not None:
        device = str(Path(named).resolve())  # /dev/serial/by-id holds links
        return next((port for port in ports if port.device == device), SerialPort(named, "a port"))
    boards = [port for port in ports if port.may_be_board]
    if not boards:
        others = ", ".join(map(str, ports)) or "none"
        raise FirmwareError(
            f"no board found; serial ports here: {others}. Plug the board in by USB, with a cable "
            "that has data lines, or name its port with --port."
            + "".join(f" {advice}" for advice in _advise_on_new(kinds))
        )
    if len(boards) == 1:
        note(f"Board at {boards[0]}")
        return boards[0]
    listed = [f"{number}: {port}" for number, port in enumerate(boards, 1)]
    require_terminal(f"several boards are connected, choose with --port: {', '.join(listed)}")
    note("\n".join(listed))
    chosen = click.prompt("Which board", type=click.IntRange(1, len(boards)), err=True)
    return boards[int(chosen) - 1]


def _advise_on_new(kinds: Iterable[str]) -> Iterable[str]:
    """Return advice, each once, for boards of these kinds that have never had a firmware."""
    families = (family_of(firmware_boards()[kind].target) for kind in kinds)
    return dict.fromkeys(filter(None, (family.about_new for family in families)))


def choose_board(port: SerialPort, needed: str | None) -> str:
    """Return the kind of board at a port: by its identity, the robot's need, or a person's answer.

    Raises :class:`FirmwareError` if the first two differ, and ``UsageError`` if neither is known
    and there is no terminal to ask at.
    """
    boards = _boards_at(port)
    titles = {name: board.title for name, board in firmware_boards().items()}
    if port.board and needed and port.board != needed:
        raise FirmwareError(
            f"{port} is {titles[port.board]}; the robot needs {titles[needed]}. "
            "Choose another --port, or another --robot."
        )
    known = port.board or needed or (next(iter(boards)) if len(boards) == 1 else None)
    if known:
        return known
    options = " or ".join(f"--board {name}" for name in boards)
    require_terminal(f"{port} does not identify its board; give {options}")
    kinds = click.Choice(list(boards))
    listed = ", ".join(f"{name}: {titles[name]}" for name in boards)
    answer: str = click.prompt(f"Which board is it ({listed})", type=kinds, err=True)
    return answer


def _boards_at(port: SerialPort) -> Sequence[str]:
    """Return the kinds of boards that a port's USB vendor allows; all kinds if it fits none."""
    boards = firmware_boards()
    fitting = [name for name in boards if port.vendor in family_of(boards[name].target).usb_vendors]
    return fitting or list(boards)


def _report(built: BuiltFirmware, as_json: bool) -> None:
    board = built.board
    document = {
        "board": board.name,
        "image": str(built.image),
        "flash_bytes": built.flash_bytes,
        "static_ram_bytes": built.static_ram_bytes,
        "version": FIRMWARE_VERSION,
    }
    text = (
        f"{board.title}: {built.flash_bytes} of {board.flash_bytes} bytes of flash, "
        f"{built.static_ram_bytes} of {board.ram_bytes} bytes of RAM   {built.image}"
    )
    answer(document, as_json, text)
