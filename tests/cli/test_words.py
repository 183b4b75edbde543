"""What the terminal says does not mislead: endings, troubles, drift, what to start, an address."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from robot.api.paths import UNIT, how_to_start_the_daemon
from robot.cli.control import tell
from robot.cli.main import run
from robot.cli.status import tell_status
from robot.cli.texts import TerminalText, drift_lines, ending_text
from robot.text.languages import LANGUAGES
from robot.text.outcomes import Outcome, before_the_end, is_success
from tests.rig.documents import job_json, run_json, status_json

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
