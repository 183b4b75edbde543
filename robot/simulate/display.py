"""Displays of the demo: a live picture in a terminal, plain lines elsewhere."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from robot.api.endpoints import RobotState
from robot.records.run_record import RunRecord
from robot.simulate.progress import DemoProgress, Display, Stage
from robot.simulate.session import DemoOutcome
from robot.text.languages import chosen_catalogue
from robot.text.outcomes import OUTCOMES, before_the_end, is_success
from robot.text.terminal import FACE_COLOURS, moves_text, net_of, picture_text, progress_bar

WIDTH = 88
_FRAME = 6
"""Columns of the surrounding frame."""
_GAP = 4
_BESIDE = 26
"""Minimum columns for the stages and the step beside the cube; with fewer they are above it."""
_LOOKING = frozenset({RobotState.SCANNING, RobotState.CHECKING})
_PICTURE_ROWS = 10
_LEAST_PICTURE = 16
"""Minimum columns of a camera's picture in which a face is recognizable."""


def picture(progress: DemoProgress, width: int = WIDTH) -> RenderableType:
    """Return the whole picture, in a frame of at most ``width`` columns.

    While the robot scans or checks, the camera's picture is beside the cube if there is room.
    """
    width = min(width, WIDTH)
    colours = [FACE_COLOURS[letter] for letter in progress.facelets]
    net = net_of(colours) if progress.facelets else Text("no cube yet", style="dim")
    lines = net.split()
    inside = width - _FRAME
    room = inside - max(line.cell_len for line in lines) - _GAP
    # The cube has a fixed width; the part beside it gets the remaining columns.
    columns = Table.grid(padding=(0, _GAP))
    columns.add_column(no_wrap=True)
    columns.add_column(width=max(room, 0))
    parts: list[RenderableType]
    if progress.state in _LOOKING and progress.picture is not None and room >= _LEAST_PICTURE:
        seen = picture_text(progress.picture, room, max(len(lines), _PICTURE_ROWS))
        columns.add_row(net, seen)
        parts = [columns, Text(), _stages_in_a_line(progress), _now(progress, inside)]
    elif room >= _BESIDE:
        beside = Group(_stages(progress), Text(), _now(progress, room))
        columns.add_row(net, beside)
        parts = [columns]
    else:
        # Above it, because a terminal that is too low cuts off the bottom.
        parts = [_stages_in_a_line(progress), _now(progress, inside), Text(), net]
    if progress.moves:
        parts += [Text(), _plan(progress)]
    parts += [Text(), _foot(progress)]
    return Panel(
        Group(*parts),
        title=f"[bold]{progress.title}[/]",
        title_align="left",
        border_style="blue",
        padding=(1, 2),
        width=width,
    )


def _stages(progress: DemoProgress) -> Table:
    table = Table.grid(padding=(0, 2))
    for stage in progress.stages:
        mark, style = _mark(stage, progress)
        spent = progress.spent_s(stage)
        clock = " real" if stage.is_real_time else ""
        time = f"{spent:7.2f} s{clock}" if spent else ""
        table.add_row(Text(f"{mark} {stage.title}", style=style), Text(time, style="dim"))
    return table


def _stages_in_a_line(progress: DemoProgress) -> Text:
    told = ((*_mark(stage, progress), stage.title) for stage in progress.stages)
    return Text("  ").join(Text(f"{mark} {title}", style=style) for mark, style, title in told)


def _mark(stage: Stage, progress: DemoProgress) -> tuple[str, str]:
    if stage.state is progress.state:
        return "●", "bold yellow"
    return ("✓", "green") if stage.took_s is not None else ("○", "dim")


def _now(progress: DemoProgress, width: int) -> RenderableType:
    """Draw the robot's present action and its progress, within ``width`` columns."""
    lines: list[RenderableType] = [Text(progress.step, style="bold")]
    plan_us = progress.plan_us
    if plan_us is not None:
        lines.append(Text(_running_operations(progress, plan_us), style="cyan"))
    if progress.fraction is not None:
        share = f"{100 * progress.fraction:.0f} %{_remaining_text(progress)}"
        lines.append(progress_bar(progress.fraction, share, width))
    return Group(*lines)


def _remaining_text(progress: DemoProgress) -> str:
    """Return the remaining real time, if known."""
    return "" if progress.remaining_s is None else f", {progress.remaining_s:.0f} s left"


def _running_operations(progress: DemoProgress, plan_us: float) -> str:
    """Return the operations in progress."""
    words = chosen_catalogue()
    found = [
        words.operation(operation)
        for operation in progress.operations
        if 0 <= plan_us - operation["start_us"] < operation["duration_us"]
    ]
    return " · ".join(found)


def _plan(progress: DemoProgress) -> Text:
    """Return the moves; those done are dim, the next one is highlighted."""
    moves = progress.moves.split()
    return Text.assemble(("plan  ", "dim"), moves_text(moves, _moves_done(progress, len(moves))))


def _moves_done(progress: DemoProgress, count: int) -> int:
    """Return the number of moves done, out of ``count``."""
    plan_us = progress.plan_us
    if plan_us is not None and progress.move_ends_us:
        return sum(end_us <= plan_us for end_us in progress.move_ends_us)
    return 0 if progress.state in {RobotState.SOLVING, RobotState.TURNING} else count


def _foot(progress: DemoProgress) -> Text:
    clean = progress.violations == 0
    found = "no violations" if clean else f"{progress.violations} violations"
    counters = f"robot's clock {progress.clock_s:,.1f} s   pin edges {progress.edges:,}   "
    return Text.assemble((counters, "dim"), (found, "green" if clean else "bold red"))


class LiveDisplay:
    """A display that redraws its picture in place."""

    shows_pictures = True

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, progress: DemoProgress) -> None:
        """See :meth:`Display.show`."""
        self._live.update(picture(progress, self._console.width), refresh=True)

    def close(self) -> None:
        """See :meth:`Display.close`."""
        self._live.stop()


class PlainDisplay:
    """A display that prints a line for each new step."""

    shows_pictures = False

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._shown = ""

    def show(self, progress: DemoProgress) -> None:
        """See :meth:`Display.show`."""
        if progress.step != self._shown:
            self._shown = progress.step
            self._console.print(f"{progress.clock_s:8.2f} s  {progress.step}", markup=False)

    def close(self) -> None:
        """See :meth:`Display.close`."""


def display_for(stream: TextIO) -> Display:
    """Return a live display on a terminal, a plain one elsewhere."""
    return LiveDisplay(stream) if Console(file=stream).is_terminal else PlainDisplay(stream)


def print_outcome(outcome: DemoOutcome, stream: TextIO) -> None:
    """Print the verdict, its reasons and the figures."""
    console = Console(file=stream, highlight=False)
    console.print(verdict_picture(outcome, console.width))


def verdict_picture(outcome: DemoOutcome, width: int = WIDTH) -> RenderableType:
    """Draw the verdict, its reasons and the figures within ``width`` columns."""
    title, reasons, colour = _verdict(outcome)
    parts: list[RenderableType] = [Text(title, style=f"bold {colour}")]
    parts += [_indent(reason) for reason in reasons]
    parts += [Text(), _facts(outcome)]
    return Panel(Group(*parts), border_style=colour, padding=(1, 2), width=min(width, WIDTH))


def _verdict(outcome: DemoOutcome) -> tuple[str, list[str], str]:
    """Return the verdict in a sentence, its reasons, and its colour."""
    known = is_success(outcome.record.outcome)
    # The job's ending already states the last fault.
    ended = outcome.record.reason if not known else ""
    before = before_the_end(outcome.troubles, ended)
    troubles = [f"on the way: {trouble}" for trouble in before]
    broken = [f"at {each.time_us / 1e6:.2f} s: {each.text}" for each in outcome.violations]
    if outcome.good and troubles:
        title = "Solved, as the simulated robot confirms. What went wrong on the way:"
        return title, before, "yellow"
    if outcome.good:
        return (
            "Solved. The simulated robot confirms it, and nothing went wrong on the way.",
            [],
            "green",
        )
    if outcome.solved and known:
        title = "Solved, but the robot did what it must never do:"
        return title, [*broken, *troubles], "red"
    if known:
        title = f"Not solved, although the daemon reports {outcome.record.outcome}."
    elif outcome.solved:
        title = "The simulated robot reports a solved cube, but the daemon does not."
    else:
        title = "Not solved."
    return title, [*_ending(outcome.record), *broken, *troubles], "red"


def _ending(record: RunRecord) -> list[str]:
    """Return the daemon's outcome of the job and its remedy; nothing after a success."""
    if is_success(record.outcome) or record.outcome is None:
        return []
    about = record.reason or OUTCOMES[record.outcome].about
    remedy = record.faults[-1].remedy if record.faults else ""
    asked = [f"what to do: {remedy}"] if remedy else []
    return [f"the daemon ended with {record.outcome}: {about}", *asked]


def _indent(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 2))


def _facts(outcome: DemoOutcome) -> Table:
    record = outcome.record
    table = Table.grid(padding=(0, 2))
    rows = [
        ("moves", f"{record.moves or '-'} ({record.move_count})"),
        ("scan", f"{outcome.scan_s:.1f} s"),
        ("search", f"{record.timings_s.get('search', 0.0):.2f} s"),
        ("turn", f"{outcome.turn_s:.1f} s"),
    ]
    if record.planned_us is not None and record.executed_us is not None:
        off_us = record.executed_us - record.planned_us
        kept = "as planned to the microsecond" if not off_us else f"{off_us:+d} us from the plan"
        rows.append(("plan", f"{record.planned_us / 1e6:.3f} s, executed {kept}"))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    return table
