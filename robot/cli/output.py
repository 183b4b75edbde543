"""What every command prints and how it ends: JSON Lines on stdout, the rest on stderr."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from robot.faults import FAULTS, fault_code
from robot.outcomes import ERRORS, ExitCode, exit_code
from robot.storage import is_standard_output
from solver.errors import CubistError

Command = TypeVar("Command", bound=Callable[..., Any])


def exit_code_of(error: CubistError) -> ExitCode:
    """The exit code of an error: by its class, else that of the outcome which a fault leads to.

    A bad profile is a fault of the daemon that met it, but bad usage of the command given it.
    """
    for kind in type(error).__mro__:
        if kind.__name__ in ERRORS:
            return ERRORS[kind.__name__]
    row = FAULTS.get(fault_code(error))
    if row is not None:
        return exit_code(row.outcome)
    return ExitCode.USAGE if isinstance(error, ValueError) else ExitCode.FAILED


def json_option(command: Command) -> Command:
    """Add ``--json`` (argument ``as_json``)."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")(
        command
    )


def refuse_two_outputs(file: Path | None, as_json: bool) -> None:
    """Raise ``UsageError`` where a file given as ``-`` and JSON both want standard output."""
    if as_json and is_standard_output(file):
        raise click.UsageError("- and --json both write to standard output: leave one of them away")


def printing_beside(file: Path | None) -> contextlib.AbstractContextManager[Any]:
    """While a file given as ``-`` takes standard output, print to standard error."""
    if is_standard_output(file):
        return contextlib.redirect_stdout(sys.stderr)
    return contextlib.nullcontext()


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
