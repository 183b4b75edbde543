"""The terminal's reports of jobs, cycles and searches: ``cubist start|test|runs|solve``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import cv2
import numpy as np
import pytest

from robot.api.client import DaemonError
from robot.cli import control
from robot.cli.main import run
from robot.records.run_record import FaultRecord, LinkRecord, RunEvent
from robot.records.runs import RunStore
from robot.text.outcomes import Outcome
from solver.errors import ExitCode
from tests.rig.documents import NOON, EndedJobs

SOLVED_ONE = "solved 1 of 1: mean 12.0 s, best 12.0 s, worst 12.0 s"

Ask = Callable[..., tuple[int, list[str], EndedJobs, list[str]]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return a function that runs ``cubist test`` with jobs that end in given ways.

    It returns exit code, lines, the daemon, and the jobs watched.
    """

    def asked(outcomes: str, *options: str, end: str = "", by: Any = KeyboardInterrupt) -> Any:
        client, watched = EndedJobs(*outcomes.split()), []

        def watch(_: Any, run_id: str, about: str) -> None:
            watched.append(about)
            if run_id == end:
                raise by

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
    assert last == {"cycles": 4, "solved": 3, "not_checked": 0, **times, "mean_turn_s": 3.0}


def test_a_robot_that_does_not_check_passes(ask):
    code, lines, *_ = ask("done done done done", "--cycles", "2")
    assert (code, len(lines)) == (ExitCode.DONE, 3)
    assert lines[-1].startswith("solved 0 of 2, 2 done and not checked: mean 13.0 s")


def test_a_cube_that_the_scramble_did_not_turn_is_no_success(ask):
    code, lines, *_ = ask("done already-solved", "--cycles", "2")
    assert (code, lines[-1]) == (ExitCode.NO, "solved 0 of 1")


def test_ctrl_c_stops_the_robot_and_tells_what_there_was(ask):
    code, lines, client, _ = ask("done solved done solved", "--cycles", "2", end="3")
    assert (code, [path for _, path, _ in client.asked]) == (ExitCode.STOPPED, ["/stop"])
    assert lines[-1] == SOLVED_ONE


@pytest.mark.parametrize("by", [KeyboardInterrupt, DaemonError("gone")])
def test_cycles_before_the_daemon_went_are_told(ask, monkeypatch, by):
    monkeypatch.setattr(EndedJobs, "stop", Mock(side_effect=DaemonError("gone")))
    code, lines, *_ = ask("done solved done", "--cycles", "2", end="3", by=by)
    assert (code, lines[-1]) == (ExitCode.FAILED, SOLVED_ONE)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """Return the records of this user's daemon, which does not run."""
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
    keep(store, to="checkerboard")
    title, third, second, first = (line.split() for line in lines(capfd, "runs"))
    assert third[3:5] == ["to", "checkerboard"]
    assert title == ["run", "started", "what", "outcome", "took", "moves"]
    assert second[:1] + second[3:] == ["000002", "solve", "in", "progress", "0.0", "s"]
    assert first[:1] + first[3:] == ["000001", "solve", "solved", "12.3", "s", "2"]
    assert len(lines(capfd, "runs", "--count", "1")) == 2


def test_a_run_shows_how_it_went(store, capfd):
    """Check times in seconds of the robot's clock, with the stages in the order of a solve."""
    fault = FaultRecord(code="jammed", cause="the lid is jammed", remedy="free it")
    keep(
        store,
        outcome=Outcome.SOLVED,
        facelets="UUF",
        moves="R U2",
        planned_us=1_500_000,
        executed_us=1_500_200,
        greedy_us=2_000_000,
        timings_s={"turn": 1.5, "scan": 2.25},
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
    assert "waited for times ms p50 p99 capture 2 40.0 10.0 30.0" in " ".join(shown.split())
    keep(store, outcome=Outcome.FAULT, reason=fault.cause, faults=[fault], greedy_us=2_000_000)
    failed = "\n".join(lines(capfd, "runs", "show", "2"))
    assert "run 000002 fault after" in failed and "saved" not in failed
    assert "the lid is jammed\nWhat to do: free it" in failed


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
