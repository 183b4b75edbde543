"""2x2x2: textbook searches compared with complete tables, those with published counts, and times.

The fastest solutions on made-up mechanisms are compared with every sequence of a few turns. Those
of a table of steps are compared with Soltvvo's rules tried out sticker by sticker.
"""

import pytest

from robot.planner import build_mechanism, cost_model
from robot.settings import load_profile
from solver import pocket
from solver.cost import IMPOSSIBLE, moves_of
from solver.cube.metrics import length
from solver.cube.notation import parse_moves
from solver.cube.pocket import PocketCube, from_relative_to_dlb, relative_to_dlb
from solver.errors import BadNotation, SearchError
from solver.pocket import BySearch, ByTable, kernel
from solver.search import solve
from tests.rig.timed_turns import (
    THREE_FACES,
    cost_of,
    in_order_of_cost,
    of_three_faces,
    random_model,
)

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
        cubes += [PocketCube.random(rng).apply("x y'") for _ in range(30)]
    for cube in cubes:
        solution = solve(cube, algorithm=algorithm, metric=metric)
        assert solution.length == table.distance(cube.relative.states) == solution.lower_bound
        assert solution.length == length(parse_moves(" ".join(solution.moves)), metric, 2)
        assert solves(cube.facelets(), " ".join(solution.moves), 2)


# ---- the numbering of seven corners -------------------------------------------------------------


def test_the_published_example_has_seven_moves():
    """Check R U R' U' three times in the numbering of the write-up."""
    cube = from_relative_to_dlb([1, 0, 2, 5, 4, 3, 6], [2, 1, 0, 0, 0, 0, 0])
    assert cube == PocketCube.from_moves("R U R' U' R U R' U' R U R' U'")
    for algorithm in (*TEXTBOOK, "exact"):
        assert solve(cube, algorithm=algorithm).length == 7
    assert cube.apply("F R' U2 R2 F2 R' F'").is_solved


def test_seven_corners_survive_both_ways_and_other_numberings_are_refused(rng):
    for _ in range(20):
        cube = PocketCube.random(rng)
        assert from_relative_to_dlb(*relative_to_dlb(cube)) == cube
    for corners, twists in (([0, 1, 2], [0, 0, 0]), ([0, 1, 2, 3, 4, 5, 5], [0] * 7)):
        with pytest.raises(BadNotation):
            from_relative_to_dlb(corners, twists)


# ---- the fastest on a robot ---------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "scramble"), [(1, ""), (2, "R"), (3, "U F'")])
def test_nothing_is_faster(seed, scramble, solves):
    """Try all sequences on a made-up robot in the order of cost."""
    cube, model = PocketCube.from_moves(scramble), of_three_faces(random_model(seed, 3))

    def onward(here):
        at, axis, state = here
        if at.is_solved:
            yield 0 if axis is None else int(model.turns.final[axis, state]), (None, 0, 0)
        for number in THREE_FACES:
            costs = model.first[number] if axis is None else model.turns.next[axis, number, state]
            after = at.move(parse_moves(moves_of([number])[0])[0])
            for then, cost in enumerate(costs.tolist()):
                if cost != IMPOSSIBLE:
                    yield cost, (after, number // 15, then)

    every = in_order_of_cost((cube, None, 0), onward)
    fastest = next(cost for cost, (at, _, _) in every if at is None)
    solution = solve(cube, algorithm="exact", cost=model, time_limit=20)
    assert solution.extra["proven"]
    assert solves(cube.facelets(), " ".join(solution.moves), 2)
    assert solution.cost_us == fastest == cost_of(model, solution.composites or ())


def test_costs_of_a_bigger_cube_are_refused():
    with pytest.raises(SearchError, match="those of a 3x3x3"):
        solve(PocketCube.from_moves("R"), algorithm="exact", cost=random_model(1, 3))


# ---- the table of fastest steps ------------------------------------------------------------------


def test_table_and_search_agree(rng, monkeypatch):
    monkeypatch.setattr(pocket, "BALL_BYTES", 1_000_000)
    model = model_of("soltvvo")
    table, search = kernel(model.turns), BySearch(model.turns)
    assert isinstance(table, ByTable)
    assert pocket.steps_bytes(model_of("two-arm-2x2x2").turns) == 0, "it has too many states"
    for _ in range(3):
        states = PocketCube.random(rng).states
        found = table.fastest(states, model.first, 0.0, None)
        assert found.proven
        assert found.cost == search.fastest(states, model.first, 60.0, None).cost


def model_of(name):
    mechanism = build_mechanism(load_profile(name))
    return cost_model(mechanism, mechanism.start)
