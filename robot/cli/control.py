"""``cubist start``, ``stop``, ``home``, ``scramble``, ``shutdown``: requests to the daemon.

Whoever waits for a job sees its progress on standard error, and the record's summary at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from robot.cli.output import daemon_client, emit, json_option, note, outcome_name
from robot.client import ControlClient
from robot.languages import chosen_catalogue
from robot.outcomes import ExitCode, exit_code, is_success

if TYPE_CHECKING:
    from robot.documents import JsonMapping


@click.command()
@click.option("--wait/--no-wait", default=True, help="Wait until the job ends (the default).")
@json_option
def start(wait: bool, as_json: bool) -> int:
    """Scan the cube in the robot and solve it, like a short press of the button."""
    return run_job("solve", wait, as_json)


@click.command()
@click.option("--emergency", is_flag=True, help="Outputs off at once; the robot must home again.")
@json_option
def stop(emergency: bool, as_json: bool) -> int:
    """Stop the robot: it finishes the current motion and holds."""
    stopped = daemon_client().stop(emergency=emergency)
    if as_json:
        emit({"stopped": stopped})
    else:
        click.echo("stopped" if stopped else "nothing to stop")
    return ExitCode.DONE


@click.command()
@click.option("--wait/--no-wait", default=True, help="Wait until the job ends (the default).")
@json_option
def home(wait: bool, as_json: bool) -> int:
    """Bring the robot to its start position, like a long press of the button."""
    return run_job("home", wait, as_json)


@click.command()
@click.argument("moves", required=False)
@click.option("--wait/--no-wait", default=True, help="Wait until the job ends (the default).")
@json_option
def scramble(moves: str | None, wait: bool, as_json: bool) -> int:
    """Scramble the cube in the robot, with MOVES or at random."""
    return run_job("scramble", wait, as_json, moves=moves)


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def shutdown(yes: bool, as_json: bool) -> int:
    """Stop the robot, then switch the Raspberry Pi off cleanly."""
    if not yes:
        click.confirm("Switch the robot off?", abort=True, err=True)
    answer = daemon_client().call("POST", "/shutdown", {})
    if as_json:
        emit(answer)
    else:
        click.echo("the robot is shutting down; wait for the light to go out")
    return ExitCode.DONE


def run_job(kind: str, wait: bool, as_json: bool, **more: str | None) -> int:
    """Start a job and, unless told not to, follow it to its end; the command's exit code."""
    client = daemon_client()
    run_id = client.start(kind, **{key: value for key, value in more.items() if value is not None})
    if not wait:
        _tell_started(run_id, as_json)
        return ExitCode.DONE
    return follow(client, run_id, as_json)


def _tell_started(run_id: str, as_json: bool) -> None:
    if as_json:
        emit({"run": run_id})
    else:
        click.echo(f"run {run_id} started; `cubist status --watch` follows it")


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
    said = chosen_catalogue()
    line = f"{outcome_name(record['outcome'])} in {record['duration_s']:.1f} s, run {record['id']}"
    if is_success(record["outcome"]):
        click.secho(line, fg="green", bold=True)
    else:
        click.secho(line, fg="red", bold=True, nl=not record["reason"])
        fault = record["faults"][-1] if record["faults"] else None
        if record["reason"]:
            click.echo(f": {said.reason(record)}")
        if fault and (remedy := said.remedy(fault)):
            click.echo(f"What to do: {remedy}")
    for text in (*record["recoveries"], *record["warnings"]):
        click.echo(f"On the way: {said.note(text, record.get('notes', []))}")
    if record.get("moves"):
        click.echo(record["moves"])


def watch(
    client: ControlClient,
    run_id: str,
    sleep: Callable[[float], None] = time.sleep,
    about: str = "",
) -> None:
    """Show a job until it ends, each step with what it is ``about`` in front."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

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
            text = about + chosen_catalogue().step(job)
            total = fraction and 1.0
            progress.update(task, description=text, completed=fraction or 0, total=total)
            sleep(POLL_S)


def _tell_steps(
    client: ControlClient, run_id: str, sleep: Callable[[float], None], about: str
) -> None:
    told = ""
    while (job := client.status()["job"]) is not None and job["run"] == run_id:
        if job["step"] != told:
            note(about + chosen_catalogue().step(job))
        told = job["step"]
        sleep(POLL_S)
