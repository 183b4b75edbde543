"""Legality of cubes: the reason why stickers cannot be a cube, with the piece that is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.cube.facelets import FACES, slot_facelets
from solver.cube.orientation import Orientation, held_with
from solver.cube.pieces import spin
from solver.errors import BadNotation, IllegalCube

CORNERS = ("UFR", "URB", "UBL", "ULF", "DFL", "DLB", "DBR", "DRF")
"""Corner slots and cubies by number; letters run counter-clockwise."""

EDGES = ("UF", "UR", "UB", "UL", "FR", "FL", "BR", "BL", "DF", "DR", "DB", "DL")
"""Edge slots and cubies by number (slot ``8 + i`` of a state); the higher-ranked face first."""

Words = Sequence[str]
"""The piece in each slot, turned as written."""


def layers_of(count: int) -> int | None:
    """Return the layers of the cube that has ``count`` facelets; None if there is none."""
    size = isqrt(count // 6)
    return size if size > 0 and count == 6 * size * size else None


def check_letters(facelets: str, size: int) -> None:
    """Raise BadNotation unless there are ``6 * size**2`` letters URFDLB."""
    wanted = 6 * size * size
    if len(facelets) != wanted:
        other = layers_of(len(facelets))
        advice = (
            f"Give {wanted} letters, face by face in the order {FACES}."
            if other in (None, 1)
            else f"A cube of {other} layers has that many."
        )
        raise BadNotation(
            f"A {size}x{size}x{size} cube has {wanted} facelets, not {len(facelets)}. {advice}"
        )
    if not set(facelets) <= set(FACES):
        at = next(at for at, letter in enumerate(facelets) if letter not in FACES)
        raise BadNotation(f"Facelet {at + 1} is '{facelets[at]}'; use the letters {FACES}.")


def check_counts(facelets: str, size: int) -> None:
    """Raise IllegalCube unless every colour appears ``size**2`` times."""
    counts = Counter(facelets)
    for face in FACES:
        if counts[face] != size * size:
            raise IllegalCube(
                f"colour {face} appears {counts[face]} times instead of {size * size}",
                {"kind": "count", "face": face, "count": counts[face]},
            )


def held_by_centres(facelets: str, size: int) -> Orientation:
    """Return the orientation of a cube of odd ``size``; IllegalCube if none has such centres."""
    area = size * size
    shown = "".join(facelets[area * number + area // 2] for number in range(len(FACES)))
    held = held_with(shown)
    if held is None:
        raise IllegalCube(
            f"the middle centres of U R F D L B are {' '.join(shown)}:"
            " no way to hold a cube shows these",
            {"kind": "centre", "shown": shown},
        )
    return held


def words_of(facelets: str, slots: Words, size: int) -> list[str]:
    """Return the pieces of a facelet string as words, in the order of ``slots``."""
    return ["".join(facelets[i] for i in slot_facelets(slot, size)) for slot in slots]


@cache
def twists(names: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """Return every way to write each piece -> (cubie, orientation)."""
    return {
        spin(name, turns): (cubie, turns)
        for cubie, name in enumerate(names)
        for turns in range(len(name))
    }


def check_range(states: NDArray[np.integer[Any]], names: tuple[str, ...]) -> None:
    """Raise BadNotation if a cubie's number or orientation, integers[n, 2], does not exist."""
    limits = (len(names), len(names[0]))
    if states.min() >= 0 and (states < limits).all():
        return
    for slot, row in zip(names, states.tolist(), strict=True):
        for value, limit, what in zip(row, limits, ("cubie", "orientation"), strict=True):
            if not 0 <= value < limit:
                raise BadNotation(f"Slot {slot} has {what} {value}; it must be 0 to {limit - 1}.")


def pieces(words: Words, slots: tuple[str, ...]) -> NDArray[np.uint8]:
    """Return cubie and orientation in each slot, uint8[n, 2]; IllegalCube names a wrong piece."""
    known = twists(slots)
    kind = "corner" if len(slots[0]) == 3 else "edge"
    found = []
    for slot, word in zip(slots, words, strict=True):
        if word not in known:
            raise IllegalCube(
                f"no {kind} is coloured {word}, which is seen at {slot}",
                {"kind": "impossible-piece", "slot": slot, "shown": word},
            )
        found.append(known[word])
    result = np.array(found, dtype=np.uint8)
    check_once(result[:, 0], slots)
    return result


def check_once(cubies: NDArray[np.uint8], names: tuple[str, ...]) -> None:
    """Raise IllegalCube unless every cubie appears exactly once; ``cubies`` uint8[n]."""
    if len(set(cubies.tolist())) == len(names):
        return
    kind = "corner" if len(names[0]) == 3 else "edge"
    for number, name in enumerate(names):
        slots = [names[slot] for slot in np.flatnonzero(cubies == number)]
        if len(slots) > 1:
            raise IllegalCube(
                f"{kind} {name} appears {len(slots)} times, at {' and '.join(slots)}",
                {"kind": "duplicate-piece", "piece": name, "slots": slots},
            )


def permutation_parity(cubies: NDArray[np.integer[Any]]) -> int:
    """Return 0 for an even permutation, 1 for an odd one."""
    numbers: list[int] = cubies.tolist()
    return sum(first > later for first, later in combinations(numbers, 2)) % 2


def check_twist(corners: NDArray[np.uint8]) -> None:
    """Raise IllegalCube if the orientations of ``corners``, uint8[8, 2], do not cancel."""
    excess = int(corners[:, 1].sum()) % 3
    if excess:
        way = "counter-clockwise" if excess == 1 else "clockwise"
        piece = _find_turned(corners, CORNERS)
        raise IllegalCube(
            f"{f'corner {piece}' if piece else 'one of the corners'} is twisted {way}",
            {"kind": "twist", "piece": piece, "counter_clockwise_turns": excess},
        )


def check_flip(edges: NDArray[np.uint8]) -> None:
    """Raise IllegalCube if an odd number of ``edges``, uint8[12, 2], is flipped."""
    if int(edges[:, 1].sum()) % 2:
        piece = _find_turned(edges, EDGES)
        raise IllegalCube(
            f"{f'edge {piece}' if piece else 'one of the edges'} is flipped",
            {"kind": "flip", "piece": piece},
        )


def _find_turned(found: NDArray[np.uint8], names: tuple[str, ...]) -> str | None:
    """Return the only turned piece of ``found``, uint8[n, 2]; None if there are others.

    If there are others, turning any piece explains the excess equally, even one that seems right.
    """
    turned = np.flatnonzero(found[:, 1])
    return names[int(found[turned[0], 0])] if len(turned) == 1 else None


def check_parity(corners: NDArray[np.uint8], edges: NDArray[np.uint8]) -> None:
    """Raise IllegalCube if the corners' parity differs from the edges'."""
    if permutation_parity(corners[:, 0]) == permutation_parity(edges[:, 0]):
        return
    kind, pieces = _find_swap(corners[:, 0], edges[:, 0])
    if not pieces:
        raise IllegalCube(
            "two corners, or two edges, are swapped: no turns swap only those",
            {"kind": "parity", "pieces": []},
        )
    raise IllegalCube(
        f"{kind} {pieces[0]} and {pieces[1]} are swapped", {"kind": "parity", "pieces": [*pieces]}
    )


def _find_swap(corners: NDArray[np.uint8], edges: NDArray[np.uint8]) -> tuple[str, tuple[str, ...]]:
    """Return the two pieces that are out of place, if there are exactly two, else none.

    On a scrambled cube, exchanging any two corners or any two edges explains the parity equally.
    """
    for kind, cubies, names in (("corners", corners, CORNERS), ("edges", edges, EDGES)):
        away = np.flatnonzero(cubies != np.arange(len(cubies)))
        if len(away) == 2:
            return kind, (names[away[0]], names[away[1]])
    return "", ()
