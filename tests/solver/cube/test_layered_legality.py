"""Cubes of 4 and more layers that no turns can reach are refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest

from solver.cube.facelets import FACES, slot_facelets
from solver.cube.notation import Move
from solver.cube.orbits import WING_PAIRS, centre_slots, centre_spots, wing_slots
from solver.cube.sticker_cube import StickerCube
from solver.errors import IllegalCube

SIZES = [4, 5, 6, 7]


def letters_of(size: int) -> np.ndarray:
    return np.array(list(StickerCube.solved(size).letters))


def refusal(letters: np.ndarray, size: int) -> IllegalCube:
    with pytest.raises(IllegalCube) as caught:
        StickerCube.from_facelets("".join(letters), size)
    return caught.value


@pytest.mark.parametrize("size", [*SIZES, 10, 11])
def test_whatever_turns_reach_is_legal(size, rng):
    cube = StickerCube.solved(size)
    for _ in range(10):
        for _ in range(15):
            first, last = sorted(rng.integers(1, size + 1, 2).tolist())
            quarters = int(rng.integers(1, 4))
            cube = cube.move(Move(FACES[int(rng.integers(6))], quarters, first, last))
        assert StickerCube.from_facelets(cube.letters, size) == cube


@pytest.mark.parametrize("size", SIZES)
def test_a_twisted_corner_is_named(size):
    letters = letters_of(size)
    a, b, c = slot_facelets("URB", size)
    letters[[a, b, c]] = letters[[c, a, b]]
    assert str(refusal(letters, size)) == "corner URB is twisted counter-clockwise"


@pytest.mark.parametrize("size", SIZES)
def test_corners_that_do_not_exist_or_exist_twice_are_named(size):
    letters = letters_of(size)
    a, b = slot_facelets("URB", size)[0], slot_facelets("DLB", size)[0]
    letters[[a, b]] = letters[[b, a]]
    error = refusal(letters, size)
    assert error.facts["kind"] in {"duplicate-piece", "impossible-piece"}


@pytest.mark.parametrize("size", SIZES)
def test_a_mirrored_scheme_is_told(size):
    mirrored = str(StickerCube.solved(size)).translate(str.maketrans("LR", "RL"))
    assert refusal(np.array(list(mirrored)), size).facts == {"kind": "mirrored-scheme"}


@pytest.mark.parametrize("size", SIZES)
def test_another_scheme_is_told_with_its_opposites(size):
    """The Japanese scheme: two colours stand in each other's places."""
    other = str(StickerCube.solved(size).apply("R U F")).translate(str.maketrans("DB", "BD"))
    error = refusal(np.array(list(other)), size)
    assert error.facts["kind"] == "scheme"
    assert {frozenset(pair) for pair in error.facts["opposite"]} == {
        frozenset("UB"),
        frozenset("RL"),
        frozenset("FD"),
    }


@pytest.mark.parametrize("size", [5, 7])
def test_what_no_turns_do_to_the_middle_edges_is_told(size):
    flipped = letters_of(size)
    a, b = slot_facelets("UF", size)
    flipped[[a, b]] = flipped[[b, a]]
    assert str(refusal(flipped, size)) == "edge UF is flipped"
    swapped = letters_of(size)
    a, b = slot_facelets("UF", size)[1], slot_facelets("UB", size)[1]
    swapped[[a, b]] = swapped[[b, a]]
    assert refusal(swapped, size).facts == {"kind": "parity"}


@pytest.mark.parametrize("size", [5, 7])
def test_middle_centres_that_no_holding_shows_are_told(size):
    letters = letters_of(size)
    area, middle = size * size, size * size // 2
    letters[[middle, area + middle]] = letters[[area + middle, middle]]
    assert refusal(letters, size).facts["kind"] == "centre"


@pytest.mark.parametrize("size", [5, 7])
def test_fixed_centres_turned_by_a_slice_alone_are_legal_with_its_edges(size):
    cube = StickerCube.solved(size).apply("M E S'")
    assert StickerCube.from_facelets(cube.letters, size) == cube


@pytest.mark.parametrize("size", SIZES)
def test_wings_are_named_with_their_layer(size):
    slots = wing_slots(size - 3, size)
    uf, fu, ur = (slots[WING_PAIRS.index(pair)] for pair in ("UF", "FU", "UR"))
    letters = letters_of(size)
    letters[uf] = letters[uf[::-1]]
    error = refusal(letters, size)
    assert error.facts == {
        "kind": "duplicate-piece",
        "piece": "FU",
        "layer": 2,
        "slots": ["UF", "FU"],
    }
    letters = letters_of(size)
    letters[[fu[0], ur[0]]] = letters[[ur[0], fu[0]]]
    assert refusal(letters, size).facts["kind"] == "impossible-piece"


@pytest.mark.parametrize("size", [6, 7])
def test_centres_of_different_orbits_cannot_change_places(size):
    (first, second), *_ = zip(
        centre_slots(*centre_spots(size)[0], size),
        centre_slots(*centre_spots(size)[1], size)[4:],
        strict=False,
    )
    letters = letters_of(size)
    letters[[first, second]] = letters[[second, first]]
    error = refusal(letters, size)
    assert error.facts["kind"] == "count"
    assert "centre" in error.facts


@pytest.mark.parametrize("size", SIZES)
def test_centres_of_one_orbit_may_stand_anywhere(size, rng):
    letters = letters_of(size)
    for row, column in centre_spots(size):
        slots = centre_slots(row, column, size)
        letters[slots] = letters[rng.permutation(slots)]
    assert StickerCube.from_facelets("".join(letters), size).letters == "".join(letters)


@pytest.mark.parametrize("size", [5, 7])
@pytest.mark.parametrize(("first", "second"), [("UF", "UR"), ("DB", "BL"), ("UB", "DF")])
def test_two_middle_edges_cannot_change_places(size, first, second):
    letters = letters_of(size)
    a, b = list(slot_facelets(first, size)), list(slot_facelets(second, size))
    letters[a + b] = letters[b + a]
    told = "two corners, or two middle edges, are swapped: no turns exchange only those"
    assert str(refusal(letters, size)) == told


@pytest.mark.parametrize("size", [4, 5, 7])
def test_two_corners_cannot_change_places_where_there_are_middle_edges(size):
    letters = letters_of(size)
    a, b = list(slot_facelets("UFR", size)), list(slot_facelets("DFL", size))
    letters[a + b] = letters[b + a]
    if size % 2:
        assert refusal(letters, size).facts == {"kind": "parity"}
    else:
        assert StickerCube.from_facelets("".join(letters), size).letters == "".join(letters)


def test_a_centre_too_many_is_told_with_its_place():
    """Of the four copies of U that turns bring to one place, one shows where another belongs."""
    size, (row, column) = 7, centre_spots(7)[0]
    letters = letters_of(size)
    own = centre_slots(row, column, size)
    other = next(centre_slots(*spot, size) for spot in centre_spots(7)[1:])
    by_letter = {face: [at for at in own if letters[at] == face] for face in FACES}
    place = next(at for at in other if letters[at] == "R")
    letters[[by_letter["U"][0], place]] = letters[[place, by_letter["U"][0]]]
    error = refusal(letters, size)
    assert error.facts == {"kind": "count", "face": "U", "count": 3, "centre": [row, column]}
    shown = f"row {(size + 1 + row) // 2}, column {(size + 1 + column) // 2}"
    assert str(error) == f"of the centres that turns bring to {shown}, 3 are U instead of 4"


def test_a_wing_three_times_is_told_with_all_its_places():
    slots = wing_slots(1, 4)
    letters = letters_of(4)
    for pair in ("FU", "UR"):
        letters[slots[WING_PAIRS.index(pair)]] = list("UF")
    error = refusal(letters, 4)
    assert error.facts["kind"] in {"count", "duplicate-piece"}
