"""Fastest solutions of the 2x2x2 on made-up mechanisms, against trying every sequence of turns."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from solver.cost import COMPOSITES, IMPOSSIBLE, CostModel, TurnCosts, composite_index
from solver.cube.notation import Move
from solver.cube.pocket import PocketCube
from solver.errors import SearchError
from solver.search import solve

TURNS = [(axis, quarters) for axis in range(3) for quarters in (1, 2, 3)]
STATES = 3
LONGEST = 4


@cache
def mechanism(seed: int) -> CostModel:
    """Costs of 4 to 7 a turn, some ways missing, some time owed at the end."""
    rng = np.random.default_rng(seed)
    first = np.full((COMPOSITES, STATES), IMPOSSIBLE, dtype=np.uint32)
    onward = np.full((3, COMPOSITES, STATES, STATES), IMPOSSIBLE, dtype=np.uint32)
    for axis, quarters in TURNS:
        number = composite_index(axis, quarters, 0)
        first[number] = rng.integers(4, 8, STATES)
        for last in {0, 1, 2} - {axis}:
            ways = rng.integers(4, 8, (STATES, STATES)).astype(np.uint32)
            ways[rng.random((STATES, STATES)) < 0.3] = IMPOSSIBLE
            ways[:, 0] = 7
            onward[last, number] = ways
    final = rng.integers(0, 3, (3, STATES)).astype(np.uint32)
    return CostModel(first, TurnCosts(f"made up {seed}", onward, final))


def move(turn: tuple[int, int]) -> Move:
    axis, quarters = turn
    return Move("URF"[axis], quarters)


def fastest_by_trying(cube: PocketCube, model: CostModel) -> int:
    """The least cost over all sequences of up to ``LONGEST`` turns; longer ones cost more."""
    best = 10**9
    far = np.int64(10**9)
    stack = []
    for turn in TURNS:
        times = model.first[composite_index(*turn, 0)].astype(np.int64)
        stack.append((cube.move(move(turn)), turn, times, 1))
    while stack:
        at, turn, times, count = stack.pop()
        if at.is_solved:
            best = min(best, int((times + model.turns.final[turn[0]]).min()))
        if count == LONGEST:
            continue
        for following in TURNS:
            if following[0] == turn[0]:
                continue
            ways = model.turns.next[turn[0], composite_index(*following, 0)].astype(np.int64)
            ways[ways == IMPOSSIBLE] = far
            onward = (times[:, None] + ways).min(axis=0)
            stack.append((at.move(move(following)), following, onward, count + 1))
    return best


@pytest.mark.parametrize(("seed", "scramble"), [(1, "R"), (2, "U F'"), (3, "F2 R")])
def test_nothing_is_faster(seed, scramble, solves):
    cube, model = PocketCube.from_moves(scramble), mechanism(seed)
    solution = solve(cube, algorithm="exact", cost=model, time_limit=20)
    assert solution.extra["proven"]
    assert solves(cube.facelets(), " ".join(solution.moves), 2)
    tried = fastest_by_trying(cube, model)
    assert tried < 4 * (LONGEST + 1), "longer sequences could be faster: widen the trial"
    assert solution.cost_us == tried


def cost_of(model: CostModel, composites: tuple[int, ...]) -> int:
    """What the composites cost, state by state."""
    times = model.first[composites[0]].astype(np.int64)
    for last, number in pairwise(composites):
        ways = model.turns.next[last // 15, number].astype(np.int64)
        times = (times[:, None] + np.where(ways == IMPOSSIBLE, 10**9, ways)).min(axis=0)
    return int((times + model.turns.final[composites[-1] // 15]).min())


def test_random_cubes_cost_what_is_claimed(rng, solves):
    model = mechanism(5)
    for _ in range(3):
        cube = PocketCube.random(rng)
        solution = solve(cube, algorithm="exact", cost=model, time_limit=20)
        assert solves(cube.facelets(), " ".join(solution.moves), 2)
        assert solution.composites is not None
        assert cost_of(model, solution.composites) == solution.cost_us


def test_a_solved_cube_costs_nothing():
    solution = solve(PocketCube.solved(), algorithm="exact", cost=mechanism(1))
    assert (solution.moves, solution.cost_us) == ((), 0)


def test_the_costs_of_a_bigger_cube_are_refused():
    model = mechanism(1)
    first = model.first.copy()
    first[composite_index(0, 0, 1)] = 5
    bigger = CostModel(first, replace(model.turns, name="bigger"))
    with pytest.raises(SearchError, match="those of a 3x3x3"):
        solve(PocketCube.from_moves("R"), algorithm="exact", cost=bigger)
