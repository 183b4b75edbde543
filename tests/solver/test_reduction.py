"""Cubes of 4 and more layers, solved in phases and replayed on the independent model."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable

import numpy as np
import pytest

from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.notation import length, parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.errors import IllegalCube, InvalidRequest, SearchError
from solver.reduction import phased
from solver.reduction.search import LARGEST, geometry, reduced_cube
from solver.search import solve_many
from solver.solution import CancelFlag, Request, Solution

THREADS = 3


def request(**changes) -> Request:
    asked = {"algorithm": "reduction", "metric": "obtm", "time_limit": 0.05}
    return Request(**(asked | changes))


def random_stickers(size: int, rng: np.random.Generator, count: int, widest: int) -> np.ndarray:
    """Return the stickers after ``count`` random turns of blocks up to ``widest`` layers."""
    turns = rng.integers((0, 1, 1), (6, widest + 1, 4), (count, 3)).tolist()
    stickers = np.repeat(np.arange(6, dtype=np.uint8), size * size)
    geometry(size).turn(stickers, [(face, 1, width, q) for face, width, q in turns])
    return stickers


def cube_of(stickers: Iterable[int], size: int) -> StickerCube:
    return StickerCube.from_facelets("".join(FACES[one] for one in stickers), size)


def stickers_of(cube: StickerCube) -> np.ndarray:
    return np.array([FACES.index(letter) for letter in cube.letters], dtype=np.uint8)


def random_cube(size: int, rng: np.random.Generator) -> StickerCube:
    return cube_of(random_stickers(size, rng, 10 * size * size, size - 1), size)


def solved(cube: StickerCube, solves, **changes) -> Solution:
    """Return the solution, after checking everything it says of itself."""
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


@pytest.mark.parametrize("threads", [1, THREADS])
@pytest.mark.parametrize(("size", "count"), [(4, 2), (5, 2), (6, 2), (7, 2), (8, 1)])
def test_every_cube_is_solved(size, count, threads, rng, solves):
    for _ in range(count):
        solved(random_cube(size, rng), solves, threads=threads)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("size", "count"),
    [(n, 1000) for n in (4, 5, 6, 7)]
    + [(n, 100) for n in (8, 9, 10, 11)]
    + [(17, 2), (LARGEST, 1)],
)
def test_many_cubes_of_each_size_are_solved(size, count, rng, solves):
    """The independent model is slow, so the cube that it tests elsewhere replays most."""
    for number in range(count):
        cube = random_cube(size, rng)
        if number < 20 and size < LARGEST:
            solved(cube, solves)
        else:
            assert cube.apply(" ".join(solve_many(cube, request())[0].moves)).is_solved


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8, 9])
def test_exchanges_that_a_3x3x3_forbids_are_solved(size, rng, solves):
    """Two wings or two centres exchanged; on even cubes also an edge flipped, or two exchanged."""
    area = size * size
    up_back, front_down, inner = 0, area * 2 + size * (size - 1), size + 1
    front_up, up_front = area * 2, size * (size - 1)
    wings = [k for k in range(1, size - 1) if 2 * k != size - 1]
    cases = [
        [(up_back + k, area * 3 + k) for k in wings]
        + [(area * 5 + size - 1 - k, front_down + k) for k in wings]
        + [(inner, area + inner)]
    ]
    if size % 2 == 0:
        cases.append([(front_up + k, up_front + k) for k in wings])
        cases.append([(front_up + k, area * 5 + size - 1 - k) for k in wings])
    for pairs in cases:
        letters = np.array(list(StickerCube.solved(size).letters))
        for pair in pairs:
            letters[list(pair)] = letters[list(pair[::-1])]
        solved(StickerCube.from_facelets("".join(letters), size), solves)


# ---- phases -------------------------------------------------------------------------------------


def same(*parts: np.ndarray) -> bool:
    """Return whether each part shows one colour."""
    return all(np.unique(part).size == 1 for part in parts)


def test_the_phases_of_a_4x4x4_do_what_they_are_for(rng):
    for _ in range(3):
        cube = random_cube(4, rng)
        solution = solve_many(cube, request(time_limit=0.3))[0]
        assert solution.phases is not None and solution.phase_names is not None
        assert solution.phase_names[0] == "centres"
        after = []
        for phase in solution.phases[:3]:
            cube = cube.apply(" ".join(phase))
            after.append(stickers_of(cube).reshape(6, 4, 4))
        one_axis, all_axes = ((faces[:, 1:3, 1:3] % 3).reshape(6, 4) for faces in after[:2])
        assert any(same(np.concatenate([one_axis[k], one_axis[k + 3]])) for k in range(3))
        assert all(same(np.concatenate([all_axes[k], all_axes[k + 3]])) for k in range(3))
        for face in after[2]:
            assert same(face[1:3, 1:3], face[0, 1:3], face[1:3, 0])


@pytest.mark.parametrize("size", [6, 7])
def test_the_phases_of_a_large_cube_do_what_they_are_for(size, rng):
    cube = random_cube(size, rng)
    solution = solve_many(cube, request(time_limit=0.3))[0]
    assert solution.phases is not None
    texts = [" ".join(phase) for phase in solution.phases]
    inner, middle = slice(2, size - 2), slice(1, size - 1)
    for face in stickers_of(cube.apply(texts[0])).reshape(6, size, size):
        assert same(face[inner, inner], face[0, inner], face[-1, inner], face[inner, 0])
        assert same(face[1, inner], face[-2, inner], face[inner, 1], face[inner, -2])
    reduced = cube.apply(" ".join(texts[:6]))
    for face in stickers_of(reduced).reshape(6, size, size):
        assert same(face[middle, middle], face[0, middle], face[-1, middle], face[middle, 0])
    assert not reduced.is_solved


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
    stickers = stickers_of(random_cube(size, rng))
    found = reductions(size, stickers, threads=THREADS)
    assert len({str(phases) for phases in found}) == len(found) == 25
    lengths = [sum(map(len, phases)) for phases in found]
    assert lengths == sorted(lengths)
    for phases in found:
        after = stickers.copy()
        for turns in phases:
            geometry(size).turn(after, turns)
        reduced_cube(after, size)  # raises IllegalCube where edges or parity are wrong


@pytest.mark.parametrize("size", [4, 5])
def test_reductions_do_not_end_with_turns_the_3x3x3_may_begin_with(size, rng):
    stickers = stickers_of(random_cube(size, rng))
    for phases in reductions(size, stickers, threads=1, time_limit=0.6, count=300):
        turns = [turn for turns in phases for turn in turns]
        axis = turns[-1][0] % 3
        while turns and turns[-1][0] % 3 == axis:
            face, first, last, _ = turns.pop()
            assert (first, last) != (1, 1), FACES[face]


def test_every_thread_has_the_whole_time(rng):
    stickers = stickers_of(random_cube(4, rng))
    spent = {}
    for threads in (1, THREADS):
        start = time.process_time()
        reductions(4, stickers, threads=threads, time_limit=0.2, count=1_000_000)
        spent[threads] = time.process_time() - start
    assert spent[THREADS] > 1.5 * spent[1]


# ---- few turns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_a_cube_a_few_turns_from_solved_is_solved_by_as_few(size, rng, solves):
    for held in ("", "x", "z2 x"):
        assert solved(StickerCube.solved(size).apply(held), solves).length == 0
    for scramble, most in (("2R U 2R' U'", 6), ("2R2 2F 2U'", 6), ("2Rw2 U", 2)):
        solution = solved(StickerCube.solved(size).apply(scramble), solves)
        assert solution.length <= most
        assert solution.phase_names == ("few turns",)
    for _ in range(5):
        cube = cube_of(random_stickers(size, rng, 4, size // 2), size)
        if not cube.is_solved:
            solution = solved(cube, solves)
            assert solution.lower_bound == solution.length <= 4


def test_few_turns_need_no_tables(monkeypatch, solves):
    monkeypatch.setattr("solver.reduction.phased.load", None)
    monkeypatch.setattr("solver.two_phase.kernel", None)
    assert solved(StickerCube.solved(7).apply("3Rw U"), solves).length == 2


# ---- requests -----------------------------------------------------------------------------------


def test_a_4x4x4_takes_few_turns_and_better_answers_are_reported(rng, solves):
    for _ in range(2):
        heard: list[Solution] = []
        cube = random_cube(4, rng)
        solution = solved(cube, solves, time_limit=3.0, target=48, on_better=heard.append)
        assert solution.length <= 48  # after a second 43 on average, 47 at most in some hundred
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


def test_solutions_are_counted_in_the_metric_asked_for(rng, solves):
    cube = random_cube(5, rng)
    for metric in ("obtm", "htm", "qtm", "axial"):
        assert solved(cube, solves, metric=metric).metric == metric


@pytest.mark.parametrize("pair", [(1, 26), (2, 52), (0, 30), (7, 2)])
def test_impossible_pieces_and_small_cubes_are_refused(pair, rng):
    """Stickers exchanged so that a piece is there twice or turned over."""
    letters = np.array(list(random_cube(5, rng).letters))
    first, second = pair
    letters[[first, second]] = letters[[second, first]]
    if letters[first] == letters[second]:
        letters[first] = FACES[(FACES.index(letters[first]) + 1) % 6]
    with pytest.raises(IllegalCube):
        solve_many(StickerCube("".join(letters), 5), request())
    with pytest.raises(InvalidRequest, match="size 3"):
        solve_many(Cube.solved(), request())
