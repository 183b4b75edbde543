"""Operations of a plan in plain words: ``Turn the bottom layer a quarter to the right``.

Directions are as a person in front of the robot sees them. Every operation has a text under a key
made of its fields (:func:`key_of`), so that terminal, page and kiosk only look it up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from solver.files import JsonMapping

LAYERS: Final[Mapping[str, tuple[str, str]]] = {
    "U": ("the top layer", "the top {layers} layers"),
    "R": ("the right layer", "the right {layers} layers"),
    "F": ("the front layer", "the front {layers} layers"),
    "D": ("the bottom layer", "the bottom {layers} layers"),
    "L": ("the left layer", "the left {layers} layers"),
    "B": ("the back layer", "the back {layers} layers"),
}
"""Names of one layer at a site, and of several."""

GRIPPERS: Final[Mapping[str, str]] = {
    "U": "the top gripper",
    "R": "the right gripper",
    "F": "the front gripper",
    "D": "the bottom gripper",
    "L": "the left gripper",
    "B": "the back gripper",
}

LEFT = "Turn {what} a quarter to the left"
RIGHT = "Turn {what} a quarter to the right"
UP = "Turn {what} a quarter up"
DOWN = "Turn {what} a quarter down"
CLOCKWISE = "Turn {what} a quarter clockwise"
COUNTERCLOCKWISE = "Turn {what} a quarter counterclockwise"
HALF = "Turn {what} half way round"

TURNS: Final[Mapping[str, Mapping[int, str]]] = {
    "U": {1: LEFT, -1: RIGHT, 2: HALF},
    "R": {1: UP, -1: DOWN, 2: HALF},
    "F": {1: CLOCKWISE, -1: COUNTERCLOCKWISE, 2: HALF},
    "D": {1: RIGHT, -1: LEFT, 2: HALF},
    "L": {1: DOWN, -1: UP, 2: HALF},
    # Seen from the front, like all others.
    "B": {1: COUNTERCLOCKWISE, -1: CLOCKWISE, 2: HALF},
}
"""Sentences for a turn of the layer at a site, by its quarter turns."""

ROTATIONS: Final[Mapping[str, Mapping[int, str]]] = {
    "x": {1: "Flip the cube backwards", -1: "Flip the cube forwards", 2: "Flip the cube twice"},
    "y": {
        1: "Turn the whole cube a quarter to the left",
        -1: "Turn the whole cube a quarter to the right",
        2: "Turn the whole cube half way round",
    },
    "z": {
        1: "Roll the cube to the right",
        -1: "Roll the cube to the left",
        2: "Roll the cube over sideways",
    },
}
"""Sentences for a rotation of the whole cube about an axis, by its quarter turns."""

HANDLING: Final[Mapping[str, str]] = {
    "grip": "Close {what}",
    "release": "Open {what}",
    "home": "Turn {what} back, empty",
}
"""Sentences for the operations of a gripper."""

OTHERS: Final[dict[str, str]] = {
    "lid": "Move the {part} to position {to}",
    "lid close": "Hold the upper layers",
    "lid hold": "Hold the upper layers",
    "lid open": "Let the cube go",
    "lid rest": "Let the cube go",
    "hold": "Hold the upper layers",
    "let-go": "Let the cube go",
    "raise": "Raise {rows} rows into the turntable",
    "raise 0": "Lower the cube out of the turntable",
    "raise 1": "Raise 1 row into the turntable",
    "swing": "Swing the flipper across, empty",
    "return": "Turn the turntable back, empty",
    "look": "Look at the face in view",
}
"""Sentences for the other operations, by their keys. A new kind of mechanism adds sentences for its
own operations, which are English in all languages."""

_SEVERAL = "several"


def key_of(operation: JsonMapping) -> str:
    """Return the key to the text of an operation, given as in JSON.

    ``turn D 1``, ``turn U -1 several``, ``rotate x 1``, ``grip F``, ``lid close``, ``raise 2``. If
    there is no text under the key, use the one under the operation's ``op``.
    """
    names = ("site", "axis", "gripper", "to", "rows")
    place = next((operation[name] for name in names if operation.get(name) is not None), "")
    several = _SEVERAL if operation.get("layers", 1) > 1 else ""
    words = (operation["op"], place, operation.get("quarter_turns", ""), several)
    return " ".join(str(word) for word in words if word != "")


def operation_texts(text: Callable[[str], str] = str) -> dict[str, str]:
    """Return the texts of all operations by their keys, in the language of ``text``.

    Placeholders ``{layers}``, ``{rows}``, ``{part}`` and ``{to}`` stay, for the operation's values.
    """
    found = {key: text(english) for key, english in OTHERS.items()}
    for site, by_quarters in TURNS.items():
        for quarters, english in by_quarters.items():
            for suffix, layers in zip(("", f" {_SEVERAL}"), LAYERS[site], strict=True):
                key = f"turn {site} {quarters}{suffix}"
                found[key] = text(english).replace("{what}", text(layers))
    for axis, by_quarters in ROTATIONS.items():
        found |= {f"rotate {axis} {by}": text(english) for by, english in by_quarters.items()}
    for op, english in HANDLING.items():
        for site, gripper in GRIPPERS.items():
            found[f"{op} {site}"] = text(english).replace("{what}", text(gripper))
    return {key: words[:1].upper() + words[1:] for key, words in found.items()}
