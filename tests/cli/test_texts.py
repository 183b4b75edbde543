"""What people read at the end of a solve or of a job, to the letter."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from robot.calibration.step import Row
from robot.cli import calibration, measuring
from robot.cli.control import tell
from robot.cli.solution_text import (
    BAR_WIDTH,
    PerformedMove,
    describe,
    group_by_move,
    print_answer,
    timeline,
)
from tests.rig.documents import run_json

ANSWER: dict[str, Any] = {
    "moves": "R U",
    "length": 2,
    "metric": "htm",
    "algorithm": "two-phase",
    "search_s": 0.012,
    "optimal": False,
    "lower_bound": 0,
}
PLAN: dict[str, Any] = {
    "moves": "R U",
    "length": 2,
    "duration_us": 12_340_000,
    "lower_bound_us": 9_870_000,
    "optimal": False,
    "robot": "cubotino",
    "operations": [{}] * 7,
    "search_s": 0.5,
}
RECORD = run_json(7, duration_s=61.26, moves="R U")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ["R U", "2 htm (not proven shortest), two-phase, 12 ms"]),
        (
            {"lower_bound": 1},
            ["R U", "2 htm (not proven shortest), two-phase, 12 ms"],
        ),
        (
            {"lower_bound": 2, "optimal": True},
            ["R U", "2 htm (proven shortest), two-phase, 12 ms"],
        ),
        (
            {"phases": ["R", ""]},
            [
                "R U",
                "  phase 1: R",
                "  phase 2: nothing to do",
                "2 htm (not proven shortest), two-phase, 12 ms",
            ],
        ),
        (
            {"moves": "", "length": 0, "optimal": True},
            ["(already solved)", "0 htm (proven shortest), two-phase, 12 ms"],
        ),
    ],
)
def test_a_solution(
    more: dict[str, Any], told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    print_answer(ANSWER | more)
    assert capsys.readouterr().out.splitlines() == told


@pytest.mark.parametrize(
    ("optimal", "proof"), [(False, "lower bound 9.87 s"), (True, "proven fastest")]
)
def test_a_robot_s_plan(optimal: bool, proof: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(PLAN | {"optimal": optimal})
    line = f"12.34 s ({proof}) on cubotino, 2 moves, 7 operations, searched 0.50 s"
    assert capsys.readouterr().out.splitlines() == ["R U", line]


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ({"op": "turn", "site": "D", "quarter_turns": 1}, "turn D by 1 quarter"),
        ({"op": "turn", "site": "D", "quarter_turns": -1}, "turn D by -1 quarter"),
        ({"op": "rotate", "axis": "x", "quarter_turns": 2}, "rotate x by 2 quarters"),
        ({"op": "lid", "start_us": 5, "duration_us": 6, "position": "open"}, "lid open"),
        ({"op": "lid", "actuator": "lid", "position": "open"}, "lid open"),
    ],
)
def test_an_operation(operation: dict[str, Any], text: str) -> None:
    assert describe(operation) == text


def performed(op: str, **fields: Any) -> dict[str, Any]:
    return {"op": op, "start_us": 0, "duration_us": 1} | fields


def test_operations_are_shown_under_the_moves_that_they_perform() -> None:
    flip = performed("rotate", axis="x", quarter_turns=1)  # U goes to B, F to U, D to F, B to D
    turn = performed("turn", site="D", quarter_turns=1)
    back = performed("turn", site="D", quarter_turns=-1)
    lid = performed("lid", to="open")
    plan = [lid, turn, flip, turn, lid, turn, back, lid]
    grouped = group_by_move(plan, "UF", "D B")
    assert [(move.name, len(move.operations)) for move in grouped] == [("D", 2), ("B", 5), ("", 1)]
    assert [row for move in grouped for row in move.operations] == plan
    for orientation, moves in (("UF", "D F"), (None, "D B"), ("UF", "")):
        (whole,) = group_by_move(plan, orientation, moves)
        assert (whole.name, whole.operations) == ("", plan)
    with Console(width=100, file=io.StringIO()) as console, console.capture() as captured:
        console.print(timeline(grouped, 1))
    assert [line.strip() for line in captured.get().splitlines()][1] == "D"


def test_bars_are_to_scale() -> None:
    rows = [
        {"op": "lid", "position": "open", "start_us": 0, "duration_us": 1_000_000},
        {"op": "lid", "position": "close", "start_us": 1_000_000, "duration_us": 3_000_000},
        {"op": "lid", "position": "flip", "start_us": 4_000_000, "duration_us": 1},
    ]
    console = Console(width=100, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(timeline([PerformedMove("", rows)], 4_000_000))
    _, *lines = captured.get().splitlines()
    fields = [line.split() for line in lines]
    assert [row[:4] for row in fields] == [
        ["0.00", "1.00", "lid", "open"],
        ["1.00", "3.00", "lid", "close"],
        ["4.00", "0.00", "lid", "flip"],
    ]
    assert [row[4].count("━") for row in fields] == [BAR_WIDTH // 4, 3 * BAR_WIDTH // 4, 1]
    starts = [line.index("━") for line in lines]
    assert [start - starts[0] for start in starts] == [0, BAR_WIDTH // 4, BAR_WIDTH]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ["solved in 61.3 s, run 000007", "R U"]),
        ({"moves": None}, ["solved in 61.3 s, run 000007"]),
        (
            {"recoveries": ["it slipped"], "warnings": ["lukewarm"]},
            [
                "solved in 61.3 s, run 000007",
                "On the way: it slipped",
                "On the way: lukewarm",
                "R U",
            ],
        ),
        (
            {"outcome": "jammed", "reason": "the lid", "faults": [{"remedy": "oil it"}]},
            ["jammed after 61.3 s, run 000007: the lid", "What to do: oil it", "R U"],
        ),
        (
            {
                "outcome": "jammed",
                "reason": "the lid",
                "faults": [{"remedy": "first"}, {"remedy": ""}],
            },
            ["jammed after 61.3 s, run 000007: the lid", "R U"],
        ),
        ({"outcome": "fault"}, ["fault after 61.3 s, run 000007", "R U"]),
    ],
)
def test_how_a_run_ended(
    more: dict[str, Any], told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tell(RECORD | more)
    assert capsys.readouterr().out.splitlines() == told


@pytest.mark.parametrize("as_json", [False, True])
def test_a_calibration_that_counts_from_now_on_is_told_by_its_cube(
    as_json: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    found = {"robot": "crane", "size": 4, "values": {"a": 1, "b": 2}}
    calibration._tell(found, as_json)
    out, err = capfd.readouterr()
    if as_json:
        assert (json.loads(out), err) == (found, "")
    else:
        assert (out, err) == ("", "crane (4x4x4): 2 calibrated values\n")


def test_a_row_of_a_measurement_names_its_columns(capfd: pytest.CaptureFixture[str]) -> None:
    measurement: Any = SimpleNamespace(columns=("speed", "result", ""))
    measuring._show(Row(("900", "no steps lost", "as seen")), measurement, as_json=False)
    measuring._show(Row(("1", "2", "3")), measurement, as_json=True)
    measuring._show(Row(("1", "2", "3"), {"speed": 1}), measurement, as_json=True)
    assert capfd.readouterr() == ('900  result no steps lost, as seen\n{"speed": 1}\n', "")
