"""Legality of cubes of 4 or more layers: the reason why no turns reach their stickers.

Such a cube may be held in any of 24 ways. Turns leave less unchanged than on a 3x3x3: the twist of
the corners and, on odd cubes, the flip of the middle edges and the parity of corners, middle edges
and fixed centres together. Wings and moving centres can be exchanged in any way.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from solver.cube import legality, orbits
from solver.cube.facelets import FACES
from solver.cube.legality import CORNERS, EDGES
from solver.cube.orientation import held_with
from solver.errors import IllegalCube

COPIES = 4
"""Number of centres of a colour in each orbit."""


def check(letters: str, size: int) -> None:
    """Raise IllegalCube, with the reason, unless turns reach ``letters``, a cube of ``size`` >= 4.

    This includes the number of stickers of each colour; see :mod:`solver.cube.legality`.
    """
    legality.check_counts(letters, size)
    words = legality.words_of(letters, CORNERS, size)
    _check_scheme(words)
    corners = legality.pieces(words, CORNERS)
    legality.check_twist(corners)
    if size % 2:
        _check_middles(letters, size, corners)
    shown = np.array(list(letters))
    for offset in orbits.offsets(size):
        _check_wings(shown, offset, size)
    for row, column in orbits.centre_spots(size):
        _check_centres(shown, row, column, size)


def _check_scheme(words: list[str]) -> None:
    """Raise IllegalCube if the corners belong to a cube with other neighbouring colours."""
    if _are_corners(words):
        return
    if _are_corners([word[0] + word[2] + word[1] for word in words]):
        raise IllegalCube(
            "the colours go round every corner the wrong way: the cube, or its faces, are mirrored",
            {"kind": "mirrored-scheme"},
        )
    for scheme in _other_schemes():
        named = str.maketrans(scheme, FACES)
        if _are_corners([word.translate(named) for word in words]):
            opposite = [scheme[face] + scheme[face + 3] for face in range(3)]
            raise IllegalCube(
                "the corners belong to another colour scheme, in which these are opposite: "
                + ", ".join(f"{pair[0]} and {pair[1]}" for pair in opposite),
                {"kind": "scheme", "opposite": opposite},
            )


def _are_corners(words: list[str]) -> bool:
    known = legality.twists(CORNERS)
    return len({known[word][0] for word in words if word in known}) == len(CORNERS)


@cache
def _other_schemes() -> tuple[str, ...]:
    """Return the letters at U R F D L B in every scheme except the usual one."""
    schemes = map("".join, permutations(FACES))
    return tuple(scheme for scheme in schemes if held_with(scheme) is None)


def _check_middles(letters: str, size: int, corners: NDArray[np.uint8]) -> None:
    held = legality.held_by_centres(letters, size)
    edges = legality.pieces(legality.words_of(letters, EDGES, size), EDGES)
    legality.check_flip(edges)
    centres = np.array([FACES.index(letter) for letter in held.faces])
    parities = [legality.permutation_parity(p) for p in (corners[:, 0], edges[:, 0], centres)]
    if sum(parities) % 2:
        raise IllegalCube(
            "two corners, or two middle edges, are swapped: no turns swap only those",
            {"kind": "parity"},
        )


def _check_wings(shown: NDArray[np.str_], offset: int, size: int) -> None:
    slots = orbits.wing_slots(offset, size)
    words = ["".join(pair) for pair in shown[slots].tolist()]
    layer = (size + 1 - offset) // 2
    for slot, word in zip(orbits.WING_PAIRS, words, strict=True):
        if word not in orbits.WING_PAIRS:
            raise IllegalCube(
                f"no wing of layer {layer} is coloured {word}, which is seen at {slot}",
                {"kind": "impossible-piece", "slot": slot, "layer": layer, "shown": word},
            )
    word, count = Counter(words).most_common(1)[0]
    if count > 1:
        where = [
            slot for slot, other in zip(orbits.WING_PAIRS, words, strict=True) if other == word
        ]
        raise IllegalCube(
            f"wing {word} of layer {layer} appears {count} times, at {' and '.join(where)}",
            {"kind": "duplicate-piece", "piece": word, "layer": layer, "slots": where},
        )


def _check_centres(shown: NDArray[np.str_], row: int, column: int, size: int) -> None:
    counts = Counter(shown[orbits.centre_slots(row, column, size)].tolist())
    for face in FACES:
        if counts[face] != COPIES:
            place = f"row {(size + 1 + row) // 2}, column {(size + 1 + column) // 2}"
            raise IllegalCube(
                f"of the centres that turns bring to {place}, {counts[face]} are {face} instead of "
                f"{COPIES}",
                {"kind": "count", "face": face, "count": counts[face], "centre": [row, column]},
            )
