"""Cubes of 4 and more layers that no turns can reach are refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from solver.cube.facelets import FACES, slot_facelets
from solver.cube.notation import Move
from solver.cube.orbits import WING_PAIRS, centre_slots, centre_spots, wing_slots
from solver.cube.sticker_cube import StickerCube
from solver.errors import IllegalCube

SIZES = [4, 5, 6, 7]
Letters = np.ndarray[Any, np.dtype[np.str_]]


def letters_of(size: int) -> Letters:
    return np.array(list(StickerCube.solved(size).letters))


def exchange(letters: Letters, first: Any, second: Any) -> Letters:
    """Exchange stickers, one or several."""
    one, other = np.atleast_1d(first), np.atleast_1d(second)
    letters[np.concatenate([one, other])] = letters[np.concatenate([other, one])]
    return letters


def refusal(letters: Letters, size: int) -> IllegalCube:
    with pytest.raises(IllegalCube) as caught:
        StickerCube.from_facelets("".join(letters), size)
    return caught.value


def rename(size: int, one: str, other: str) -> Letters:
    """Return a cube whose two colours have each other's places."""
    drawn = str(StickerCube.solved(size).apply("R U F"))
    return np.array(list(drawn.translate(str.maketrans(one + other, other + one))))


def wing(pair: str, size: int) -> Any:
    return wing_slots(size - 3, size)[WING_PAIRS.index(pair)]


def slot(name: str, size: int) -> list[int]:
    return list(slot_facelets(name, size))


Change = Callable[[Letters, int], Letters]
REFUSALS: list[tuple[list[int], Change, dict[str, Any]]] = [
    (SIZES, lambda a, n: exchange(a, slot("URB", n)[0], slot("DLB", n)[0]), {}),
    (SIZES, lambda a, n: rename(n, "L", "R"), {"kind": "mirrored-scheme"}),
    (SIZES, lambda a, n: rename(n, "D", "B"), {"kind": "scheme"}),
    ([5, 7], lambda a, n: exchange(a, *slot("UF", n)), {"kind": "flip", "piece": "UF"}),
    ([5, 7], lambda a, n: exchange(a, slot("UF", n)[1], slot("UB", n)[1]), {"kind": "parity"}),
    ([5, 7], lambda a, n: exchange(a, slot("DB", n), slot("BL", n)), {"kind": "parity"}),
    ([5, 7], lambda a, n: exchange(a, slot("UFR", n), slot("DFL", n)), {"kind": "parity"}),
    ([5, 7], lambda a, n: exchange(a, n * n // 2, n * n + n * n // 2), {"kind": "centre"}),
    (
        SIZES,
        lambda a, n: exchange(a, wing("FU", n)[0], wing("UR", n)[0]),
        {"kind": "impossible-piece"},
    ),
]


@pytest.mark.parametrize(("sizes", "change", "detail"), REFUSALS)
def test_what_no_turns_reach_is_refused_with_its_reason(
    sizes: list[int], change: Change, detail: dict[str, Any]
) -> None:
    for size in sizes:
        error = refusal(change(letters_of(size), size), size)
        assert detail.items() <= error.facts.items()


@pytest.mark.parametrize("size", [*SIZES, 10, 11])
def test_whatever_turns_reach_is_legal(size: int, rng: np.random.Generator) -> None:
    cube = StickerCube.solved(size)
    for _ in range(10):
        for _ in range(15):
            first, last = sorted(rng.integers(1, size + 1, 2).tolist())
            quarters = int(rng.integers(1, 4))
            cube = cube.move(Move(FACES[int(rng.integers(6))], quarters, first, last))
        assert StickerCube.from_facelets(cube.letters, size) == cube


@pytest.mark.parametrize("size", SIZES)
def test_pieces_are_named(size: int) -> None:
    letters = letters_of(size)
    a, b, c = slot_facelets("URB", size)
    letters[[a, b, c]] = letters[[c, a, b]]
    assert str(refusal(letters, size)) == "corner URB is twisted counter-clockwise"
    letters = letters_of(size)
    letters[wing("UF", size)] = letters[wing("UF", size)[::-1]]
    assert refusal(letters, size).facts == {
        "kind": "duplicate-piece",
        "piece": "FU",
        "layer": 2,
        "slots": ["UF", "FU"],
    }


def test_another_scheme_is_told_with_its_opposites() -> None:
    """The Japanese scheme: two colours stand in each other's places."""
    opposite = refusal(rename(4, "D", "B"), 4).facts["opposite"]
    assert {frozenset(pair) for pair in opposite} == {*map(frozenset, ("UB", "RL", "FD"))}


@pytest.mark.parametrize("size", SIZES)
def test_centres_of_one_orbit_may_stand_anywhere(size: int, rng: np.random.Generator) -> None:
    letters = letters_of(size)
    for row, column in centre_spots(size):
        slots = centre_slots(row, column, size)
        letters[slots] = letters[rng.permutation(slots)]
    assert StickerCube.from_facelets("".join(letters), size).letters == "".join(letters)


def test_two_corners_may_change_places_without_middle_edges() -> None:
    letters = exchange(letters_of(4), slot("UFR", 4), slot("DFL", 4))
    assert StickerCube.from_facelets("".join(letters), 4).letters == "".join(letters)


def test_a_centre_too_many_is_told_with_its_place() -> None:
    """Of the four copies of U that turns bring to one place, one shows where another belongs."""
    size, (row, column) = 7, centre_spots(7)[0]
    letters = letters_of(size)
    own, other = (centre_slots(*spot, size) for spot in centre_spots(7)[:2])
    exchange(letters, own[letters[own] == "U"][0], other[letters[other] == "R"][0])
    error = refusal(letters, size)
    assert error.facts == {"kind": "count", "face": "U", "count": 3, "centre": [row, column]}
    shown = f"row {(size + 1 + row) // 2}, column {(size + 1 + column) // 2}"
    assert str(error) == f"of the centres that turns bring to {shown}, 3 are U instead of 4"
