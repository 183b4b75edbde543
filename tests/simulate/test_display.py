"""What people and programs get to see of a demo."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from rich.text import Text

from robot.api.endpoints import RobotState
from robot.cli.simulate import exit_code
from robot.records.runs import FaultRecord, LinkRecord, RunRecord
from robot.simulate.display import (
    LiveDisplay,
    PlainDisplay,
    display_for,
    operation_text,
    print_outcome,
)
from robot.simulate.progress import DemoProgress
from robot.simulate.session import DemoOutcome
from robot.text.outcomes import Outcome
from robot.twin.violations import Violation
from solver.errors import ExitCode

SOLVED = "".join(letter * 9 for letter in "URFDLB")


FREE_IT = FaultRecord(code="not-in-place", cause="the lid is jammed", remedy="free it")


def outcome(
    solved: bool = True, violations: int = 0, ended: str = "solved", **more: Any
) -> DemoOutcome:
    record = RunRecord(
        id="000001",
        kind="solve",
        robot="cubotino",
        started_at=datetime(2024, 1, 1, tzinfo=UTC),
        outcome=ended,
        reason="" if ended == "solved" else "the lid is jammed",
        moves="R U2 F'",
        planned_us=70_000_000,
        executed_us=70_000_000,
        timings_s={"search": 1.0},
        **more,
    )
    found = tuple(Violation(1, "flip-held", "the cube was flipped") for _ in range(violations))
    return DemoOutcome(solved, found, record, scan_s=12.5, turn_s=70.0, facelets=SOLVED)


def test_last_line_has_what_was_promised() -> None:
    assert outcome(recoveries=["looked again"]).good
    assert not outcome(violations=1).good and not outcome(solved=False).good
    document = json.loads(json.dumps(outcome(violations=1, warnings=["slow"]).as_dict()))
    assert document == {
        "solved": True,
        "violations": [{"time_us": 1, "kind": "flip-held", "text": "the cube was flipped"}],
        "moves": "R U2 F'",
        "length": 3,
        "scan_s": 12.5,
        "solve_s": 1.0,
        "turn_s": 70.0,
        "planned_us": 70_000_000,
        "executed_us": 70_000_000,
        "outcome": "solved",
        "reason": "",
        "recoveries": ["slow"],
        "robot": "cubotino",
        "facelets": SOLVED,
    }


CLEAN = "nothing went wrong"


@pytest.mark.parametrize(
    ("result", "title", "words"),
    [
        (outcome(), "Solved. The simulated robot confirms it", [CLEAN]),
        (outcome(violations=1), "Solved, but", ["at 0.00 s: the cube was flipped"]),
        (
            outcome(recoveries=["looked again at F"]),
            "Solved, as the simulated robot confirms. What went wrong",
            ["looked again at F"],
        ),
        (
            outcome(link=LinkRecord(sent=99, resent=2)),
            "Solved, as the simulated robot confirms. What went wrong",
            ["2 messages"],
        ),
        (
            outcome(warnings=["the line is bad"]),
            "Solved, as the simulated robot confirms. What went wrong",
            ["the line is bad"],
        ),
        (
            outcome(solved=False, ended="jammed", faults=[FREE_IT]),
            "Not solved.",
            ["ended with jammed: the lid is jammed", "what to do: free it"],
        ),
        (
            outcome(solved=False, ended="jammed", recoveries=["looked again: the lid is jammed"]),
            "Not solved.",
            ["ended with jammed: the lid is jammed"],
        ),
        (outcome(solved=False), "Not solved, although the daemon reports solved", []),
        (
            outcome(ended="unreadable"),
            "The simulated robot reports a solved cube, but the daemon does not.",
            ["ended with unreadable"],
        ),
        (outcome(solved=False, violations=1, ended="fault"), "Not solved.", ["flipped", "jammed"]),
    ],
)
def test_the_verdict_says_what_really_happened(
    result: DemoOutcome, title: str, words: list[str]
) -> None:
    stream = io.StringIO()
    print_outcome(result, stream)
    text = " ".join(stream.getvalue().replace("│", " ").split())
    assert title in text
    assert all(word in text for word in words)
    assert (CLEAN in text) == (CLEAN in words)


@pytest.mark.parametrize("ended", [str(one) for one in Outcome])
def test_no_ending_is_praised_that_did_not_go_well(ended: str) -> None:
    """Only a run that the daemon calls a success may be called solved without more."""
    stream = io.StringIO()
    print_outcome(outcome(ended=ended), stream)
    praised = "Solved. The" in stream.getvalue()
    assert praised == (exit_code(outcome(ended=ended)) == ExitCode.DONE)


def test_stages_are_timed_by_the_robots_clock() -> None:
    real = [0.25]
    progress = DemoProgress("demo", real_clock=lambda: real[-1])
    for time, state in (
        (1.0, RobotState.HOMING),
        (3.0, RobotState.SCANNING),
        (3.0, RobotState.SCANNING),
    ):
        progress.clock_s = time
        progress.enter(state)
    progress.clock_s = 10.0
    progress.enter(RobotState.SOLVING)
    progress.clock_s = 60.0
    real.append(0.75)
    progress.enter(RobotState.TURNING)
    assert progress.took_s(RobotState.HOMING) == 2.0
    assert progress.took_s(RobotState.SCANNING) == 7.0
    # Thinking takes real time, whatever the robot's speed.
    assert progress.took_s(RobotState.SOLVING) == 0.5
    assert progress.took_s(RobotState.TURNING) == 0.0


def test_the_making_of_tables_is_a_stage_in_real_time() -> None:
    real = [10.0]
    progress = DemoProgress("demo", real_clock=lambda: real[-1])
    progress.step = "making tables in /folder"
    progress.fraction, progress.remaining_s = 0.25, 6.0
    real.append(12.5)
    stream = Terminal()
    display = display_for(stream)
    display.show(progress)
    display.close()
    text = Text.from_ansi(stream.getvalue()).plain
    for word in ("● prepare", "2.50 s", "making tables in /folder", "25 %, 6 s left"):
        assert word in text
    progress.enter(RobotState.HOMING)
    real.append(99.0)
    assert progress.spent_s(progress.stages[0]) == 2.5


def test_plain_lines_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    display = display_for(stream)
    assert isinstance(display, PlainDisplay)
    progress = DemoProgress("demo")
    for step in ("looking at F", "looking at F", "turning"):
        progress.step = step
        display.show(progress)
    display.close()
    assert [line.split("s  ")[1] for line in stream.getvalue().splitlines()] == [
        "looking at F",
        "turning",
    ]


OPERATIONS = [
    {"op": "lid", "arm": "lid", "to": "close", "start_us": 0, "duration_us": 500_000},
    {"op": "turn", "site": "D", "quarter_turns": -1, "start_us": 500_000, "duration_us": 500_000},
    {
        "op": "rotate",
        "axis": "x",
        "quarter_turns": 1,
        "start_us": 1_000_000,
        "duration_us": 500_000,
    },
    {"op": "turn", "site": "D", "quarter_turns": 2, "start_us": 1_500_000, "duration_us": 500_000},
]


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (OPERATIONS[0], "lid to close"),
        (OPERATIONS[1], "layer D: a quarter back"),
        (OPERATIONS[2], "whole cube about x: a quarter"),
        ({"op": "grip", "gripper": "R", "start_us": 0, "duration_us": 1}, "grip R"),
    ],
)
def test_operations_in_words(operation: dict[str, object], words: str) -> None:
    assert operation_text(operation) == words


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("state", "fraction", "words"),
    [
        (RobotState.SOLVING, None, ("R U2", "think")),
        (RobotState.TURNING, 0.3, ("layer D: a quarter back", "30 %")),
        (RobotState.TURNING, 0.6, ("whole cube about x", "60 %")),
        (RobotState.CHECKING, None, ("check",)),
    ],
)
def test_live_picture_shows_cube_plan_and_stages(
    state: RobotState, fraction: float | None, words: tuple[str, ...]
) -> None:
    stream = Terminal()
    display = display_for(stream)
    assert isinstance(display, LiveDisplay)
    progress = DemoProgress("CUBOTino", facelets=SOLVED, moves="R U2", violations=2)
    progress.operations, progress.planned_us = OPERATIONS, 2_000_000
    progress.enter(state)
    progress.fraction = fraction
    display.show(progress)
    display.close()
    text = Text.from_ansi(stream.getvalue()).plain
    assert text.count("██") % 54 == 0 < text.count("██")
    for word in ("CUBOTino", "2 violations", *words):
        assert word in text


CAMERA = np.zeros((48, 64, 3), np.uint8)
CAMERA[:24] = (200, 30, 40)
CAMERA[24:] = (20, 60, 210)


def shown_on(columns: int, monkeypatch: pytest.MonkeyPatch, **more: Any) -> str:
    """What a terminal so wide and 24 lines high gets, colours included."""
    for name, value in (("COLUMNS", columns), ("LINES", 24), ("COLORTERM", "truecolor")):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("TERM", "xterm-256color")
    progress = DemoProgress("CUBOTino", facelets=more.pop("facelets", SOLVED))
    progress.enter(more.pop("state", RobotState.SCANNING))
    progress.step = "looking at F (3 of 6)"
    for name, value in more.items():
        setattr(progress, name, value)
    stream = Terminal()
    display = display_for(stream)
    display.show(progress)
    drawn = stream.getvalue()
    display.close()
    return drawn


def test_the_camera_is_shown_beside_the_cube_while_it_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = shown_on(80, monkeypatch, picture=CAMERA, moves="R U R' U' " * 6)
    assert "38;2;200;30;40" in drawn and "38;2;20;60;210" in drawn, "upper and lower half"
    lines = Text.from_ansi(drawn).plain.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    beside = [line for line in lines if "▀" in line]
    assert len(beside) >= 8 and all("█" in line for line in beside[:9])
    assert min(line.count("▀") for line in beside) >= 16
    text = "\n".join(lines)
    assert "● look" in text and "looking at F (3 of 6)" in text
