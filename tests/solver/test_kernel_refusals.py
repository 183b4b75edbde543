"""Names, sizes and stickers that the kernel refuses, whoever asks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from solver import _native
from solver.nxn import database
from solver.reduction.search import geometry

Call = Callable[[], object]
SOLVED_2X2X2 = np.array([[slot, 0] for slot in range(8)], np.uint8)


def go_on(_: object) -> bool:
    return True


def table(size: int) -> np.ndarray:
    return np.zeros(size, np.uint8)


def two_phase(more1: int, more2: int) -> object:
    sizes = _native.phase1_size("axial") + more1, _native.phase2_size("axial") + more2
    return _native.TwoPhase("axial", *map(table, sizes))


def optimal(far: int, more: int) -> object:
    shape = _native.OptimalShape(1, far)
    return _native.OptimalTable(shape, table(_native.optimal_size(shape) + more))


REFUSED: list[tuple[Call, str]] = [
    (lambda: _native.phase1_size("stm"), "no metric is called stm"),
    (lambda: _native.pocket_bfs(SOLVED_2X2X2, "axial"), "counted in htm or qtm"),
    (
        lambda: _native.make_optimal("axial", _native.OptimalShape(1, 0), table(9), 1, go_on),
        "counts in htm or qtm",
    ),
    (lambda: two_phase(-1, 0), "phase-1 table of a wrong size"),
    (lambda: two_phase(1, 0), "phase-1 table of a wrong size"),
    (lambda: two_phase(0, -1), "phase-2 table of a wrong size"),
    (lambda: two_phase(0, 1), "phase-2 table of a wrong size"),
    (lambda: optimal(-1, 0), "no distance is below 0"),
    (lambda: optimal(0, -1), "optimal table of a wrong size"),
    (lambda: optimal(0, 1), "optimal table of a wrong size"),
]


@pytest.mark.parametrize(("call", "complaint"), REFUSED)
def test_other_names_and_sizes_are_refused(call: Call, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        call()


def test_the_right_sizes_are_taken() -> None:
    two_phase(0, 0)
    optimal(0, 0)
    optimal(1, 0)


def test_tables_of_steps_are_for_as_many_states_as_a_byte_numbers() -> None:
    """Nine turns to each of them, and two numbers for none."""
    sizes = {states: _native.pocket_steps_size(states) for states in (-1, 0, 1, 28, 29)}
    of_one = 3 * 3_674_160
    assert sizes == {-1: 0, 0: 0, 1: of_one, 28: 28 * of_one, 29: 0}


def turn_costs(following: int, final: int) -> object:
    return _native.TurnCosts(np.zeros(following, np.uint32), np.zeros(final, np.uint32))


@pytest.mark.parametrize(("following", "final"), [(0, 0), (135, 4), (136, 3), (540, 3)])
def test_costs_of_turns_that_do_not_fit_are_refused(following: int, final: int) -> None:
    turn_costs(135, 3)
    turn_costs(540, 6)
    with pytest.raises(ValueError, match="do not fit together"):
        turn_costs(following, final)


def block_times(size: int, states: int, more: int = 0, more_first: int = 0) -> object:
    count = 9 * (size - 1) * 3 * states * states + more
    first = 36 * 3 * (size - 1) * 3 * states + more_first
    return _native.BlockTimes(size, np.zeros(count, np.uint32), np.zeros(first, np.uint32))


@pytest.mark.parametrize(
    "given", [(4, 0), (4, _native.BLOCK_STATES + 1), (4, 2, 1), (4, 2, -1), (5, 2, 0, 1)]
)
def test_times_of_blocks_that_do_not_fit_are_refused(given: tuple[int, ...]) -> None:
    block_times(4, 1)
    block_times(5, _native.BLOCK_STATES)
    with pytest.raises(ValueError, match="do not fit the cube"):
        block_times(*given)


def test_stickers_of_no_cube_are_not_searched() -> None:
    near = database.empty(3, "htm")
    shown = np.repeat(np.arange(6, dtype=np.uint8), 9)
    mirrored = np.array([0, 4, 2, 3, 1, 5], np.uint8)[shown]
    for stickers in (shown[:-1].copy(), mirrored):
        with pytest.raises(ValueError, match="not the stickers of a cube"):
            near.solve(stickers, 5, 1.0, None, lambda *_: None)
    assert near.solve(shown, 5, 1.0, None, lambda *_: None).turns == []


@pytest.mark.parametrize("size", [4, 5, 6])
def test_a_cube_with_a_wing_of_opposite_colours_is_not_finished(size: int) -> None:
    shown = np.repeat(np.arange(6, dtype=np.uint8), size * size)
    shown[1] = 5  # beside B's own sticker of the same wing
    with pytest.raises(ValueError, match="stickers of no cube"):
        geometry(size).finish(shown, go_on)
