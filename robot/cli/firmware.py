"""``cubist firmware``: build it, put it on the microcontroller, ask what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from robot.cli.groups import Listing
from robot.cli.numbers import Whole
from robot.cli.output import emit, json_option
from robot.firmware import BOARDS, Built, ask, build, flash, matches
from robot.link.protocol import FIRMWARE_VERSION
from robot.outcomes import ExitCode

Command = TypeVar("Command", bound=Callable[..., Any])


def board_option(command: Command) -> Command:
    """Add ``--board``."""
    return click.option(
        "--board",
        type=click.Choice(list(BOARDS)),
        help="uno (also Nano) or mega; all boards when not given.",
    )(command)


def port_options(command: Command) -> Command:
    """Add ``--port`` and ``--baud``."""
    command = click.option(
        "--baud",
        type=Whole(1_200, 4_000_000),
        default=500_000,
        show_default=True,
        help="Speed of the link.",
    )(command)
    return click.option("--port", required=True, help="Serial port, see /dev/serial/by-id.")(
        command
    )


@click.group(cls=Listing)
def firmware() -> None:
    """Build, flash and inspect the firmware of the microcontroller."""


@firmware.command(name="build")
@board_option
@json_option
def build_command(board: str | None, as_json: bool) -> int:
    """Build the firmware and report its size."""
    for name in [board] if board else list(BOARDS):
        _report(build(name), as_json)
    return ExitCode.DONE


@firmware.command(name="flash")
@click.option("--board", type=click.Choice(list(BOARDS)), required=True, help="uno or mega.")
@click.option("--port", required=True, help="Serial port, see /dev/serial/by-id.")
@json_option
def flash_command(board: str, port: str, as_json: bool) -> int:
    """Build the firmware and put it on the board at PORT."""
    built = build(board)
    flash(built, port)
    if as_json:
        emit({"board": board, "port": port, "version": FIRMWARE_VERSION})
    else:
        click.secho(f"Firmware {FIRMWARE_VERSION} is on the {built.board.title}.", fg="green")
    return ExitCode.DONE


@firmware.command()
@port_options
@json_option
def version(port: str, baud: int, as_json: bool) -> int:
    """Show what the board at PORT runs; exit code 1 when it should be flashed."""
    found = ask(port, baud)
    right = matches(found)
    if as_json:
        emit(
            {
                "board": found.board.name.lower(),
                "version": found.firmware_version,
                "expected": FIRMWARE_VERSION,
                "matches": right,
                "steps_per_s": [found.rate_one, found.rate_two, found.rate_six],
                "reset_cause": found.reset_cause.name.lower(),
            }
        )
    else:
        click.echo(f"{found.board.name}: firmware {found.firmware_version}")
        if not right:
            click.secho(
                f"Expected {FIRMWARE_VERSION}: cubist firmware flash --port {port}", fg="yellow"
            )
    return ExitCode.DONE if right else ExitCode.NO


def _report(built: Built, as_json: bool) -> None:
    board = built.board
    if as_json:
        emit(
            {
                "board": board.name,
                "hex": str(built.hex),
                "flash_bytes": built.flash_bytes,
                "static_ram_bytes": built.static_ram_bytes,
                "version": FIRMWARE_VERSION,
            }
        )
        return
    click.echo(
        f"{board.title}: {built.flash_bytes} of {board.flash_bytes} bytes of flash, "
        f"{built.static_ram_bytes} of {board.ram_bytes} bytes of RAM   {built.hex}"
    )
