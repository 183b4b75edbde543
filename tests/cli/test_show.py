"""``cubist show`` reads its programme before it begins, and plays it until somebody stops it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from robot.api.client import DaemonError
from robot.cli import control, show
from robot.cli.main import run
from solver.errors import ExitCode
from tests.rig.documents import EndedJobs, status_json

PROGRAMME = "steps: [scramble: R U, wait: 0.001, pattern: checkerboard, solve]"
Play = Callable[..., tuple[int, list[dict[str, Any]], EndedJobs]]


@pytest.fixture
def play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Play:
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
