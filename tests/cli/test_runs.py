"""``cubist test`` and ``cubist show`` order jobs one by one, ``cubist runs`` reports them."""

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
from robot.cli import control, show
from robot.cli.main import run
from robot.records.run_record import FaultRecord, LinkRecord, RunEvent
from robot.records.runs import RunStore
from robot.text.outcomes import Outcome
from solver.errors import ExitCode
from tests.rig.documents import NOON, EndedJobs, status_json

SOLVED_ONE = "solved 1 of 1: mean 12.0 s, best 12.0 s, worst 12.0 s"


@pytest.fixture
def ask(monkeypatch, capsys) -> Callable[..., Any]:
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


@pytest.mark.parametrize(
    ("outcomes", "code", "told"),
    [
        ("jammed", ExitCode.FAILED, "run 000001 jammed after 11.0 s: it jammed\nsolved 0 of 1"),
        ("done jammed", ExitCode.FAILED, "000002 jammed after 12.0 s: it jammed\nsolved 0 of 1"),
        ("done already-solved", ExitCode.NO, "\nsolved 0 of 1"),  # the scramble did not turn it
        (
            "done " * 4,
            ExitCode.DONE,
            "solved 0 of 2, 2 done and not checked: mean 13.0 s, best 12.0 s, worst 14.0 s",
        ),
    ],
)
def test_the_first_failure_ends_it(ask, outcomes, code, told):
    ended, lines, client, _ = ask(outcomes, "--cycles", "2")
    assert (ended, len(client.kinds)) == (code, len(outcomes.split()))
    assert "\n".join(lines).endswith(told)


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


# A show reads its programme before it begins, and plays it until somebody stops it.

PROGRAMME = "steps: [scramble: R U, wait: 0.001, pattern: checkerboard, solve]"


@pytest.fixture
def play(tmp_path, monkeypatch, capsys) -> Callable[..., Any]:
    """Return a function that plays a programme with jobs that end in given ways.

    It returns exit code, documents and the daemon.
    """

    def played(outcomes: str, text: str = PROGRAMME, *options: str, **now: Any) -> Any:
        client = EndedJobs(*outcomes.split())
        client.now = status_json(**now)
        monkeypatch.setattr(show, "daemon_client", lambda: client)
        monkeypatch.setattr(control, "watch", lambda *_, **__: None)
        file = tmp_path / "show.yaml"
        file.write_text(text, encoding="utf-8")
        code = run(["show", str(file), "--json", *options])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()], client

    return played


def test_rounds_are_played_step_by_step(play):
    code, answers, client = play("done done solved " * 2, PROGRAMME, "--rounds", "2")
    assert code == ExitCode.DONE
    assert client.kinds == ["scramble", "solve", "solve"] * 2
    assert client.details[:3] == [{"moves": "R U"}, {"to": "checkerboard"}, {}]
    assert [answer["round"] for answer in answers[:-1]] == [1, 1, 1, 2, 2, 2]
    assert answers[-1] == {"rounds": 2}


def test_centres_are_followed_through_a_programme(play, monkeypatch):
    ended = EndedJobs.run

    def run_with_moves(client: EndedJobs, run_id: str) -> Any:
        return ended(client, run_id) | {"moves": "R U R2 U'"}

    monkeypatch.setattr(EndedJobs, "run", run_with_moves)
    text = f"centres: upright\n{PROGRAMME}"
    code, _, client = play("done done solved", text, "--rounds", "1")
    assert code == ExitCode.DONE and client.details[1]["centres"]
    assert [one.get("centres_turned") for one in client.details] == [None, "R'", "R2"]


@pytest.mark.parametrize(
    ("outcome", "code"), [("stopped", ExitCode.STOPPED), ("jammed", ExitCode.FAILED)]
)
def test_without_rounds_it_goes_on_until_a_job_ends_otherwise(play, outcome, code):
    ended, answers, client = play(f"done done solved done {outcome}")
    assert (ended, len(client.kinds), answers[-1]) == (code, 5, {"rounds": 1})


@pytest.mark.parametrize(
    ("now", "code", "error"),
    [
        ({"state": "solving"}, ExitCode.STOPPED, "stopped"),
        (
            {"state": "fault", "fault": {"code": "home-missing", "cause": "no end stop"}},
            ExitCode.FAILED,
            "home-missing",
        ),
    ],
)
def test_what_happens_while_it_waits_ends_the_programme(play, now, code, error):
    ended, answers, client = play("done", "steps: [scramble, wait: 60]", **now)
    assert (ended, len(client.kinds)) == (code, 1)
    assert answers[-2] == {"rounds": 0} and answers[-1]["error"] == error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- solve", "not a mapping"),
        ("steps: []", 'write "steps:"'),
        ("steps: [solve]\nrepeat: 3", 'write "steps:"'),
        ("steps: [wait: 3]", "all steps are waits; add a job"),
        ("steps:\n- solve\n- dance", "show.yaml:3: no such step; choose from solve"),
        ("steps:\n- solve\n- wait: soon", "show.yaml:3"),
        ("steps:\n- solve\n- wait: .nan", "show.yaml:3"),
        ("steps:\n- wait: true", "show.yaml:2"),
        ("steps:\n- pattern", "pattern: checkerboard"),
        ("steps:\n- pattern: chekerboard", "show.yaml:2: There is no pattern"),
        ("steps:\n- scramble: R Q", "show.yaml:2"),
        ("steps:\n- solve: R", '"solve" does not take this value'),
        ("steps:\n- {solve: , home: }", "no such step"),
        ("steps: [solve", "not YAML"),
        ("steps: [solve]\ncentres: askew", "show.yaml:2"),
        ("centres: upright\nsteps:\n- solve\n- pattern: cross", "show.yaml:4"),
    ],
)
def test_a_bad_programme_is_refused_before_anything_moves(play, text, said):
    code, answers, client = play("", text)
    assert (code, client.kinds) == (ExitCode.USAGE, [])
    assert said in answers[-1]["reason"]


def test_ctrl_c_tells_the_rounds_although_the_daemon_has_gone(play, monkeypatch):
    monkeypatch.setattr(EndedJobs, "start", Mock(side_effect=KeyboardInterrupt))
    monkeypatch.setattr(EndedJobs, "stop", Mock(side_effect=DaemonError("gone")))
    code, answers, _ = play("")
    assert (code, answers[0]) == (ExitCode.FAILED, {"rounds": 0})
