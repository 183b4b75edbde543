"""Optimal solutions and their bounds, against every cube up to three turns from solved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from solver import _native, optimal, tables
from solver.cube import Cube, face_turn
from solver.errors import BadNotation, SearchFailed
from solver.search import solve, solve_many
from solver.solution import CancelFlag, Request
from solver.turns import moves_of

METRICS = ("htm", "qtm")


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Iterator[None]:
    """Small tables of both metrics in a cache of their own."""
    patch = pytest.MonkeyPatch()
    patch.setenv("CUBIST_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()
    optimal.forget()


def neighbours(metric: str) -> list[Cube]:
    quarters = (1, 2, 3) if metric == "htm" else (1, 3)
    return [face_turn(face, turned) for face in "URFDLB" for turned in quarters]


@pytest.fixture(scope="module")
def spheres() -> dict[str, list[list[Cube]]]:
    """By metric all cubes at each distance, found breadth-first."""
    return {metric: breadth_first(neighbours(metric), 3) for metric in METRICS}


def breadth_first(turns: list[Cube], depth: int) -> list[list[Cube]]:
    levels, seen = [[Cube.solved()]], {Cube.solved()}
    for _ in range(depth):
        found = {cube * turn for cube in levels[-1] for turn in turns} - seen
        seen |= found
        levels.append(sorted(found, key=lambda cube: cube.states.tobytes()))
    return levels


@pytest.mark.parametrize("metric", METRICS)
def test_the_bound_never_exceeds_the_distance(cache, spheres, metric):
    table = optimal.kernel(Request(metric=metric))
    for distance, cubes in enumerate(spheres[metric]):
        assert max(table.bound(metric, cube.states) for cube in cubes) <= distance


@pytest.mark.parametrize("metric", METRICS)
def test_the_bound_never_exceeds_the_length_of_a_scramble(cache, metric, rng):
    table = optimal.kernel(Request(metric=metric))
    around = neighbours(metric)
    for _ in range(40):
        cube = Cube.solved()
        for turns, number in enumerate(rng.integers(0, len(around), 16), 1):
            cube = cube * around[number]
            assert table.bound(metric, cube.states) <= turns
            assert table.bound(metric, cube.inverse.states) <= turns


@pytest.mark.parametrize("metric", METRICS)
def test_the_bound_changes_by_at_most_two_from_cube_to_cube(cache, metric, rng):
    """One for the table, one more when all three views agree."""
    table = optimal.kernel(Request(metric=metric))
    for _ in range(30):
        cube = Cube.random(rng)
        here = table.bound(metric, cube.states)
        for turn in neighbours(metric):
            assert abs(table.bound(metric, (cube * turn).states) - here) <= 2


@pytest.mark.parametrize("metric", METRICS)
def test_solutions_are_as_short_as_the_exhaustive_search_says(cache, spheres, metric, rng, solves):
    for distance, cubes in enumerate(spheres[metric]):
        for number in rng.integers(0, len(cubes), 15):
            cube = cubes[number]
            solution = solve(cube, algorithm="optimal", metric=metric, time_limit=30)
            assert solution.length == distance == solution.lower_bound
            assert solution.optimal
            assert solves(cube.facelets(), " ".join(solution.moves), 3)


@pytest.mark.parametrize(("metric", "turns"), [("htm", 11), ("qtm", 12)])
def test_no_scramble_is_shorter_than_its_solution(cache, metric, turns, rng, solves):
    around = neighbours(metric)
    for _ in range(5):
        cube = Cube.solved()
        for number in rng.integers(0, len(around), turns):
            cube = cube * around[number]
        solution = solve(cube, algorithm="optimal", metric=metric, time_limit=30)
        assert solution.optimal
        assert solution.length <= turns
        assert solves(cube.facelets(), " ".join(solution.moves), 3)


def scrambles(rng: np.random.Generator, turns: int, count: int) -> list[Cube]:
    around = neighbours("htm")
    found = [Cube.solved()] * count
    for _ in range(turns):
        found = [cube * around[rng.integers(len(around))] for cube in found]
    return found


def check_finer_table(finer: _native.OptimalTable, coarser: _native.OptimalTable, rng) -> None:
    """It never claims too much, never says less than the coarser one, and leads to the same end."""
    for turns in (1, 4, 8, 12, 15):
        for cube in scrambles(rng, turns, 20):
            least = coarser.bound("htm", cube.states)
            assert least <= finer.bound("htm", cube.states) <= turns
    options = _native.OptimalOptions(0, 20, 600.0, 2, None)
    for cube in scrambles(rng, 12, 4):
        found = [t.solve("htm", cube.states, options, None) for t in (finer, coarser)]
        lengths = {len(report.turns) for report in found if report.turns is not None}
        assert len(lengths) == 1
        turned = moves_of(found[0].turns or ())
        assert cube.apply(turned).is_solved


def test_a_table_that_tells_orders_apart_agrees(cache, rng):
    """As the large table does, with two kinds of orders instead of 24, in huge pages as there."""
    data = np.empty(_native.optimal_size(2), dtype=np.uint8)
    assert _native.make_optimal("htm", 2, data, 2, lambda _: True)
    finer = _native.OptimalTable(2, tables.in_huge_pages(data))
    check_finer_table(finer, optimal.kernel(Request()), rng)


@pytest.mark.long
def test_the_large_table_agrees(cache, rng):
    large = optimal.kernel(Request(tables="large"))
    check_finer_table(large, optimal.kernel(Request()), rng)
    random = [Cube.random(rng) for _ in range(200)]
    bounds = [(large.bound("htm", c.states), c) for c in random]
    assert np.mean([bound for bound, _ in bounds]) > 10.5
    for bound, cube in bounds:
        short = solve(cube, time_limit=0.1)
        assert bound <= short.length


def test_two_threads_prove_the_same(cache):
    cube = Cube.from_moves("R U2 F' L D' B2 R' U F2 D L2 B' U2")
    found = [solve(cube, algorithm="optimal", time_limit=30, threads=n) for n in (1, 2)]
    assert found[0].optimal
    assert found[0].length == found[1].length <= 13


def test_progress_tells_depth_and_nodes(cache, rng, monkeypatch):
    def nothing_found(cube, request):
        raise SearchFailed("not in this test")

    monkeypatch.setattr(optimal.two_phase, "search", nothing_found)
    heard = []
    cube = Cube.random(rng)
    request = Request(algorithm="optimal", metric="htm", time_limit=1.0, progress=heard.append)
    try:
        solution = solve_many(cube, request)[0]
        assert not solution.optimal or solution.length <= 17
        assert solution.lower_bound >= 13
    except SearchFailed as error:
        assert "fewer than" in str(error)
    depths = [report.depth for report in heard if report.depth is not None]
    assert depths == sorted(depths)
    assert heard[-1].nodes > 0


def test_a_cancelled_search_ends_without_claiming_a_proof(cache, rng):
    cancel = CancelFlag()
    cancel.set()
    request = Request(algorithm="optimal", time_limit=100.0, cancel=cancel)
    with pytest.raises(SearchFailed):
        solve_many(Cube.random(rng), request)


def test_making_a_table_can_be_stopped_and_begun_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path))
    optimal.forget()
    cancel = CancelFlag()

    def stop(report):
        if report.done is not None and report.done > 0:
            cancel.set()

    request = Request(algorithm="optimal", cancel=cancel, progress=stop)
    with pytest.raises(SearchFailed, match="was stopped"):
        optimal.kernel(request)
    assert list(tmp_path.iterdir()) == []


def test_tables_of_other_orders_than_groups_are_refused():
    with pytest.raises(ValueError, match="1, 2, 6 or 24"):
        _native.OptimalTable(5, np.zeros(_native.optimal_size(5), dtype=np.uint8))
    with pytest.raises(ValueError, match="wrong size"):
        _native.OptimalTable(1, np.zeros(100, dtype=np.uint8))


def test_an_unknown_choice_of_tables_is_refused():
    with pytest.raises(BadNotation, match="default or large"):
        optimal.kernel(Request(tables="huge"))
