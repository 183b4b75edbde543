"""Searching in a robot's time: costs, optimality on small cases, bounds, and stopping."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import _native, two_phase
from solver.cost import COMPOSITES, IMPOSSIBLE, CostModel, composite_of, moves_of
from solver.cube.cube import Cube
from solver.search import solve
from tests.rig.timed_turns import NEVER, cheapest_within, cost_of, random_model, six_motors


@pytest.mark.parametrize("states", [1, 7, 24])
def test_the_cost_is_that_of_the_moves(states, rng, solves) -> None:
    model = random_model(states, states)
    for cube in (Cube.solved(), Cube.random(rng)):
        solution = solve(cube, cost=model, time_limit=0.2)
        assert solves(cube.facelets(), " ".join(solution.moves), 3)
        assert solution.moves == moves_of(solution.composites)
        assert solution.cost_us == cost_of(model, solution.composites)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 44), min_size=1, max_size=2))
def test_short_scrambles_get_the_cheapest_of_all_short_ways(seed, scramble) -> None:
    model = random_model(seed, 3)
    cube = Cube.from_moves(" ".join(moves_of(scramble)))
    best = cheapest_within(model, cube, 2)
    assert solve(cube, cost=model, time_limit=0.3).cost_us <= best


def test_threads_find_solutions_too(rng, solves) -> None:
    cube = Cube.random(rng)
    solution = solve(cube, cost=six_motors(), threads=3, time_limit=0.1)
    assert solves(cube.facelets(), " ".join(solution.moves), 3)
    assert solution.cpu_s <= 1.1 * 3 * 0.1


def test_every_improvement_is_reported(rng) -> None:
    seen: list[int] = []
    best = solve(
        Cube.random(rng),
        cost=random_model(3, 5),
        time_limit=0.3,
        on_better=lambda solution: seen.append(solution.cost_us),
    )
    assert seen == sorted(set(seen), reverse=True)
    assert seen[-1] == best.cost_us >= best.extra["lower_bound_us"] > 0


@pytest.mark.parametrize(
    ("half_turn_us", "together", "metric"),
    [
        (1000, False, "htm"),
        (1100, True, "axial"),
        (1600, False, "qtm"),
        (1600, True, "axial-qtm"),
    ],
)
def test_the_metric_that_follows_the_times_guides_the_search(
    half_turn_us, together, metric
) -> None:
    robot = random_model(1, 1, blocked=0)
    join = max if together else sum
    for c in range(COMPOSITES):
        turns = [half_turn_us if q == 2 else 1000 * (q > 0) for q in composite_of(c)[1:]]
        robot.first[c] = join(turns)
        robot.turns.next[:, c] = join(turns)
    assert two_phase.ready_for(robot.turns).metric == metric


def test_a_half_turn_is_weighed_in_quarter_turns() -> None:
    motors = six_motors().turns
    assert motors.half_turn_weight() == pytest.approx(1.6)
    helpless = replace(motors, next=np.full_like(motors.next, NEVER))
    assert helpless.half_turn_weight() == 1.0


def test_every_start_is_searched_with_tables_prepared_once(rng) -> None:
    cube, turns = Cube.random(rng), random_model(4, 6).turns
    models = [CostModel(random_model(seed, 6).first, turns) for seed in range(12)]
    two_phase.ready_for.cache_clear()
    for model in models:
        solution = solve(cube, cost=model, time_limit=0.05)
        assert solution.cost_us == cost_of(model, solution.composites)
    assert two_phase.ready_for.cache_info().misses == 1


@pytest.mark.parametrize("metric", ["htm", "axial"])
def test_no_start_is_faster_than_the_bound_of_all(metric) -> None:
    model = random_model(4, 6)
    turns = _native.TurnCosts(model.turns.next, model.turns.final)
    robot = _native.RobotTimes(turns, metric)
    for seed in range(4):
        # From where a first turn costs nothing, so that what is left is the bound of all starts.
        first = np.where(np.arange(6) == seed, 0, IMPOSSIBLE).astype(np.uint32)
        start = _native.CostModel(turns, np.broadcast_to(first, (COMPOSITES, 6)).copy())
        least = _native.TimeModels(robot, start).least_us
        assert least(0) == 0
        assert all(least(n + 2) >= robot.least_us(n) for n in range(1, 20))
