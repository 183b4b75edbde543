"""The tables of faults and outcomes: every code has its row, every remedy can be followed.

A wrong one would only show when the robot fails.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from robot.cli.main import cubist
from robot.settings import RobotProfile
from robot.text.faults import FAULTS, FaultRow, outcome_of
from robot.text.outcomes import OUTCOMES, Outcome, worst
from solver.errors import CubistError, ExitCode

ROBOT = Path(__file__).parents[2] / "robot"
RAISED = re.compile(r"\b(?:RobotError|LinkError)\(\s*(?:\"([\w-]+)\"|([A-Z_]+)\b)")
CONSTANT = re.compile(r"^([A-Z_]+) = \"([\w-]+)\"", re.MULTILINE)


def test_every_code_has_its_row() -> None:
    """Codes of errors are texts, or constants of the same file."""
    raised = set()
    for path in ROBOT.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        constants = dict(CONSTANT.findall(source))
        raised |= {code or constants.get(name) for code, name in RAISED.findall(source)} - {None}
    assert len(raised) > 5
    assert raised - set(FAULTS) == set()


def test_outcomes_have_their_exit_codes_as_documented() -> None:
    text = (ROBOT.parent / "docs" / "daemon.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*`) \| (\d) \|", text, flags=re.MULTILINE)
    documented = {name: int(code) for names, code in rows for name in re.findall("`(.+?)`", names)}
    assert documented == {str(outcome): row.exit_code for outcome, row in OUTCOMES.items()}
    assert set(OUTCOMES) == set(Outcome) >= {row.outcome for row in FAULTS.values()}
    assert outcome_of(CubistError("of no name")) is Outcome.FAULT


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([], 0), ([0, 0], 0), ([0, 1], 1), ([1, 4, 0], 4), ([4, 2, 1], 2), ([3, 4, 2, 1, 0], 3)],
)
def test_of_several_results_the_worst_counts(codes: list[int], expected: int) -> None:
    assert worst(map(ExitCode, codes)) == expected


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
