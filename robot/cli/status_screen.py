"""``cubist status --watch`` on a terminal: state, job, cube and moves, redrawn in place."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from robot.api.endpoints import LIVE
from robot.cli.output import state_colour
from robot.cli.texts import (
    TerminalText,
    calibrator_text,
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
from robot.text.terminal import FACE_COLOURS, moves_text, net_of, progress_bar
from solver.cube import facelets as geometry
from solver.cube.notation import parse_moves

if TYPE_CHECKING:
    from robot.api.client import ControlClient
    from robot.api.endpoints import LiveCubeJson, LiveStateJson, RobotStatusJson

POLL_S = 0.25
WIDTH = 80
_GAP = 2
_BESIDE_NET = 76
"""Minimum columns within the frame to draw the job beside the cube, else above it."""


def watch_status(client: ControlClient, sleep: Callable[[float], None] = time.sleep) -> NoReturn:
    """Show the robot until Ctrl-C (``KeyboardInterrupt``); raises what the client raises.

    The terminal is restored afterwards. Each picture fits the terminal's width at that time.
    """
    console = Console(highlight=False)
    with Live(console=console, screen=True, auto_refresh=False) as display:
        while True:
            now = client.status()
            view = client.call(LIVE)
            display.update(picture(now, view, console.width), refresh=True)
            sleep(POLL_S)


def picture(now: RobotStatusJson, view: LiveStateJson, width: int = WIDTH) -> RenderableType:
    """Draw everything in a frame: ``now`` is a ``RobotStatus``, ``view`` a ``LiveState``."""
    moves = performed_moves(view)
    done = sum(end_us <= (view["at_us"] or 0) for _, end_us in moves)
    parts: list[RenderableType] = [_cube_and_job(now, view, done, min(width, WIDTH) - 4)]
    if moves:
        title = Text(say(TerminalText.MOVES, done=done, count=len(moves)), style="dim")
        parts += [Text(), title, moves_text([name for name, _ in moves], done)]
    parts += _troubles(now)
    simulated = f" · {say(TerminalText.SIMULATED)}" if now["simulated"] else ""
    return Panel(
        Group(*parts),
        title=Text(f"{now['robot']}{simulated}", style="bold"),
        title_align="left",
        subtitle=Text(say(TerminalText.LEAVE), style="dim"),
        border_style=state_colour(now["state"]),
        width=min(width, WIDTH),
    )


def performed_moves(view: LiveStateJson) -> list[tuple[str, int]]:
    """Return the moves of the current motion, each with its end in us of the motion's clock."""
    motion = view["motion"]
    if motion is None:
        return []
    return list(zip(motion["moves"].split(), motion["move_ends_us"], strict=True))


def sticker_colours(cube: LiveCubeJson, moves: Sequence[str] = ()) -> list[str | None]:
    """Return each sticker's colour after ``moves``: measured, else usual, None if unknown."""
    seen = cube["seen"] or [None] * len(cube["facelets"])
    known = {**FACE_COLOURS, **cube["palette"]}
    colours = [known.get(letter, seen[at]) for at, letter in enumerate(cube["facelets"])]
    for move in parse_moves(" ".join(moves)):
        first, last = move.layers(cube["size"])
        moved = geometry.turn(cube["size"], move.face, first, last, move.quarters)
        colours = [colours[at] for at in moved]
    return colours


def _cube_and_job(
    now: RobotStatusJson, view: LiveStateJson, done: int, width: int
) -> RenderableType:
    if view["cube"] is None:
        return _job(now, width)
    moves = [name for name, _ in performed_moves(view)][:done]
    net = net_of(sticker_colours(view["cube"], moves))
    if width < _BESIDE_NET:
        return Group(_job(now, width), Text(), net)
    room = width - max(line.cell_len for line in net.split()) - _GAP
    columns = Table.grid(padding=(0, _GAP))
    columns.add_column(no_wrap=True)
    columns.add_column(width=room)
    columns.add_row(net, _job(now, room))
    return columns


def _job(now: RobotStatusJson, width: int) -> RenderableType:
    """Draw the state, and the job's step, elapsed time and progress."""
    state = Text(state_name(now["state"]).upper(), style=f"bold {state_colour(now['state'])}")
    state.append(f"  {homed_text(now)}", style="dim")
    lines: list[RenderableType] = [state]
    work = now["job"] or now["preparation"]
    if now["job"]:
        run = say(TerminalText.RUN, run=now["job"]["run"])
        lines.append(Text(f"{run}, {duration_text(now['job']['elapsed_s'])}", style="dim"))
    if work is not None:
        lines += [Text(), Text(chosen_catalogue().step(work), style="bold")]
        if work["progress"] is not None:
            lines.append(progress_bar(work["progress"], progress_text(work), width))
    elif last := last_run_text(now):
        lines += [Text(), Text(last)]
    return Group(*lines)


def _troubles(now: RobotStatusJson) -> list[RenderableType]:
    """Draw the fault with its remedy, and warnings."""
    fault = zip(fault_lines(now), ("bold red", ""), strict=False)
    lines = [Text(text, style=style) for text, style in fault]
    notices = filter(None, (calibrator_text(now), *warning_lines(now)))
    lines += [Text(text, style="yellow") for text in notices]
    return [Text(), *lines] if lines else []
