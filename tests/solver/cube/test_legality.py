"""Cubes that no turns can reach are refused with the piece that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.cube.cube import Cube
from solver.cube.facelets import slot_facelets
from solver.cube.legality import CORNERS, EDGES
from solver.cube.pocket import PocketCube
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, IllegalCube

SOLVED = Cube.solved().facelets()


def show(*pieces: str, solved: str = SOLVED, size: int = 3) -> str:
    """Return facelets with ``SLOT=LETTERS`` shown at those slots."""
    letters = list(solved)
    for slot, shown in (piece.split("=") for piece in pieces):
        for at, letter in zip(slot_facelets(slot, size), shown, strict=True):
            letters[at] = letter
    return "".join(letters)


def refusal(facelets: str) -> IllegalCube:
    with pytest.raises(IllegalCube) as caught:
        Cube.from_facelets(facelets)
    assert str(caught.value) == caught.value.reason
    return caught.value


@pytest.mark.parametrize("slot", EDGES)
def test_a_flipped_edge_is_named(slot: str) -> None:
    error = refusal(show(f"{slot}={slot[::-1]}"))
    assert error.reason == f"edge {slot} is flipped"
    assert error.facts == {"kind": "flip", "piece": slot}


@pytest.mark.parametrize("slot", CORNERS)
@pytest.mark.parametrize(("turns", "way"), [(2, "counter-clockwise"), (1, "clockwise")])
def test_a_twisted_corner_is_named(slot: str, turns: int, way: str) -> None:
    error = refusal(show(f"{slot}={slot[turns:] + slot[:turns]}"))
    assert error.reason == f"corner {slot} is twisted {way}"
    assert error.facts["kind"] == "twist"


@pytest.mark.parametrize(
    ("facelets", "detail"),
    [
        (show("UF=DB", "DB=UF"), {"kind": "parity", "pieces": ["UF", "DB"]}),
        ("F" + SOLVED[1:], {"kind": "count", "face": "U", "count": 8}),
        (show("UF=UD", "DB=FB"), {"kind": "impossible-piece", "slot": "UF", "shown": "UD"}),
        (show("UFR=URF"), {"kind": "impossible-piece", "slot": "UFR", "shown": "URF"}),
        (
            show("UF=UB", "DB=DF"),
            {"kind": "duplicate-piece", "piece": "UB", "slots": ["UF", "UB"]},
        ),
    ],
)
def test_impossible_facelets_are_explained(facelets: str, detail: dict[str, Any]) -> None:
    assert refusal(facelets).facts == detail


def test_wrong_centres_are_named() -> None:
    letters = list(SOLVED)
    letters[4], letters[13] = "R", "U"
    assert refusal("".join(letters)).facts == {"kind": "centre", "face": "U", "shown": "R"}


@given(st.integers(0, 2**32 - 1))
def test_one_change_of_a_random_cube_is_always_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states = Cube.random(rng).states.copy()
    slot = int(rng.integers(20))
    states[slot, 1] = (states[slot, 1] + 1) % (3 if slot < 8 else 2)
    with pytest.raises(IllegalCube):
        Cube(states)
    states = Cube.random(rng).states.copy()
    states[[8, 9]] = states[[9, 8]]
    with pytest.raises(IllegalCube, match="are swapped"):
        Cube(states)


@pytest.mark.parametrize(("first", "second"), [(0, 7), (2, 5)])
def test_two_swapped_corners_are_named(first: int, second: int) -> None:
    states = Cube.solved().states.copy()
    states[[first, second], 0] = states[[second, first], 0]
    with pytest.raises(IllegalCube, match=f"corners {CORNERS[first]} and {CORNERS[second]} are"):
        Cube(states)


@pytest.mark.parametrize(("first", "second"), [(0, 1), (8, 9)])
def test_a_parity_of_a_scrambled_cube_accuses_no_piece(first: int, second: int) -> None:
    """The exchange of any two corners, or of any two edges, would explain it."""
    states = Cube.random(np.random.default_rng(7)).states.copy()
    states[[first, second], 0] = states[[second, first], 0]
    with pytest.raises(IllegalCube, match="two corners, or two edges, are swapped") as refused:
        Cube(states)
    assert not any(piece in str(refused.value) for piece in (*CORNERS, *EDGES))


@pytest.mark.parametrize(
    ("slot", "column", "value", "told"),
    [
        (3, 0, 8, "Slot ULF has cubie 8; it must be 0 to 7."),
        (3, 1, 3, "Slot ULF has orientation 3; it must be 0 to 2."),
        (3, 1, -1, "Slot ULF has orientation -1; it must be 0 to 2."),
        (8, 0, 12, f"Slot {EDGES[0]} has cubie 12; it must be 0 to 11."),
        (19, 1, 2, f"Slot {EDGES[11]} has orientation 2; it must be 0 to 1."),
    ],
)
def test_states_out_of_range_are_told_with_their_range(
    slot: int, column: int, value: int, told: str
) -> None:
    states = Cube.solved().states.astype(np.int64)
    states[slot, column] = value
    with pytest.raises(BadNotation) as caught:
        Cube(states)
    assert str(caught.value) == told
    with pytest.raises(BadNotation, match=r"\[20, 2\]"):
        Cube(states[:8])


def test_other_sizes_are_checked_too() -> None:
    drawn = PocketCube.solved().facelets()
    with pytest.raises(IllegalCube, match="corner DBR is twisted counter-clockwise"):
        PocketCube.from_facelets(show("DBR=RDB", solved=drawn, size=2))
    with pytest.raises(IllegalCube, match="colour U appears 24 times instead of 25"):
        StickerCube.from_facelets("R" + str(StickerCube.solved(5))[1:], 5)


@pytest.mark.parametrize("kind", [Cube, PocketCube])
def test_states_belong_to_the_cube_alone(kind: type[Cube | PocketCube]) -> None:
    cube = kind.from_moves("R U")
    states = cube.states.copy()
    again = kind(states)
    states[0] = 0
    assert again == cube
    with pytest.raises(ValueError, match="read-only"):
        again.states[0] = 0
