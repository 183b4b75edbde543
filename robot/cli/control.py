"""``cubist start``, ``stop``, ``home``, ``scramble``, ``test``, ...: requests to the daemon.

A command that waits for its job shows the progress on standard error, then the record's summary.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from robot.api.client import ControlClient, DaemonError
from robot.api.endpoints import RESTART, SHUT_DOWN
from robot.cli.numbers import Whole
from robot.cli.output import answer, daemon_client, json_option, note
from robot.cli.texts import (
    TerminalText,
    duration_text,
    ending_text,
    events_on_the_way,
    progress_text,
    remedy_of,
    say,
)
from robot.text.languages import chosen_catalogue
from robot.text.outcomes import Outcome, exit_code, is_success, worst
from solver.errors import CubistError, ExitCode

if TYPE_CHECKING:
    from rich.console import RenderableType

    from robot.api.endpoints import JobStatusJson, RunRecordJson
    from solver.files import JsonObject

wait_option = click.option(
    "--wait/--no-wait", default=True, help="Wait until the job ends (the default)."
)


@click.command()
@wait_option
@json_option
def start(wait: bool, as_json: bool) -> int:
    """Scan the cube in the robot and solve it, like a short press of the button."""
    return run_job("solve", wait, as_json)


@click.command()
@click.option("--emergency", is_flag=True, help="Halt at once and hold; the robot must home again.")
@json_option
def stop(emergency: bool, as_json: bool) -> int:
    """Stop the robot: it finishes the current motion and holds."""
    stopped = daemon_client().stop(emergency=emergency)
    return answer({"stopped": stopped}, as_json, "stopped" if stopped else "nothing to stop")


@click.command()
@json_option
def acknowledge(as_json: bool) -> int:
    """Acknowledge an emergency stop, without moving the robot."""
    acknowledged = daemon_client().acknowledge()
    text = "acknowledged" if acknowledged else "there is no emergency stop to acknowledge"
    return answer({"acknowledged": acknowledged}, as_json, text)


@click.command()
@wait_option
@json_option
def home(wait: bool, as_json: bool) -> int:
    """Move the robot to its start position, like a long press of the button.

    This also acknowledges an emergency stop. Check first that nothing is in the way.
    """
    return run_job("home", wait, as_json)


@click.command()
@click.argument("moves", required=False)
@wait_option
@json_option
def scramble(moves: str | None, wait: bool, as_json: bool) -> int:
    """Scramble the cube in the robot, with MOVES or at random."""
    return run_job("scramble", wait, as_json, moves=moves)


@click.command()
@click.argument("goal", metavar="NAME|STATE|MOVES")
@click.option(
    "--centres",
    is_flag=True,
    help="Leave the centres of a 3x3x3 upright, for cubes with a picture or a logo.",
)
@click.option(
    "--centres-turned",
    metavar="MOVES",
    help='With --centres, those that are turned now, as "U2 R" (default: all are upright).',
)
@wait_option
@json_option
def pattern(goal: str, centres: bool, centres_turned: str | None, wait: bool, as_json: bool) -> int:
    """Scan the cube in the robot, turn it to a pattern, and check that.

    `cubist solve --to list` shows the names of patterns. MOVES start from the solved cube.
    """
    wanted = want_centres(centres, centres_turned)
    return run_job("solve", wait, as_json, to=goal, **wanted)


def want_centres(centres: bool, turned: str | None) -> dict[str, str | bool]:
    """Return the parameters of a job that leaves centres upright, or none; may raise UsageError."""
    if not centres:
        if turned is not None:
            raise click.UsageError("--centres-turned goes with --centres")
        return {}
    return {"centres": True} if turned is None else {"centres": True, "centres_turned": turned}


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def shutdown(yes: bool, as_json: bool) -> int:
    """Stop the robot, then switch the Raspberry Pi off cleanly."""
    if not yes:
        click.confirm("Switch the robot off?", abort=True, err=True)
    text = "the robot is shutting down; wait for the light to go out"
    return answer(daemon_client().call(SHUT_DOWN, {}), as_json, text)


RESTART_LIMIT_S = 120.0


@click.command()
@click.option("--force", is_flag=True, help="Stop a running job or calibration.")
@json_option
def restart(force: bool, as_json: bool) -> int:
    """Restart the daemon, which puts a kept profile in force.

    The robot has to home again. systemd or `cubist simulate` starts the daemon again; a daemon that
    was started by hand refuses to restart.
    """
    client = daemon_client()
    process = client.status()["process"]
    client.call(RESTART, {"force": force})
    deadline = time.monotonic() + RESTART_LIMIT_S
    while time.monotonic() < deadline:
        time.sleep(POLL_S)
        with contextlib.suppress(DaemonError):
            if client.status()["process"] != process:
                return answer({"restarted": True}, as_json, "the daemon has started again")
    raise CubistError(f"the daemon has not come back in {RESTART_LIMIT_S:g} s: see `cubist logs`")


def run_job(kind: str, wait: bool, as_json: bool, **more: str | bool | None) -> int:
    """Start a job, follow it to its end if ``wait``, and return the command's exit code."""
    client = daemon_client()
    try:
        given = {key: value for key, value in more.items() if value is not None}
        run_id = client.start(kind, **given)
    except KeyboardInterrupt:  # the daemon starts the job nevertheless
        note("stopping the robot")
        client.stop()
        raise
    if wait:
        return follow(client, run_id, as_json)
    text = f"run {run_id} started; `cubist status --watch` follows it"
    return answer({"run": run_id}, as_json, text)


POLL_S = 0.2
REFRESH_HZ = 10
_AROUND = 3
"""Columns for the spinner and the gaps."""
_LEAST_BESIDE = 36
"""Minimum columns for bar and figures beside the step."""


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
    answer(record, as_json, lambda: tell(record))
    return exit_code(record["outcome"])


def tell(record: RunRecordJson) -> None:
    """Print how a run ended: the outcome, problems on the way, the moves."""
    ended = ending_text(record["outcome"], record["duration_s"])
    line = f"{ended}, {say(TerminalText.RUN, run=record['id'])}"
    if is_success(record["outcome"]):
        click.secho(line, fg="green", bold=True)
    else:
        click.secho(line, fg="red", bold=True, nl=not record["reason"])
        fault = record["faults"][-1] if record["faults"] else None
        if record["reason"]:
            click.echo(f": {chosen_catalogue().reason(record)}")
        if fault and fault["remedy"]:
            click.echo(remedy_of(fault))
    for line in events_on_the_way(record):
        click.echo(line)
    if record["moves"]:
        click.echo(record["moves"])


def watch(
    client: ControlClient,
    run_id: str,
    sleep: Callable[[float], None] = time.sleep,
    about: str = "",
) -> None:
    """Show a job until it ends, with ``about`` in front of each step."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if not console.is_terminal:
        _tell_steps(client, run_id, sleep, about)
        return
    line = JobLine(about)
    with Live(console=console, transient=True, refresh_per_second=REFRESH_HZ) as display:
        while (job := client.status()["job"]) is not None and job["run"] == run_id:
            display.update(line.of(job, console.width))
            sleep(POLL_S)


class JobLine:
    """A job on one line: spinner, step, bar, and the seconds since the job began."""

    def __init__(self, about: str = "") -> None:
        from rich.spinner import Spinner

        self._about = about
        self._spinner = Spinner("dots")

    def of(self, job: JobStatusJson, width: int) -> RenderableType:
        """Draw a ``JobStatus`` within ``width`` columns; the bar is below a long step."""
        from rich.cells import cell_len
        from rich.table import Table

        from robot.text.terminal import progress_bar

        text = f"{self._about}{chosen_catalogue().step(job)}"
        words = (progress_text(job), duration_text(job["elapsed_s"]))
        said = " · ".join(word for word in words if word)
        beside = width - cell_len(text) - _AROUND
        row = Table.grid(padding=(0, 1))
        if beside < _LEAST_BESIDE:
            row.add_row(self._spinner, text)
            row.add_row("", progress_bar(job["progress"], said, width - _AROUND))
        else:
            row.add_row(self._spinner, text, progress_bar(job["progress"], said, beside))
        return row


def _tell_steps(
    client: ControlClient, run_id: str, sleep: Callable[[float], None], about: str
) -> None:
    told = ""
    while (job := client.status()["job"]) is not None and job["run"] == run_id:
        if job["step"] != told:
            note(about + chosen_catalogue().step(job))
        told = job["step"]
        sleep(POLL_S)


@click.command()
@click.option(
    "--cycles", type=Whole(1, 1_000_000), default=10, show_default=True, help="Cycles to run."
)
@click.option("--keep-going", is_flag=True, help="Do not stop at the first failure.")
@json_option
def test(cycles: int, keep_going: bool, as_json: bool) -> int:
    """Scramble and solve the cube repeatedly; Ctrl-C stops the robot.

    The exit code is 0 if every cube was scrambled and solved, or turned as planned by a robot that
    does not check, else that of the worst outcome: 3 if the robot failed (a jam or a slip
    included), 4 if it was stopped, 1 if a cube was not solved.
    """
    client = daemon_client()
    records: list[RunRecordJson] = []
    try:
        for number in range(cycles):
            records.append(_cycle(client, f"{number + 1}/{cycles}  "))
            _tell_cycle(number + 1, cycles, records[-1], as_json)
            if records[-1]["outcome"] not in GOOD_ENDS and not keep_going:
                break
    except KeyboardInterrupt:
        note("stopping the robot")
        try:
            client.stop()
        finally:
            _tell_summary(records, as_json)
        return ExitCode.STOPPED
    except CubistError:
        if records:
            _tell_summary(records, as_json)
        raise
    _tell_summary(records, as_json)
    return verdict(records)


GOOD_ENDS = (Outcome.SOLVED, Outcome.DONE)
"""Ends of a good solve, checked and not checked. A cube already solved was not scrambled."""


def verdict(records: Sequence[RunRecordJson]) -> ExitCode:
    """Return the exit code of the worst outcome; 0 only if every run solved its cube."""
    outcomes = [record["outcome"] for record in records]
    return worst(exit_code(ended, good=ended in GOOD_ENDS) for ended in outcomes)


def summary(records: Sequence[RunRecordJson]) -> JsonObject:
    """Return statistics of the runs: the numbers solved and not checked, durations in seconds."""
    import statistics  # most commands do not need it

    good = [record for record in records if record["outcome"] in GOOD_ENDS]
    durations = sorted(record["duration_s"] for record in good)
    turning = [(record["executed_us"] or 0) / 1e6 for record in good]
    unchecked = sum(record["outcome"] == Outcome.DONE for record in good)
    figures: JsonObject = {
        "cycles": len(records),
        "solved": len(good) - unchecked,
        "not_checked": unchecked,
    }
    if good:
        figures |= {
            "mean_s": round(statistics.fmean(durations), 3),
            "median_s": round(statistics.median(durations), 3),
            "best_s": durations[0],
            "worst_s": durations[-1],
            "mean_turn_s": round(statistics.fmean(turning), 3),
        }
    return figures


def _cycle(client: ControlClient, about: str) -> RunRecordJson:
    """Run one scramble and one solve; return the record of the job that ended the cycle."""
    scrambled = perform(client, "scramble", f"{about}scramble: ")
    if scrambled["outcome"] != Outcome.DONE:
        return scrambled
    return perform(client, "solve", f"{about}solve: ")


def perform(client: ControlClient, kind: str, about: str, **more: str | bool) -> RunRecordJson:
    """Start a job, show it until it ends, and return its record."""
    run_id = client.start(kind, **more)
    watch(client, run_id, about=about)
    return client.run(run_id)


def _tell_cycle(number: int, cycles: int, record: RunRecordJson, as_json: bool) -> None:
    kept = ("id", "kind", "outcome", "reason", "duration_s", "planned_us", "executed_us")
    document = {"cycle": number} | {key: value for key, value in record.items() if key in kept}
    run = say(TerminalText.RUN, run=record["id"])
    reason = f": {record['reason']}" if record["reason"] else ""
    ended = ending_text(record["outcome"], record["duration_s"])
    answer(document, as_json, f"{number}/{cycles}  {run} {ended}{reason}")


def _tell_summary(records: Sequence[RunRecordJson], as_json: bool) -> None:
    figures = summary(records)
    text = f"solved {figures['solved']} of {figures['cycles']}"
    if figures["not_checked"]:
        text += f", {figures['not_checked']} done and not checked"
    if "mean_s" in figures:
        times = [f"{one} {duration_text(figures[f'{one}_s'])}" for one in ("mean", "best", "worst")]
        text += f": {', '.join(times)}"
    answer(figures, as_json, text)
