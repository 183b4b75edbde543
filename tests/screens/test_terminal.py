"""Every screen in a terminal keeps its shape: nothing wraps, overlaps or is cut."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from rich.console import Group, RenderableType

from robot.api.endpoints import RobotState
from robot.cli.control import JobLine
from robot.cli.solution_text import group_by_move, timeline
from robot.cli.status_screen import picture as status_picture
from robot.records.run_record import RunRecord
from robot.simulate.display import picture as demo_picture
from robot.simulate.display import verdict_picture
from robot.simulate.progress import DemoProgress
from robot.simulate.session import DemoOutcome
from solver.cube.cube import Cube
from tests.rig.documents import status_json
from tests.screens.shape import STICKER, TERMINALS, assert_cube_is_whole, assert_fits, lines_of
from tests.screens.views import turning

SCRAMBLED = Cube.solved().apply("R U2 F' L D B2 R' U F2 L' D2 B U' R2 F D' L2 B' U2")
MOVES = "F2 U' R D2 L B' U2 F R' D L2 B U R2 F' D' L' B2 U'"
OPERATIONS: list[Any] = [
    {"op": "turn", "site": "D", "quarter_turns": -1, "start_us": 0, "duration_us": 9_000_000},
    {"op": "rotate", "axis": "x", "quarter_turns": 2, "start_us": 0, "duration_us": 9_000_000},
]
terminals = pytest.mark.parametrize(("columns", "rows"), TERMINALS)


def progress_of(state: RobotState, size: int, **more: Any) -> DemoProgress:
    """A demo in the middle of a stage, with all that can be shown there."""
    title = "CUBOTino: servos turn and tilt the cube · cube 7 · 2 times as fast"
    progress = DemoProgress(
        title,
        facelets="".join(face * size * size for face in "URFDLB"),
        real_clock=lambda: 12.0,
    )
    for each in (RobotState.HOMING, RobotState.SCANNING, RobotState.SOLVING, state):
        progress.clock_s += 12.34
        progress.enter(each)
    progress.step = "turning: 19 moves in 71.4 s, with a faster end"
    progress.moves, progress.operations, progress.planned_us = MOVES, OPERATIONS, 9_000_000
    progress.fraction, progress.remaining_s = 0.64, 123.4
    progress.edges, progress.violations = 1_234_567, 2
    for name, value in more.items():
        setattr(progress, name, value)
    return progress


@terminals
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("state", [*RobotState][1:6])
def test_the_demo(state: RobotState, size: int, columns: int, rows: int) -> None:
    progress = progress_of(state, size)
    text = "\n".join(assert_fits(lambda width: demo_picture(progress, width), columns, rows))
    assert "64 %, 123 s left" in text
    progress.picture = np.zeros((48, 64, 3), np.uint8)
    assert_fits(lambda width: demo_picture(progress, width), columns, rows)


@pytest.mark.parametrize("size", range(2, 8))
@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_the_cube_of_the_demo_is_whole_on_any_terminal_that_it_fits(
    size: int, columns: int
) -> None:
    progress = progress_of(RobotState.TURNING, size)
    net = 4 * size * (3 if size <= 3 else 2) + 3
    if net + 6 <= columns:
        lines = lines_of(lambda width: demo_picture(progress, width), columns)
        assert sum(line.count(STICKER) for line in lines) == 6 * size * size
        assert_cube_is_whole(lines)


@terminals
def test_the_verdict_of_the_demo(columns: int, rows: int) -> None:
    started = datetime(2026, 1, 1, tzinfo=UTC)
    record = RunRecord(
        id="000001",
        kind="solve",
        robot="cubotino",
        started_at=started,
        outcome="solved",
        moves=MOVES,
        planned_us=71_369_000,
        executed_us=71_369_000,
        recoveries=["looked again at F: the colours leave more than one possible cube"],
    )
    outcome = DemoOutcome(True, (), record, scan_s=12.5, turn_s=71.3, facelets="")
    assert_fits(lambda width: verdict_picture(outcome, width), columns, rows)


def status(state: str, **more: Any) -> Any:
    return status_json(state, simulated=True, **more)


JOB = {
    "run": "000012",
    "step": "turning: 19 moves in 71.4 s, with a faster end",
    "progress": 0.64,
    "remaining_s": 123.4,
    "elapsed_s": 123.4,
}
FAULT = {
    "code": "jammed",
    "cause": "the end stop was never reached (lid): the end stop is unplugged, or the lid is stuck",
    "remedy": "free the lid, check the wire of its end stop, then press the button to start again",
}
STATES = {
    "idle": status("idle", last_run={"id": "000012", "outcome": "slipped", "duration_s": 61.25}),
    "working": status("turning", job=JOB),
    "fault": status("fault", fault=FAULT, warnings=["the serial line damaged 6 of 7800 messages"]),
    "calibrating": status("maintenance"),
}


@terminals
@pytest.mark.parametrize("name", STATES)
def test_the_live_status(name: str, columns: int, rows: int) -> None:
    view = turning("cubotino", SCRAMBLED, 0.3)
    if name != "working":
        view |= {"motion": None, "at_us": None}
    assert_fits(lambda width: status_picture(STATES[name], view, width), columns, rows)


@terminals
@pytest.mark.parametrize("about", ["", "10/10  scramble: "])
def test_the_line_of_a_job(about: str, columns: int, rows: int) -> None:
    line = JobLine(about)
    assert_fits(lambda width: line.of(JOB, width), columns, 2)


def test_clock_and_spinner_go_on_when_one_phase_is_done_and_the_next_begins() -> None:
    """Each frame shows the job as it is then, whatever phases came before."""
    line = JobLine()
    phases = [(0.5, 1.0), (1.0, 5.0), (None, 9.0), (0.25, 20.0), (0.75, 31.0)]
    shown = []
    for share, elapsed_s in phases:
        job = JOB | {"progress": share, "elapsed_s": elapsed_s, "remaining_s": None}
        (text, *_) = [" ".join(lines_of(lambda width, job=job: line.of(job, width), 120))]
        assert f"{elapsed_s:.1f} s" in text
        assert text[0] in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "the spinner is there"
        shown.append(text)
    assert len(set(shown)) == len(phases)


@terminals
@pytest.mark.parametrize("profile", ["cubotino", "two-arm", "six-motor"])
def test_the_timeline_of_a_plan(profile: str, columns: int, rows: int) -> None:
    motion = turning(profile, SCRAMBLED)["motion"]
    moves = group_by_move(motion["operations"], motion["orientation"], motion["moves"])

    def screen(width: int) -> RenderableType:
        return Group(timeline(moves, motion["duration_us"], width))

    assert_fits(screen, columns, 1000)
