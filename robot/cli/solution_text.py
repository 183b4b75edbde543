"""Text of solutions for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from robot.records.timeline import layers_text
from solver.cost import merge_moves
from solver.cube.notation import Move
from solver.cube.orientation import Orientation

if TYPE_CHECKING:
    from solver.files import JsonMapping


BAR_WIDTH = 40
_LEAST_BAR = 8
_COLUMN_GAP = 2


def plain_console() -> Console:
    """Return a console that breaks lines between words on a terminal, and nowhere elsewhere."""
    return Console(highlight=False, soft_wrap=not Console().is_terminal)


def print_answer(answer: JsonMapping) -> None:
    """Print an answer of ``cubist solve``; plain text if standard output is not a terminal."""
    console = plain_console()
    there = f"already matches {answer['to']}" if "to" in answer else "already solved"
    moves = answer["moves"] or f"({there})"
    if "operations" not in answer:
        console.print(Text(moves, style="bold"))
        for number, phase in enumerate(answer.get("phases", ()), start=1):
            name, moves = f"phase {number}", phase
            if isinstance(phase, Mapping):
                name, moves = phase["name"], phase["moves"]
            console.print(Text.assemble((f"  {name}: ", "dim"), moves or "nothing to do"))
        console.print(_metric_line(answer), style="dim")
        _print_centres(console, answer)
        _print_holding(console, answer)
        return
    console.print(Text(moves, style="bold"))
    console.print(_robot_line(answer), style="dim")
    _print_holding(console, answer)
    if console.is_terminal:
        moves = group_by_move(answer["operations"], answer["initial_orientation"], answer["moves"])
        console.print(timeline(moves, answer["duration_us"], console.width))


def _print_centres(console: Console, answer: JsonMapping) -> None:
    """Print the centres that end up turned, which only shows on cubes with a picture or a logo.

    Print nothing if the goal leaves pieces free: centres may have to be turned again anyway.
    """
    turned = answer.get("centres_turned")
    if turned and answer["algorithm"] != "partial":
        how = {1: "clockwise", 2: "by half a turn", -1: "counter-clockwise"}
        told = ", ".join(f"{face} {how[quarters]}" for face, quarters in turned.items())
        text = f"Centres that end up turned (visible on printed ones; --centres avoids it): {told}."
        console.print(text, style="dim")


def _print_holding(console: Console, answer: JsonMapping) -> None:
    """Print how to hold the cube, unless every face is at its own place."""
    if "held" in answer:
        up, front = list(answer["held"])
        text = f"Hold the cube as given: the {up} face up, the {front} face in front."
        console.print(text, style="dim")


@dataclass(frozen=True)
class PerformedMove:
    """A move and the operations that perform it, from its preparation to its last turn.

    ``name`` is empty for operations after the last turn, and if moves cannot be told apart.
    """

    name: str
    operations: Sequence[JsonMapping]


def group_by_move(
    operations: Sequence[JsonMapping], orientation: str | None, moves: str
) -> list[PerformedMove]:
    """Return the operations grouped by move; ``orientation`` is that at the plan's start."""
    if orientation is None:
        return [PerformedMove("", operations)]
    held = Orientation.named(orientation)
    groups: list[PerformedMove] = []
    waiting: list[JsonMapping] = []
    for operation in operations:
        waiting.append(operation)
        if operation["op"] == "rotate":
            held = held.rotated(operation["axis"], operation["quarter_turns"])
        elif operation["op"] == "turn":
            face, layers = held.face_at(operation["site"]), operation.get("layers", 1)
            move = Move(face, operation["quarter_turns"] % 4, 1, layers)
            groups.append(PerformedMove(str(move), waiting))
            waiting = []
    found = _merge_turns(groups)
    if merge_moves(move.name for move in found) != merge_moves(moves.split()):
        return [PerformedMove("", operations)]
    return [*found, PerformedMove("", waiting)] if waiting else found


def _merge_turns(groups: Sequence[PerformedMove]) -> list[PerformedMove]:
    """Merge consecutive turns of one face into one move."""
    found: list[PerformedMove] = []
    for group in groups:
        together = merge_moves([found[-1].name, group.name]) if found else ()
        if len(together) == 1:
            found[-1] = PerformedMove(together[0], [*found[-1].operations, *group.operations])
        else:
            found.append(group)
    return found


def timeline(moves: Sequence[PerformedMove], duration_us: int, width: int = 200) -> Table:
    """Return operations over time within ``width`` columns, with bars to scale.

    Each has a row, under the move that it performs.
    """
    told = [f"  {describe(operation)}" for move in moves for operation in move.operations]
    figures = 2 * len(f"{duration_us / 1e6:.2f}") + 3 * _COLUMN_GAP
    room = width - figures - max(map(len, told), default=0)
    bars = max(_LEAST_BAR, min(BAR_WIDTH, room))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title, side in (
        ("start", "right"),
        ("takes", "right"),
        ("operation", "left"),
        ("", "left"),
    ):
        table.add_column(title, justify="right" if side == "right" else "left", no_wrap=True)
    for move in moves:
        if move.name:
            table.add_row("", "", Text(move.name, style="bold"), "")
        for operation in move.operations:
            start, takes = operation["start_us"], operation["duration_us"]
            table.add_row(
                f"{start / 1e6:.2f}",
                f"{takes / 1e6:.2f}",
                f"  {describe(operation)}" if move.name else describe(operation),
                _bar(start, takes, duration_us, bars),
            )
    return table


def describe(operation: JsonMapping) -> str:
    """Return ``turn D by 1 quarter``, ``rotate x by 2 quarters`` or ``lid open``."""
    name = operation["op"]
    if name in {"turn", "rotate"}:
        quarters = operation["quarter_turns"]
        what = operation.get("axis") or layers_text(operation)
        return f"{name} {what} by {quarters} quarter{'s' if abs(quarters) > 1 else ''}"
    known = {"op", "start_us", "duration_us"}
    details = [str(value) for key, value in operation.items() if key not in known]
    return " ".join(dict.fromkeys([name, *details]))


def _bar(start_us: int, duration_us: int, total_us: int, width: int) -> Text:
    scale = width / max(total_us, 1)
    before = int(start_us * scale)
    return Text(" " * before + "━" * max(1, round(duration_us * scale)), style="cyan")


def _metric_line(answer: JsonMapping) -> str:
    least = answer["lower_bound"]
    bound = f"; lower bound {least}" if least > 1 else ""
    proof = "proven shortest" if answer["optimal"] else f"not proven shortest{bound}"
    return (
        f"{answer['length']} {answer['metric']} ({proof}), {answer['algorithm']}, "
        f"{answer['search_s'] * 1000:.0f} ms"
    )


def _robot_line(answer: JsonMapping) -> str:
    bound = answer["lower_bound_us"] / 1e6
    proof = "proven fastest" if answer["optimal"] else f"lower bound {bound:.2f} s"
    known = f" ({proof})" if bound else ""
    return (
        f"{answer['duration_us'] / 1e6:.2f} s{known} on {answer['robot']}, "
        f"{_count(answer['length'], 'move')}, {_count(len(answer['operations']), 'operation')}, "
        f"searched {answer['search_s']:.2f} s"
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
