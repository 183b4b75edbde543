"""The cheapest legal cubes are found exactly, in order."""

import itertools

import numpy as np
import pytest

from solver.cube.cube import from_facelets
from vision.decide.assignment import (
    RankedArrangements,
    cheapest_naming,
    matching,
    orbits,
    ranked_assignments,
    ranked_cubes,
    relaxed_cost,
    relaxed_costs,
)
from vision.decide.schemes import rotations, usual_naming
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
