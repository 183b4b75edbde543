"""The two-phase search: right answers in every metric, bounds that hold, and stopping."""

from __future__ import annotations

import threading
import time
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver import _native, two_phase
from solver.cost import COMPOSITES, moves_of
from solver.cube.cube import Cube
from solver.cube.notation import METRICS, length, parse_moves
from solver.errors import InvalidRequest, SearchError
from solver.search import algorithm_for, solve, solve_many
from solver.solution import CancelFlag, Request, Solution

SHORT = 0.02
LONG = 100.0

TURNS = [face + suffix for face in "URFDLB" for suffix in ("", "2", "'")]
scrambles = st.lists(st.sampled_from(TURNS), max_size=30)


@pytest.mark.parametrize("metric", METRICS)
def test_random_cubes_are_solved(metric, rng, solves) -> None:
    for cube in (Cube.solved(), *(Cube.random(rng) for _ in range(8))):
        solution = solve(cube, metric=metric, time_limit=SHORT)
        assert solves(cube.facelets(), " ".join(solution.moves), 3)
        assert solution.length == length(parse_moves(" ".join(solution.moves)), metric)
        assert solution.lower_bound <= solution.length
        assert solution.state == cube.facelets()
        assert solution.optimal if cube.is_solved else solution.length


@settings(max_examples=40)
@given(scrambles, st.sampled_from(METRICS))
def test_scrambles_are_solved_no_longer_than_they_are(replay, solves, scramble, metric) -> None:
    stickers = Cube.solved().facelets()
    for move in scramble:
        stickers = replay(stickers, move, 3)
    cube = Cube.from_facelets(stickers)
    solution = solve(cube, metric=metric, time_limit=SHORT)
    assert solves(stickers, " ".join(solution.moves), 3)
    scramble_length = length(parse_moves(" ".join(scramble)), metric)
    if scramble_length <= 6:
        assert solution.length <= scramble_length
    if solution.optimal:
        assert solution.length <= scramble_length
    assert solution.lower_bound <= scramble_length


@pytest.mark.long
def test_superflip(solves) -> None:
    superflip = Cube.from_moves("U R2 F B R B2 R U2 L B2 R U' D' R2 F R' L B2 U2 F2")
    solution = solve(superflip, target=20, time_limit=LONG)
    assert solution.length == 20
    assert solves(superflip.facelets(), " ".join(solution.moves), 3)


def test_several_distinct_solutions(solves, rng) -> None:
    cube = Cube.random(rng)
    found = solve_many(cube, Request(solutions=5, time_limit=0.05))
    assert len({solution.moves for solution in found}) == 5
    assert [s.length for s in found] == sorted(s.length for s in found)
    assert all(solves(cube.facelets(), " ".join(solution.moves), 3) for solution in found)


def test_on_better_hears_every_improvement_and_may_end_the_search(rng) -> None:
    heard: list[Solution] = []
    best = solve(Cube.random(rng), time_limit=0.1, on_better=heard.append)
    lengths = [solution.length for solution in heard]
    assert lengths == sorted(set(lengths), reverse=True)
    assert heard[-1].moves == best.moves

    def fail(_: Solution) -> None:
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        solve(Cube.random(rng), time_limit=LONG, on_better=fail)


def test_cancel_from_another_thread(rng) -> None:
    cancel, better = CancelFlag(), threading.Event()
    stopper = threading.Thread(target=lambda: better.wait(60) and cancel.set())
    stopper.start()
    cube = Cube.random(rng)
    found = solve(cube, time_limit=LONG, cancel=cancel, on_better=lambda _: better.set())
    stopper.join()
    assert found.length > 0


def test_the_deadline_is_processor_time(rng) -> None:
    for limit in (0.02, 0.1):
        solution = solve(Cube.random(rng), time_limit=limit)
        assert solution.cpu_s <= 1.1 * limit


def test_a_search_without_the_processor_is_cut_by_the_clock(rng) -> None:
    begun = time.monotonic()

    def idle(_: Solution) -> None:
        time.sleep(max(0.0, begun + 0.75 - time.monotonic()))

    cut = solve(Cube.random(rng), time_limit=0.05, on_better=idle)
    assert cut.cut_by_clock
    assert cut.cpu_s < 0.05
    assert not solve(Cube.random(rng), target=22, time_limit=LONG).cut_by_clock


def test_a_failed_search_reports_whether_the_clock_cut_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cancel = CancelFlag()
    cancel.set()
    with pytest.raises(SearchError) as ended:
        solve(Cube.random(np.random.default_rng(20)), cancel=cancel)
    assert not ended.value.cut_by_clock and ended.value.cpu_s >= 0
    cuts = iter([4, 5])
    monkeypatch.setattr("solver._native.clock_cuts", lambda: next(cuts))
    with pytest.raises(SearchError) as ended:
        solve(Cube.random(np.random.default_rng(20)), cancel=cancel)
    assert ended.value.cut_by_clock


def test_refused_requests_name_alternatives() -> None:
    with pytest.raises(InvalidRequest, match="two-phase"):
        solve(Cube.solved(), algorithm="three-phase")
    with pytest.raises(InvalidRequest, match="htm, qtm"):
        solve(Cube.solved(), metric="stm")
    with pytest.raises(InvalidRequest, match="size 4; these do: reduction, heuristic-db"):
        algorithm_for("two-phase", 4, metric="htm", timed=False)


# ---- bounds -------------------------------------------------------------------------------------


COMPOSITE_CUBES = [Cube.from_moves(" ".join(moves_of([number]))) for number in range(COMPOSITES)]


def composite_lengths(metric: str) -> list[int]:
    """Return how many turns each composite counts."""
    return [length(parse_moves(" ".join(moves_of([n]))), metric) for n in range(COMPOSITES)]


def in_phase2(cube: Cube) -> bool:
    """Return whether cubies are oriented, with the middle edges in the middle."""
    return not cube.states[:, 1].any() and set(cube.states[12:16, 0]) == {12 - 8, 5, 6, 7}


def phase1_key(cube: Cube) -> bytes:
    middle = (cube.states[8:, 0] >= 4) & (cube.states[8:, 0] < 8)
    return cube.states[:, 1].tobytes() + middle.tobytes()


@pytest.mark.parametrize(
    ("metric", "depth"), [("htm", 3), ("qtm", 4), ("axial", 2), ("axial-qtm", 3)]
)
def test_phase1_distances_are_exact_near_the_goal(metric, depth) -> None:
    """Breadth-first over cosets, by the Python cube alone."""
    kernel = two_phase.kernel(metric)
    lengths = zip(COMPOSITE_CUBES, composite_lengths(metric), strict=True)
    turns = [turn for turn, counted in lengths if counted == 1]
    known = {phase1_key(Cube.solved()): 0}
    frontier = [Cube.solved()]
    for distance in range(1, depth + 1):
        reached = []
        for cube in frontier:
            for turn in turns:
                after = cube * turn
                if known.setdefault(phase1_key(after), distance) == distance:
                    reached.append(after)
        frontier = list({phase1_key(cube): cube for cube in reached}.values())
        assert all(kernel.phase1_distance(cube.states) == distance for cube in frontier)


@pytest.mark.parametrize("metric", METRICS)
def test_phase2_bounds_hold(metric, rng) -> None:
    kernel, lengths = two_phase.kernel(metric), composite_lengths(metric)
    allowed = [n for n in range(COMPOSITES) if in_phase2(COMPOSITE_CUBES[n])]
    assert len(allowed) == 15 + 3 + 3
    for _ in range(200):
        walk = rng.choice(allowed, size=rng.integers(0, 9)).tolist()
        cube = prod((COMPOSITE_CUBES[n] for n in walk), start=Cube.solved())
        bound = kernel.phase2_bound(cube.states)
        assert bound <= sum(lengths[n] for n in walk)
        assert (bound == 0) == cube.is_solved
        number = int(rng.choice(allowed))
        near = kernel.phase2_bound((cube * COMPOSITE_CUBES[number]).states)
        assert abs(near - bound) <= lengths[number]


@pytest.mark.parametrize(
    ("metric", "most"), [("htm", 64e6), ("qtm", 64e6), ("axial", 128e6), ("axial-qtm", 128e6)]
)
def test_tables_fit_a_small_computer(metric, most) -> None:
    assert _native.phase1_size(metric) + _native.phase2_size(metric) <= most
