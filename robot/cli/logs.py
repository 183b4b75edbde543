"""``cubist logs``: the daemon's lines in the journal."""

from __future__ import annotations

import shutil
import subprocess

import click

from robot.cli.numbers import Whole
from robot.cli.output import json_option
from robot.outcomes import ExitCode
from solver.errors import CubistError


class NoJournal(CubistError, RuntimeError):
    """This machine has no systemd journal."""


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Keep showing new lines until Ctrl-C.")
@click.option(
    "--lines", "-n", type=Whole(1, 1_000_000), default=100, show_default=True, help="Lines to show."
)
@click.option("--since", help="Start time in journalctl's format: today, -1h, ...")
@json_option
def logs(follow: bool, lines: int, since: str | None, as_json: bool) -> int:
    """Show the daemon's journal."""
    program = shutil.which("journalctl")
    if program is None:
        raise NoJournal(
            "there is no systemd journal on this machine; a cubistd that you started yourself "
            "writes to its own terminal"
        )
    command = [program, "--unit", "cubistd", "--lines", str(lines), "--no-pager"]
    command += ["--follow"] if follow else []
    command += ["--since", since] if since else []
    command += ["--output", "json" if as_json else "short"]
    code = subprocess.run(command, check=False).returncode
    return ExitCode.DONE if code == 0 else ExitCode.FAILED
