"""Tables have the bytes of those on disk, with any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from solver import _native
from solver.cube.pocket import PocketCube
from solver.reduction import phased
from solver.solution import Request

PHASE_1 = {
    "htm": 0x8AA7578087F75A21,
    "qtm": 0x2F17ED2A83148019,
    "axial": 0xD4D30C8462074C39,
    "axial-qtm": 0xAF001107E1CD2188,
}
PHASE_2 = {
    "htm": 0x104551F0AACB0417,
    "qtm": 0x8CCE98A2A1BF14FA,
    "axial": 0xE05E431BFEC576B3,
    "axial-qtm": 0x8F82693DCF4FA032,
}
OPTIMAL = {"htm": 0x4DB5B7D5ED82DDA0, "qtm": 0xEBA58B34531B2F29}
POCKET_STEPS = 0x8639758D37D3C4C8
POCKET_STEPS_OF_TWO = 0xE9F2A17ACEB67EA3
STEPS_FOUND = [
    ([3, 6, 1, 6, 1, 3, 1, 3, 7, 2], 1380, 9, 1600),
    ([0, 5, 8, 1, 5, 6, 1, 3, 8, 1, 6], 1430, 9, 1600),
    ([3, 6, 2, 6, 2, 6, 2, 3], 1180, 9, 1700),
]
LEFT_OF_TWO = [1400, 1300, 1350, None, 1400, 1300]
REDUCTION = {4: 0xB1AA05A6C599E3AE, 5: 0x95FAB21480E6BF9C}
THREADS = [1, pytest.param(2, marks=pytest.mark.long), 3]

ProgressListener = Callable[[float], bool]


def made(size: int, make: Callable[[np.ndarray, ProgressListener], bool]) -> np.ndarray:
    """Return a table, after checking that the reported share rises from 0 to 1."""
    data = np.zeros(size, np.uint8)
    heard: list[float] = []
    assert make(data, lambda done: heard.append(done) is None)
    assert (heard[0], heard[-1]) == (0.0, 1.0)
    assert heard == sorted(heard)
    assert max(np.diff(heard)) < 0.2
    return data


def check_two_phase(metric: str, threads: int) -> None:
    for phase, expected in ((1, PHASE_1), (2, PHASE_2)):
        size = getattr(_native, f"phase{phase}_size")(metric)
        make = partial(getattr(_native, f"make_phase{phase}"), metric)
        data = made(size, lambda data, hear: make(data, threads, hear))  # noqa: B023
        assert _native.checksum(data) == expected[metric]


@pytest.mark.parametrize("threads", THREADS)
def test_two_phase(threads: int) -> None:
    check_two_phase("htm", threads)


@pytest.mark.long
@pytest.mark.parametrize("metric", ["qtm", "axial", "axial-qtm"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_two_phase_in_every_metric(metric: str, threads: int) -> None:
    check_two_phase(metric, threads)


@pytest.mark.parametrize("size", REDUCTION)
def test_stored_tables_of_reductions(size: int) -> None:
    phased.load(size, Request())
    (loaded,) = phased.SIZES[size].tables
    assert loaded.table is not None
    assert _native.checksum(loaded.table) == REDUCTION[size]


@pytest.mark.long
@pytest.mark.parametrize("metric", ["htm", "qtm"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_optimal(metric: str, threads: int) -> None:
    shape = _native.OptimalShape(1, 0)
    size = _native.optimal_size(shape)
    found = made(size, lambda data, hear: _native.make_optimal(metric, shape, data, threads, hear))
    assert _native.checksum(found) == OPTIMAL[metric]


@pytest.mark.parametrize("threads", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 3))])
def test_pocket_steps(threads: int) -> None:
    """On a robot with one state, where many turns take equally long."""
    following, final, data = pocket_steps(1, np.ones((3, 45, 1, 1), bool), threads)
    assert _native.checksum(data) == POCKET_STEPS
    steps = _native.PocketSteps(following, final, data)
    first = np.arange(45, dtype=np.uint32)[:, None] * 10
    found = []
    for seed in range(3):
        cube = PocketCube.random(np.random.default_rng(seed))
        one = steps.solve(cube.states, first)
        assert one.proven
        found.append((one.turns, one.cost, one.nodes, steps.left(cube.states, 1, 0)))
    assert found == STEPS_FOUND


def test_pocket_steps_of_a_robot_with_two_states() -> None:
    """Of which the second is a dead end after R."""
    is_open = np.ones((3, 45, 2, 2), bool)
    is_open[1, :, 1] = False
    following, final, data = pocket_steps(2, is_open, 3)
    assert _native.checksum(data) == POCKET_STEPS_OF_TWO
    steps = _native.PocketSteps(following, final, data)
    far = PocketCube.random(np.random.default_rng(1)).states
    assert [steps.left(far, axis, state) for axis in range(3) for state in range(2)] == LEFT_OF_TWO


def pocket_steps(
    states: int, is_open: np.ndarray, threads: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return costs and the table of steps made of them."""
    shape = (3, 45, states, states)
    following = np.random.default_rng(5).integers(1, 5, shape).astype(np.uint32) * 100
    following[~is_open] = 0xFFFFFFFF
    final = np.arange(3 * states, dtype=np.uint32).reshape(3, states) * (states - 1) * 50
    data = made(
        _native.pocket_steps_size(states),
        lambda data, hear: _native.make_pocket_steps(following, final, data, threads, hear),
    )
    return following, final, data


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("enough", [0.0, 0.3])
def test_the_making_ends_on_request(threads: int, enough: float) -> None:
    heard: list[float] = []

    def hear(done: float) -> bool:
        heard.append(done)
        return done < enough

    data = np.zeros(_native.phase2_size("htm"), np.uint8)
    assert not _native.make_phase2("htm", data, threads, hear)
    assert enough <= heard[-1] < enough + 0.2
    assert all(done < enough for done in heard[:-1])
