"""Compiled cost models against plain shortest paths over the same transitions."""

import numpy as np
import pytest

from robot.mechanism.compile.cost_model import compile_mechanism
from robot.mechanism.registry import build_mechanism
from robot.settings import load_profile
from solver.cost import IMPOSSIBLE

POCKET = ["soltvvo", "two-arm-2x2x2"]


@pytest.fixture(scope="module", params=POCKET)
def pocket_mechanism(request):
    return build_mechanism(load_profile(request.param))


@pytest.fixture(scope="module", params=["cubotino-uno", *(f"reference/{x}" for x in "abcd")])
def mechanism(request):
    return build_mechanism(load_profile(request.param))


def random_composites(rng, count):
    axes = [int(rng.integers(3))]
    while len(axes) < count:
        axes.append((axes[-1] + int(rng.integers(1, 3))) % 3)
    return [axis * 15 + int(rng.integers(15)) for axis in axes]


def test_the_model_costs_what_the_shortest_way_takes(mechanism, fastest, modelled):
    rng = np.random.default_rng(0)
    compiled = compile_mechanism(mechanism)
    model = compiled.cost_model(mechanism.start)
    for _ in range(4):
        composites = random_composites(rng, 2)
        assert modelled(model, composites) == fastest(mechanism, mechanism.start, composites)


def test_a_2x2x2_model_costs_what_the_shortest_way_takes(pocket_mechanism, fastest, modelled):
    rng = np.random.default_rng(0)
    model = compile_mechanism(pocket_mechanism).cost_model(pocket_mechanism.start)
    for _ in range(3):
        turns = [
            15 * (t // 15) + 4 * int(rng.integers(1, 4)) - 1 for t in random_composites(rng, 2)
        ]
        cost = modelled(model, turns)
        assert cost == fastest(pocket_mechanism, pocket_mechanism.start, turns)
    second_faces = [t for t in range(45) if (t % 15 + 1) % 4]
    assert (model.first[second_faces] == IMPOSSIBLE).all()


def test_the_model_has_the_form_the_search_expects(mechanism):
    model = compile_mechanism(mechanism).cost_model(mechanism.start)
    size = model.turns.states
    assert model.first.shape == (45, size) and model.first.dtype == np.uint32
    assert model.turns.next.shape == (3, 45, size, size) and model.turns.final.shape == (3, size)
    for axis in range(3):
        assert (model.turns.next[axis, 15 * axis : 15 * axis + 15] == IMPOSSIBLE).all()
        others = np.delete(model.turns.next[axis], np.s_[15 * axis : 15 * axis + 15], axis=0)
        assert (others[:, 0].min(axis=-1) < IMPOSSIBLE).all()
