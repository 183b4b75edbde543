"""Optimal solutions: the shortest against all cubes near solved, the fastest by brute force."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import _native, optimal
from solver.cost import moves_of as moves_of_composites
from solver.cube.cube import Cube, face_turn
from solver.cube.notation import moves_of
from solver.errors import BadNotation, SearchError
from solver.search import solve, solve_many
from solver.solution import CancelFlag, Progress, Request
from tests.rig.timed_turns import cheapest_within, cost_of, random_model, six_motors

METRICS = ("htm", "qtm")


def neighbours(metric: str) -> list[Cube]:
    quarters = (1, 2, 3) if metric == "htm" else (1, 3)
    return [face_turn(face, turned) for face in "URFDLB" for turned in quarters]


def scramble(metric: str, rng: np.random.Generator, turns: int) -> Cube:
    around = neighbours(metric)
    return prod((around[n] for n in rng.integers(0, len(around), turns)), start=Cube.solved())


def breadth_first(turns: list[Cube], depth: int) -> list[list[Cube]]:
    levels, seen = [[Cube.solved()]], {Cube.solved()}
    for _ in range(depth):
        found = {cube * turn for cube in levels[-1] for turn in turns} - seen
        seen |= found
        levels.append(sorted(found, key=lambda cube: cube.states.tobytes()))
    return levels


@pytest.mark.parametrize("metric", METRICS)
def test_solutions_are_as_short_as_the_exhaustive_search_says(metric, rng, solves):
    for distance, cubes in enumerate(breadth_first(neighbours(metric), 3)):
        for number in rng.integers(0, len(cubes), 5):
            cube = cubes[number]
            solution = solve(cube, algorithm="optimal", metric=metric, time_limit=30)
            assert solution.length == distance == solution.lower_bound
            assert solution.optimal
            assert solves(cube.facelets(), " ".join(solution.moves), 3)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_that_is_stopped_claims_only_what_it_proved(threads, rng):
    options = _native.OptimalOptions(0, 20, 0.3, threads, None)
    for _ in range(2):
        report = optimal.kernel(Request()).solve("htm", Cube.random(rng).states, options, None)
        assert report.turns is None
        assert 11 <= report.lower_bound <= 17
        assert report.nodes > 0


@pytest.mark.long
@pytest.mark.parametrize(("tables", "mean"), [("medium", 10.1), ("large", 10.5)])
def test_a_larger_table_agrees(rng, tables, mean):
    """Check that its bounds hold, reach the default's up to its cutoff, and prove the same."""
    larger, default = optimal.kernel(Request(tables=tables)), optimal.kernel(Request())
    options = _native.OptimalOptions(0, 20, 600.0, 2, None)
    for turns in (1, 4, 8, 12, 15):
        for cube in (scramble("htm", rng, turns) for _ in range(20)):
            least = min(optimal.FAR[tables]["htm"], default.bound("htm", cube.states))
            assert least <= larger.bound("htm", cube.states) <= turns
    for cube in (scramble("htm", rng, 12) for _ in range(4)):
        found = [
            table.solve("htm", cube.states, options, None).turns for table in (larger, default)
        ]
        assert len({len(turns) for turns in found if turns is not None}) == 1
        assert cube.apply(moves_of(found[0] or ())).is_solved
    random = [Cube.random(rng) for _ in range(200)]
    assert np.mean([larger.bound("htm", cube.states) for cube in random]) > mean


def test_a_cancelled_search_and_an_unknown_choice_of_tables_are_refused(rng):
    cancel = CancelFlag()
    cancel.set()
    with pytest.raises(SearchError):
        solve_many(Cube.random(rng), Request("optimal", time_limit=100.0, cancel=cancel))
    with pytest.raises(BadNotation, match="default or medium or large"):
        optimal.kernel(Request(tables="huge"))


# ---- the fastest on a robot ---------------------------------------------------------------------

ALIKE = {"least": 500, "most": 600, "blocked": 0.0}
"""Turn times that differ so little that one more composite always takes longer."""


@settings(max_examples=6)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 3, 17]),
    st.integers(1, 2),
    st.lists(st.integers(0, 44), max_size=2),
)
def test_nothing_is_faster(seed, states, threads, scramble):
    model = random_model(seed, states, **ALIKE)
    cube = Cube.from_moves(" ".join(moves_of_composites(scramble)))
    found = solve(cube, algorithm="optimal", cost=model, target=60, time_limit=60, threads=threads)
    assert cube.apply(" ".join(found.moves)).is_solved
    assert found.extra["proven"]
    assert found.cost_us == cost_of(model, found.composites)
    assert found.cost_us == found.extra["lower_bound_us"]
    assert found.cost_us == cheapest_within(model, cube, 2)


def test_a_search_out_of_time_returns_its_best_and_a_bound(rng, solves):
    cube = Cube.random(rng)
    found = solve(cube, algorithm="optimal", cost=six_motors(), time_limit=0.4)
    assert solves(cube.facelets(), " ".join(found.moves), 3)
    assert not found.extra["proven"]
    assert 0 < found.extra["lower_bound_us"] < found.cost_us
    assert found.cpu_s < 2


def test_a_search_in_time_of_a_robot_can_be_cancelled(rng):
    flag = CancelFlag()
    heard: list[str] = []

    def hear(progress: Progress) -> None:
        if not progress.making:
            heard.append(progress.text)
            flag.set()

    cube = Cube.random(rng)
    found = solve(
        cube, algorithm="optimal", cost=six_motors(), time_limit=1e6, cancel=flag, progress=hear
    )
    assert not found.extra["proven"]
    assert len(heard) == 1, heard
    assert re.match(r"a solution takes 0\.\d+ s", heard[0])
