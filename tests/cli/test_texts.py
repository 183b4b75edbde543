"""The terminal says how runs, plans and the robot stand, in the language of CUBIST_LANGUAGE."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from robot.api.paths import UNIT, how_to_start_the_daemon
from robot.cli.control import summary, tell, verdict
from robot.cli.main import run
from robot.cli.solution_text import (
    describe,
    group_by_move,
    print_answer,
    timeline,
)
from robot.cli.status import tell_status
from robot.cli.status_screen import picture
from robot.cli.texts import TerminalText, drift_lines, ending_text
from robot.records.runs import FaultRecord, LinkRecord, RunEvent, RunStore, RunWriter
from robot.text.faults import RobotError
from robot.text.languages import LANGUAGES
from robot.text.outcomes import Outcome, before_the_end, is_success
from robot.text.steps import JobStep, coded
from solver.errors import ExitCode
from tests.rig.documents import job_json, live_json, run_json, status_json

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


def test_runs_are_listed_newest_first(store: RunStore, capfd: pytest.CaptureFixture[str]) -> None:
    assert lines(capfd, "runs") == ["no runs yet"]
    kept(store, outcome=Outcome.SOLVED, moves="R U2", duration_s=12.34)
    kept(store)
    title, second, first = (line.split() for line in lines(capfd, "runs"))
    assert title == ["run", "started", "what", "outcome", "took", "moves"]
    assert second[:1] + second[3:] == ["000002", "solve", "under", "way", "0.0", "s"]
    assert first[:1] + first[3:] == ["000001", "solve", "solved", "12.3", "s", "2"]
    assert len(lines(capfd, "runs", "--count", "1")) == 2


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


NOTHING = live_json()


def in_trouble() -> dict[str, Any]:
    fault = FaultRecord.of(RobotError("home-missing", detail="lid")).model_dump()
    return status_json(state="fault", fault=fault)


def at_work() -> dict[str, Any]:
    step = JobStep.of("look", faces="U", seen=1, count=6)
    return status_json("scanning", job=job_json(step, **coded(step)))


def drawn(now: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), width=200, record=True)
    console.print(picture(now, NOTHING, 200))
    return console.export_text()


@pytest.mark.parametrize(
    ("language", "state", "step", "cause"),
    [
        ("en", "scanning", "looking at U (1 of 6)", "the end stop was never reached (lid)"),
        ("de", "Ansehen", "sieht U an (1 von 6)", "der Endschalter wurde nie erreicht (Deckel)"),
        ("ja", "読み取り中", "U 面を見ています (1/6)", "リミットスイッチに届きませんでした (ふた)"),
    ],
)
def test_status_and_its_screen(
    language: str,
    state: str,
    step: str,
    cause: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CUBIST_LANGUAGE", language)
    tell_status(at_work())
    tell_status(in_trouble())
    printed = capsys.readouterr().out
    screen = drawn(at_work()) + drawn(in_trouble())
    assert state in printed and state.upper() in screen
    for text in (step, cause):
        assert text in printed and text in screen


STILL = {"actuator": "holder", "position": "home", "since": "2026-11-25", "solves": 5}


@pytest.mark.parametrize("outcome", Outcome)
def test_only_what_was_reached_was_reached_in_its_time(outcome: Outcome) -> None:
    """A fault comes after some seconds: it does not take them."""
    told = ending_text(str(outcome), 4.7)
    assert (" in " in told, " after " in told) == (is_success(outcome), not is_success(outcome))


def test_what_ended_a_run_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "no cube is in view"
    troubles = [f"looked again: {reason}", "2 messages were sent again", f"looked again: {reason}"]
    assert before_the_end(troubles, reason) == ["2 messages were sent again"]
    assert before_the_end(troubles, "") == troubles[:2]
    fault = {"code": "no-cube", "cause": reason, "remedy": "insert a cube"}
    tell(run_json(4, "no-cube", reason=reason, faults=[fault], recoveries=troubles))
    assert capsys.readouterr().out.count(reason) == 1


@pytest.mark.parametrize(
    ("degrees", "corrected", "lines"),
    [(-0.02, 0.0, 0), (0.04, -0.04, 0), (0.06, 0.0, 1), (-1.2, 0.0, 1), (0.0, 0.5, 1)],
)
def test_a_robot_that_has_not_moved_is_not_said_to(
    degrees: float, corrected: float, lines: int
) -> None:
    drift = [STILL | {"degrees": degrees, "corrected_degrees": corrected}]
    told = drift_lines(status_json(drift=drift))
    assert len(told) == lines and not any("0.0 " in line.split("(")[0] for line in told if degrees)


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_a_status_is_of_one_language(
    language: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUBIST_LANGUAGE", language)
    job = job_json("...", step_code="home", progress=0.6, remaining_s=3.0)
    last = run_json(11, "slipped", duration_s=4.7)
    drift = [STILL | {"degrees": 1.2, "corrected_degrees": 0.5}]
    tell_status(status_json("turning", simulated=True, last_run=last, drift=drift, job=job))
    told = capsys.readouterr().out
    english = {word for text in TerminalText for word in text.split() if word.isalpha()}
    same = {"a", "in", "home", "cubistd"}  # names, and words of other languages
    assert [word for word in told.split() if word in english - same] == []


def test_where_no_service_is_installed_there_is_a_robot_to_simulate(tmp_path: Path) -> None:
    assert "cubist simulate" in how_to_start_the_daemon([tmp_path])
    (tmp_path / UNIT).write_text("[Unit]")
    assert "systemctl start cubistd" in how_to_start_the_daemon([tmp_path])


@pytest.mark.parametrize("command", [["status"], ["start"], ["web"], ["runs", "show", "1"]])
def test_no_daemon_is_followed_by_what_to_do(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("CUBIST_STATE_DIR", str(tmp_path))
    code = run(command)
    told = capsys.readouterr().err
    assert code and (command[0] == "runs" or "cubist simulate" in told)


def test_an_address_that_no_phone_can_open_is_not_drawn_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    page = {"urls": ["http://127.0.0.1:8421/#token"], "process": os.getpid(), "local": True}
    (tmp_path / "web.json").write_text(json.dumps(page))
    assert run(["web", "--qr"]) == 0
    out, err = capsys.readouterr()
    assert out == "http://127.0.0.1:8421/#token\n"
    assert "phone" in err


def test_a_run_shows_how_it_went(store: RunStore, capfd: pytest.CaptureFixture[str]) -> None:
    """Times are in seconds by the robot's clock, and its stages come in the order of a solve."""
    fault = FaultRecord(code="jammed", cause="the lid is jammed", remedy="free it")
    kept(
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
    shown = "\n".join(lines(capfd, "runs", "show", "1"))
    for words in (
        "run 000001 solved in",
        "scanning 2.2 s, turning 1.5 s",
        "planned 1.500 s, executed 1.500 s",
        "one at a time 2.00 s: 25% saved",
        "12 messages, 13 answers, 1 damaged, 2 sent again",
        "On the way: looked again",
        "On the way: dim [light]",
        f"3 pictures in {store.directory_of('1')}",
        "0.50 s  homing",
    ):
        assert words in shown
    kept(store, outcome=Outcome.FAULT, reason=fault.cause, faults=[fault], greedy_us=2_000_000)
    failed = "\n".join(lines(capfd, "runs", "show", "2"))
    assert "run 000002 fault after" in failed and "saved" not in failed
    assert "the lid is jammed\nWhat to do: free it" in failed


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"homed": False, "simulated": True}, ["cubotino, simulated, not homed"]),
        (
            {"state": "homing", "job": job_json("homing", progress=0.42, remaining_s=2.6)},
            ["homing  cubotino, cubistd", ": homing (42 %, 3 s left)"],
        ),
        (
            {"preparation": {"step": "making tables", "progress": None, "remaining_s": None}},
            ["\n  making tables"],
        ),
        (
            {
                "state": "fault",
                "fault": {"code": "odd", "cause": "it broke", "remedy": ""},
                "warnings": ["dim light"],
                "drift": [STILL | {"degrees": 1.25, "corrected_degrees": -0.5}],
                "last_run": {"id": "000002", "outcome": "solved", "duration_s": 61.25},
            },
            [
                "it broke\n  What to do: see the journal (`cubist logs`)",
                "holder home has moved +1.2 degrees since 2026-11-25 (5 solves), -0.5 of them",
                "dim light\n  last run: 000002 solved in 61.2 s",
            ],
        ),
    ],
)
def test_a_status_names_job_fault_drift_and_last_run(
    more: dict[str, Any], told: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    tell_status(status_json() | more)
    out = capfd.readouterr().out
    assert all(text in out for text in told), out


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"recoveries": ["it slipped"], "warnings": ["lukewarm"]}, "solved in 61.3 s, run 000007"),
        (
            {"outcome": "jammed", "reason": "the lid", "faults": [{"remedy": "oil it"}]},
            "jammed after 61.3 s, run 000007: the lid\nWhat to do: oil it\n",
        ),
        (
            {"outcome": "jammed", "reason": "the lid", "faults": [{"remedy": ""}], "moves": None},
            "jammed after 61.3 s, run 000007: the lid\n",
        ),
    ],
)
def test_an_ended_run_is_told_with_troubles_remedy_and_moves(
    more: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = run_json(7, duration_s=61.26, moves="R U") | more
    tell(record)
    out = capsys.readouterr().out
    assert out.startswith(told)
    assert [line for line in out.splitlines() if line.startswith("On the way: ")] == [
        f"On the way: {trouble}" for trouble in [*record["recoveries"], *record["warnings"]]
    ]
    assert out.endswith("\nR U\n") == (record["moves"] is not None)


ANSWER: dict[str, Any] = {
    "moves": "R U",
    "length": 2,
    "metric": "htm",
    "optimal": False,
    "lower_bound": 1,
    "algorithm": "two-phase",
    "search_s": 0.0124,
}
PLAN = ANSWER | {
    "operations": [TURN],
    "duration_us": 750_000,
    "lower_bound_us": 500_000,
    "robot": "cubotino",
}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ANSWER, ["R U", "2 htm (not proven shortest), two-phase, 12 ms"]),
        (ANSWER | {"moves": "", "phases": ["R", ""]}, ["(already solved)", "phase 1: R"]),
        (ANSWER | {"phases": [{"name": "edges", "moves": "U"}]}, ["edges: U"]),
        (ANSWER | {"optimal": True}, ["2 htm (proven shortest)"]),
        (PLAN, ["0.75 s (lower bound 0.50 s) on cubotino, 2 moves, 1 operations"]),
        (PLAN | {"optimal": True}, ["0.75 s (proven fastest)"]),
        (PLAN | {"lower_bound_us": 0}, ["0.75 s on cubotino"]),
    ],
)
def test_an_answer_names_moves_length_and_proof(
    answer: dict[str, Any], told: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    print_answer(answer)
    out = capfd.readouterr().out
    assert all(text in out for text in told), out
