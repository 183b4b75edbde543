"""The cheapest legal cubes, found exactly and in order, and the kernel's decoding.

Small cases are compared with exhaustive searches. Figures pin every term of the formulas to the
sixth digit; nothing else reveals a wrong one. Their inputs are no cubes but random numbers, for
which no outcome is likelier than another. If a formula changes on purpose, print the figures anew
with ``python -m tests.vision.test_decoding``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest

from solver import _native
from solver.cube.cube import from_facelets
from vision.decide.assignment import (
    RankedArrangements,
    cheapest_naming,
    kernel_pieces,
    matching,
    orbits,
    ranked_assignments,
    ranked_cubes,
    relaxed_cost,
    relaxed_costs,
    shares,
)
from vision.decide.colour_model import CubeModel, Light, Observations
from vision.decide.schemes import all_namings, rotations, usual_naming
from vision.measure.colour_space import USUAL, LightFeatures
from vision.measure.sticker_colours import StickerColours


def _all_arrangements(cost):
    count, _, width = cost.shape
    for order in itertools.permutations(range(count)):
        parity = sum(a > b for a, b in itertools.combinations(order, 2)) % 2
        for turns in itertools.product(range(width), repeat=count):
            total = sum(cost[s, order[s], turns[s]] for s in range(count))
            yield sum(turns) % width, parity, total, order, turns


@pytest.mark.parametrize(("count", "width"), [(5, 2), (4, 3), (2, 3)])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_ranked_arrangements_match_exhaustive_search(count, width, k):
    cost = np.random.default_rng(count * 10 + k).random((count, count, width))
    table = RankedArrangements(cost, k)
    groups = {}
    for turns, parity, total, order, turned in _all_arrangements(cost):
        groups.setdefault((turns, parity), []).append((total, order, turned))
    for (turns, parity), group in groups.items():
        for rank, (total, order, turned) in enumerate(sorted(group)[:k]):
            found = table.arrangement(turns, parity, rank)
            assert found.cost == pytest.approx(total)
            assert (tuple(found.pieces), tuple(found.turns)) == (order, turned)


@pytest.mark.parametrize("size", range(2, 8))
@pytest.mark.parametrize("seed", range(3))
def test_cheapest_cubes_are_legal_different_and_in_order(size, seed):
    cost = np.random.default_rng(seed).random((6 * size * size, 6))
    ranked = ranked_cubes(cost, size, 3)
    assert [r.cost for r in ranked] == sorted(r.cost for r in ranked)
    assert len({r.letters.tobytes() for r in ranked}) == 3
    for labelling in ranked:
        total = cost[np.arange(len(cost)), labelling.letters].sum()
        assert labelling.cost == pytest.approx(total)
        from_facelets("".join("URFDLB"[i] for i in labelling.letters), size)


@pytest.mark.parametrize("size", range(2, 8))
def test_the_cheapest_naming_is_that_of_the_cheapest_cube_and_bounds_are_below_it(size):
    rng = np.random.default_rng(10 * size)
    cost = rng.random((6 * size * size, 6))
    namings = np.array([rng.permutation(6) for _ in range(12)])
    cubes = [ranked_cubes(cost[:, naming], size, 1)[0] for naming in namings]
    each = np.array([cube.cost for cube in cubes])
    for limit, naming in ((np.inf, each.argmin()), (each.min() + 1e-6, each.argmin())):
        found = cheapest_naming(cost, namings, size, limit)
        assert found == (naming, pytest.approx(each.min()))
    assert cheapest_naming(cost, namings, size, each.min() - 1e-6) is None
    bounds = relaxed_costs(cost, namings, orbits(size))
    assert (each / 2 < bounds).all() and (bounds <= each + 1e-9).all()
    assert relaxed_cost(cost[:, namings[0]], orbits(size)) == pytest.approx(bounds[0])
    clear = np.ones_like(cost)
    clear[np.arange(len(clear)), namings[0][cubes[0].letters]] = 0
    assert relaxed_costs(clear, namings[:1], orbits(size))[0] == 0


@pytest.mark.parametrize(("rows", "more"), [(1, 0), (2, 1), (4, 0), (4, 3)])
@pytest.mark.parametrize("choices", [3, 1000])
def test_the_matching_is_the_cheapest_of_all(rows, more, choices):
    rng = np.random.default_rng(rows + 10 * more)
    for _ in range(10):
        cost = rng.integers(-choices, choices, (rows, rows + more)).astype(np.float64)
        cost[rng.random(cost.shape) < 0.2] = 1e6
        found, columns = matching(cost)
        assert found.tolist() == list(range(rows))
        assert len(set(columns.tolist())) == rows
        ways = itertools.permutations(range(rows + more), rows)
        assert cost[found, columns].sum() == min(cost[found, list(way)].sum() for way in ways)


@pytest.mark.parametrize(("pieces", "copies"), [(2, 1), (5, 1), (2, 2), (3, 2), (2, 4)])
@pytest.mark.parametrize("k", [1, 2, 3, 30])
def test_ranked_ways_match_exhaustive_search(pieces, copies, k):
    rng = np.random.default_rng(10 * pieces + copies)
    slots = pieces * copies
    for _ in range(3):
        cost = rng.normal(0, 5, (slots, pieces))
        stock = [piece for piece in range(pieces) for _ in range(copies)]
        ways = {tuple(way) for way in itertools.permutations(stock)}
        every = sorted((cost[np.arange(slots), list(way)].sum(), way) for way in ways)
        found = ranked_assignments(cost, k, copies)
        assert [tuple(own) for _, own in found] == [way for _, way in every[:k]]
        assert [total for total, _ in found] == pytest.approx([total for total, _ in every[:k]])


@pytest.mark.parametrize("seed", range(5))
def test_the_usual_naming_is_the_nearest_of_all_ways_to_hold_the_cube(seed):
    grey = StickerColours.from_srgb(2, np.full((24, 3), 150))
    features = LightFeatures.from_colours(grey)
    usual = features.to_features(USUAL)
    rng = np.random.default_rng(seed)
    tint = rng.normal(0, 1.0, 3) * np.abs(usual).mean()
    mean = usual[rng.permutation(6)] + tint + rng.normal(0, 0.1, (6, 3))

    def distance(naming):
        differences = [mean[naming[letter]] - usual[letter] for letter in range(6)]
        common = sum(differences) / 6
        unlike = sum(float(((one - common) ** 2).sum()) for one in differences)
        return unlike + 0.5 * float((common**2).sum())

    wanted = min(rotations(), key=distance)
    assert usual_naming(mean, features).tolist() == wanted.tolist()


def figure(*arrays: object) -> float:
    """Return one number in which every number of the arrays has another weight."""
    flat = np.concatenate([np.asarray(one, float).ravel() for one in arrays])
    return float(flat @ np.random.default_rng(len(flat)).uniform(0.5, 1.5, len(flat)))


def figure_of(model: CubeModel) -> float:
    return figure(model.mean, model.covariance, model.light.faces, [model.light.falloff])


def scan(size: int) -> tuple[Observations, CubeModel, np.ndarray]:
    """Return six faces of a size, a model of their colours, and their letters.

    The light differs from face to face, and some stickers are too bright.
    """
    rng = np.random.default_rng(size)
    count = 6 * size * size
    mean = rng.uniform(-2.5, -0.1, (6, 3))
    spread = rng.normal(0, 0.1, (6, 3, 3))
    covariance = 0.05 * np.eye(3) + spread @ spread.transpose(0, 2, 1)
    letters = rng.permutation(np.repeat(np.arange(6), size * size))
    values = mean[letters] + rng.normal(0, 0.15, (count, 3))
    values[rng.random(count) < 0.15] += 1.0
    weight = np.where(rng.random(count) < 0.1, 0.0, rng.uniform(0.5, 1.0, count))
    sensitivity, clipped = rng.uniform(0.6, 1.0, (count, 3)), rng.random((count, 3)) < 0.1
    remoteness = rng.uniform(0, 1, count)
    seen = LightFeatures(values, sensitivity, clipped, weight, 0.02, 1.0, remoteness)
    light = Light(rng.normal(0, 0.1, (6, 5)), 0.2)
    return Observations(seen, size), CubeModel(mean, covariance, light), letters


def evidence(size: int, strict: bool) -> float:
    """Return the figure of each sticker's cost of every colour, and of the share of inliers."""
    seen, model, _ = scan(size)
    found = seen.evidence(model, strict=strict)
    return figure(found.cost, found.inlier)


def costs(size: int) -> float:
    """Return the figure of the light on stickers, the spread of colours, and the total cost."""
    seen, model, letters = scan(size)
    far = seen.deviation(model, letters)
    return figure(far, seen.start(model.mean).covariance, [seen.total_cost(model, letters)])


def fitted(size: int, rounds: int) -> float:
    seen, model, letters = scan(size)
    return figure_of(seen.fit(model, letters, rounds))


def estimated(size: int, patience: int) -> float:
    seen, model, _ = scan(size)
    return figure_of(seen.estimate(model, orbits(size), patience))


def shared(size: int) -> float:
    cost = np.random.default_rng(size).uniform(0, 9, (6 * size * size, 6))
    return figure(*(shares(cost, orbits(size), temperature) for temperature in (1.0, 3.0)))


def named(size: int) -> float:
    """Return the figure of the cheapest cube under other colour names and the count of trials."""
    rng = np.random.default_rng(size)
    pieces = kernel_pieces(orbits(size))
    found: list[object] = []
    for _ in range(3):
        cost = rng.uniform(0, 9, (6 * size * size, 6))
        relaxed = pieces.relaxed_costs(cost, all_namings())
        naming, least, solved = pieces.cheapest_naming(cost, all_namings(), np.inf)
        nothing, _, tried = pieces.cheapest_naming(cost, all_namings(), least - 1e-3)
        # Without centres several names have the same cost, up to rounding.
        found += [relaxed, [naming if size % 2 else -1, least, solved, nothing, tried]]
    return figure(*found)


def turned(size: int) -> float:
    """Return the figure of bounds for pictures that may be turned."""
    rng = np.random.default_rng(size)
    cost = rng.uniform(0, 9, (6 * size * size, 6))
    cells = np.arange(size * size).reshape(size, size)
    shown = np.array([np.rot90(cells, turns).ravel() for turns in range(4)])
    sources, colours = (rng.permuted(np.tile(np.arange(6), (3, 1)), axis=1) for _ in range(2))
    bounds = np.empty((3, 4096))
    kernel_pieces(orbits(size)).turned_bounds(cost, sources, colours, shown, bounds)
    return figure(bounds)


FIGURES: list[tuple[Callable[..., float], tuple[float, ...], float]] = [
    (evidence, (2, False), 619.2181065759037),
    (evidence, (3, False), 1202.5612179721684),
    (evidence, (3, True), 1677.6635083993563),
    (costs, (2,), 401.8603202945847),
    (costs, (3,), 561.3631147413761),
    (fitted, (2, 0), -21.1454700995504),
    (fitted, (3, 1), -20.53639042599798),
    (fitted, (3, 4), -20.36137727890165),
    (estimated, (2, 0), -25.680249208771176),
    (estimated, (2, 2), -21.411116272789418),
    (estimated, (3, 0), -20.069718693472844),
    (estimated, (3, 2), -18.530968314122),
    (shared, (2,), 48.778484326362445),
    (shared, (3,), 109.16479940891867),
    (shared, (4,), 189.39774988878384),
    (shared, (5,), 297.6462601933252),
    (named, (2,), 104500.99208999463),
    (named, (3,), 220582.40943724025),
    (named, (4,), 359001.17937003577),
    (named, (5,), 528617.2093564438),
    (turned, (2,), 532765.7867378695),
    (turned, (3,), 994573.9581279722),
    (turned, (4,), 1510803.3605702077),
]


@pytest.mark.parametrize(("of", "given", "expected"), FIGURES)
def test_figures_are_the_same_to_the_sixth_digit(of, given, expected):
    assert of(*given) == pytest.approx(expected, rel=1e-6)


COSTS = np.arange(4 * 6 * 6, dtype=float).reshape(24, 6)
SIX = np.arange(6)[None]
TURNED = np.tile(np.arange(4), (4, 1))
LETTERS = np.zeros(24, np.int64)
ONES = [np.ones(count) for count in (13, 25, 72, 72, 72)]
SCAN = (*ONES, np.zeros(72, np.uint8), np.ones(24), np.ones(48), 0.02)
MODEL = (np.zeros(18), np.tile(np.eye(3), (6, 1, 1)), np.zeros(30), 0.0)
ROOM = (np.empty(18), np.empty(54), np.empty(30))
ESTIMATING = (np.ones(1), 0, 0.0, 0, *ROOM)


# Kernel objects live no longer than a test.
def ranked(*shape: int, ranks: int = 1) -> _native.RankedArrangements:
    return _native.RankedArrangements(np.ones(shape), ranks)


def pieces(method: str, *arguments: object) -> None:
    getattr(kernel_pieces(orbits(2)), method)(*arguments)


def estimator(method: str, *arguments: object) -> None:
    getattr(_native.ScanEstimator(*SCAN), method)(*arguments)  # type: ignore[call-arg,arg-type] # in order


def arranged(*arguments: object) -> None:
    ranked(2, 2, 3, ranks=2).arrangement(*arguments)  # type: ignore[call-arg,arg-type] # in order


PLACES = np.zeros(2, np.int64), np.zeros(2, np.int64)


@pytest.mark.parametrize(
    ("call", "arguments", "lengths"),
    [
        (arranged, (0, 1, 0, *PLACES), (-1, 1)),
        (partial(pieces, "shares"), (COSTS, 1.0, np.empty((24, 6))), (-1, 1)),
        (lambda costs: pieces("relaxed_costs", costs, SIX), (COSTS,), (-1,)),
        (lambda costs: pieces("cheapest_naming", costs, SIX, 9.0), (COSTS,), (-1,)),
        (partial(pieces, "turned_bounds"), (COSTS, SIX, SIX, TURNED, np.empty(4096)), (-1, 1)),
        (_native.ScanEstimator, SCAN, (-1, 1)),
        (partial(estimator, "fit"), (*MODEL, LETTERS, 0, *ROOM), (-1, 1)),
        (partial(estimator, "total_cost"), (*MODEL, LETTERS), (-1, 1)),
    ],
)
def test_arrays_that_are_longer_or_shorter_than_they_should_be_are_rejected(
    call, arguments, lengths
):
    call(*arguments)
    for (number, own), more in product(enumerate(arguments), lengths):
        if isinstance(own, np.ndarray):
            changed = np.resize(own, (len(own) + more, *own.shape[1:]))
            with pytest.raises(ValueError, match=r"size|costs|letters|place|orders|faces"):
                call(*arguments[:number], changed, *arguments[number + 1 :])


def orbit(
    facelets: object = ((0,), (1,)),
    patterns: object = ((0,), (1,)),
    kind: str = "wing",
    turns: int = 1,
    copies: int = 1,
) -> None:
    one = kind, np.array(facelets, np.int64), np.array(patterns, np.int64), turns, copies
    _native.CubePieces([one])


ONE, NONE = ((0,),), np.zeros((0, 1))


@pytest.mark.parametrize(
    ("complaint", "call", "cases"),
    [
        ("1 to 12 slots", ranked, [(2, 3, 1), (13, 13, 1)]),
        ("1 to 3 ways", ranked, [(2, 2, 0), (2, 2, 4)]),
        ("1 to 4 arrangements", lambda ranks: ranked(2, 2, 1, ranks=ranks), [(0,), (5,)]),
        (
            "no such sum",
            lambda *asked: arranged(*asked, *PLACES),
            [(-1, 0, 0), (3, 0, 0), (0, -1, 0), (0, 2, 0), (0, 0, -1), (0, 0, 2)],
        ),
        (
            "no such arrangement",
            lambda *asked: ranked(1, 1, 3).arrangement(*asked, PLACES[0][:1], PLACES[1][:1]),
            [(0, 1, 0)],
        ),
        ("counted from 1", partial(_native.ranked_assignments, np.ones((2, 2))), [(0, 1), (1, 0)]),
        ("more rows than columns", _native.cheapest_assignment, [(np.ones((3, 2)),)]),
        ("a letter for each sticker", orbit, [(((0,), (1,)), ((0, 1), (1, 0)))]),
        ("at most 3 stickers", orbit, [(((0, 1, 2, 3),), ((0, 1, 2, 3),))]),
        ("pieces for all", orbit, [(NONE, ONE), (ONE, ONE, "wing", 0), (ONE, ONE, "wing", 1, 0)]),
        (
            "at most 12",
            orbit,
            [(np.zeros((13, 1)), np.zeros((13, 1)), "edge"), (ONE, np.zeros((4, 1)), "edge", 4)],
        ),
        ("from 0 to 5", orbit, [(((0,), (1,)), ((0,), (letter,))) for letter in (6, -1)]),
        ("numbers from 0", orbit, [(((0,), (-1,)),)]),
        ("six colours", partial(pieces, "relaxed_costs"), [(COSTS, np.zeros((1, 5), np.int64))]),
        ("from 0 to 5", partial(pieces, "relaxed_costs"), [(COSTS, SIX - 1), (COSTS, SIX + 1)]),
        (
            "no such cell",
            partial(pieces, "turned_bounds"),
            [(COSTS, SIX, SIX, TURNED + more, np.empty(4096)) for more in (-1, 1)],
        ),
        ("six faces", _native.ScanEstimator, [(*ONES[:2], *[np.ones(0)] * 6, 0.02)]),
        ("to 5", partial(estimator, "total_cost"), [(*MODEL, LETTERS - 1), (*MODEL, LETTERS + 6)]),
        (
            "the scan's size",
            lambda size: estimator("estimate", *MODEL, kernel_pieces(orbits(size)), *ESTIMATING),
            [(3,)],
        ),
    ],
)
def test_numbers_out_of_range_are_rejected(complaint, call, cases):
    for arguments in cases:
        with pytest.raises((ValueError, IndexError), match=complaint):
            call(*arguments)


if __name__ == "__main__":
    for of, given, _ in FIGURES:
        print(f"    ({of.__name__}, {given!r}, {of(*given)!r}),")
