"""Cubes that no turns can reach are refused with the piece that is wrong."""

from __future__ import annotations

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


def with_stickers(facelets: str, changes: dict[int, str]) -> str:
    return "".join(changes.get(index, letter) for index, letter in enumerate(facelets))


def refusal(facelets: str) -> IllegalCube:
    with pytest.raises(IllegalCube) as caught:
        Cube.from_facelets(facelets)
    assert str(caught.value) == caught.value.reason
    return caught.value


@pytest.mark.parametrize("slot", EDGES)
def test_a_flipped_edge_is_named(slot):
    a, b = slot_facelets(slot, 3)
    error = refusal(with_stickers(SOLVED, {a: SOLVED[b], b: SOLVED[a]}))
    assert error.reason == f"edge {slot} is flipped"
    assert error.facts == {"kind": "flip", "piece": slot}


@pytest.mark.parametrize("slot", CORNERS)
@pytest.mark.parametrize(("turns", "way"), [(1, "counter-clockwise"), (2, "clockwise")])
def test_a_twisted_corner_is_named(slot, turns, way):
    at = slot_facelets(slot, 3)
    changes = {at[(k + turns) % 3]: SOLVED[at[k]] for k in range(3)}
    error = refusal(with_stickers(SOLVED, changes))
    assert error.reason == f"corner {slot} is twisted {way}"
    assert error.facts["kind"] == "twist"


def test_two_swapped_pieces_are_named():
    first, second = slot_facelets("UF", 3), slot_facelets("DB", 3)
    changes = dict(zip(first, "DB", strict=True)) | dict(zip(second, "UF", strict=True))
    error = refusal(with_stickers(SOLVED, changes))
    assert error.reason == "edges UF and DB are swapped"
    assert error.facts == {"kind": "parity", "pieces": ["UF", "DB"]}


def test_a_wrong_count_names_the_colour():
    error = refusal(with_stickers(SOLVED, {0: "F"}))
    assert error.facts == {"kind": "count", "face": "U", "count": 8}


def test_wrong_centres_are_named():
    error = refusal(with_stickers(SOLVED, {4: "R", 13: "U"}))
    assert error.facts == {"kind": "centre", "face": "U", "shown": "R"}


def test_a_piece_that_does_not_exist_is_named_with_its_slot():
    a, b = slot_facelets("UF", 3)
    c, d = slot_facelets("DB", 3)
    error = refusal(with_stickers(SOLVED, {b: "D", c: "F", a: "U", d: "B"}))
    assert error.facts == {"kind": "impossible-piece", "slot": "UF", "shown": "UD"}


def test_a_mirrored_corner_does_not_exist():
    a, b, c = slot_facelets("UFR", 3)
    error = refusal(with_stickers(SOLVED, {b: SOLVED[c], c: SOLVED[b], a: SOLVED[a]}))
    assert error.facts["shown"] == "URF"


def test_a_piece_that_is_there_twice_is_named():
    front, back = slot_facelets("UF", 3), slot_facelets("UB", 3)
    right, down = slot_facelets("UR", 3), slot_facelets("DF", 3)
    changes = {front[1]: "B", back[1]: "B", right[1]: "R", down[1]: "F"}
    lost = slot_facelets("DB", 3)
    error = refusal(with_stickers(SOLVED, changes | {lost[1]: "F"}))
    assert error.facts == {"kind": "duplicate-piece", "piece": "UB", "slots": ["UF", "UB"]}


@given(st.integers(0, 2**32 - 1))
def test_one_change_of_a_random_cube_is_always_refused(seed):
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


def test_states_of_another_shape_or_range_are_refused():
    with pytest.raises(BadNotation, match=r"\[20, 2\]"):
        Cube(np.zeros((8, 2), dtype=np.uint8))
    states = Cube.solved().states.copy()
    states[3, 0] = 8
    with pytest.raises(BadNotation, match="Slot ULF has cubie 8"):
        Cube(states)


def test_pocket_cubes_are_checked_too():
    drawn = PocketCube.solved().facelets()
    a, b, c = slot_facelets("DBR", 2)
    twisted = with_stickers(drawn, {a: drawn[c], b: drawn[a], c: drawn[b]})
    with pytest.raises(IllegalCube, match="corner DBR is twisted counter-clockwise"):
        PocketCube.from_facelets(twisted)


def test_big_cubes_are_counted():
    letters = str(StickerCube.solved(5))
    with pytest.raises(IllegalCube, match="colour U appears 24 times instead of 25"):
        StickerCube.from_facelets("R" + letters[1:], 5)


@pytest.mark.parametrize(("first", "second"), [(0, 7), (2, 5)])
def test_two_swapped_corners_are_named(first: int, second: int) -> None:
    states = Cube.solved().states.copy()
    states[[first, second], 0] = states[[second, first], 0]
    named = f"corners {CORNERS[first]} and {CORNERS[second]} are swapped"
    with pytest.raises(IllegalCube, match=named):
        Cube(states)


@pytest.mark.parametrize("kind", ["corners", "edges"])
def test_a_parity_of_a_scrambled_cube_accuses_no_piece(kind: str) -> None:
    """The exchange of any two corners, or of any two edges, would explain it."""
    states = Cube.random(np.random.default_rng(7)).states.copy()
    first, second = (0, 1) if kind == "corners" else (8, 9)
    states[[first, second], 0] = states[[second, first], 0]
    with pytest.raises(IllegalCube, match="two corners, or two edges, are swapped") as refused:
        Cube(states)
    assert not any(piece in str(refused.value) for piece in (*CORNERS, *EDGES))


@pytest.mark.parametrize(
    ("slot", "column", "value", "told"),
    [
        (3, 0, 8, "Slot ULF has cubie 8; it must be 0 to 7."),
        (3, 1, 3, "Slot ULF has orientation 3; it must be 0 to 2."),
        (8, 0, 12, f"Slot {EDGES[0]} has cubie 12; it must be 0 to 11."),
        (19, 1, 2, f"Slot {EDGES[11]} has orientation 2; it must be 0 to 1."),
    ],
)
def test_states_out_of_range_are_told_with_their_range(slot, column, value, told):
    states = Cube.solved().states.astype(np.int64)
    states[slot, column] = value
    with pytest.raises(BadNotation) as caught:
        Cube(states)
    assert str(caught.value) == told
    states[slot, column] = -1
    with pytest.raises(BadNotation, match=r" -1; it must be 0 to "):
        Cube(states)


def test_states_belong_to_the_cube_alone():
    for cube in (Cube.from_moves("R U"), PocketCube.from_moves("R U")):
        states = cube.states.copy()
        again = type(cube)(states)
        states[0] = 0
        assert again == cube
        with pytest.raises(ValueError, match="read-only"):
            again.states[0] = 0


def test_a_pocket_cube_drawn_at_random_is_solved_by_no_accident():
    rng = np.random.default_rng(3)
    seen = {PocketCube.random(rng).facelets() for _ in range(50)}
    assert len(seen) == 50
    for letters in seen:
        cube = PocketCube.from_facelets(letters)
        assert not cube.is_solved
        assert tuple(cube.states[CORNERS.index("DLB")]) == (CORNERS.index("DLB"), 0)
    assert PocketCube.from_moves("x y").is_solved
