"""The table of fastest steps of a 2x2x2, against Soltvvo's rules tried out sticker by sticker."""

import heapq
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from robot.planner import build_mechanism, cost_model, plan_solve
from robot.settings import load_profile
from solver.cost import IMPOSSIBLE
from solver.cube import facelets
from solver.cube.pocket import PocketCube
from solver.pocket import BySearch, ByTable, kernel

UNIT_US = 100_000
PAIRS = ("RL", "FB")


@pytest.fixture(scope="module")
def mechanism():
    return build_mechanism(load_profile("reference/soltvvo"))


LONGEST = {0: 0, 1: 1, 2: 2, 3: 1}
"""How far an arm turns, by clockwise quarters."""


def pair_turns(quarters):
    """What one step may do to the stickers: permutation and cost, 1 for the grip and the turns."""
    found = []
    for pair in PAIRS:
        for turns in product((0, *quarters), repeat=2):
            if any(turns):
                turned = np.arange(24)
                for face, q in zip(pair, turns, strict=True):
                    turned = turned[facelets.turn(2, face, 1, 1, q)] if q else turned
                found.append((turned, 1 + max(LONGEST[q] for q in turns)))
    return found


def fewest(stickers, steps):
    """The least cost to one colour a face, by trying everything in the order of cost."""
    queue, known, number = [(0, 0, stickers)], {stickers: 0}, 0
    while True:
        cost, _, here = heapq.heappop(queue)
        if all(len(set(here[k : k + 4])) == 1 for k in range(0, 24, 4)):
            return cost
        if cost > known[here]:
            continue
        for turned, more in steps:
            there = "".join(here[k] for k in turned)
            if cost + more < known.get(there, 99):
                known[there] = cost + more
                number += 1
                heapq.heappush(queue, (cost + more, number, there))


def scrambled(seed, count, steps):
    """A cube some steps away from solved."""
    stickers = PocketCube.solved().facelets()
    for number in np.random.default_rng(seed).integers(0, len(steps), count):
        turned, _ = steps[number]
        stickers = "".join(stickers[k] for k in np.argsort(turned))
    return stickers


@pytest.mark.parametrize(("seed", "count"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_arms_that_turn_both_ways_solve_in_the_fewest_units(mechanism, seed, count):
    steps = pair_turns((1, 2, 3))
    stickers = scrambled(seed, count, steps)
    plan = plan_solve(PocketCube.from_facelets(stickers), mechanism)
    assert plan.optimal
    assert plan.duration_us == UNIT_US * fewest(stickers, steps)


def test_table_and_search_agree():
    rng = np.random.default_rng(9)
    model = model_of("soltvvo")
    table, search = kernel(model.turns), BySearch(model.turns)
    assert isinstance(table, ByTable)
    assert isinstance(kernel(model_of("two-arm-2x2x2").turns), BySearch)
    for _ in range(5):
        states = PocketCube.random(rng).states
        found = table.fastest(states, model.first, 0.0, None)
        assert found.proven
        assert found.cost == search.fastest(states, model.first, 60.0, None).cost


def test_a_table_made_for_other_times_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("solver.pocket.steps_bytes", lambda cost: 1000)
    monkeypatch.setattr("solver._native.make_pocket_steps", lambda *_: True)
    turns = model_of("soltvvo").turns
    slower = replace(turns, next=np.where(turns.next == IMPOSSIBLE, turns.next, turns.next * 2))
    kept = tmp_path / "pocket-soltvvo-big-01234567.v1.table"
    kept.touch()
    for costs in (turns, slower):
        ByTable(costs)
        of_soltvvo = set(tmp_path.glob("pocket-soltvvo-*")) - {kept}
        assert len(of_soltvvo) == 1
    assert kept.exists()


def model_of(name):
    mechanism = build_mechanism(load_profile(name))
    return cost_model(mechanism, mechanism.start)
