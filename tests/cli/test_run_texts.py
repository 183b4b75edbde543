"""What people read of runs, of the status and of a plan: every line as it is printed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from robot.cli.control import tell
from robot.cli.cycles import summary, verdict
from robot.cli.main import run
from robot.cli.solution_text import describe, group_by_move, print_answer, timeline
from robot.cli.status import drift_lines, tell_status
from robot.records.runs import FaultRecord, LinkRecord, RunEvent, RunRecord, RunStore, RunWriter
from robot.text.outcomes import Outcome
from solver.errors import ExitCode
from tests.rig.documents import status_json

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """The records of this user's daemon, which does not run."""
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", "/nonexistent")
    monkeypatch.setenv("CUBIST_STATE_DIR", str(tmp_path))
    return RunStore(tmp_path / "runs")


def kept(store: RunStore, **known: Any) -> RunWriter:
    writer = store.begin("solve", "cubotino", NOW)
    writer.record = writer.record.model_copy(update=known)
    writer.finish()
    return writer


def lines(capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert run(list(words)) == ExitCode.DONE
    return [line.rstrip() for line in capfd.readouterr().out.splitlines()]


def test_all_of_a_run_that_went_well(store: RunStore, capfd: pytest.CaptureFixture[str]) -> None:
    writer = kept(
        store,
        outcome=Outcome.SOLVED,
        facelets="UUF",
        moves="R U2",
        planned_us=1_500_000,
        executed_us=1_500_200,
        greedy_us=2_000_000,
        timings_s={"turn": 1.5, "scan": 2.25, "odd": 3.0},
        link=LinkRecord(sent=12, received=13, damaged=1, resent=2),
        recoveries=["looked again"],
        warnings=["dim [light]"],
        photos=["scan-U.jpg", "reading.svg", "explanation.png"],
        events=[RunEvent(at_s=0.5, text="homing")],
    )
    shown = lines(capfd, "runs", "show", "1")
    folder = store.directory_of("1")
    assert shown[0] == f"run {writer.record.id} solved in 0.0 s"
    assert shown[1].startswith("cubotino, solve, ")
    assert shown[2:] == [
        "cube  UUF",
        "moves R U2",
        (
            "took  scanning 2.2 s, turning 1.5 s, "
            "by the robot's clock planned 1.500 s, executed 1.500 s"
        ),
        "plan  1.50 s, the same moves one at a time 2.00 s: 25% saved",
        "line  12 messages, 13 answers, 1 damaged, 2 sent again",
        "On the way: looked again",
        "On the way: dim [light]",
        f"seen  3 pictures in {folder}",
        "    0.50 s  homing",
    ]


def test_a_run_that_failed_says_why_and_what_to_do(
    store: RunStore, capfd: pytest.CaptureFixture[str]
) -> None:
    fault = FaultRecord(code="jammed", cause="the lid is jammed", remedy="free it")
    kept(
        store,
        outcome=Outcome.FAULT,
        reason=fault.cause,
        faults=[fault],
        moves="R",
        planned_us=2_000_000,
        greedy_us=2_000_000,
        link=LinkRecord(sent=3),
        photos=["reading.png"],
    )
    shown = lines(capfd, "runs", "show", "1")
    assert shown[0] == "run 000001 fault after 0.0 s"
    assert shown[2:] == [
        "the lid is jammed",
        "What to do: free it",
        "moves R",
        "took",
        "plan  2.00 s, the same moves one at a time 2.00 s",
        "line  3 messages, 0 answers, 0 damaged",
        shown[-1],
    ]


def test_runs_are_listed_newest_first(store: RunStore, capfd: pytest.CaptureFixture[str]) -> None:
    assert lines(capfd, "runs") == ["no runs yet"]
    kept(store, outcome=Outcome.SOLVED, moves="R U2", duration_s=12.34)
    kept(store)
    title, second, first = (line.split() for line in lines(capfd, "runs"))
    assert title == ["run", "started", "what", "outcome", "took", "moves"]
    assert second[:1] + second[3:] == ["000002", "solve", "under", "way", "0.0", "s"]
    assert first[:1] + first[3:] == ["000001", "solve", "solved", "12.3", "s", "2"]
    assert len(lines(capfd, "runs", "--count", "1")) == 2


STATUS = status_json(version="1.2.3", process=77)
DRIFT = {
    "actuator": "holder",
    "position": "home",
    "degrees": 1.25,
    "since": "May",
    "corrected_degrees": -0.5,
    "solves": 7,
}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ["idle  cubotino, homed, cubistd 1.2.3 (process 77)"]),
        (
            {"homed": False, "simulated": True},
            ["idle  cubotino, simulated, not homed, cubistd 1.2.3 (process 77)"],
        ),
        (
            {
                "state": "homing",
                "job": {
                    "run": "000003",
                    "step": "homing",
                    "progress": 0.42,
                    "remaining_s": 2.6,
                    "elapsed_s": 8.7,
                },
            },
            [
                "homing  cubotino, cubistd 1.2.3 (process 77)",
                "  run 000003: homing (42 %, 3 s left), 8.7 s",
            ],
        ),
        (
            {"preparation": {"step": "making tables", "progress": None, "remaining_s": None}},
            ["idle  cubotino, homed, cubistd 1.2.3 (process 77)", "  making tables"],
        ),
        (
            {
                "state": "fault",
                "fault": {"code": "odd", "cause": "it broke", "remedy": ""},
                "warnings": ["dim light"],
                "drift": [DRIFT],
                "last_run": {"id": "000002", "outcome": "solved", "duration_s": 61.25},
            },
            [
                "fault  cubotino, homed, cubistd 1.2.3 (process 77)",
                "  it broke",
                "  What to do: see the journal (`cubist logs`)",
                "  holder home has moved +1.2 degrees since May (7 solves), -0.5 of them corrected",
                "  dim light",
                "  last run: 000002 solved in 61.2 s",
            ],
        ),
    ],
)
def test_the_status_in_lines(
    more: dict[str, Any], told: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    tell_status(STATUS | more)
    assert capfd.readouterr().out.splitlines() == told
    assert drift_lines(STATUS) == []


def test_how_a_run_ended(capfd: pytest.CaptureFixture[str]) -> None:
    record = RunRecord(
        id="000004",
        kind="solve",
        robot="cubotino",
        started_at=NOW,
        outcome=Outcome.SOLVED,
        duration_s=3.25,
        moves="R U",
        recoveries=["looked again"],
        warnings=["slow"],
    ).model_dump()
    tell(record)
    assert capfd.readouterr().out.splitlines() == [
        "solved in 3.2 s, run 000004",
        "On the way: looked again",
        "On the way: slow",
        "R U",
    ]
    tell(record | {"outcome": "stopped", "moves": None, "recoveries": [], "warnings": []})
    assert capfd.readouterr().out.splitlines() == ["stopped after 3.2 s, run 000004"]


def test_statistics_of_cycles_count_what_was_solved() -> None:
    ended = [
        {"outcome": "solved", "duration_s": seconds, "executed_us": turned_us}
        for seconds, turned_us in ((30.0, 20_000_000), (10.0, 10_000_000), (14.0, 9_000_000))
    ]
    assert summary([*ended, {"outcome": "jammed"}]) == {
        "cycles": 4,
        "solved": 3,
        "mean_s": 18.0,
        "median_s": 14.0,
        "best_s": 10.0,
        "worst_s": 30.0,
        "mean_turn_s": 13.0,
    }
    assert summary([{"outcome": "jammed"}]) == {"cycles": 1, "solved": 0}
    assert verdict(ended) == ExitCode.DONE
    assert verdict([*ended, {"outcome": "done"}]) == ExitCode.NO, "a cube was not solved"
    assert verdict([*ended, {"outcome": "jammed"}]) == ExitCode.FAILED


TURN = {"op": "turn", "site": "D", "quarter_turns": -1, "start_us": 500_000, "duration_us": 250_000}
LID = {"op": "lid", "arm": "lid", "to": "open", "start_us": 0, "duration_us": 500_000}
FLIP = {"op": "rotate", "axis": "x", "quarter_turns": 2, "start_us": 750_000, "duration_us": 10_000}


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (TURN, "turn D by -1 quarter"),
        (FLIP, "rotate x by 2 quarters"),
        (LID, "lid open"),
    ],
)
def test_an_operation_in_words(operation: dict[str, Any], told: str) -> None:
    assert describe(operation) == told


def test_a_timeline_is_to_scale_under_the_moves() -> None:
    moves = group_by_move([LID, TURN, FLIP], "UF", "D'")
    assert [(move.name, len(move.operations)) for move in moves] == [("D'", 2), ("", 1)]
    table = timeline(moves, 1_000_000)
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    assert columns == [
        ["", "0.00", "0.50", "0.75"],
        ["", "0.50", "0.25", "0.01"],
        ["D'", "  lid open", "  turn D by -1 quarter", "rotate x by 2 quarters"],
        ["", "━" * 20, " " * 20 + "━" * 10, " " * 30 + "━"],
    ]
    assert [move.name for move in group_by_move([LID, TURN], None, "D'")] == [""]
    assert [move.name for move in group_by_move([LID, TURN], "UF", "R")] == [""]


ANSWER: dict[str, Any] = {
    "moves": "R U",
    "length": 2,
    "metric": "htm",
    "optimal": False,
    "lower_bound": 1,
    "algorithm": "two-phase",
    "search_s": 0.0124,
}
ON_THE_ROBOT = "on cubotino, 2 moves, 1 operations, searched 0.01 s"
ROBOTS = ANSWER | {
    "operations": [TURN],
    "duration_us": 750_000,
    "lower_bound_us": 500_000,
    "robot": "cubotino",
}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            ANSWER,
            ["R U", "2 htm (not proven shortest), two-phase, 12 ms"],
        ),
        (
            ANSWER | {"moves": "", "lower_bound": 0, "phases": ["R", ""]},
            [
                "(already solved)",
                "  phase 1: R",
                "  phase 2: nothing to do",
                "2 htm (not proven shortest), two-phase, 12 ms",
            ],
        ),
        (
            ANSWER | {"optimal": True, "phases": [{"name": "edges", "moves": "U"}]},
            ["R U", "  edges: U", "2 htm (proven shortest), two-phase, 12 ms"],
        ),
        (
            ROBOTS,
            ["R U", f"0.75 s (lower bound 0.50 s) {ON_THE_ROBOT}"],
        ),
        (
            ROBOTS | {"optimal": True},
            ["R U", f"0.75 s (proven fastest) {ON_THE_ROBOT}"],
        ),
        (
            ROBOTS | {"lower_bound_us": 0},
            ["R U", f"0.75 s {ON_THE_ROBOT}"],
        ),
    ],
)
def test_an_answer_in_lines(
    answer: dict[str, Any], told: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    print_answer(answer)
    assert capfd.readouterr().out.splitlines() == told
