"""Large cubes searched by several threads: what each finds, and that they share the work."""

from __future__ import annotations

import contextlib
import threading
import time

import numpy as np
import pytest

from solver.cube.facelets import FACES
from solver.errors import SearchError
from solver.reduction import phased
from solver.reduction.search import geometry, reduced_cube
from solver.search import solve_many
from solver.solution import CancelFlag, Request
from tests.solver.test_reduction import random_cube, request
from tests.solver.test_reduction import solved as solved_and_replayed

THREADS = 3


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_every_size_is_solved(size, rng, solves):
    for _ in range(2):
        solved_and_replayed(random_cube(size, rng), solves, threads=THREADS)


def _reductions(size: int, stickers, *, threads: int, **changes):
    asked = {"time_limit": 5.0, "candidates": 60, "count": 25, "cancel": None, "times": None}
    reducer = phased.load(size, Request())
    return reducer.reductions(stickers, threads=threads, **(asked | changes))


def _stickers(size: int, rng):
    letters = random_cube(size, rng).letters
    return np.array([FACES.index(letter) for letter in letters], dtype=np.uint8)


@pytest.mark.parametrize("size", [4, 5])
def test_no_reduction_is_found_twice_and_short_ones_come_first(size, rng):
    stickers = _stickers(size, rng)
    found = _reductions(size, stickers, threads=THREADS)
    assert len(found) == 25
    assert len({str(phases) for phases in found}) == len(found)
    lengths = [sum(map(len, phases)) for phases in found]
    assert lengths == sorted(lengths)
    for phases in found:
        after = stickers.copy()
        for turns in phases:
            geometry(size).turn(after, turns)
        reduced_cube(after, size)  # raises IllegalCube where edges or parity are wrong


@pytest.mark.parametrize("size", [4, 5])
def test_reductions_do_not_end_with_what_the_3x3x3_may_begin_with(size, rng):
    for phases in _reductions(size, _stickers(size, rng), threads=1, time_limit=0.6, count=300):
        turns = [turn for turns in phases for turn in turns]
        axis = turns[-1][0] % 3
        while turns and turns[-1][0] % 3 == axis:
            face, first, last, _ = turns.pop()
            assert (first, last) != (1, 1), FACES[face]


def test_every_thread_has_the_whole_time(rng):
    stickers = _stickers(4, rng)
    spent = {}
    for threads in (1, THREADS):
        start = time.process_time()
        _reductions(4, stickers, threads=threads, time_limit=0.2, count=1_000_000)
        spent[threads] = time.process_time() - start
    assert spent[THREADS] > 1.5 * spent[1]


@pytest.mark.parametrize("size", [4, 5, 6])
def test_all_threads_end_when_cancelled(size, rng):
    cube = random_cube(size, rng)
    solve_many(cube, request())  # makes the tables
    flag = CancelFlag()
    timer = threading.Timer(0.05, flag.set)
    timer.start()
    start = time.process_time()
    with contextlib.suppress(SearchError):  # or what was found until then
        solve_many(cube, request(time_limit=60.0, threads=THREADS, cancel=flag))
    assert time.process_time() - start < 30.0
    timer.join()
