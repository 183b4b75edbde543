"""A demo's conversation with its daemon, here a fake one, and its display."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock, call

import pytest

from robot.api.endpoints import RobotState
from robot.cli.simulate import exit_code
from robot.records.run_record import RunRecord
from robot.settings import load_profile
from robot.simulate import session
from robot.simulate.display import print_outcome
from robot.simulate.processes import SimulationError
from robot.simulate.progress import SilentDisplay
from robot.simulate.session import Demo, DemoOptions, DemoOutcome
from robot.text.outcomes import Outcome
from robot.twin.cube import scrambled
from robot.twin.violations import Violation
from solver.errors import ExitCode

SOLVED = "".join(letter * 9 for letter in "URFDLB")


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


def test_last_line_has_what_was_promised():
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


@pytest.mark.parametrize("ended", [str(one) for one in Outcome])
def test_only_a_success_is_called_solved(ended):
    stream = io.StringIO()
    print_outcome(outcome(ended=ended), stream)
    praised = "Solved. The" in stream.getvalue()
    assert praised == (exit_code(outcome(ended=ended)) == ExitCode.DONE)


@pytest.mark.parametrize(
    ("panel", "now", "told", "pressed"),
    [
        ({}, {}, "nothing happened", session.PRESSES),
        ({"start_button_gpio": None}, {}, r"no start button: set panel\.start_button_gpio", 0),
        (
            {},
            {"state": RobotState.FAULT, "fault": SimpleNamespace(cause="it broke")},
            "not ready: it broke",
            0,
        ),
        ({}, {"state": RobotState.HOMING}, "not ready: it is homing", 0),
    ],
)
async def test_why_a_demo_does_not_begin_is_said(monkeypatch, panel, now, told, pressed):
    profile = load_profile("cubotino-uno")
    profile = profile.model_copy(update={"panel": profile.panel.model_copy(update=panel)})
    demo = Demo(DemoOptions(profile, None, scrambled(3, 1), profile.title), SilentDisplay())
    status = dict.fromkeys(("fault", "preparation", "job", "last_run"))
    status |= {"state": RobotState.IDLE, "starting": False} | now
    stage = MagicMock()
    stage.daemon.status = stage.daemon.ready = AsyncMock(return_value=SimpleNamespace(**status))
    monkeypatch.setattr(session, "REFRESH_S", 0.0)
    monkeypatch.setattr(session.SimulatedPanel, "press", press := AsyncMock())
    with pytest.raises(SimulationError, match=told):
        await demo.solve(stage)
    button = profile.panel.start_button_gpio
    assert press.await_args_list == [call(button, session.PRESS_S)] * pressed
