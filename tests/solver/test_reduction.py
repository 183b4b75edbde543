"""Cubes of 4 and more layers, solved in phases and replayed on the independent model."""

from __future__ import annotations

import contextlib
import runpy
import threading
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from solver import tables
from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.metrics import length
from solver.cube.notation import Move, parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.errors import IllegalCube, InvalidRequest, SearchError
from solver.reduction import phased
from solver.reduction.last_phase import Fastest, Finish, Reduction, solve_reductions
from solver.reduction.search import LARGEST, geometry, reduced_cube
from solver.search import solve_many
from solver.solution import CancelFlag, Request, Solution
from tests.rig.stickers import solved_stickers
from tests.rig.timed_turns import six_motors
from tests.solver.test_kernel import ROOT

THREADS = 3


def request(**changes) -> Request:
    asked = {"algorithm": "reduction", "metric": "obtm", "time_limit": 0.05}
    return Request(**(asked | changes))


def random_stickers(size: int, rng: np.random.Generator, count: int, widest: int) -> np.ndarray:
    """Return the stickers after ``count`` random turns of blocks up to ``widest`` layers."""
    turns = rng.integers((0, 1, 1), (6, widest + 1, 4), (count, 3)).tolist()
    stickers = solved_stickers(size)
    geometry(size).turn(stickers, [(face, 1, width, q) for face, width, q in turns])
    return stickers


def cube_of(stickers: Iterable[int], size: int) -> StickerCube:
    return StickerCube.from_facelets("".join(FACES[one] for one in stickers), size)


def random_cube(size: int, rng: np.random.Generator) -> StickerCube:
    return cube_of(random_stickers(size, rng, 10 * size * size, size - 1), size)


def solved(cube: StickerCube, solves, **changes) -> Solution:
    """Return the solution, after checking all of its statements."""
    solution = solve_many(cube, request(**changes))[0]
    text = " ".join(solution.moves)
    assert solves(cube.facelets(), text, cube.size)
    assert solution.phases is not None
    assert tuple(move for phase in solution.phases for move in phase) == solution.moves
    assert solution.phase_names is not None
    assert len(solution.phase_names) == len(solution.phases)
    assert solution.length == length(parse_moves(text), solution.metric, cube.size)
    assert solution.lower_bound <= solution.length
    return solution


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_every_cube_is_solved(size, rng, solves):
    solved(random_cube(size, rng), solves, threads=THREADS)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("size", "count"),
    [(n, 1000) for n in (4, 5, 6, 7)]
    + [(n, 100) for n in (8, 9, 10, 11)]
    + [(17, 2), (LARGEST, 1)],
)
def test_many_cubes_of_each_size_are_solved(size, count, rng, solves):
    """Replay most on Cubist's own model, which other tests check: the independent one is slow."""
    for number in range(count):
        cube = random_cube(size, rng)
        if number < 20 and size < LARGEST:
            solved(cube, solves)
        else:
            moves = solve_many(cube, request())[0].moves  # more moves than one text may have
            assert cube.apply([parse_moves(move, size)[0] for move in moves]).is_solved


# ---- phases -------------------------------------------------------------------------------------


@pytest.mark.long
def test_exchanges_solve_what_phases_do_not(monkeypatch, rng, solves):
    monkeypatch.setattr("solver.reduction.phased.reductions", lambda *_: [])
    for size in (4, 5, 6, 7):
        assert solved(random_cube(size, rng), solves).phase_names[0] == "parity"


def reductions(size: int, stickers: np.ndarray, **changes):
    asked = {"time_limit": 5.0, "candidates": 60, "count": 25, "cancel": None, "times": None}
    return phased.load(size, Request()).reductions(stickers, **(asked | changes))


@pytest.mark.parametrize("size", [4, 5])
def test_reductions_are_different_and_the_shortest_come_first(size, rng):
    stickers = random_stickers(size, rng, 10 * size * size, size - 1)
    found = reductions(size, stickers, threads=THREADS)
    assert len({str(phases) for phases in found}) == len(found) == 25
    lengths = [sum(map(len, phases)) for phases in found]
    assert lengths == sorted(lengths)
    for phases in found:
        after = stickers.copy()
        for turns in phases:
            geometry(size).turn(after, turns)
        reduced_cube(after, size)  # raises IllegalCube if edges or parity are wrong


# ---- the example of docs/reduction.md: each phase reaches the group that the essay names --------


def test_phases_reach_the_groups_that_the_essay_names_and_its_example_is_up_to_date():
    essay = SimpleNamespace(**runpy.run_path(str(ROOT / "docs/draw_reduction.py")))
    assert [name for name, _ in essay.example()] == ["scramble", *phased.SIZES[5].names]
    for name, moves in essay.example():
        assert f"| {name} | {len(moves)} | `" in essay.PAGE.read_text()
    assert essay.PICTURE.read_text() == essay.draw(), "run `make picture`"
    cubes = [random_cube(5, np.random.default_rng(1))]
    solution = solve_many(cubes[0], Request("reduction", "obtm", time_limit=0.3))[0]
    for phase in solution.phases or ():
        cubes.append(cubes[-1].apply(" ".join(phase)))
    for _, centres, apart, _, four_edges, reduced, solved in (cubes, dict(essay.cubes()).values()):
        assert any(essay.has_its_centres(centres, axis) for axis in range(3))
        assert all(essay.has_its_centres(apart, axis) for axis in range(3))
        assert len(essay.whole_edges(four_edges)) >= 4
        assert len(essay.whole_edges(reduced)) == 12 and not reduced.is_solved
        assert all(essay.has_its_centres(reduced, axis, apart=True) for axis in range(3))
        assert solved.is_solved


# ---- few turns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 5, 6, 7, 9])
def test_a_cube_a_few_turns_from_solved_is_solved_by_as_few(size, rng, solves, monkeypatch):
    with monkeypatch.context() as without_tables:
        without_tables.setattr("solver.reduction.phased.load", None)
        without_tables.setattr("solver.two_phase.kernel", None)
        for scramble, turns in (("", 0), ("x", 0), ("z2 x", 0), ("2Rw U", 2)):
            cube = StickerCube.solved(size).apply(scramble)
            assert solved(cube, solves).length == turns
    for scramble, most in (("2R U 2R' U'", 6), ("2R2 2F 2U'", 6), ("2Rw2 U", 2)):
        solution = solved(StickerCube.solved(size).apply(scramble), solves)
        assert solution.length <= most
        assert solution.phase_names == ("few turns",)
    for _ in range(3):
        cube = cube_of(random_stickers(size, rng, 4, size // 2), size)
        if not cube.is_solved:
            solution = solved(cube, solves)
            assert solution.lower_bound == solution.length <= 4


@pytest.mark.parametrize(("size", "turns"), [(4, 6), (5, 7), (8, 9), (12, 9), (20, 3), (40, 10)])
def test_a_shortest_solution_of_several_block_turns_is_proven(size, turns, rng, solves):
    scramble = [
        f"{rng.integers(1, size // 2 + 1)}{face}w"
        for face in rng.permutation([*"URFDLB", *"URFDLB"])[:turns]
    ]
    cube = StickerCube.solved(size).apply(" ".join(scramble))
    solution = solved(cube, solves)
    assert solution.phase_names == ("few turns",)
    assert solution.lower_bound == solution.length <= turns


# ---- requests -----------------------------------------------------------------------------------


def test_a_4x4x4_takes_few_turns_and_better_answers_are_reported(rng, solves):
    heard: list[Solution] = []
    cube = random_cube(4, rng)
    solution = solved(cube, solves, time_limit=3.0, target=48, on_better=heard.append)
    assert solution.length <= 48  # after a second 43 on average, at most 47 in some hundred cubes
    lengths = [one.length for one in heard]
    assert lengths == sorted(lengths, reverse=True)
    assert heard[-1].moves == solution.moves
    heard.clear()
    solve_many(cube, request(time_limit=30.0, target=60, on_better=heard.append))
    assert len(heard) == 1, "a target ends the search"


@pytest.mark.parametrize("size", [4, 5, 6])
def test_a_cancelled_search_ends_on_all_threads(size, rng):
    cube = random_cube(size, rng)
    solve_many(cube, request())  # makes the tables
    flag = CancelFlag()
    timer = threading.Timer(0.05, flag.set)
    timer.start()
    start = time.process_time()
    with contextlib.suppress(SearchError):  # or a solution found until then
        solve_many(cube, request(time_limit=60.0, threads=THREADS, cancel=flag))
    assert time.process_time() - start < 30.0
    timer.join()
    with pytest.raises(SearchError, match="stopped"):
        solve_many(cube, request(cancel=flag))


def test_progress_is_reported(rng):
    heard = []
    solve_many(random_cube(9, rng), request(progress=heard.append))
    heard = [progress for progress in heard if not progress.making]
    shares = [progress.done for progress in heard]
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert all("size 9" in progress.text for progress in heard)


def test_the_tables_of_a_size_can_be_released(monkeypatch):
    phased.load(5, request())
    released: list[tables.Bytes] = []
    monkeypatch.setattr(tables, "release_pages", released.append)
    phased.release_tables(5)
    assert sum(map(len, released)) + tables.HEADER_SIZE * len(released) == phased.table_bytes(5)


@pytest.mark.parametrize("pair", [(1, 26), (2, 52), (0, 30), (7, 2)])
def test_impossible_pieces_and_small_cubes_are_refused(pair, rng):
    """Exchange stickers so that a piece occurs twice or is turned over."""
    letters = np.array(list(random_cube(5, rng).letters))
    first, second = pair
    letters[[first, second]] = letters[[second, first]]
    if letters[first] == letters[second]:
        letters[first] = FACES[(FACES.index(letters[first]) + 1) % 6]
    with pytest.raises(IllegalCube):
        solve_many(StickerCube("".join(letters), 5), request())
    with pytest.raises(InvalidRequest, match="size 3"):
        solve_many(Cube.solved(), request())


# ---- the time given to the 3x3x3 of each reduction -----------------------------------------------


class Goal:
    """A goal that records its calls. Each reduction's 3x3x3 costs its worth, or is not solved."""

    def __init__(self, *worth: int | None) -> None:
        rng = np.random.default_rng(1)
        self.reductions = [Reduction(((Move("R"),),), Cube.random(rng)) for _ in worth]
        self._worth = dict(zip((one.cube for one in self.reductions), worth, strict=True))
        self.looks: list[tuple[int | None, float, int, int | None]] = []

    def last_phase(
        self, reduction: Reduction, asked: Any, seconds: float, threads: int, below: int | None
    ) -> Finish | None:
        worth = self._worth[reduction.cube]
        self.looks.append((worth, round(seconds, 6), threads, below))
        return None if worth is None else Finish((Move("U"),), worth)


def costs_found(goal: Goal, now_s: float = 0.0, **asked: Any) -> list[int]:
    wanted = request(**({"time_limit": 1000.0} | asked))
    clock: Any = SimpleNamespace(cpu_s=lambda: now_s)
    found = solve_reductions(wanted, goal, iter(goal.reductions), clock)
    return [cost for _, cost in found]


def test_every_round_is_four_times_as_long_for_a_quarter_of_the_reductions():
    goal = Goal(*range(100, 140))
    found = costs_found(goal)
    seconds = [look[1] for look in goal.looks]
    assert seconds == [0.01] * 40 + [0.04] * 10 + [0.16] * 2 + [0.64, 2.56]
    worth = [look[0] for look in goal.looks]
    assert found == worth == [*range(100, 140), *range(100, 110), 100, 101, 100, 100]
    assert [look[3] for look in goal.looks] == [None] + [102] * 53


@pytest.mark.parametrize(("threads", "each"), [(1, 1), (2, 1), (5, 2), (8, 4)])
def test_threads_are_shared_among_few_reductions(threads, each):
    goal = Goal(5, 6)
    assert costs_found(goal, threads=threads)[:2] == [5, 6]
    assert {look[2] for look in goal.looks if look[1] == 0.01} == {each}
    assert {look[2] for look in goal.looks if look[1] > 0.01} == {threads}


def test_further_reductions_are_taken_while_there_is_time():
    found = costs_found(Goal(*range(10)), time_limit=0.1)
    # Three at a time: 0.4 * 0.1 / 0.013.
    assert found == [0, 1, 2, 0, 0, 0, 0, 3, 4, 5, 3, 3, 3, 3, 6, 7, 8, 6, 6, 6, 6, 9, 9, 9]
    assert costs_found(Goal(*range(10)), 0.2, time_limit=0.1) == [0], "there is always one"


def test_the_fastest_end_costs_less_than_the_limit():
    """Use a robot on which every turn before the 3x3x3 takes 10 us."""
    reduction = Reduction((parse_moves("R U"),), Cube.from_moves("U D2"))
    costs: Any = SimpleNamespace(after=lambda moves: (10 * len(tuple(moves)), six_motors()))
    goal = Fastest(costs)
    fastest = Finish(parse_moves("U' D2"), 20 + 32_000)
    for below in (None, 20 + 32_001):
        assert goal.last_phase(reduction, request(), 0.1, 1, below) == fastest
    for below in (20 + 32_000, 21, 20, 19):
        assert goal.last_phase(reduction, request(), 0.1, 1, below) is None
