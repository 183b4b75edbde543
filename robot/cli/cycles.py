"""``cubist test``: scramble and solve again and again, with statistics."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from robot.api.client import ControlClient
from robot.cli.control import watch
from robot.cli.numbers import Whole
from robot.cli.output import daemon_client, emit, json_option, note
from robot.cli.texts import TerminalText, duration_text, ending_text, say
from robot.text.outcomes import Outcome, exit_code, worst
from solver.errors import ExitCode

if TYPE_CHECKING:
    from robot.api.endpoints import RunRecordJson
    from solver.files import JsonObject


@click.command()
@click.option(
    "--cycles", type=Whole(1, 1_000_000), default=10, show_default=True, help="Cycles to run."
)
@click.option("--keep-going", is_flag=True, help="Do not stop at the first failure.")
@json_option
def test(cycles: int, keep_going: bool, as_json: bool) -> int:
    """Scramble and solve the cube repeatedly; Ctrl-C stops the robot.

    Exit code 0 when every cube was scrambled and solved; else that of the worst outcome: 3 when the
    robot failed (a jam or a slip included), 4 when it was stopped, 1 when a cube was not solved.
    """
    client = daemon_client()
    records: list[RunRecordJson] = []
    try:
        for number in range(cycles):
            records.append(_cycle(client, f"{number + 1}/{cycles}  "))
            _tell(number + 1, cycles, records[-1], as_json)
            if records[-1]["outcome"] != Outcome.SOLVED and not keep_going:
                break
    except KeyboardInterrupt:
        note("stopping the robot")
        client.stop()
        _tell_summary(records, as_json)
        return ExitCode.STOPPED
    _tell_summary(records, as_json)
    return verdict(records)


def verdict(records: Sequence[RunRecordJson]) -> ExitCode:
    """The exit code for the runs' outcomes: of the worst; 0 takes that each solved its cube."""
    outcomes = [record["outcome"] for record in records]
    return worst(exit_code(ended, good=ended == Outcome.SOLVED) for ended in outcomes)


def summary(records: Sequence[RunRecordJson]) -> JsonObject:
    """Statistics of the runs: how many were solved, and how long things took."""
    solved = [record for record in records if record["outcome"] == Outcome.SOLVED]
    durations = sorted(record["duration_s"] for record in solved)
    turning = [(record["executed_us"] or 0) / 1e6 for record in solved]
    figures: JsonObject = {"cycles": len(records), "solved": len(solved)}
    if solved:
        figures |= {
            "mean_s": round(statistics.fmean(durations), 3),
            "median_s": round(statistics.median(durations), 3),
            "best_s": durations[0],
            "worst_s": durations[-1],
            "mean_turn_s": round(statistics.fmean(turning), 3),
        }
    return figures


def _cycle(client: ControlClient, about: str) -> RunRecordJson:
    """One scramble and one solve; the record of whichever ended the cycle."""
    scrambled = _do(client, "scramble", about)
    return scrambled if scrambled["outcome"] != Outcome.DONE else _do(client, "solve", about)


def _do(client: ControlClient, kind: str, about: str) -> RunRecordJson:
    run_id = client.start(kind)
    watch(client, run_id, about=f"{about}{kind}: ")
    return client.run(run_id)


def _tell(number: int, cycles: int, record: RunRecordJson, as_json: bool) -> None:
    if as_json:
        kept = ("id", "kind", "outcome", "reason", "duration_s", "planned_us", "executed_us")
        emit({"cycle": number} | {key: value for key, value in record.items() if key in kept})
    else:
        run = say(TerminalText.RUN, run=record["id"])
        reason = f": {record['reason']}" if record["reason"] else ""
        ended = ending_text(record["outcome"], record["duration_s"])
        click.echo(f"{number}/{cycles}  {run} {ended}{reason}")


def _tell_summary(records: Sequence[RunRecordJson], as_json: bool) -> None:
    figures = summary(records)
    if as_json:
        emit(figures)
    elif "mean_s" in figures:
        click.echo(
            f"solved {figures['solved']} of {figures['cycles']}: "
            f"mean {duration_text(figures['mean_s'])}, best {duration_text(figures['best_s'])}, "
            f"worst {duration_text(figures['worst_s'])}"
        )
    else:
        click.echo(f"solved {figures['solved']} of {figures['cycles']}")
