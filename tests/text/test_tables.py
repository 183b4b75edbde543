"""Texts that only appear during or after a problem: faults, outcomes and operations.

Every code has its row, every remedy can be followed, every operation's words are true.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from robot.cli.main import cubist
from robot.planner import build_mechanism
from robot.settings import RobotProfile, list_profiles, load_profile
from robot.text.faults import FAULTS, outcome_of
from robot.text.languages import LANGUAGES, catalogue
from robot.text.operations import ROTATIONS, TURNS
from robot.text.outcomes import OUTCOMES, Outcome, worst
from solver.cube.facelets import FACES
from solver.cube.sticker_cube import StickerCube
from solver.errors import CubistError, ExitCode

ROOT = Path(__file__).parents[2]
ROBOT = ROOT / "robot"
RAISED = re.compile(r"\b(?:RobotError|LinkError)\(\s*(?:\"([\w-]+)\"|([A-Z_]+)\b)")
CONSTANT = re.compile(r"^([A-Z_]+) = \"([\w-]+)\"", re.MULTILINE)


def test_every_code_has_its_row():
    """Include codes given as texts, or as constants of the same file."""
    raised = set()
    for path in ROBOT.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        constants = dict(CONSTANT.findall(source))
        raised |= {code or constants.get(name) for code, name in RAISED.findall(source)} - {None}
    assert len(raised) > 5
    unknown = raised - set(FAULTS)
    assert not unknown, (
        f"{unknown}: add a row to firmware/host_faults.toml and run generate_protocol.py"
    )


def test_every_fault_of_the_table_is_raised_somewhere():
    """Look for its code in Python, or for its number in the firmware's C."""
    python = [
        path for room in ("robot", "vision", "solver") for path in (ROOT / room).rglob("*.py")
    ]
    firmware = [path for path in (ROOT / "firmware").rglob("*.c") if "tests" not in path.parts]
    named = {"fault_numbers.py"}  # generated from the table
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in (*python, *firmware) if path.name not in named
    )
    used = set(re.findall(r"\"([a-z]+(?:-[a-z]+)*)\"", source))
    numbers = set(re.findall(r"\b(?:Fault\.|FAULT_)([A-Z_]+)\b", source))
    used |= {number.lower().replace("_", "-") for number in numbers}
    unused = set(FAULTS) - used
    assert not unused, f"no code raises {unused}: see docs/architecture.md, A fault code"


def test_outcomes_have_their_exit_codes_as_documented():
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
def test_of_several_results_the_worst_counts(codes, expected):
    assert worst(map(ExitCode, codes)) == expected


@pytest.mark.parametrize("row", FAULTS.values(), ids=FAULTS)
def test_remedies_name_only_what_there_is(row):
    """Check for commands that can be typed, keys of a profile, and no message of the wire."""
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


AWAY = {
    "to the left": ("F", "L"),
    "to the right": ("F", "R"),
    " up": ("F", "U"),
    " down": ("F", "D"),
    "counterclockwise": ("U", "L"),
    " clockwise": ("U", "R"),
    "backwards": ("F", "U"),
    "forwards": ("F", "D"),
    "half way round": ("F", "B"),
}
"""The two faces between which stickers move, by the words for it."""

SUFFIXES = {1: "", -1: "'", 2: "2"}


def goes_as_told(words: str, moves: str) -> bool:
    """Return whether some stickers of the first face are on the second after the moves."""
    start, end = next(ways for part, ways in AWAY.items() if part in words)
    if moves in {"F2", "B2"}:
        start, end = "U", "D"
    area = 25
    at = FACES.index(end) * area
    return start in StickerCube.solved(5).apply(moves).letters[at : at + area]


@pytest.mark.parametrize(
    ("moved", "words"), [*TURNS.items(), *((axis, ROTATIONS[axis]) for axis in "xy")]
)
def test_layers_and_the_cube_go_where_the_words_say(moved, words):
    for quarters, said in words.items():
        assert "twice" in said or goes_as_told(said, f"{moved}{SUFFIXES[quarters]}"), said
    assert "R" in ROTATIONS["z"][1].upper()[-5:], "as F turns"


def test_every_operation_of_every_robot_has_words_in_every_language():
    operations = {
        str(operation.as_dict()): operation.as_dict()
        for robot in list_profiles()
        for step in build_mechanism(load_profile(robot)).transitions
        for operation in step.operations
    }
    assert len(operations) > 100
    for language in LANGUAGES:
        for operation in operations.values():
            words = catalogue(language).operation(operation)
            assert words != operation["op"] and "{" not in words, (language, operation)
    several = {"op": "turn", "site": "D", "quarter_turns": -1, "layers": 3}
    assert "3" in catalogue("de").operation(several)
    assert catalogue("de").operation({"op": "of-tomorrow"}) == "of-tomorrow"
