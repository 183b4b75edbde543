"""What every command prints and how it ends: JSON Lines on stdout, the rest on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, TypeVar

import click

from solver.errors import CubistError

Command = TypeVar("Command", bound=Callable[..., Any])


class ExitCode(IntEnum):
    """How a command ended; scripts rely on these."""

    DONE = 0
    NO = 1
    USAGE = 2
    FAILED = 3
    STOPPED = 4


_BY_NAME = {
    "IllegalCube": ExitCode.NO,
    "Unreadable": ExitCode.NO,
    "SearchFailed": ExitCode.STOPPED,
    "BadProfile": ExitCode.USAGE,
    "UnknownProfile": ExitCode.USAGE,
    "StorageError": ExitCode.USAGE,
    "RunStopped": ExitCode.STOPPED,
}
"""Errors by name, so that telling an exit code apart does not import half of Cubist."""


def exit_code_of(error: CubistError) -> ExitCode:
    """The exit code of an error: by name, else bad values are usage and the rest is the robot."""
    for kind in type(error).__mro__:
        if kind.__name__ in _BY_NAME:
            return _BY_NAME[kind.__name__]
    return ExitCode.USAGE if isinstance(error, ValueError) else ExitCode.FAILED


def json_option(command: Command) -> Command:
    """Add ``--json`` (argument ``as_json``)."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")(
        command
    )


def a_number(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """A callback of options: a range lets ``nan`` through."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is not a number")
    return value


def emit(document: Mapping[str, Any]) -> None:
    """Print one JSON object on a line of standard output, at once."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, separators=(", ", ": ")) + "\n")
    sys.stdout.flush()


def complain(message: str) -> None:
    """Say what went wrong, on standard error."""
    click.secho("cubist: ", fg="red", bold=True, nl=False, err=True)
    click.echo(message, err=True)


def note(message: str) -> None:
    """Say something in passing, on standard error."""
    click.echo(message, err=True)
