"""``cubist runs``: the robot's runs, read from its records, with or without a daemon."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from robot.api.client import ControlClient, DaemonError
from robot.api.endpoints import RUN, RUNS
from robot.api.paths import state_directory
from robot.cli.numbers import Whole
from robot.cli.output import (
    Listing,
    daemon_client,
    emit,
    json_option,
    printing_beside,
    refuse_two_outputs,
)
from robot.cli.solution_text import group_by_move, plain_console
from robot.cli.solution_text import timeline as timeline_table
from robot.cli.texts import duration_text, ending_text, moment_text
from robot.records.latency import Samples, percentile
from robot.records.run_record import LinkRecord, RunList, RunRecord, UnreadableRun
from robot.records.runs import EXPLANATION_NAME, TIME_LAPSE_NAME, RunStore, is_run_number
from robot.records.statistics import Statistics, compute_statistics
from robot.records.storage import NOT_STORED, StorageError
from robot.text.languages import chosen_catalogue
from robot.text.outcomes import Outcome, before_the_end, exit_code
from solver.errors import ExitCode, shortened
from solver.files import JsonObject

COLLAGE_NAME = "collage.jpg"
_STAGES = ("home", "scan", "view", "wait", "read", "search", "turn", "check", "save")


@click.group(cls=Listing, invoke_without_command=True)
@click.option("--count", type=Whole(1, 1000), default=20, show_default=True, help="Runs to list.")
@json_option
@click.pass_context
def runs(ctx: click.Context, count: int, as_json: bool) -> int:
    """List the robot's runs, newest first."""
    if ctx.invoked_subcommand is not None:
        return ExitCode.DONE
    rows = _rows(_latest(count))
    if as_json:
        for row in rows:
            emit(_document_of(row))
    else:
        _list(rows)
    return ExitCode.DONE


@runs.command()
@click.argument("run_id")
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the plan into this SVG file; - for standard output.",
)
@json_option
def show(run_id: str, timeline: Path | None, as_json: bool) -> int:
    """Show one run: its timeline, reading and faults."""
    refuse_two_outputs(timeline, as_json)
    record = _load(run_id)
    if timeline:
        from robot.records.timeline import write_chart

        write_chart(timeline, record.operations, record.planned_us or 0)
    if as_json:
        emit(record.model_dump(mode="json"))
    else:
        with printing_beside(timeline):
            _show(record)
    return ExitCode.DONE


@runs.command()
@json_option
def statistics(as_json: bool) -> int:
    """Show best, mean and averages of the solves on record, and of each day.

    mo3 is the mean of 3 attempts; ao5 and ao12 leave out the best and the worst. A failed solve
    with moves for its cube counts as a DNF.
    """
    found = compute_statistics(_store().readable())
    if as_json:
        emit(found.model_dump(mode="json"))
    else:
        _show_statistics(found)
    return ExitCode.DONE


@runs.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), default=Path("-"))
@click.option("--csv", "name", flag_value="runs.csv", help="A table for spreadsheets.")
@click.option("--json", "name", flag_value="runs.json", help="The records, one per line.")
@click.option(
    "--cstimer",
    "name",
    flag_value="cstimer.json",
    help='For csTimer\'s "Import session(s) from other timer".',
)
@click.option(
    "--collage",
    "name",
    flag_value=COLLAGE_NAME,
    help="The photographs of one run as one picture (JPEG).",
)
@click.option(
    "--time-lapse",
    "name",
    flag_value=TIME_LAPSE_NAME,
    help="The time-lapse of one run (animated WebP).",
)
@click.option(
    "--run",
    "run_id",
    metavar="RUN",
    help="Run of the collage or time-lapse (default: the latest that has one).",
)
def export(file: Path, name: str | None, run_id: str | None) -> int:
    """Write all runs, or the pictures of one, to FILE (default: standard output)."""
    if name is None:
        raise click.UsageError("add --csv, --json, --cstimer, --collage or --time-lapse")
    from robot.records.storage import is_standard_output, write_given

    of_one_run = _ABOUT_ONE_RUN.get(name)
    if of_one_run is None:
        from robot.records.export import export_runs

        if run_id is not None:
            raise click.UsageError("--run goes with --collage and --time-lapse")
        data = export_runs(name, _store().readable())[1]
    elif is_standard_output(file) and sys.stdout.isatty():
        raise click.UsageError(f"a terminal cannot show a picture: add a FILE, such as {name}")
    else:
        data = of_one_run(_store(), run_id)
    write_given(file, data)
    return ExitCode.DONE


def _collage(store: RunStore, run_id: str | None) -> bytes:
    """Return the collage of a run (default: the latest that has one)."""
    from robot.records.collage import draw_collage, faces_of

    record = _load_with(store, run_id, "photographs of faces", lambda one: bool(faces_of(one)))
    return draw_collage(record, partial(store.photo, record.id))


def _time_lapse(store: RunStore, run_id: str | None) -> bytes:
    """Return the time-lapse of a run (default: the latest that has one)."""
    record = _load_with(store, run_id, "a time-lapse", lambda one: TIME_LAPSE_NAME in one.photos)
    return store.photo(record.id, TIME_LAPSE_NAME)


_ABOUT_ONE_RUN: dict[str, Callable[[RunStore, str | None], bytes]] = {
    COLLAGE_NAME: _collage,
    TIME_LAPSE_NAME: _time_lapse,
}


def _load_with(
    store: RunStore, run_id: str | None, what: str, has_it: Callable[[RunRecord], bool]
) -> RunRecord:
    """Return a run, or the latest one, that has ``what``; raises :class:`StorageError`."""
    if run_id is not None and not is_run_number(run_id):
        raise click.UsageError(f"--run takes a number, not {shortened(run_id)!r}")
    if run_id is not None:
        record = store.load(run_id)
        if not has_it(record):
            raise StorageError(f"run {int(run_id)} does not have {what}", code=NOT_STORED)
        return record
    for number in reversed(store.ids()):
        with suppress(StorageError):  # skip runs that cannot be read
            record = store.load(number)
            if has_it(record):
                return record
    raise StorageError(f"no run on record has {what}", code=NOT_STORED)


def _show_statistics(found: Statistics) -> None:
    console = plain_console()
    if not found.attempts:
        console.print("no solves yet")
        return
    console.print(f"{found.solved} of {found.attempts} attempts solved")
    if found.best_s is not None and found.mean_s is not None:
        console.print(f"best {duration_text(found.best_s)} (run {int(found.best_run or 0)})")
        console.print(f"mean {duration_text(found.mean_s)}")
    averages = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("average", "latest", "best"):
        averages.add_column(title, justify="left" if title == "average" else "right")
    averages.add_row("mo3", _average_text(found.mo3_s), _average_text(found.best_mo3_s))
    averages.add_row("ao5", _average_text(found.ao5_s), _average_text(found.best_ao5_s))
    averages.add_row("ao12", _average_text(found.ao12_s), _average_text(found.best_ao12_s))
    console.print(averages)
    days = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("day", "attempts", "solved", "best", "mean"):
        days.add_column(title, justify="left" if title == "day" else "right")
    for one in found.days:
        times = (_average_text(one.best_s), _average_text(one.mean_s))
        days.add_row(one.day.isoformat(), str(one.attempts), str(one.solved), *times)
    console.print(days)


def _average_text(seconds: float | None) -> str:
    return "-" if seconds is None else duration_text(seconds)


def _latest(count: int) -> RunList:
    try:
        return daemon_client().ask(RUNS, RunList, query={"count": count})
    except DaemonError:
        return _store().latest(count)


def _rows(listed: RunList) -> list[RunRecord | UnreadableRun]:
    """Return all runs of a list by number, newest first."""
    rows: list[RunRecord | UnreadableRun] = [*listed.runs, *listed.unreadable]
    return sorted(rows, key=lambda row: int(row.id), reverse=True)


def _document_of(row: RunRecord | UnreadableRun) -> JsonObject:
    if isinstance(row, UnreadableRun):
        return {"id": row.id, "unreadable": row.reason}
    return row.model_dump(mode="json")


def _load(run_id: str) -> RunRecord:
    if not is_run_number(run_id):
        told = shortened(run_id)
        raise click.UsageError(f"RUN is a number, not {told!r}; `cubist runs` lists them")
    try:
        return daemon_client().ask(RUN, RunRecord, parts={"run": run_id})
    except DaemonError:
        return _store().load(run_id)


def _store() -> RunStore:
    """Return the records of the daemon that answers, else those in the state directory."""
    try:
        return RunStore(Path(ControlClient().status()["records"]))
    except DaemonError:
        return RunStore(state_directory() / "runs")


def _list(rows: Sequence[RunRecord | UnreadableRun]) -> None:
    console = Console(highlight=False)
    if not rows:
        console.print("no runs yet")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("run", "started", "what", "outcome", "took", "moves"):
        table.add_column(title, justify="right" if title in {"took", "moves"} else "left")
    for record in rows:
        if isinstance(record, UnreadableRun):
            table.add_row(record.id, "", "", Text("unreadable", style="red"), "", "")
            continue
        started = moment_text(record.started_at)
        moves = str(record.move_count or "")
        took = duration_text(record.duration_s)
        ended = _colour_outcome(record.outcome)
        table.add_row(record.id, started, Text(_aim(record)), ended, took, moves)
    console.print(table)
    for run in rows:
        if isinstance(run, UnreadableRun):
            text = f"run {int(run.id)} cannot be read and stays as it is: {run.reason}"
            console.print(text, style="yellow", markup=False, soft_wrap=True)


def _aim(record: RunRecord) -> str:
    """Return the kind of a run, or the cube's goal if it had one."""
    return record.kind if record.to is None else f"to {shortened(record.to)}"


def _colour_outcome(outcome: Outcome | None) -> Text:
    return Text(outcome or "in progress", style=_style(outcome))


def _ending(record: RunRecord) -> Text:
    """Return how and when a run ended, or that it is under way."""
    if record.outcome is None:
        return _colour_outcome(None)
    return Text(ending_text(record.outcome, record.duration_s), style=_style(record.outcome))


def _style(outcome: Outcome | None) -> str:
    if outcome is None:
        return "cyan"
    return {ExitCode.DONE: "green", ExitCode.STOPPED: "yellow"}.get(exit_code(outcome), "red")


def _show(record: RunRecord) -> None:
    console = plain_console()
    console.print(Text.assemble((f"run {record.id} ", "bold"), _ending(record)))
    begun = f"{record.robot}, {_aim(record)}, {moment_text(record.started_at)}"
    console.print(begun, markup=False)
    if record.reason:
        console.print(record.reason, style="red", markup=False)
        if record.faults and record.faults[-1].remedy:
            console.print(f"What to do: {record.faults[-1].remedy}", markup=False)
    if record.facelets:
        console.print(f"cube  {record.facelets}")
    if record.moves:
        console.print(f"moves {record.moves}")
    console.print(_stage_line(record))
    if record.moves and record.planned_us and record.greedy_us:
        console.print(_plan_line(record.planned_us, record.greedy_us))
    if record.link.sent:
        console.print(_link_line(record.link))
    for text in before_the_end((*record.recoveries, *record.warnings), record.reason):
        console.print(f"On the way: {text}", style="yellow", markup=False)
    if record.photos:
        console.print(_picture_line(record), markup=False)
    for event in record.events:
        console.print(f"{event.at_s:8.2f} s  {event.text}", style="dim", markup=False)
    if record.latency_s:
        console.print(_latency_table(record.latency_s))
    if record.operations and record.planned_us:
        moves = group_by_move(record.operations, record.orientation, record.moves or "")
        console.print(timeline_table(moves, record.planned_us, console.width))


def _latency_table(samples: Samples) -> Table:
    """Return a table of the robot's waits other than its own motion, in milliseconds."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("waited for")
    for title in ("times", "ms", "p50", "p99"):
        table.add_column(title, justify="right")
    for stage, seconds in samples.items():
        figures = (sum(seconds), percentile(seconds, 0.5), percentile(seconds, 0.99))
        cells = (f"{1e3 * figure:.1f}" for figure in figures)
        table.add_row(stage, str(len(seconds)), *cells)
    return table


def _picture_line(record: RunRecord) -> str:
    """Return the folder of the pictures, and the time-lapse and the explanation, if any."""
    folder = _store().directory_of(record.id)
    drawn = {EXPLANATION_NAME, TIME_LAPSE_NAME}
    looks = sum(name not in drawn for name in record.photos)
    parts = [f"{looks} pictures in {folder}"]
    if TIME_LAPSE_NAME in record.photos:
        parts.append(f"the time-lapse: {folder / TIME_LAPSE_NAME}")
    if EXPLANATION_NAME in record.photos:
        parts.append(f"how they were read: {folder / EXPLANATION_NAME}")
    return "seen  " + ", ".join(parts)


def _link_line(link: LinkRecord) -> str:
    again = f", {link.resent} sent again" if link.resent else ""
    return f"line  {link.sent} messages, {link.received} answers, {link.damaged} damaged{again}"


def _plan_line(planned_us: int, greedy_us: int) -> str:
    """Return the share of time that planning saved; a plan whose end was replaced may save none."""
    saved = 1 - planned_us / greedy_us
    times = f"{planned_us / 1e6:.2f} s, the same moves one at a time {greedy_us / 1e6:.2f} s"
    return f"plan  {times}: {saved:.0%} saved" if saved > 0 else f"plan  {times}"


def _stage_line(record: RunRecord) -> str:
    said = chosen_catalogue()
    parts = [
        f"{said.stage(name)} {duration_text(record.timings_s[name])}"
        for name in _STAGES
        if name in record.timings_s
    ]
    if record.planned_us is not None and record.executed_us is not None:
        planned, executed = record.planned_us / 1e6, record.executed_us / 1e6
        parts.append(f"by the robot's clock planned {planned:.3f} s, executed {executed:.3f} s")
    return "took  " + ", ".join(parts)
