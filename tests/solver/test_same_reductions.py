"""Reductions of larger cubes that no clock ends give the answers that they gave before.

See :mod:`tests.solver.test_same_answers`.
"""

from __future__ import annotations

import numpy as np
import pytest

from solver import _native
from solver.reduction import phased
from solver.reduction.search import geometry
from solver.solution import Request
from tests.solver.test_same_answers import FOR_EVER, NEVER, digest, go_on


def stickers(size: int, seed: int) -> np.ndarray:
    """Of a cube after random turns of single layers."""
    rng = np.random.default_rng(seed)
    found = np.repeat(np.arange(6, dtype=np.uint8), size * size)
    turns = []
    for face, layer, quarters in rng.integers(0, (6, size, 3), (20 * size, 3)).tolist():
        turns.append((face, layer + 1, layer + 1, quarters + 1))
    geometry(size).turn(found, turns)
    return found


Phases = list[list[tuple[int, int, int, int]]]
FINISHES = {
    4: ([[0, 74, 84], [0, 74, 64], [0, 76, 55]], 1833974023),
    5: ([[0, 200, 101], [0, 214, 117], [2, 221, 113]], 1085427152),
    6: ([[2, 383, 204], [2, 405, 180], [2, 379, 189]], 3313610157),
    7: ([[0, 638, 224], [2, 617, 225], [2, 641, 232]], 3631651285),
    8: ([[4, 869, 304], [2, 875, 302], [2, 915, 319]], 2694100369),
    9: ([[2, 1248, 340], [2, 1297, 343], [2, 1198, 352]], 2488574913),
    12: ([[2, 2496, 562], [2, 2510, 493], [2, 2499, 542]], 3222796992),
}


@pytest.mark.parametrize("size", FINISHES)
def test_exchanges_of_three_pieces(size: int) -> None:
    found = [geometry(size).finish(stickers(size, seed), go_on) for seed in range(3)]
    lengths = [[len(part) for part in one or []] for one in found]
    assert (lengths, digest(found)) == FINISHES[size]


FEW = [
    [(3, 1, 1, 3), (2, 1, 2, 2), (1, 1, 1, 3), (1, 1, 2, 1), (0, 1, 1, 3)],
    [(4, 1, 2, 3), (4, 1, 1, 1)],
    [],
]


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_few_turns(size: int) -> None:
    found = []
    for turns in ((0, 1, 1, 1), (1, 2, 2, 3), (2, 1, 2, 2), (3, 1, 1, 1)), ((4, 2, 2, 1),), ():
        shown = np.repeat(np.arange(6, dtype=np.uint8), size * size)
        geometry(size).turn(shown, list(turns))
        found.append(geometry(size).few_turns(shown))
    assert found == FEW


def block_times(size: int, states: int) -> _native.BlockTimes:
    rng = np.random.default_rng(size)
    ways = rng.integers(100, 900, (3, 3, size - 1, 3, states, states)).astype(np.uint32) * 1000
    ways[rng.random(ways.shape) < 0.2] = NEVER
    ways[..., 0] = 950_000
    ways[range(3), range(3)] = NEVER
    first = rng.integers(100, 900, (36, 3, size - 1, 3, states)).astype(np.uint32) * 1000
    return _native.BlockTimes(size, ways, first)


NO_WAY_MS = 327_660
BLOCK_TIMES_MS = [
    *(120, 320, NO_WAY_MS, NO_WAY_MS),
    *(300, 500, NO_WAY_MS, NO_WAY_MS),
    *(160, 420, NO_WAY_MS, NO_WAY_MS),
]


def test_what_turns_of_blocks_take() -> None:
    rng = np.random.default_rng(9)
    turns = [(int(f), 1, int(w), int(q)) for f, w, q in rng.integers((0, 1, 1), (6, 4, 4), (12, 3))]
    times = block_times(5, 3)
    found = [
        times.time_us(up, front, turns[:n]) / 1000
        for up, front in ((0, 2), (1, 3), (5, 4))
        for n in (1, 2, 5, 12)
    ]
    assert found == BLOCK_TIMES_MS


def told(reductions: list[Phases]) -> tuple[object, ...]:
    lengths = [sum(len(phase) for phase in phases) for phases in reductions]
    return lengths, [len(phase) for phase in reductions[0]], digest(reductions)


REDUCED = {
    (4, 0.0, False, 0): ([26, 26], [6, 5, 15], 940475070),
    (4, 0.0, False, 1): ([26, 26, 26, 26], [7, 4, 15], 2115014685),
    (4, 0.0, True, 1): ([29, 29], [7, 6, 16], 3825484349),
    (4, FOR_EVER, False, 0): ([25, 25, 25, 25], [6, 5, 14], 429034379),
    (4, FOR_EVER, True, 1): ([28, 28, 28, 28], [7, 7, 14], 770665099),
    (5, 0.0, False, 0): ([64, 64, 64, 64], [12, 9, 7, 17, 19], 36043479),
    (5, 0.0, True, 0): ([63, 63, 63, 63], [12, 9, 8, 16, 18], 3437707510),
    (5, FOR_EVER, False, 1): ([54, 54, 54, 54], [10, 9, 7, 13, 15], 1547470417),
    (5, FOR_EVER, True, 0): ([55, 56, 56, 56], [10, 9, 8, 14, 14], 2988912348),
    (6, 0.0, False, 0): ([121, 121, 121, 121], [57, 11, 12, 6, 16, 19], 587446716),
    (6, FOR_EVER, False, 0): ([98, 99, 99, 99], [41, 10, 10, 7, 15, 15], 1076223983),
    (7, 0.0, False, 0): ([191, 191, 191, 191], [125, 11, 13, 7, 17, 18], 3835282342),
}


@pytest.mark.parametrize(("size", "limit_s", "timed", "seed"), REDUCED)
def test_reductions_in_phases(size: int, limit_s: float, timed: bool, seed: int) -> None:
    """With all the time in the world, and with none: then the first that is found will do."""
    reducer = phased.load(size, Request())
    options = {"time_limit": limit_s, "threads": 1, "candidates": 4, "count": 4, "cancel": None}
    if size in (4, 5):
        options["times"] = block_times(size, 3) if timed else None
    found = told(reducer.reductions(stickers(size, seed), **options))
    assert found == REDUCED[size, limit_s, timed, seed]


FINISHING = {
    4: [0.675, 0.975],
    5: [0.36, 0.72, 0.96],
    7: [
        0.2571428571428572,
        0.5142857142857143,
        0.7714285714285715,
        0.9428571428571428,
        0.9714285714285714,
    ],
}


@pytest.mark.parametrize("size", FINISHING)
def test_how_far_exchanges_are(size: int) -> None:
    """And whoever refuses to go on hears no more."""
    heard: list[float] = []
    assert geometry(size).finish(stickers(size, 1), lambda done: heard.append(done) is None)
    assert heard == pytest.approx(FINISHING[size])
    for most in range(1, len(heard) + 1):
        again: list[float] = []
        finished = geometry(size).finish(
            stickers(size, 1),
            lambda done: again.append(done) is None and len(again) < most,  # noqa: B023
        )
        assert finished is None
        assert again == heard[:most]
