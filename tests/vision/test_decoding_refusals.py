"""What the kernel refuses to decode: arrays that do not fit, numbers that stand for nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from solver import _native
from vision.decide.orbits import kernel_pieces, orbits
from vision.decide.schemes import all_namings

Call = Callable[[], object]
COSTS = np.arange(4 * 6 * 6, dtype=float).reshape(24, 6)
PIECES = kernel_pieces(orbits(2))


def ranked(*shape: int, ranks: int = 1) -> _native.RankedArrangements:
    return _native.RankedArrangements(np.ones(shape), ranks)


def test_the_largest_and_smallest_tables_of_arrangements_are_made() -> None:
    for shape, ranks in (((1, 1, 1), 1), ((1, 1, 3), 4), ((12, 12, 2), 1)):
        table = ranked(*shape, ranks=ranks)
        assert table.cost(0, 0, 0) == shape[0]
        assert table.cost(shape[2] - 1, 1, ranks - 1) >= shape[0]


@pytest.mark.parametrize(
    ("shape", "ranks", "complaint"),
    [
        ((2, 3, 1), 1, "1 to 12 slots"),
        ((0, 0, 1), 1, "1 to 12 slots"),
        ((13, 13, 1), 1, "1 to 12 slots"),
        ((2, 2, 0), 1, "1 to 3 ways"),
        ((2, 2, 4), 1, "1 to 3 ways"),
        ((2, 2, 1), 0, "1 to 4 arrangements"),
        ((2, 2, 1), 5, "1 to 4 arrangements"),
    ],
)
def test_tables_of_other_arrangements_are_refused(
    shape: tuple[int, ...], ranks: int, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        ranked(*shape, ranks=ranks)


@pytest.mark.parametrize(
    "asked", [(-1, 0, 0), (3, 0, 0), (0, -1, 0), (0, 2, 0), (0, 0, -1), (0, 0, 2)]
)
def test_arrangements_that_are_not_ranked_are_refused(asked: tuple[int, int, int]) -> None:
    table, room = ranked(2, 2, 3, ranks=2), np.zeros(2, np.int64)
    with pytest.raises(IndexError, match="no such sum"):
        table.cost(*asked)
    with pytest.raises(IndexError, match="no such sum"):
        table.arrangement(*asked, room, room.copy())


def test_an_arrangement_needs_its_room_and_must_exist() -> None:
    table, two, three = ranked(2, 2, 1), np.zeros(2, np.int64), np.zeros(3, np.int64)
    for pieces, turns in ((three, two), (two, three)):
        with pytest.raises(ValueError, match="one place for each slot"):
            table.arrangement(0, 0, 0, pieces, turns)
    table.arrangement(0, 1, 0, two, np.zeros(2, np.int64))
    assert two.tolist() == [1, 0]
    lonely = ranked(1, 1, 1)
    assert lonely.cost(0, 1, 0) == np.inf
    with pytest.raises(ValueError, match="no such arrangement"):
        lonely.arrangement(0, 1, 0, np.zeros(1, np.int64), np.zeros(1, np.int64))


@pytest.mark.parametrize(("copies", "k"), [(0, 1), (1, 0)])
def test_no_ways_of_no_pieces(copies: int, k: int) -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        _native.ranked_assignments(np.ones((2, 2)), copies, k)


def test_more_rows_than_columns_are_refused() -> None:
    assert _native.cheapest_assignment(np.eye(2)) == [1, 0]
    with pytest.raises(ValueError, match="more rows than columns"):
        _native.cheapest_assignment(np.ones((3, 2)))


def orbit(
    kind: str = "wing",
    facelets: object = ((0,), (1,)),
    patterns: object = ((0,), (1,)),
    turns: int = 1,
    copies: int = 1,
) -> tuple[str, np.ndarray, np.ndarray, int, int]:
    return kind, np.array(facelets, np.int64), np.array(patterns, np.int64), turns, copies


def test_orbits_at_the_borders_are_taken() -> None:
    of_twelve = np.zeros((12, 1), np.int64)
    for one in (
        orbit(),
        orbit(patterns=((5,), (0,))),
        orbit(patterns=((0,),), copies=2),
        orbit("edge", of_twelve, of_twelve),
        orbit("corner", ((0, 1, 2),), ((0, 1, 2), (1, 2, 0), (2, 0, 1)), 3),
        orbit("wing", np.zeros((13, 1)), np.zeros((13, 1))),
        orbit("wing", ((0,),), ((0,), (1,))),
    ):
        _native.CubePieces([one])


@pytest.mark.parametrize(
    ("one", "complaint"),
    [
        (orbit(patterns=((0, 1), (1, 0))), "a letter for each sticker"),
        (orbit(facelets=((0, 1, 2, 3),), patterns=((0, 1, 2, 3),)), "at most 3 stickers"),
        (orbit(facelets=np.zeros((0, 1)), patterns=((0,),)), "pieces for all"),
        (orbit(facelets=np.zeros((1, 0)), patterns=np.zeros((1, 0))), "pieces for all"),
        (orbit(turns=0), "pieces for all"),
        (orbit(copies=0), "pieces for all"),
        (orbit(turns=3), "pieces for all"),
        (orbit(patterns=((0,),)), "pieces for all"),
        (orbit("edge", ((0,),), ((0,), (1,))), "at most 12"),
        (orbit("edge", np.zeros((13, 1)), np.zeros((13, 1))), "at most 12"),
        (orbit("edge", ((0,),), np.zeros((4, 1)), 4), "at most 12"),
        (orbit(patterns=((0,), (6,))), "from 0 to 5"),
        (orbit(patterns=((0,), (-1,))), "from 0 to 5"),
        (orbit(facelets=((0,), (-1,))), "numbers from 0"),
    ],
)
def test_orbits_that_are_none_are_refused(one: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        _native.CubePieces([orbit(), one])  # type: ignore[list-item]


def bounds_of(
    costs: np.ndarray = COSTS,
    sources: int = 1,
    colours: int = 1,
    shown: object = None,
    room: int = 4096,
) -> Call:
    six = np.arange(6)[None]
    cells = np.tile(np.arange(4), (4, 1)) if shown is None else np.array(shown, np.int64)
    return lambda: PIECES.turned_bounds(
        costs, np.repeat(six, sources, 0), np.repeat(six, colours, 0), cells, np.empty(room)
    )


REFUSED: list[tuple[Call, str]] = [
    (lambda: PIECES.shares(COSTS[:-1].copy(), 1.0, np.empty((23, 6))), "six costs"),
    (lambda: PIECES.shares(COSTS, 1.0, np.empty((23, 6))), "another size"),
    (lambda: PIECES.relaxed_costs(COSTS[:-1].copy(), all_namings()), "six costs"),
    (lambda: PIECES.relaxed_costs(COSTS, np.zeros((1, 5), np.int64)), "six colours"),
    (lambda: PIECES.relaxed_costs(COSTS, np.array([[0, 1, 2, 3, 4, 6]])), "from 0 to 5"),
    (lambda: PIECES.relaxed_costs(COSTS, np.array([[0, 1, 2, 3, 4, -1]])), "from 0 to 5"),
    (lambda: PIECES.cheapest_naming(COSTS[:-1].copy(), all_namings(), 9.0), "six costs"),
    (bounds_of(COSTS[:-1].copy()), "orders of the pictures"),
    (bounds_of(sources=2), "orders of the pictures"),
    (bounds_of(shown=np.tile(np.arange(4), (3, 1))), "orders of the pictures"),
    (bounds_of(shown=np.tile(np.arange(3), (4, 1))), "orders of the pictures"),
    (bounds_of(shown=np.tile([0, 1, 2, 4], (4, 1))), "no such cell"),
    (bounds_of(shown=np.tile([0, 1, 2, -1], (4, 1))), "no such cell"),
    (bounds_of(room=4095), "another size"),
]


@pytest.mark.parametrize(("call", "complaint"), REFUSED)
def test_costs_names_and_orders_that_do_not_fit_are_refused(call: Call, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        call()


def test_what_fits_exactly_is_taken() -> None:
    PIECES.shares(COSTS, 1.0, np.empty((24, 6)))
    bounds_of()()


def scan(
    stickers: int = 24,
    *,
    priors: int = 13,
    precision: int = 25,
    values: int = 72,
    sensitivity: int = 72,
    fading: int = 72,
    clipped: int = 72,
    places: int = 48,
) -> _native.ScanEstimator:
    return _native.ScanEstimator(
        np.ones(priors),
        np.ones(precision),
        np.ones(values),
        np.ones(sensitivity),
        np.ones(fading),
        np.zeros(clipped, np.uint8),
        np.ones(stickers),
        np.ones(places),
        0.02,
    )


@pytest.mark.parametrize(
    "named", ["priors", "precision", "values", "sensitivity", "fading", "clipped", "places"]
)
def test_a_scan_has_numbers_for_each_sticker(named: str) -> None:
    count = (scan.__kwdefaults__ or {})[named]
    for other in (count - 1, count + 1):
        with pytest.raises(ValueError, match="another size"):
            scan(**{named: other})
    scan(**{named: count})


@pytest.mark.parametrize("stickers", [0, 23, 25])
def test_a_scan_has_six_faces(stickers: int) -> None:
    with pytest.raises(ValueError, match="six faces"):
        scan(stickers, values=3 * stickers, places=2 * stickers)


ROOM = (np.empty(18), np.empty(54), np.empty(30))
MODEL = (np.zeros(18), np.tile(np.eye(3), (6, 1, 1)), np.zeros(30))


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("is_new", [False, True])
def test_a_model_has_its_size(number: int, is_new: bool) -> None:
    for more in (-1, 1):
        model, room = list(MODEL), list(ROOM)
        changed = room if is_new else model
        changed[number] = np.ones(changed[number].size + more)
        with pytest.raises(ValueError, match="another size"):
            scan().fit(*model, 0.0, np.zeros(24, np.int64), 0, *room)


@pytest.mark.parametrize("letter", [-1, 6])
def test_letters_are_those_of_six_faces(letter: int) -> None:
    letters = np.zeros(24, np.int64)
    scan().total_cost(*MODEL, 0.0, letters)
    scan().total_cost(*MODEL, 0.0, letters + 5)
    for refused in (letters + letter, np.where(np.arange(24) == 23, letter, 0)):
        with pytest.raises(ValueError, match="0 to 5"):
            scan().total_cost(*MODEL, 0.0, refused)
    with pytest.raises(ValueError, match="another size"):
        scan().total_cost(*MODEL, 0.0, letters[1:].copy())


def test_pieces_must_not_be_of_a_larger_cube() -> None:
    for pieces, is_larger in ((kernel_pieces(orbits(3)), True), (PIECES, False)):
        ask = (*MODEL, 0.0, pieces, np.ones(1), 0, 0.0, 0, *ROOM)
        if is_larger:
            with pytest.raises(ValueError, match="the scan's size"):
                scan().estimate(*ask)
        else:
            scan().estimate(*ask)
