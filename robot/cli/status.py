"""``cubist status``: what the robot is doing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from robot.cli.output import ExitCode, emit, json_option
from robot.daemon.client import ControlClient

_COLOURS = {"idle": "green", "fault": "red", "maintenance": "yellow"}


@click.command()
@click.option("--watch", is_flag=True, help="Go on telling what happens, until Ctrl-C.")
@json_option
def status(watch: bool, as_json: bool) -> int:
    """Show what the robot is doing; exit code 1 when it needs help (a fault)."""
    client = ControlClient()
    now = client.status()
    if as_json:
        emit(now)
    else:
        tell_status(now)
    if watch:
        _watch(client, as_json)
    return ExitCode.NO if now["state"] == "fault" else ExitCode.DONE


def tell_status(now: Mapping[str, Any]) -> None:
    """Print a status for a person."""
    click.secho(now["state"], fg=_COLOURS.get(now["state"], "cyan"), bold=True, nl=False)
    homed = "homed" if now["homed"] else "not homed"
    click.echo(f"  {now['robot']}, {homed}, cubistd {now['version']} (process {now['process']})")
    if now["job"]:
        job = now["job"]
        click.echo(f"  run {job['run']}: {job['step']} ({job['elapsed_s']:.0f} s)")
    if now["fault"]:
        click.echo(f"  {now['fault']['cause']}")
        click.echo(f"  What to do: {now['fault']['remedy'] or 'see the journal'}")
    if now["last_run"]:
        last = now["last_run"]
        click.echo(f"  last: run {last['id']} {last['outcome']} in {last['duration_s']:.1f} s")


def _watch(client: ControlClient, as_json: bool) -> None:
    for event in client.events():
        if as_json:
            emit(event)
        else:
            words = [event["time"][11:19], event["state"], event["text"], event["outcome"] or ""]
            click.echo("  ".join(word for word in words if word))
