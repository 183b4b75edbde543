"""``cubist doctor``: is this machine ready to run a robot, and if not, what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from robot.cli.output import daemon_client, emit, json_option
from robot.client import NoDaemon
from robot.machine.checkup import Computer, Finding, check_up, firmware, worst
from robot.outcomes import ExitCode
from robot.paths import state_directory
from robot.settings import DEFAULT_PROFILE, load_profile

if TYPE_CHECKING:
    from robot.documents import JsonMapping

_COLOURS = {"ok": "green", "warning": "yellow", "bad": "red"}


@click.command()
@click.option("--robot", "profile", help="The robot's profile (default: the service's).")
@json_option
def doctor(profile: str | None, as_json: bool) -> int:
    """Check camera, board, permissions, GPIO, disk, clock, power, configuration and the daemon.

    Exit code 1 when something is bad; each finding says what to do.
    """
    findings = list(_examine(profile or os.environ.get("CUBIST_PROFILE", DEFAULT_PROFILE)))
    for finding in findings:
        if as_json:
            emit(asdict(finding))
        else:
            _tell(finding)
    return ExitCode.NO if worst(findings) == "bad" else ExitCode.DONE


def _examine(profile: str) -> Iterator[Finding]:
    settings = load_profile(profile)
    findings = list(check_up(settings, state_directory(), Computer()))
    yield from findings
    try:
        yield _daemon(daemon_client().status())
    except NoDaemon as error:
        port = next(found for found in findings if found.about == "board")
        if port.verdict == "ok":
            yield firmware(port.text, settings.firmware.baud)
        yield Finding("daemon", "warning", "cubistd cannot be reached", str(error))


def _daemon(status: JsonMapping) -> Finding:
    """The daemon's own view; it says when the board's firmware is not ours."""
    if status["fault"]:
        fault = status["fault"]
        return Finding("daemon", "bad", fault["cause"], fault["remedy"])
    return Finding("daemon", "ok", f"cubistd {status['version']} is {status['state']}")


def _tell(finding: Finding) -> None:
    click.secho(f"{finding.verdict:8}", fg=_COLOURS[finding.verdict], nl=False)
    click.echo(f"{finding.about:8}  {finding.text}")
    if finding.remedy:
        click.echo(f"{'':18}{finding.remedy}")
