"""Cubes as people write them: read, solved, and replayed on the independent model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest

from robot.planner.survey import random_cube
from solver.cube.metrics import METRICS
from solver.cube.orientation import all_orientations, site_facelets
from solver.cube.reading import read_state
from solver.cube.sticker_cube import StickerCube
from solver.patterns import patterns_of
from solver.search import solve

Solves = Callable[[str, str, int], bool]

PUBLISHED = [
    (int(line[0]), line[2:])
    for line in Path(__file__).with_name("published_scrambles.txt").read_text().splitlines()
]
"""Size and scramble of 30 rounds of competitions and of timers' own lists."""
ALGORITHM = {2: "exact", 3: "two-phase"}
COLOURS = str.maketrans("URFDLB", "WRGYOB")
BESIDE = ("", "superflip", "six-spots", "checkerboard")
"""Patterns that give others a new look."""


def solving_moves(text: str, size: int) -> str:
    """Return the moves of Cubist's solution."""
    algorithm = ALGORITHM.get(size, "reduction")
    metric = "htm" if size < 4 else "obtm"
    cube = read_state(text, size).cube
    return " ".join(solve(cube, algorithm=algorithm, metric=metric, time_limit=0.2).moves)


@pytest.mark.parametrize(
    ("size", "scramble"),
    [
        pytest.param(size, moves, marks=[pytest.mark.long] if size > 5 or number % 5 else [])
        for number, (size, moves) in enumerate(PUBLISHED)
    ],
)
def test_published_scrambles_are_solved(replay, solves, size, scramble):
    letters = replay(str(StickerCube.solved(size)), scramble, size)
    assert read_state(f"--scramble {scramble}", size).facelets == letters
    assert solves(letters, solving_moves(letters, size), size)


def famous_states() -> Iterator[str]:
    """Yield the named patterns of a 3x3x3, each as it is and on top of three others."""
    made = {name: one.moves(3) for name, one in patterns_of(3).items() if one.moves is not None}
    for beside in BESIDE:
        for moves in made.values():
            yield str(StickerCube.solved(3).apply(made.get(beside, "")).apply(moves))


HARD = "DRDLURDLDBUBFRRBUBLDLFFRLDLUFUFDBUBUFUFBLLFUFRDRBBLRDR"
"""In qtm a search that always seeks phase 2 from its lower bound takes 400,000 positions here."""
ANSWER_NODES = 200_000
"""Number of positions within which every cube has an answer in every metric: some 5 ms."""


def check_every_writing(letters: str, solves: Solves, holdings: list[int]) -> None:
    """Check a 3x3x3 in letters of faces and of colours, in each of these holdings, and as moves."""
    metrics = cycle(METRICS)
    for index in holdings:
        placed = site_facelets(all_orientations()[index], 3)
        held = "".join(letters[place] for place in placed)
        for text in (held, held.translate(COLOURS)):
            given = read_state(text)
            for metric in islice(metrics, 2):
                solution = solve(given.cube, metric=metric, time_limit=0.0)
                assert solution.extra["nodes"] < ANSWER_NODES, text
                moves = " ".join(solution.moves)
                assert solves(held, moves, 3), text
    back = [move.strip("'") + ("" if "'" in move else "'") for move in moves.split()[::-1]]
    scramble = " ".join(move.replace("2'", "2") for move in back)
    assert solves(read_state(f"--scramble {scramble}").facelets, moves, 3)


def test_famous_patterns_and_random_cubes_however_they_are_written(solves, rng):
    famous = list(famous_states())
    assert len(set(famous)) >= 40
    check_every_writing(HARD, solves, [0])
    for letters in famous[::16] + [random_cube(3, rng).facelets() for _ in range(2)]:
        check_every_writing(letters, solves, rng.integers(0, 24, 2).tolist())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_random_cubes_in_every_holding(solves, seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        check_every_writing(random_cube(3, rng).facelets(), solves, rng.integers(0, 24, 1).tolist())


@pytest.mark.long
@pytest.mark.parametrize("letters", [*famous_states()])
def test_a_famous_pattern_in_every_holding(solves, letters):
    check_every_writing(letters, solves, list(range(24)))
