"""2x2x2: the textbook searches against the complete tables, those against known counts."""

from __future__ import annotations

import pytest

from solver import pocket as pocket_search
from solver.cube.notation import length, parse_moves
from solver.cube.pocket import PocketCube, from_relative_to_dlb, relative_to_dlb
from solver.errors import BadNotation, InvalidRequest
from solver.search import solve

COUNTS = {
    "htm": [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644],
    "qtm": [
        *(1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588),
        *(1350852, 782536, 90280, 276),
    ],
}
TEXTBOOK = ("bfs", "bfs-pruned", "ida-star")


@pytest.mark.parametrize("metric", ["htm", "qtm"])
def test_the_tables_have_as_many_positions_at_each_distance_as_is_known(metric):
    table = pocket_search.distances(metric)
    assert table.counts() == COUNTS[metric]
    assert table.bytes == 3674160


@pytest.mark.parametrize("metric", ["htm", "qtm"])
def test_exact_solutions_are_as_short_as_the_table_says_and_solve(metric, rng, solves):
    table = pocket_search.distances(metric)
    for _ in range(100):
        cube = PocketCube.random(rng).apply("x y'")
        solution = solve(cube, algorithm="exact", metric=metric)
        assert solution.length == table.distance(cube.relative.states)
        assert solution.optimal
        assert solution.lower_bound == solution.length
        assert solves(cube.facelets(), " ".join(solution.moves), 2)


@pytest.mark.parametrize("metric", ["htm", "qtm"])
@pytest.mark.parametrize("algorithm", TEXTBOOK)
def test_textbook_searches_find_shortest_solutions(algorithm, metric, rng, solves):
    table = pocket_search.distances(metric)
    for turns in (*range(6), 14):
        moves = " ".join(rng.choice(["U", "R2", "F'", "L", "D'", "B"], turns))
        cube = PocketCube.from_moves(moves)
        solution = solve(cube, algorithm=algorithm, metric=metric)
        assert solution.length == table.distance(cube.relative.states)
        assert solution.length == length(parse_moves(" ".join(solution.moves)), metric, 2)
        assert solves(cube.facelets(), " ".join(solution.moves), 2)


def test_pruning_saves_positions_and_ida_star_saves_memory():
    cube = PocketCube.from_moves("R U' F2 R' U F R2 U' F")
    found = {name: solve(cube, algorithm=name).extra for name in TEXTBOOK}
    assert found["bfs"]["nodes"] > found["bfs-pruned"]["nodes"] > 0
    assert found["bfs"]["memory_bytes"] > 100 * found["ida-star"]["memory_bytes"] > 0


def test_the_published_example_has_seven_moves():
    """Three times R U R' U' in the numbering of the write-up."""
    cube = from_relative_to_dlb([1, 0, 2, 5, 4, 3, 6], [2, 1, 0, 0, 0, 0, 0])
    assert cube == PocketCube.from_moves("R U R' U' R U R' U' R U R' U'")
    for algorithm in (*TEXTBOOK, "exact"):
        assert solve(cube, algorithm=algorithm).length == 7
    assert cube.apply("F R' U2 R2 F2 R' F'").is_solved


PLACED = {"U": (0, 1, 2, 3), "F": (2, 3, 4, 5), "R": (3, 1, 5, 6)}


@pytest.mark.parametrize(("name", "places"), PLACED.items())
def test_turns_move_the_seven_places_as_published(name, places):
    cp, co = list(range(7)), [0] * 7
    for i, j in enumerate((2, 0, 3, 1)):
        cp[places[i]] = places[j]
    if name != "U":
        for place, added in zip(places, (2, 1, 1, 2), strict=True):
            co[place] = added
    assert relative_to_dlb(PocketCube.from_moves(name)) == (cp, co)


def test_the_seven_corners_survive_both_ways(rng):
    for _ in range(50):
        cube = PocketCube.random(rng)
        assert from_relative_to_dlb(*relative_to_dlb(cube)) == cube


def test_what_is_no_numbering_is_refused():
    with pytest.raises(BadNotation):
        from_relative_to_dlb([0, 1, 2], [0, 0, 0])
    with pytest.raises(BadNotation):
        from_relative_to_dlb([0, 1, 2, 3, 4, 5, 5], [0] * 7)


def test_other_sizes_are_refused_by_name():
    with pytest.raises(InvalidRequest, match="size 2"):
        solve(PocketCube.solved(), algorithm="thistlethwaite")
