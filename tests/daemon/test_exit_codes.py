"""One outcome, one exit code: whatever ends a job, and whichever command reports it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest

from robot.api.client import ControlClient
from robot.cli.main import cubist, run
from robot.cli.simulate import exit_code as demo_code
from robot.records.run_record import RunRecord
from robot.settings import RobotProfile
from robot.simulate.session import DemoOutcome
from robot.text.faults import FAULTS, FaultRow, RobotError, ScanError, outcome_of
from robot.text.outcomes import OUTCOMES, Outcome, exit_code, worst
from solver.errors import CubistError, ExitCode

Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]

FOLLOWING = (("start",), ("home",), ("scramble", "R"), ("solve", "--execute", "--scramble", "R"))
"""Commands that stay until their job ends."""

LOOKED_AT = {"unreadable", "no-cube", "two-cubes", "wrong-size", "face-covered"}


def record(outcome: str | None) -> RunRecord:
    now = datetime(2024, 1, 1, tzinfo=UTC)
    return RunRecord(
        id="000001", kind="solve", robot="fake", started_at=now, outcome=outcome, executed_us=1
    )


class Ended:
    """A daemon each of whose jobs has ended with the same outcome."""

    def __init__(self, outcome: str | None) -> None:
        self._record = record(outcome).model_dump(mode="json")

    def start(self, kind: str, **more: Any) -> str:
        return "000001"

    def status(self) -> dict[str, Any]:
        return {"job": None}

    def run(self, run_id: str) -> dict[str, Any]:
        return self._record


@pytest.mark.parametrize("outcome", [*Outcome, None])
@pytest.mark.parametrize("command", FOLLOWING)
def test_every_command_leaves_the_code_of_the_outcome(
    outcome: Outcome | None, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robot.cli.control.daemon_client", lambda: Ended(outcome))
    assert run([*command, "--json"]) == exit_code(outcome)


@pytest.mark.parametrize("outcome", [*Outcome, None])
def test_cycles_and_demo_leave_it_too_but_done_takes_a_solved_cube(
    outcome: Outcome | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robot.cli.control.daemon_client", lambda: Ended(outcome))
    code = exit_code(outcome)
    cycles = run(["test", "--cycles", "1", "--json"])
    good = outcome is Outcome.SOLVED
    assert cycles == (ExitCode.NO if code is ExitCode.DONE and not good else code)
    held = DemoOutcome(True, (), record(outcome), scan_s=1.0, turn_s=1.0, facelets="")
    dropped = DemoOutcome(False, (), record(outcome), scan_s=1.0, turn_s=1.0, facelets="")
    assert demo_code(held) == code
    assert demo_code(dropped) == (ExitCode.NO if code is ExitCode.DONE else code)


ONE_OF_EACH = {row.outcome: code for code, row in reversed(FAULTS.items())}.values()
"""A fault of each outcome; ``FAULTS`` has the outcome of every other one."""


@pytest.mark.parametrize("command", [("start",), ("test", "--cycles", "1")])
@pytest.mark.parametrize("code", ONE_OF_EACH)
def test_every_fault_ends_a_job_as_the_table_says(
    daemon: Any, ask: Ask, code: str, command: tuple[str, ...]
) -> None:
    if code in LOOKED_AT:
        daemon.scanner.odd = [ScanError("seen", "U", code)] * 3
    else:
        daemon.motion.faults = [RobotError(code)] * 3
    if command[0] == "test":
        # The scramble performs once before the camera looks for the first time.
        daemon.motion.faults = [None, *daemon.motion.faults]
    row = FAULTS[code]
    ended, documents, _ = ask(*command)
    assert (documents[0]["outcome"], ended) == (row.outcome, exit_code(row.outcome))


@pytest.mark.parametrize("code", ONE_OF_EACH)
def test_a_fault_in_the_way_of_a_request_has_the_same_code(
    daemon: Any, ask: Ask, code: str
) -> None:
    """The control socket names the fault; who asked leaves with its code and is told the remedy."""
    daemon.motion.open_fault = RobotError(code)
    ask("stop", "--emergency")
    ended, documents, err = ask("home")
    assert (ended, documents) == (exit_code(FAULTS[code].outcome), [])
    assert f"What to do: {FAULTS[code].remedy}" in err


def test_what_the_state_forbids_is_a_no(daemon: Any, ask: Ask) -> None:
    with ControlClient().maintenance():
        assert ask("start")[0] == ExitCode.NO
        assert ask("home")[0] == ExitCode.NO
    assert ask("start")[0] == ExitCode.DONE


def test_every_outcome_has_a_row_and_every_error_a_fault_leads_to_one() -> None:
    assert set(OUTCOMES) == set(Outcome)
    assert {row.outcome for row in FAULTS.values()} <= set(Outcome)
    assert outcome_of(CubistError("of no name")) is Outcome.FAULT


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([], 0), ([0, 0], 0), ([0, 1], 1), ([1, 4, 0], 4), ([4, 2, 1], 2), ([3, 4, 2, 1, 0], 3)],
)
def test_of_several_results_the_worst_counts(codes: list[int], expected: int) -> None:
    assert worst(map(ExitCode, codes)) == expected


def test_the_documentation_has_the_same_table() -> None:
    text = (Path(__file__).parents[2] / "docs" / "daemon.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*`) \| (\d) \|", text, flags=re.MULTILINE)
    documented = {name: int(code) for names, code in rows for name in re.findall("`(.+?)`", names)}
    assert documented == {str(outcome): row.exit_code for outcome, row in OUTCOMES.items()}


@pytest.mark.parametrize("row", FAULTS.values(), ids=FAULTS)
def test_remedies_name_only_what_there_is(row: FaultRow) -> None:
    """Commands that can be typed, keys that a profile may have, and no message of the wire."""
    for words in re.findall(r"\bcubist ((?:[a-z]+ ?)+)", row.remedy):
        command: click.Command | None = cubist
        for word in words.split():
            if not isinstance(command, click.Group):
                break
            command = command.get_command(click.Context(command), word)
            assert command is not None, words
    keys = set(re.findall(r'"(\w+)"', str(RobotProfile.model_json_schema()).replace("'", '"')))
    for key in re.findall(r"\b[a-z]+[_.][a-z_.]+\b", row.remedy):
        assert set(key.split(".")) <= keys, key
    assert not re.search(r"\b(clear|reconnect|abort)\b", row.remedy)
