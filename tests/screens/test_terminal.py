"""Every screen in a terminal keeps its layout: nothing wraps, overlaps or is cut."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rich.console import Console, Group, RenderableType

from robot.api.endpoints import RobotState
from robot.cli.control import JobLine
from robot.cli.solution_text import group_by_move, timeline
from robot.cli.status_screen import picture as status_picture
from robot.records.run_record import FaultRecord, RunRecord
from robot.simulate.display import picture as demo_picture
from robot.simulate.display import verdict_picture
from robot.simulate.progress import DemoProgress
from robot.simulate.session import DemoOutcome
from robot.text.faults import RobotError
from solver.cube.cube import Cube
from solver.cube.sticker_cube import StickerCube
from tests.rig.documents import job_json, run_json, status_json, turning_json

SCRAMBLED = Cube.solved().apply("R U2 F' L D B2 R' U F2 L' D2 B U' R2 F D' L2 B' U2")
MOVES = "F2 U' R D2 L B' U2 F R' D L2 B U R2 F' D' L' B2 U'"
OPERATIONS: list[Any] = [
    {"op": "turn", "site": "D", "quarter_turns": -1, "start_us": 0, "duration_us": 9_000_000},
    {"op": "rotate", "axis": "x", "quarter_turns": 2, "start_us": 0, "duration_us": 9_000_000},
]
TERMINALS = ((80, 24), (100, 30))
"""Columns and lines of the terminals that everything has to fit."""

STICKER = "██"
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
WIDE = 400

Screen = Callable[[int], RenderableType]
"""A screen, given the columns of its terminal."""

terminals = pytest.mark.parametrize(("columns", "rows"), TERMINALS)


def lines_of(screen: Screen, columns: int) -> list[str]:
    """Render a screen on a terminal with this many columns, without colours."""
    stream = io.StringIO()
    console = Console(file=stream, width=columns, force_terminal=True, color_system=None)
    console.print(screen(columns))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def assert_fits(screen: Screen, columns: int, rows: int) -> list[str]:
    """Assert that a screen is complete and within the terminal; return its lines."""
    lines = lines_of(screen, columns)
    shown = "\n".join(lines)
    assert len(lines) <= rows, f"{len(lines)} lines on a terminal of {rows}:\n{shown}"
    assert max(map(len, lines), default=0) <= columns, shown
    assert "…" not in shown, f"cut:\n{shown}"
    wanted, found = words_of(lines_of(screen, WIDE)), words_of(lines)
    assert wanted <= found, f"broken or cut: {sorted(wanted - found)} in\n{shown}"
    if lines and lines[0].startswith("╭"):
        edges = {(line[0], line[-1]) for line in lines[1:-1]}
        assert edges == {("│", "│")}, f"the frame is broken:\n{shown}"
    assert_cube_is_whole(lines)
    return lines


def words_of(lines: list[str]) -> set[str]:
    """Return the words of a screen, without drawing characters."""
    text = " ".join(lines)
    for drawn in f"│╭╮╰╯─━╸╺█▀·{SPINNER}":
        text = text.replace(drawn, " ")
    return set(text.split())


def assert_cube_is_whole(lines: list[str]) -> None:
    """Assert that an unfolded cube has N rows of one face, N of four and N of one."""
    counts = [line.count(STICKER) for line in lines if STICKER in line]
    if counts:
        size = counts[0]
        assert counts == [size] * size + [4 * size] * size + [size] * size, "\n".join(lines)


STEP = "turning: 19 moves in 71.4 s, with a faster end"


@terminals
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("state", [*RobotState][1:6])
def test_the_picture_of_the_demo(state, size, columns, rows):
    """Check the middle of each stage, with everything that it can show there."""
    title = "CUBOTino: servos turn and tilt the cube · cube 7 · 2 times as fast"
    facelets = StickerCube.solved(size).letters
    progress = DemoProgress(title, facelets=facelets, real_clock=lambda: 12.0)
    for each in (RobotState.HOMING, RobotState.SCANNING, RobotState.SOLVING, state):
        progress.clock_s += 12.34
        progress.enter(each)
    progress.step, progress.moves, progress.operations = STEP, MOVES, OPERATIONS
    progress.planned_us = 9_000_000
    progress.fraction, progress.remaining_s = 0.64, 123.4
    progress.edges, progress.violations = 1_234_567, 2
    text = "\n".join(assert_fits(lambda width: demo_picture(progress, width), columns, rows))
    assert "64 %, 123 s left" in text
    progress.picture = np.zeros((48, 64, 3), np.uint8)
    assert_fits(lambda width: demo_picture(progress, width), columns, rows)


@terminals
def test_the_verdict_of_the_demo(columns, rows):
    recoveries = ["looked again at F: the colours leave more than one possible cube"]
    times = {"planned_us": 71_369_000, "executed_us": 71_369_000}
    record = RunRecord(**run_json(moves=MOVES, recoveries=recoveries, **times))
    outcome = DemoOutcome(True, (), record, scan_s=12.5, turn_s=71.3, facelets="")
    assert_fits(lambda width: verdict_picture(outcome, width), columns, rows)


JOB = job_json(STEP, progress=0.64, remaining_s=123.4, elapsed_s=123.4)
FAULT = FaultRecord.of(RobotError("home-missing", detail="lid")).model_dump()
WARNED = "the serial line damaged 6 of 7800 messages"
STATES = {
    "idle": status_json("idle", last_run=run_json(12, "slipped", duration_s=61.25)),
    "turning": status_json("turning", job=JOB),
    "fault": status_json("fault", fault=FAULT, warnings=[WARNED]),
    "maintenance": status_json("maintenance"),
}


@terminals
@pytest.mark.parametrize("name", STATES)
def test_the_live_status(name, columns, rows):
    view = turning_json("cubotino", SCRAMBLED, 0.3)
    if name != "turning":
        view |= {"motion": None, "at_us": None}
    state = STATES[name] | {"simulated": True}
    assert_fits(lambda width: status_picture(state, view, width), columns, rows)


@terminals
def test_the_line_of_a_job_goes_on_when_one_phase_is_done_and_the_next_begins(columns, rows):
    assert_fits(lambda width: JobLine("10/10  scramble: ").of(JOB, width), columns, 2)
    line = JobLine("")
    assert_fits(lambda width: line.of(JOB, width), columns, 2)
    shown = []
    for share, elapsed_s in [(0.5, 1.0), (1.0, 5.0), (None, 9.0), (0.25, 20.0), (0.75, 31.0)]:
        job = JOB | {"progress": share, "elapsed_s": elapsed_s, "remaining_s": None}
        text = " ".join(lines_of(lambda width, job=job: line.of(job, width), columns))
        assert f"{elapsed_s:.1f} s" in text
        assert text[0] in SPINNER
        shown.append(text)
    assert len(set(shown)) == len(shown), "each frame shows the job as it is then"


@terminals
@pytest.mark.parametrize("profile", ["cubotino", "two-arm", "six-motor"])
def test_the_timeline_of_a_plan(profile, columns, rows):
    motion = turning_json(profile, SCRAMBLED)["motion"]
    moves = group_by_move(motion["operations"], motion["orientation"], motion["moves"])
    length_us = motion["duration_us"]
    assert_fits(lambda width: Group(timeline(moves, length_us, width)), columns, 1000)
