"""The terminal says how jobs, cycles and searches ended: ``cubist start|test|runs|solve``."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from rich.console import Console

from robot.cli import control
from robot.cli.control import tell
from robot.cli.main import run
from robot.cli.solution_text import describe, group_by_move, print_answer, timeline
from robot.cli.texts import ending_text
from robot.records.run_record import FaultRecord, LinkRecord, RunEvent
from robot.records.runs import RunStore
from robot.text.outcomes import Outcome, is_success
from solver.errors import ExitCode
from tests.rig.documents import NOON, EndedJobs, run_json

Ask = Callable[..., tuple[int, list[str], EndedJobs, list[str]]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run ``cubist test`` where jobs end so: exit code, lines, the daemon, what was watched."""

    def asked(outcomes: str, *options: str, end: str = "") -> Any:
        client, watched = EndedJobs(*outcomes.split()), []

        def watch(_: Any, run_id: str, about: str) -> None:
            watched.append(about)
            if run_id == end:
                raise KeyboardInterrupt

        monkeypatch.setattr(control, "daemon_client", lambda: client)
        monkeypatch.setattr(control, "watch", watch)
        code = run(["test", *options])
        return code, capsys.readouterr().out.splitlines(), client, watched

    return asked


def test_every_cycle_is_a_scramble_and_a_solve(ask):
    code, lines, client, watched = ask("done solved done solved", "--cycles", "2")
    assert code == ExitCode.DONE
    assert client.kinds == ["scramble", "solve"] * 2
    assert watched == ["1/2  scramble: ", "1/2  solve: ", "2/2  scramble: ", "2/2  solve: "]
    assert lines == [
        "1/2  run 000002 solved in 12.0 s",
        "2/2  run 000004 solved in 14.0 s",
        "solved 2 of 2: mean 13.0 s, best 12.0 s, worst 14.0 s",
    ]
    assert not client.asked, "nothing was stopped"


@pytest.mark.parametrize(("outcomes", "jobs"), [("done jammed", 2), ("jammed", 1)])
def test_the_first_failure_ends_it(ask, outcomes, jobs):
    code, lines, client, _ = ask(outcomes, "--cycles", "3")
    assert (code, len(client.kinds)) == (ExitCode.FAILED, jobs)
    told = f"1/3  run {jobs:06} jammed after {10 + jobs}.0 s: it jammed"
    assert lines == [told, "solved 0 of 1"]


def test_failures_may_be_counted_only(ask):
    outcomes = "done jammed done solved done solved done solved"
    code, lines, *_ = ask(outcomes, "--cycles", "4", "--keep-going", "--json")
    assert code == ExitCode.FAILED
    first, second, *_, last = map(json.loads, lines)
    keys = "cycle id kind outcome reason duration_s planned_us executed_us"
    assert list(first) == keys.split()
    assert (first["cycle"], first["reason"]) == (1, "it jammed")
    assert (second["cycle"], second["outcome"]) == (2, "solved")
    times = {"mean_s": 16.333, "median_s": 16.0, "best_s": 14.0, "worst_s": 19.0}
    assert last == {"cycles": 4, "solved": 3, **times, "mean_turn_s": 3.0}


def test_ctrl_c_stops_the_robot_and_tells_what_there_was(ask):
    code, lines, client, _ = ask("done solved done solved", "--cycles", "2", end="3")
    assert (code, [path for _, path, _ in client.asked]) == (ExitCode.STOPPED, ["/stop"])
    assert lines[-1] == "solved 1 of 1: mean 12.0 s, best 12.0 s, worst 12.0 s"


@pytest.mark.parametrize("outcome", Outcome)
def test_only_a_success_is_said_to_take_its_time(outcome):
    """A fault comes after some seconds: it does not take them."""
    told = ending_text(str(outcome), 4.7)
    assert (" in " in told, " after " in told) == (is_success(outcome), not is_success(outcome))


DARK = "no cube is in view"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"recoveries": ["it slipped"], "warnings": ["lukewarm"], "moves": "R U"},
            "solved in 61.3 s, run 000007\nOn the way: it slipped\nOn the way: lukewarm\nR U\n",
        ),
        (
            {"outcome": "jammed", "reason": "the lid", "faults": [{"remedy": "oil it"}]},
            "jammed after 61.3 s, run 000007: the lid\nWhat to do: oil it\n",
        ),
        (
            {"outcome": "jammed", "reason": "the lid", "faults": [{"remedy": ""}]},
            "jammed after 61.3 s, run 000007: the lid\n",
        ),
        (
            {
                "outcome": "no-cube",
                "reason": DARK,
                "recoveries": [f"looked again: {DARK}", "2 messages", f"looked again: {DARK}"],
            },
            f"no-cube after 61.3 s, run 000007: {DARK}\nOn the way: 2 messages\n",
        ),
    ],
)
def test_an_ended_run_is_told_once_with_troubles_remedy_and_moves(more, told, capsys):
    tell(run_json(7, duration_s=61.26, **{"outcome": "solved"} | more))
    assert capsys.readouterr().out == told


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """The records of this user's daemon, which does not run."""
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", "/nonexistent")
    monkeypatch.setenv("CUBIST_STATE_DIR", str(tmp_path))
    return RunStore(tmp_path / "runs")


def keep(store: RunStore, **known: Any) -> None:
    writer = store.begin("solve", "cubotino", NOON)
    writer.record = writer.record.model_copy(update=known)
    writer.finish()


def lines(capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert run(list(words)) == ExitCode.DONE
    return [line.rstrip() for line in capfd.readouterr().out.splitlines()]


def test_runs_are_listed_newest_first(store, capfd):
    assert lines(capfd, "runs") == ["no runs yet"]
    keep(store, outcome=Outcome.SOLVED, moves="R U2", duration_s=12.34)
    keep(store)
    title, second, first = (line.split() for line in lines(capfd, "runs"))
    assert title == ["run", "started", "what", "outcome", "took", "moves"]
    assert second[:1] + second[3:] == ["000002", "solve", "under", "way", "0.0", "s"]
    assert first[:1] + first[3:] == ["000001", "solve", "solved", "12.3", "s", "2"]
    assert len(lines(capfd, "runs", "--count", "1")) == 2


def test_a_run_shows_how_it_went(store, capfd):
    """Times are in seconds by the robot's clock, and its stages come in the order of a solve."""
    fault = FaultRecord(code="jammed", cause="the lid is jammed", remedy="free it")
    keep(
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
        latency_s={"capture": [0.01, 0.03]},
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
    keep(store, outcome=Outcome.FAULT, reason=fault.cause, faults=[fault], greedy_us=2_000_000)
    failed = "\n".join(lines(capfd, "runs", "show", "2"))
    assert "run 000002 fault after" in failed and "saved" not in failed
    assert "the lid is jammed\nWhat to do: free it" in failed


def performed(op: str, **fields: Any) -> dict[str, Any]:
    return {"op": op, "start_us": 0, "duration_us": 1} | fields


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (performed("turn", site="D", quarter_turns=-1), "turn D by -1 quarter"),
        (performed("rotate", axis="x", quarter_turns=2), "rotate x by 2 quarters"),
        (performed("lid", arm="lid", to="open"), "lid open"),
    ],
)
def test_an_operation_in_words(operation, told):
    assert describe(operation) == told


def test_operations_are_shown_under_the_moves_that_they_perform():
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
    "operations": [performed("turn", site="D", quarter_turns=-1)],
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
        (PLAN, ["0.75 s (lower bound 0.50 s) on cubotino, 2 moves, 1 operation"]),
        (PLAN | {"optimal": True}, ["0.75 s (proven fastest)"]),
        (PLAN | {"lower_bound_us": 0}, ["0.75 s on cubotino"]),
    ],
)
def test_an_answer_names_moves_length_and_proof(answer, told, capfd):
    print_answer(answer)
    out = capfd.readouterr().out
    assert all(text in out for text in told), out


def test_runs_are_exported_and_counted_without_a_daemon(store, tmp_path, capfd):
    for seconds in (4.0, 2.0, 3.0):
        keep(store, outcome=Outcome.SOLVED, duration_s=seconds)
    (store.directory / "000002" / "run.json").write_text("no record")
    found = json.loads("".join(lines(capfd, "runs", "statistics", "--json")))
    assert (found["attempts"], found["best_s"], found["best_run"]) == (2, 3.0, "000003")
    file = tmp_path / "runs.csv"
    assert not lines(capfd, "runs", "export", "--csv", str(file))
    assert [line.split(",")[0] for line in file.read_text().splitlines()] == ["run", "1", "3"]
    assert run(["runs", "export", str(file)]) == 2


def test_pictures_of_one_run_are_exported(store, tmp_path, capfd):
    file = tmp_path / "picture"
    for wanted in ("--collage", "--time-lapse"):
        assert run(["runs", "export", wanted, str(file)]) == ExitCode.USAGE
        assert "no run on record has" in capfd.readouterr().err
    grey = cv2.imencode(".jpg", np.full((48, 64, 3), 90, np.uint8))[1].tobytes()
    for number in range(3):
        writer = store.begin("solve", "cubotino", NOON)
        if number < 2:
            writer.save_photo("scanning-1-U.jpg", grey)
            writer.save_photo("time-lapse.webp", b"lapse %d" % number)
        writer.record.outcome = Outcome.SOLVED
        writer.finish()
    (store.directory / "000003" / "run.json").write_text("no record")
    assert not lines(capfd, "runs", "export", "--time-lapse", str(file))
    assert file.read_bytes() == b"lapse 1", "the latest that has one"
    assert not lines(capfd, "runs", "export", "--time-lapse", "--run", "1", str(file))
    assert file.read_bytes() == b"lapse 0"
    assert not lines(capfd, "runs", "export", "--collage", str(file))
    assert file.read_bytes().startswith(b"\xff\xd8")
    for wrong in (["--collage", "--run", "x"], ["--csv", "--run", "1"]):
        assert run(["runs", "export", *wrong, str(file)]) == ExitCode.USAGE
    assert run(["runs", "export", "--collage", "--run", "9", str(file)]) == ExitCode.USAGE
