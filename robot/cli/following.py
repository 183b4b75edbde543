"""Staying with a job until it ends: progress on standard error, the record's summary at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from robot.cli.output import emit, note
from robot.client import ControlClient
from robot.outcomes import exit_code, is_success

if TYPE_CHECKING:
    from robot.documents import JsonMapping

POLL_S = 0.2


def follow(
    client: ControlClient,
    run_id: str,
    as_json: bool,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Show a job until it ends. Ctrl-C stops the robot."""
    try:
        watch(client, run_id, sleep)
    except KeyboardInterrupt:
        note("stopping the robot")
        client.stop()
    record = client.run(run_id)
    if as_json:
        emit(record)
    else:
        tell(record)
    return exit_code(record["outcome"])


def tell(record: JsonMapping) -> None:
    """Say how a run ended: the outcome, what went wrong on the way, the moves."""
    line = f"{record['outcome']} in {record['duration_s']:.1f} s, run {record['id']}"
    if is_success(record["outcome"]):
        click.secho(line, fg="green", bold=True)
    else:
        click.secho(line, fg="red", bold=True, nl=not record["reason"])
        if record["reason"]:
            click.echo(f": {record['reason']}")
        if record["faults"] and (remedy := record["faults"][-1]["remedy"]):
            click.echo(f"What to do: {remedy}")
    for text in (*record["recoveries"], *record["warnings"]):
        click.echo(f"On the way: {text}")
    if record.get("moves"):
        click.echo(record["moves"])


def watch(
    client: ControlClient,
    run_id: str,
    sleep: Callable[[float], None] = time.sleep,
    about: str = "",
) -> None:
    """Show a job until it ends, each step with what it is ``about`` in front."""
    console = Console(stderr=True)
    if not console.is_terminal:
        _tell_steps(client, run_id, sleep, about)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None)
        while (job := client.status()["job"]) is not None and job["run"] == run_id:
            fraction = job["progress"]
            text = about + job["step"]
            total = fraction and 1.0
            progress.update(task, description=text, completed=fraction or 0, total=total)
            sleep(POLL_S)


def _tell_steps(
    client: ControlClient, run_id: str, sleep: Callable[[float], None], about: str
) -> None:
    told = ""
    while (job := client.status()["job"]) is not None and job["run"] == run_id:
        if job["step"] != told:
            note(about + job["step"])
        told = job["step"]
        sleep(POLL_S)
