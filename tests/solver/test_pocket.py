"""2x2x2: textbook searches against complete tables, those against published counts, and times.

The fastest solutions on made-up mechanisms are compared with every sequence of a few turns.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from solver import pocket
from solver.cost import COMPOSITES, IMPOSSIBLE, CostModel, TurnCosts, composite_index
from solver.cube.notation import Move, length, parse_moves
from solver.cube.pocket import PocketCube, from_relative_to_dlb, relative_to_dlb
from solver.errors import BadNotation, InvalidRequest, SearchError
from solver.search import solve
from tests.rig.timed_turns import cost_of

COUNTS = {
    "htm": [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644],
    "qtm": [
        *(1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588),
        *(1350852, 782536, 90280, 276),
    ],
}
METRICS = ("htm", "qtm")
TEXTBOOK = ("bfs", "bfs-pruned", "ida-star")


@pytest.mark.parametrize("metric", METRICS)
def test_tables_count_as_many_positions_at_each_distance_as_published(metric):
    table = pocket.distances(metric)
    assert table.counts() == COUNTS[metric]
    assert table.bytes == 3674160


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("algorithm", ["exact", *TEXTBOOK])
def test_solutions_are_as_short_as_the_table_says(algorithm, metric, rng, solves):
    table = pocket.distances(metric)
    cubes = [
        PocketCube.from_moves(" ".join(rng.choice(["U", "R2", "F'", "L", "D'", "B"], turns)))
        for turns in (*range(6), 14)
    ]
    if algorithm == "exact":
        cubes += [PocketCube.random(rng).apply("x y'") for _ in range(60)]
    for cube in cubes:
        solution = solve(cube, algorithm=algorithm, metric=metric)
        assert solution.length == table.distance(cube.relative.states) == solution.lower_bound
        assert solution.length == length(parse_moves(" ".join(solution.moves)), metric, 2)
        assert solves(cube.facelets(), " ".join(solution.moves), 2)


def test_pruning_saves_positions_and_ida_star_saves_memory():
    cube = PocketCube.from_moves("R U' F2 R' U F R2 U' F")
    found = {name: solve(cube, algorithm=name).extra for name in TEXTBOOK}
    assert found["bfs"]["nodes"] > found["bfs-pruned"]["nodes"] > 0
    assert found["bfs"]["memory_bytes"] > 100 * found["ida-star"]["memory_bytes"] > 0


# ---- the numbering of seven corners -------------------------------------------------------------


def test_the_published_example_has_seven_moves():
    """Three times R U R' U' in the numbering of the write-up."""
    cube = from_relative_to_dlb([1, 0, 2, 5, 4, 3, 6], [2, 1, 0, 0, 0, 0, 0])
    assert cube == PocketCube.from_moves("R U R' U' R U R' U' R U R' U'")
    for algorithm in (*TEXTBOOK, "exact"):
        assert solve(cube, algorithm=algorithm).length == 7
    assert cube.apply("F R' U2 R2 F2 R' F'").is_solved


@pytest.mark.parametrize(
    ("name", "places"), {"U": (0, 1, 2, 3), "F": (2, 3, 4, 5), "R": (3, 1, 5, 6)}.items()
)
def test_turns_move_the_seven_places_as_published(name, places):
    cp, co = list(range(7)), [0] * 7
    for i, j in enumerate((2, 0, 3, 1)):
        cp[places[i]] = places[j]
    if name != "U":
        for place, added in zip(places, (2, 1, 1, 2), strict=True):
            co[place] = added
    assert relative_to_dlb(PocketCube.from_moves(name)) == (cp, co)


def test_seven_corners_survive_both_ways_and_other_numberings_are_refused(rng):
    for _ in range(50):
        cube = PocketCube.random(rng)
        assert from_relative_to_dlb(*relative_to_dlb(cube)) == cube
    for corners, twists in (([0, 1, 2], [0, 0, 0]), ([0, 1, 2, 3, 4, 5, 5], [0] * 7)):
        with pytest.raises(BadNotation):
            from_relative_to_dlb(corners, twists)
    with pytest.raises(InvalidRequest, match="size 2"):
        solve(PocketCube.solved(), algorithm="thistlethwaite")


# ---- the fastest on a robot ---------------------------------------------------------------------

TURNS = [(axis, quarters) for axis in range(3) for quarters in (1, 2, 3)]
STATES = 3
LONGEST = 4


@cache
def turn_costs() -> TurnCosts:
    """Return costs of 4 to 7 a turn, with some turns impossible and time owed at the end."""
    rng = np.random.default_rng(5)
    onward = np.full((3, COMPOSITES, STATES, STATES), IMPOSSIBLE, dtype=np.uint32)
    for axis, quarters in TURNS:
        for last in {0, 1, 2} - {axis}:
            costs = rng.integers(4, 8, (STATES, STATES)).astype(np.uint32)
            costs[rng.random((STATES, STATES)) < 0.3] = IMPOSSIBLE
            costs[:, 0] = 7
            onward[last, composite_index(axis, quarters, 0)] = costs
    final = rng.integers(0, 3, (3, STATES)).astype(np.uint32)
    return TurnCosts("made up", onward, final)


def mechanism(seed: int) -> CostModel:
    """Return a robot with random costs of the first turn; all share the table of its turns."""
    rng = np.random.default_rng(seed)
    first = np.full((COMPOSITES, STATES), IMPOSSIBLE, dtype=np.uint32)
    for axis, quarters in TURNS:
        first[composite_index(axis, quarters, 0)] = rng.integers(4, 8, STATES)
    return CostModel(first, turn_costs())


def cheapest_by_trying(cube: PocketCube, model: CostModel) -> int:
    """Return the least cost over all sequences of up to ``LONGEST`` turns."""
    best = 10**9
    stack: list[tuple[PocketCube, tuple[tuple[int, int], ...]]] = [(cube, ())]
    while stack:
        at, turned = stack.pop()
        if at.is_solved:
            best = min(best, cost_of(model, tuple(composite_index(*turn, 0) for turn in turned)))
        if len(turned) < LONGEST:
            for axis, quarters in TURNS:
                if not turned or turned[-1][0] != axis:
                    after = at.move(Move("URF"[axis], quarters))
                    stack.append((after, (*turned, (axis, quarters))))
    return best


@pytest.mark.parametrize(("seed", "scramble"), [(1, "R"), (2, "U F'"), (3, "F2 R")])
def test_nothing_is_faster(seed, scramble, solves):
    cube, model = PocketCube.from_moves(scramble), mechanism(seed)
    solution = solve(cube, algorithm="exact", cost=model, time_limit=20)
    assert solution.extra["proven"]
    assert solves(cube.facelets(), " ".join(solution.moves), 2)
    tried = cheapest_by_trying(cube, model)
    assert tried < 4 * (LONGEST + 1), "longer sequences could be faster: widen the trial"
    assert solution.cost_us == tried


def test_solutions_cost_what_is_claimed(rng, solves):
    model = mechanism(5)
    for cube in (PocketCube.solved(), PocketCube.random(rng), PocketCube.random(rng)):
        solution = solve(cube, algorithm="exact", cost=model, time_limit=20)
        assert solves(cube.facelets(), " ".join(solution.moves), 2)
        assert cost_of(model, solution.composites or ()) == solution.cost_us


def test_costs_of_a_bigger_cube_are_refused():
    model = mechanism(1)
    first = model.first.copy()
    first[composite_index(0, 0, 1)] = 5
    bigger = CostModel(first, replace(model.turns, name="bigger"))
    with pytest.raises(SearchError, match="those of a 3x3x3"):
        solve(PocketCube.from_moves("R"), algorithm="exact", cost=bigger)
