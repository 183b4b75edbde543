"""``cubist status`` and ``cubist logs``: what the robot does and what its daemon has logged."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from robot.cli.numbers import Whole
from robot.cli.output import (
    daemon_client,
    emit,
    json_option,
    outcome_name,
    state_colour,
    state_name,
    while_read,
)
from robot.client import ControlClient
from robot.languages import chosen_catalogue
from robot.outcomes import ExitCode
from solver.errors import CubistError

if TYPE_CHECKING:
    from robot.documents import JsonMapping


_LIVE = frozenset({"cube", "look", "motion", "clock"})
"""Events for those who see pictures, not lines."""


@click.command()
@click.option(
    "--watch",
    is_flag=True,
    help="Keep reporting until Ctrl-C: a live picture on a terminal, else lines.",
)
@json_option
def status(watch: bool, as_json: bool) -> int:
    """Show what the robot is doing; exit code 1 when it needs help (a fault)."""
    client = daemon_client()
    if not watch:
        return _tell_now(client, as_json)
    if not as_json and sys.stdout.isatty():
        from robot.cli.status_screen import watch_status  # rich only where it draws

        watch_status(client)
    with client.events() as events:
        code = _tell_now(client, as_json)
        with while_read(sys.stdout, events.end):
            for event in events:
                _tell_event(event, as_json)
    return code


def _tell_now(client: ControlClient, as_json: bool) -> int:
    """Print the status; the exit code it means."""
    now = client.status()
    if as_json:
        emit(now)
    else:
        tell_status(now)
    return ExitCode.NO if now["state"] == "fault" else ExitCode.DONE


def tell_status(now: JsonMapping) -> None:
    """Print a status for a person."""
    said = chosen_catalogue()
    click.secho(state_name(now["state"]), fg=state_colour(now["state"]), bold=True, nl=False)
    homed = "" if now["state"] == "homing" else "homed, " if now["homed"] else "not homed, "
    simulated = "simulated, " if now["simulated"] else ""
    click.echo(
        f"  {now['robot']}, {simulated}{homed}cubistd {now['version']} (process {now['process']})"
    )
    if now["job"]:
        job = now["job"]
        click.echo(
            f"  run {job['run']}: {said.step(job)}{_how_far(job)} ({job['elapsed_s']:.0f} s)"
        )
    elif (preparation := now.get("preparation")) is not None:
        click.echo(f"  {said.step(preparation)}{_how_far(preparation)}")
    if now["fault"]:
        click.echo(f"  {said.cause(now['fault'])}")
        click.echo(
            f"  What to do: {said.remedy(now['fault']) or 'see the journal (`cubist logs`)'}"
        )
    for line in drift_lines(now):
        click.echo(f"  {line}")
    for warning in now["warnings"]:
        click.echo(f"  {said.note(warning, now.get('notes', []))}")
    if now["last_run"]:
        last = now["last_run"]
        outcome = outcome_name(last["outcome"])
        click.echo(f"  last: run {last['id']} {outcome} in {last['duration_s']:.1f} s")


def drift_lines(now: JsonMapping) -> list[str]:
    """How far each position has moved since the robot was calibrated, for a person."""
    return [
        f"drift: {one['actuator']} {one['position']} {one['degrees']:+.1f} degrees since "
        f"{one['since']}, {one['corrected_degrees']:+.1f} of it corrected ({one['solves']} solves)"
        for one in now.get("drift", [])
    ]


def _how_far(work: JsonMapping) -> str:
    """``, 42% done, 3 s left`` as far as that is known."""
    done, left = work["progress"], work.get("remaining_s")
    words = [] if done is None else [f"{done:.0%} done"]
    words += [] if left is None else [f"{left:.0f} s left"]
    return "".join(f", {word}" for word in words)


def _tell_event(event: JsonMapping, as_json: bool) -> None:
    if as_json:
        emit(event)
        return
    if event["event"] in _LIVE:
        return
    local = datetime.fromisoformat(event["time"]).astimezone()
    text = event["text"]
    if event["event"] == "finished":
        text = f"run {event['run']} ended: {event['outcome']}" + (f", {text}" if text else "")
    click.echo(f"{local:%H:%M:%S}  {event['state']:8}  {text}")


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
