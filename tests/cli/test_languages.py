"""The terminal speaks the language that CUBIST_LANGUAGE names; documents stay English."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from robot.cli.control import tell
from robot.cli.status import tell_status
from robot.cli.status_screen import picture
from robot.records.runs import FaultRecord
from robot.text.faults import RobotError
from robot.text.steps import JobStep, coded
from tests.rig.documents import job_json, live_json, run_json, status_json

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


def test_how_a_run_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = FaultRecord.of(RobotError("no-cube")).model_dump()
    record = run_json(2, "no-cube", duration_s=3.0, reason=fault["cause"], faults=[fault])
    tell(record)
    english = capsys.readouterr().out
    assert english.startswith("no-cube after 3.0 s, run 000002: no cube is in view")
    monkeypatch.setenv("CUBIST_LANGUAGE", "it")
    tell(record)
    italian = capsys.readouterr().out
    assert "nessun cubo dopo 3.0 s, esecuzione 000002: non si vede nessun cubo" in italian
    assert "inserire un cubo, poi ricominciare" in italian
