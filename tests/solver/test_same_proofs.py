"""Proofs that no clock ends look at as many positions as before.

See :mod:`tests.solver.test_same_answers`.
"""

from __future__ import annotations

import numpy as np
import pytest

from solver import _native, optimal, two_phase
from solver.cube.cube import Cube
from solver.solution import Request
from tests.rig.timed_turns import random_model
from tests.solver.test_same_answers import FOR_EVER, go_on

ELEVEN = Cube.from_moves("U R U' R2 B2 U L D2 R U F2")
FAR = {"htm": 7, "qtm": 8}


def optimal_table(metric: str, kinds: int, far: int) -> _native.OptimalTable:
    shape = _native.OptimalShape(kinds, far)
    data = np.zeros(_native.optimal_size(shape), np.uint8)
    assert _native.make_optimal(metric, shape, data, 1, go_on)
    return _native.OptimalTable(shape, data)


OPTIMAL = {
    ("htm", 1): (
        [8, 8, 8, 8, 7, 6, 5, 4, 3, 2, 1, 0],
        [
            (None, 11, 331),
            ([7, 2, 5, 10, 14, 2, 16, 4, 0, 5, 2], 11, 4532),
            ([7, 2, 5, 10, 14, 2, 16, 4, 0, 5, 2], 11, 4863),
        ],
    ),
    ("qtm", 1): (
        [9, 9, 9, 9, 9, 8, 7, 5, 3, 2, 1, 0],
        [
            (None, 11, 0),
            (None, 12, 116),
            ([6, 6, 2, 5, 9, 9, 14, 2, 15, 15, 3, 3, 0, 5, 2], 15, 557443),
        ],
    ),
    ("htm", 2): (
        [8, 8, 8, 8, 7, 6, 5, 4, 3, 2, 1, 0],
        [
            (None, 11, 331),
            ([7, 2, 5, 10, 14, 2, 16, 4, 0, 5, 2], 11, 4532),
            ([7, 2, 5, 10, 14, 2, 16, 4, 0, 5, 2], 11, 4863),
        ],
    ),
}


@pytest.mark.parametrize(("metric", "kinds"), OPTIMAL)
def test_bounds_and_proofs_with_tables_that_are_cut_off(metric: str, kinds: int) -> None:
    table = optimal_table(metric, kinds, FAR[metric])
    assert bounds_and_proofs(table, metric) == OPTIMAL[metric, kinds]


WHOLE = {
    "htm": (
        [9, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
        [
            (None, 11, 13),
            ([7, 2, 5, 10, 14, 2, 16, 4, 0, 5, 2], 11, 321),
            ([7, 2, 5, 10, 14, 2, 16, 4, 0, 5, 2], 11, 334),
        ],
    ),
    "qtm": (
        [11, 10, 10, 11, 9, 8, 7, 5, 3, 2, 1, 0],
        [
            (None, 11, 0),
            (None, 12, 1),
            ([6, 6, 2, 5, 9, 9, 14, 2, 15, 15, 3, 3, 0, 5, 2], 15, 23507),
        ],
    ),
}


@pytest.mark.parametrize("metric", WHOLE)
def test_bounds_and_proofs_with_whole_tables(metric: str) -> None:
    assert bounds_and_proofs(optimal.kernel(Request(metric=metric)), metric) == WHOLE[metric]


def bounds_and_proofs(table: _native.OptimalTable, metric: str) -> tuple[object, ...]:
    """Of cubes farther and farther away, and of one that is searched without success and with."""
    walk = [ELEVEN]
    for move in ("F2", "U'", "R'", "D2", "L'", "U'", "B2", "R2", "U", "R'", "U'"):
        walk.append(walk[-1].apply(move))
    bounds = [table.bound(metric, one.states) for one in walk]
    found = []
    for shortest, longest in ((0, 10), (11, 11), (0, 20)):
        options = _native.OptimalOptions(shortest, longest, FOR_EVER, 1, None)
        one = table.solve(metric, ELEVEN.states, options, None)
        found.append((one.turns, one.lower_bound, one.nodes))
    return bounds, found


FASTEST = {
    1: [(None, True, 102), (None, True, 916), ([26, 11], True, 1060)],
    4: [(None, True, 8578), (None, True, 23384), ([26, 11], True, 179221)],
}


@pytest.mark.parametrize("states", FASTEST)
def test_proofs_that_nothing_is_faster(states: int) -> None:
    model = random_model(states, states)
    models, costs = two_phase.models_in("htm", model), two_phase.ready_from(model).model
    table = optimal_table("htm", 1, FAR["htm"])
    found = []
    nearer_us, farther_us, found_us = {1: (2000, 3000, 2200), 4: (1000, 1100, 1300)}[states]
    for moves, below_us in (
        ("U R U' R2 B2", nearer_us),
        ("U R U' R2 B2 U L", farther_us),
        ("U R", found_us),
    ):
        options = _native.TimeProofOptions(below_us, FOR_EVER, 1, None)
        proof = table.fastest(Cube.from_moves(moves).states, models, costs, options)
        found.append((proof.solution, proof.proven, proof.nodes))
    assert found == FASTEST[states]
