"""Cubes that no turns can reach are refused with the piece that is wrong and the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.cube.cube import Cube, from_facelets
from solver.cube.facelets import FACES, slot_facelets
from solver.cube.legality import CORNERS, EDGES
from solver.cube.orbits import WING_PAIRS, centre_slots, centre_spots, wing_slots
from solver.cube.pocket import PocketCube
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, IllegalCube

SOLVED = Cube.solved().facelets()


def show(*pieces: str, solved: str = SOLVED, size: int = 3) -> str:
    """Return facelets with ``SLOT=LETTERS`` shown at those slots."""
    letters = list(solved)
    for slot, shown in (piece.split("=") for piece in pieces):
        at = slot_facelets(slot, size) if len(slot) > 1 else [9 * FACES.index(slot) + 4]
        for place, letter in zip(at, shown, strict=True):
            letters[place] = letter
    return "".join(letters)


def refusal(facelets: Iterable[str], size: int = 3) -> IllegalCube:
    with pytest.raises(IllegalCube) as caught:
        from_facelets("".join(facelets), size)
    assert str(caught.value) == caught.value.reason
    return caught.value


def test_every_flipped_edge_and_twisted_corner_is_named():
    for slot in EDGES:
        error = refusal(show(f"{slot}={slot[::-1]}"))
        assert error.reason == f"edge {slot} is flipped"
        assert error.facts == {"kind": "flip", "piece": slot}
    for slot in CORNERS:
        for turns, way in ((2, "counter-clockwise"), (1, "clockwise")):
            error = refusal(show(f"{slot}={slot[turns:] + slot[:turns]}"))
            assert error.reason == f"corner {slot} is twisted {way}"
            assert error.facts["kind"] == "twist"


DUPLICATE = {"kind": "duplicate-piece", "piece": "UB", "slots": ["UF", "UB"]}


@pytest.mark.parametrize(
    ("facelets", "detail"),
    [
        (show("UF=DB", "DB=UF"), {"kind": "parity", "pieces": ["UF", "DB"]}),
        ("F" + SOLVED[1:], {"kind": "count", "face": "U", "count": 8}),
        (show("U=R", "R=U"), {"kind": "centre", "shown": "RUFDLB"}),
        (show("UF=UD", "DB=FB"), {"kind": "impossible-piece", "slot": "UF", "shown": "UD"}),
        (show("UFR=URF"), {"kind": "impossible-piece", "slot": "UFR", "shown": "URF"}),
        (show("UF=UB", "DB=DF"), DUPLICATE),
    ],
)
def test_impossible_facelets_are_explained(facelets, detail):
    assert refusal(facelets).facts == detail


@settings(max_examples=50)
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
    with pytest.raises(BadNotation, match=r"not \(18, 2\)"):
        Cube(states[:18])


@pytest.mark.parametrize(("first", "second"), [(0, 7), (8, 9)])
def test_two_swapped_pieces_are_named_unless_the_cube_is_scrambled(first, second):
    """In a scrambled cube a swap of any two corners, or of any two edges, explains it."""
    names = [*CORNERS, *EDGES]
    accused = []
    for cube in (Cube.solved(), Cube.random(np.random.default_rng(7))):
        states = cube.states.copy()
        states[[first, second], 0] = states[[second, first], 0]
        with pytest.raises(IllegalCube) as refused:
            Cube(states)
        accused.append(str(refused.value))
    assert f"{names[first]} and {names[second]} are" in accused[0]
    assert "two corners, or two edges, are swapped" in accused[1]
    assert not any(piece in accused[1] for piece in names)


@pytest.mark.parametrize("slot", [0, 7, 8, 19])
def test_no_turned_piece_is_accused_where_any_could_be_it(slot):
    states = Cube.from_moves("R U F2 L' B D'").states.copy()
    states[slot, 1] = (states[slot, 1] + 1) % (3 if slot < 8 else 2)
    with pytest.raises(IllegalCube) as refused:
        Cube(states)
    said = "corners is twisted counter-clockwise" if slot < 8 else "edges is flipped"
    assert str(refused.value) == f"one of the {said}"
    assert refused.value.facts["piece"] is None


@pytest.mark.parametrize(
    ("slot", "column", "value", "message"),
    [
        (3, 0, 8, "Slot ULF has cubie 8; it must be 0 to 7."),
        (3, 1, -1, "Slot ULF has orientation -1; it must be 0 to 2."),
        (8, 0, 12, f"Slot {EDGES[0]} has cubie 12; it must be 0 to 11."),
        (19, 1, 2, f"Slot {EDGES[11]} has orientation 2; it must be 0 to 1."),
    ],
)
def test_states_out_of_range_are_refused_with_their_range(slot, column, value, message):
    states = Cube.solved().states.astype(np.int64)
    states[slot, column] = value
    with pytest.raises(BadNotation, match=message):
        Cube(states)
    with pytest.raises(BadNotation, match=r"\[20, 2\]"):
        Cube(states[:8])


@pytest.mark.parametrize("kind", [Cube, PocketCube])
def test_states_belong_to_the_cube_alone(kind):
    cube = kind.from_moves("R U")
    states = cube.states.copy()
    again = kind(states)
    states[0] = 0
    assert again == cube
    with pytest.raises(ValueError, match="read-only"):
        again.states[0] = 0


# ---- cubes of 4 and more layers -----------------------------------------------------------------

SIZES = [4, 5, 6, 7]
Letters = np.ndarray[Any, np.dtype[np.str_]]


def letters_of(size: int) -> Letters:
    return np.array(list(StickerCube.solved(size).letters))


def exchange(letters: Letters, first: Any, second: Any) -> Letters:
    one, other = np.atleast_1d(first), np.atleast_1d(second)
    letters[np.concatenate([one, other])] = letters[np.concatenate([other, one])]
    return letters


def rename(size: int, one: str, other: str) -> Letters:
    drawn = str(StickerCube.solved(size).apply("R U F"))
    return np.array(list(drawn.translate(str.maketrans(one + other, other + one))))


def wing(pair: str, size: int) -> Any:
    return wing_slots(size - 3, size)[WING_PAIRS.index(pair)]


def slot(name: str, size: int) -> list[int]:
    return list(slot_facelets(name, size))


IMPOSSIBLE = {"kind": "impossible-piece"}
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
    (SIZES, lambda a, n: exchange(a, wing("FU", n)[0], wing("UR", n)[0]), IMPOSSIBLE),
]


@pytest.mark.parametrize(("sizes", "change", "detail"), REFUSALS)
def test_layers_that_no_turns_reach_are_refused_with_their_reason(sizes, change, detail):
    for size in sizes:
        facts = refusal(change(letters_of(size), size), size).facts
        assert detail.items() <= facts.items()
        if detail.get("kind") == "scheme":  # the Japanese scheme: two colours are exchanged
            opposite = {frozenset(pair) for pair in facts["opposite"]}
            assert opposite == {*map(frozenset, ("UB", "RL", "FD"))}


@pytest.mark.parametrize("size", SIZES)
def test_pieces_of_layers_are_named(size):
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


@pytest.mark.parametrize("size", SIZES)
def test_centres_of_one_orbit_may_have_any_place(size, rng):
    """Exchange two corners as well, if there are no middle edges."""
    letters = letters_of(size)
    for row, column in centre_spots(size):
        slots = centre_slots(row, column, size)
        letters[slots] = letters[rng.permutation(slots)]
    if size % 2 == 0:
        exchange(letters, slot("UFR", size), slot("DFL", size))
    assert StickerCube.from_facelets("".join(letters), size).letters == "".join(letters)
