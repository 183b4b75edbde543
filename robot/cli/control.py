"""``cubist start``, ``stop``, ``home``, ``scramble``, ``shutdown``: requests to the daemon."""

from __future__ import annotations

import click

from robot.cli.output import emit, json_option
from robot.client import ControlClient
from robot.outcomes import ExitCode


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
    stopped = ControlClient().stop(emergency=emergency)
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
    answer = ControlClient().call("POST", "/shutdown", {})
    if as_json:
        emit(answer)
    else:
        click.echo("the robot is shutting down; wait for the light to go out")
    return ExitCode.DONE


def run_job(kind: str, wait: bool, as_json: bool, **more: str | None) -> int:
    """Start a job and, unless told not to, follow it to its end; the command's exit code."""
    client = ControlClient()
    run_id = client.start(kind, **{key: value for key, value in more.items() if value is not None})
    if not wait:
        _tell_started(run_id, as_json)
        return ExitCode.DONE
    from robot.cli.following import follow

    return follow(client, run_id, as_json)


def _tell_started(run_id: str, as_json: bool) -> None:
    if as_json:
        emit({"run": run_id})
    else:
        click.echo(f"run {run_id} started; `cubist status --watch` follows it")
