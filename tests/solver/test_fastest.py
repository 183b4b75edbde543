"""The fastest solution on a robot, with proof: against brute force, and what may end the search."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from solver.cost import moves_of
from solver.cube.cube import Cube
from solver.search import solve
from solver.solution import CancelFlag, Progress
from tests.rig.timed_turns import cheapest_within, cost_of, random_model, six_motors

ALIKE = {"least": 500, "most": 600, "blocked": 0.0}
"""One composite more always takes longer than what costs differ by."""


@settings(max_examples=12)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 3, 17]),
    st.integers(1, 2),
    st.lists(st.integers(0, 44), min_size=1, max_size=2),
)
def test_nothing_is_faster(seed, states, threads, scramble) -> None:
    model = random_model(seed, states, **ALIKE)
    cube = Cube.from_moves(" ".join(moves_of(scramble)))
    found = solve(cube, algorithm="optimal", cost=model, time_limit=60, threads=threads)
    assert cube.apply(" ".join(found.moves)).is_solved
    assert found.extra["proven"]
    assert found.cost_us == cost_of(model, found.composites)
    assert found.cost_us == found.extra["lower_bound_us"]
    assert found.cost_us == cheapest_within(model, cube, 2)


def test_time_runs_out_with_the_best_so_far_and_a_bound(rng, solves) -> None:
    cube = Cube.random(rng)
    found = solve(cube, algorithm="optimal", cost=six_motors(), time_limit=0.4)
    assert solves(cube.facelets(), " ".join(found.moves), 3)
    assert not found.extra["proven"]
    assert 0 < found.extra["lower_bound_us"] < found.cost_us
    assert found.cpu_s < 2


def test_it_stops_when_cancelled(rng) -> None:
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
    assert heard[0].startswith("a solution takes 0.3")


def test_a_solved_cube_needs_nothing() -> None:
    found = solve(Cube.solved(), algorithm="optimal", cost=six_motors())
    assert (found.moves, found.cost_us, found.extra["proven"]) == ((), 0, True)
