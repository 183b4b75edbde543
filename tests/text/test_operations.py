"""What a robot does, in people's words: complete, and true of the cube that is turned."""

from __future__ import annotations

import pytest

from robot.planner import build_mechanism
from robot.settings import list_profiles, load_profile
from robot.text.languages import LANGUAGES, catalogue
from robot.text.operations import ROTATIONS, TURNS
from solver.cube.facelets import FACES
from solver.cube.sticker_cube import StickerCube

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
"""From which face to which stickers go, by the words for it."""

SUFFIXES = {1: "", -1: "'", 2: "2"}


def goes_as_told(words: str, moves: str) -> bool:
    """True if some stickers of the first face are on the second after the moves."""
    start, end = next(ways for part, ways in AWAY.items() if part in words)
    if moves in {"F2", "B2"}:
        start, end = "U", "D"
    area = 25
    at = FACES.index(end) * area
    return start in StickerCube.solved(5).apply(moves).letters[at : at + area]


@pytest.mark.parametrize("site", TURNS)
def test_a_layer_goes_where_the_words_say(site: str) -> None:
    for quarters, words in TURNS[site].items():
        assert goes_as_told(words, f"{site}{SUFFIXES[quarters]}"), words


@pytest.mark.parametrize("axis", ["x", "y"])
def test_the_cube_goes_where_the_words_say(axis: str) -> None:
    for quarters, words in ROTATIONS[axis].items():
        if "twice" not in words:
            assert goes_as_told(words, f"{axis}{SUFFIXES[quarters]}"), words
    assert "R" in ROTATIONS["z"][1].upper()[-5:], "as F turns"


def test_every_operation_of_every_robot_has_words_in_every_language() -> None:
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
