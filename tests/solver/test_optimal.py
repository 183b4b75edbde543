"""Optimal solutions and their bounds, against every cube up to three turns from solved."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from solver import _native, optimal, tables
from solver.cube.cube import Cube, face_turn
from solver.cube.notation import moves_of
from solver.errors import BadNotation, SearchError
from solver.search import solve, solve_many
from solver.solution import CancelFlag, Request

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


def scramble(metric: str, rng: np.random.Generator, turns: int) -> Cube:
    """The cube after that many random turns."""
    around = neighbours(metric)
    cube = Cube.solved()
    for number in rng.integers(0, len(around), turns):
        cube = cube * around[number]
    return cube


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
def test_solutions_are_as_short_as_the_exhaustive_search_says(cache, spheres, metric, rng, solves):
    for distance, cubes in enumerate(spheres[metric]):
        for number in rng.integers(0, len(cubes), 15):
            cube = cubes[number]
            solution = solve(cube, algorithm="optimal", metric=metric, time_limit=30)
            assert solution.length == distance == solution.lower_bound
            assert solution.optimal
            assert solves(cube.facelets(), " ".join(solution.moves), 3)


def check_finer_table(finer: _native.OptimalTable, coarser: _native.OptimalTable, rng) -> None:
    """It never claims too much, never says less than the coarser one, and leads to the same end."""
    for turns in (1, 4, 8, 12, 15):
        for cube in (scramble("htm", rng, turns) for _ in range(20)):
            least = coarser.bound("htm", cube.states)
            assert least <= finer.bound("htm", cube.states) <= turns
    options = _native.OptimalOptions(0, 20, 600.0, 2, None)
    for cube in (scramble("htm", rng, 12) for _ in range(4)):
        found = [t.solve("htm", cube.states, options, None) for t in (finer, coarser)]
        lengths = {len(report.turns) for report in found if report.turns is not None}
        assert len(lengths) == 1
        turned = moves_of(found[0].turns or ())
        assert cube.apply(turned).is_solved


def made(metric: str, kinds: int, far: int) -> tuple[_native.OptimalShape, tables.Bytes]:
    shape = _native.OptimalShape(kinds, far)
    data = np.empty(_native.optimal_size(shape), dtype=np.uint8)
    assert _native.make_optimal(metric, shape, data, 2, lambda _: True)
    return shape, data


def test_a_table_that_tells_orders_apart_agrees(cache, rng):
    """As the large table does, with two kinds of orders instead of 24, in huge pages as there."""
    shape, data = made("htm", 2, 0)
    finer = _native.OptimalTable(shape, tables.copy_to_huge_pages(data))
    check_finer_table(finer, optimal.kernel(Request()), rng)


CUT = {"htm": 10, "qtm": 11}
"""Where the default table would be cut off as the large one is."""


@pytest.fixture(scope="module")
def cut_off(cache) -> dict[str, _native.OptimalTable]:
    return {metric: _native.OptimalTable(*made(metric, 1, CUT[metric])) for metric in METRICS}


@pytest.mark.parametrize("metric", METRICS)
def test_a_table_that_is_cut_off_proves_the_same_in_fewer_positions(cache, cut_off, metric, rng):
    """Every length is refuted or found alike, on one thread and on two."""
    both = optimal.kernel(Request(metric=metric)), cut_off[metric]
    for turns in (1, 3, 6, 9, 12):
        cube = scramble(metric, rng, turns)
        for threads in (1, 2):
            options = _native.OptimalOptions(0, 20, 600.0, threads, None)
            reports = [table.solve(metric, cube.states, options, None) for table in both]
            lengths = {len(report.turns) for report in reports if report.turns is not None}
            assert len(lengths) == 1
            assert all(cube.apply(moves_of(report.turns or ())).is_solved for report in reports)
    options = _native.OptimalOptions(13, 13, 600.0, 1, None)
    cube = Cube.random(rng)
    whole, cut = (table.solve(metric, cube.states, options, None) for table in both)
    assert whole.turns is None
    assert cut.turns is None
    assert cut.nodes < whole.nodes


@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_that_is_stopped_claims_only_what_it_proved(cache, cut_off, threads, rng):
    options = _native.OptimalOptions(0, 20, 0.3, threads, None)
    for _ in range(3):
        report = cut_off["htm"].solve("htm", Cube.random(rng).states, options, None)
        assert report.turns is None
        assert 11 <= report.lower_bound <= 17
        assert report.nodes > 0


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


def test_two_phase_looks_on_while_what_it_found_is_unusually_long(cache, monkeypatch):
    monkeypatch.setattr(optimal, "EASY", {"htm": 3})
    monkeypatch.setattr(optimal, "USUAL", {"htm": 12})
    monkeypatch.setattr(optimal, "SHORT_SOLUTION_S", {"default": 1e-9})
    way_back = "B2 U' R L' F D2 R' U2 B L' F2 D"
    cube = Cube.from_moves("D' F2 L B' U2 R D2 F' L R' U B2")
    found, asked = [f"U D {way_back} U' D'", way_back], []

    def search(_, request):
        asked.append(request.time_limit)
        return [SimpleNamespace(moves=found.pop(0).split())]

    monkeypatch.setattr(optimal.two_phase, "search", search)
    solution = solve(cube, algorithm="optimal", time_limit=60)
    assert solution.optimal
    assert solution.length <= 12
    assert found == []
    assert asked[0] < asked[1]


def test_progress_tells_depth_and_nodes(cache, rng, monkeypatch):
    def nothing_found(cube, request):
        raise SearchError("not in this test")

    monkeypatch.setattr(optimal.two_phase, "search", nothing_found)
    heard = []
    cube = Cube.random(rng)
    request = Request(algorithm="optimal", metric="htm", time_limit=1.0, progress=heard.append)
    with pytest.raises(SearchError, match="fewer than"):
        solve_many(cube, request)
    deeper = [report for report in heard if report.depth is not None]
    depths = [report.depth for report in deeper]
    assert depths == sorted(depths)
    # All shorter ones have been searched through by then.
    for report in deeper:
        assert report.text.startswith(f"no solution of {report.depth - 1} turns or fewer")
    assert heard[-1].nodes > 0


def test_a_cancelled_search_ends_without_claiming_a_proof(cache, rng):
    cancel = CancelFlag()
    cancel.set()
    request = Request(algorithm="optimal", time_limit=100.0, cancel=cancel)
    with pytest.raises(SearchError):
        solve_many(Cube.random(rng), request)


def test_tables_of_other_orders_than_groups_are_refused():
    with pytest.raises(ValueError, match="1, 2, 6 or 24"):
        _native.OptimalTable(_native.OptimalShape(5, 0), np.zeros(100, dtype=np.uint8))
    with pytest.raises(ValueError, match="wrong size"):
        _native.OptimalTable(_native.OptimalShape(1, 0), np.zeros(100, dtype=np.uint8))


def test_an_unknown_choice_of_tables_is_refused():
    with pytest.raises(BadNotation, match="default or large"):
        optimal.kernel(Request(tables="huge"))
