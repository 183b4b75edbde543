"""``cubist status``, ``logs`` and ``web``: the robot's state, its daemon's journal, its page."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from robot.api.client import ControlClient
from robot.api.endpoints import LIVE_EVENTS, LOG, LOG_LEVELS, RobotState
from robot.api.paths import simulated_robot
from robot.cli.numbers import Whole
from robot.cli.output import (
    answer,
    daemon_client,
    emit,
    json_option,
    note,
    state_colour,
    while_read,
)
from robot.cli.texts import (
    TerminalText,
    calibration_lines,
    calibrator_text,
    drift_lines,
    driver_lines,
    duration_text,
    fault_lines,
    homed_text,
    last_run_text,
    progress_text,
    say,
    state_name,
    warning_lines,
)
from robot.text.languages import chosen_catalogue
from solver.errors import ExitCode

if TYPE_CHECKING:
    from robot.api.endpoints import EventJson, JobStatusJson, PreparationJson, RobotStatusJson

MOST_OWN_LINES = 1000
"""Maximum number of lines that a daemon keeps of its log."""

OWN_LOG_PERIOD_S = 0.5

JOURNAL_LEVELS = {"error": "err"}
"""Levels that ``journalctl`` knows by another name."""


@click.command()
@click.option(
    "--watch",
    is_flag=True,
    help="Keep reporting until Ctrl-C: a live picture on a terminal, else lines.",
)
@json_option
def status(watch: bool, as_json: bool) -> int:
    """Show the robot's state and job; exit code 1 if it needs help (a fault)."""
    client = daemon_client()
    if not watch:
        return _tell_now(client, as_json)
    if not as_json and sys.stdout.isatty():
        from robot.cli.status_screen import watch_status  # imports rich only if it draws

        # Ctrl-C only closes the screen; it stops nothing and is no failure.
        with contextlib.suppress(KeyboardInterrupt):
            watch_status(client)
        return ExitCode.DONE
    with client.events() as events:
        code = _tell_now(client, as_json)
        with while_read(sys.stdout, events.end), contextlib.suppress(KeyboardInterrupt):
            for event in events:
                _tell_event(event, as_json)
    return code


def _tell_now(client: ControlClient, as_json: bool) -> int:
    """Print the status, and return its exit code."""
    now = client.status()
    answer(now, as_json, lambda: tell_status(now))
    return ExitCode.NO if now["state"] == RobotState.FAULT else ExitCode.DONE


def tell_status(now: RobotStatusJson) -> None:
    """Print a status for a person."""
    click.secho(state_name(now["state"]), fg=state_colour(now["state"]), bold=True, nl=False)
    simulated = say(TerminalText.SIMULATED) if now["simulated"] else ""
    process = say(TerminalText.PROCESS, version=now["version"], process=now["process"])
    about = (now["robot"], simulated, homed_text(now), process)
    click.echo(f"  {', '.join(filter(None, about))}")
    if now["job"]:
        job = now["job"]
        click.echo(f"  {say(TerminalText.RUN, run=job['run'])}: {_work(job)}, ", nl=False)
        click.echo(duration_text(job["elapsed_s"]))
    elif (preparation := now["preparation"]) is not None:
        click.echo(f"  {_work(preparation)}")
    calibrated = calibration_lines(now["calibration"], now["robot"], simulated=now["simulated"])
    seen = (*driver_lines(now), *drift_lines(now), *warning_lines(now))
    lines = (*fault_lines(now), *calibrated, *seen)
    for line in filter(None, (calibrator_text(now), *lines, last_run_text(now))):
        click.echo(f"  {line}")


def _work(work: JobStatusJson | PreparationJson) -> str:
    """Return the current step, with its progress in brackets."""
    share = progress_text(work)
    return chosen_catalogue().step(work) + (f" ({share})" if share else "")


def _tell_event(event: EventJson, as_json: bool) -> None:
    if as_json:
        emit(event)
        return
    if event["event"] in LIVE_EVENTS:
        return
    local = datetime.fromisoformat(event["time"]).astimezone()
    text = event["text"]
    if event["event"] == "finished":
        text = f"run {event['run']} ended: {event['outcome']}" + (f", {text}" if text else "")
    click.echo(f"{local:%H:%M:%S}  {event['state']:8}  {text}")


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Keep showing new lines until Ctrl-C.")
@click.option(
    "--lines", "-n", type=Whole(1, 1_000_000), default=100, show_default=True, help="Lines to show."
)
@click.option("--since", help="Start time in journalctl's format: today, -1h, ...")
@click.option("--level", type=click.Choice(LOG_LEVELS), help="Only lines of this level and above.")
@json_option
def logs(follow: bool, lines: int, since: str | None, level: str | None, as_json: bool) -> int:
    """Show the daemon's journal.

    For a simulated robot, or without a journal, it shows the daemon's latest lines.
    """
    program = shutil.which("journalctl")
    if program is None or simulated_robot() is not None:
        if since is not None:
            raise click.UsageError("--since needs the journal, which this daemon does not have")
        return _show_own_log(follow, min(lines, MOST_OWN_LINES), level or "debug", as_json)
    command = [program, "--unit", "cubistd", "--lines", str(lines), "--no-pager"]
    command += ["--follow"] if follow else []
    command += ["--since", since] if since else []
    command += ["--priority", JOURNAL_LEVELS.get(level, level)] if level else []
    command += ["--output", "json" if as_json else "short"]
    code = subprocess.run(command, check=False).returncode
    return ExitCode.DONE if code == 0 else ExitCode.FAILED


def _show_own_log(follow: bool, count: int, level: str, as_json: bool) -> ExitCode:
    """Show the daemon's latest ``count`` lines, and all new ones until Ctrl-C if ``follow``."""
    client, after = daemon_client(), 0
    while True:
        found = client.call(LOG, query={"level": level, "after": after, "count": count})
        for line in found["lines"]:
            if as_json:
                emit(line)
                continue
            local = datetime.fromisoformat(line["time"]).astimezone()
            click.echo(f"{local:%b %d %H:%M:%S}  {line['level']:7}  {line['text']}")
        after, count = found["latest"], MOST_OWN_LINES
        if not follow:
            return ExitCode.DONE
        time.sleep(OWN_LOG_PERIOD_S)


@click.command()
@click.option("--qr/--no-qr", default=None, help="Draw the address for a phone's camera.")
@click.option("--viewers", is_flag=True, help="The address for people who only watch.")
@json_option
def web(qr: bool | None, viewers: bool, as_json: bool) -> int:
    """Print the address of the page, token included, for this robot's daemon.

    The token gives control of the robot: share it only with people who may press the start button.
    With the address for viewers, people see everything and can change nothing. You can withdraw it
    on the page.
    """
    from robot.web.announcement import PageError, find_page

    try:
        page = find_page()
    except PageError as error:
        if error.code == "no-page":
            ControlClient().status()  # if no daemon runs either, that is the first thing to fix
        raise
    urls = page.viewer_urls if viewers else page.urls
    if as_json:
        emit({"urls": list(urls), "local": page.local})
        return ExitCode.DONE
    for url in urls:
        click.echo(url)
    if page.local:
        port = urlsplit(page.urls[0]).port
        note(f"Only this machine reaches it. From another: ssh -L {port}:127.0.0.1:{port} ROBOT")
    if qr and page.local:
        note("No phone can open this address: set CUBIST_WEB_BIND to let other devices in.")
    elif qr or (qr is None and sys.stdout.isatty() and not page.local):
        _draw_code(urls[0])
    return ExitCode.DONE


def _draw_code(url: str) -> None:
    """Draw a QR code with modules half a character high."""
    import segno

    segno.make(url, error="l", micro=False).terminal(out=sys.stdout, border=2, compact=True)
