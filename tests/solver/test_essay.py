"""The example of docs/reduction.md, replayed: each phase reaches the group that the essay names."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import numpy as np
import pytest

from solver.cube.facelets import FACES, turn
from solver.cube.notation import Move
from solver.cube.sticker_cube import StickerCube
from solver.reduction import phased
from solver.search import solve_many
from solver.solution import Request
from tests.solver.test_kernel import ROOT
from tests.solver.test_reduction import random_cube

POLES, OTHERS = "UD", "RLFB"
"""In the example the faces that the essay calls R and L, and the rest."""


@pytest.fixture(scope="module")
def essay() -> ModuleType:
    spec = importlib.util.spec_from_file_location("essay", ROOT / "docs/draw_reduction.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def after(essay: ModuleType) -> dict[str, StickerCube]:
    return dict(essay.cubes())


def test_phases_turns_and_picture_are_up_to_date(essay: ModuleType) -> None:
    assert [name for name, _ in essay.example()] == ["scramble", *phased.SIZES[5].names]
    for name, moves in essay.example():
        assert f"| {name} | {len(moves)} | `" in essay.PAGE.read_text()
    assert essay.PICTURE.read_text() == essay.draw(), "run `make picture`"


def test_each_phase_turns_as_its_group_allows(essay: ModuleType) -> None:
    phases = dict(essay.example())

    def quarters(name: str, *, wide: bool) -> set[str]:
        moves = phases[name]
        return {m.face for m in moves if m.quarters != 2 and (m.last == 2) == wide}

    assert quarters("centres apart", wide=True) <= set(POLES)
    for name in ("edges oriented", "four edges", "centres and edges", "3x3x3"):
        assert not quarters(name, wide=True)
    assert quarters("four edges", wide=False) <= set("FB")
    assert quarters("centres and edges", wide=False) <= set("LR")
    assert {m.face for m in phases["centres and edges"] if m.last == 2} <= set("UDFB")


def half_orbit(essay: ModuleType) -> set[int]:
    """Return the wing slots that phase 4's turns join to the first."""
    moves = [Move(face, 2, 1, last) for face in FACES for last in (1, 2)]
    moves += [Move(face) for face in OTHERS]
    slots = essay.WINGS[:, 0]
    joined = {int(slots[0])}
    while True:
        more = {
            slot
            for move in moves
            for slot in map(int, slots)
            if int(turn(5, move.face, 1, move.last, move.quarters)[slot]) in joined
        }
        if more <= joined:
            return joined
        joined |= more


def test_edges_are_oriented(essay: ModuleType, after: dict[str, StickerCube]) -> None:
    low = half_orbit(essay)
    assert len(low) == 12

    def edges_with_a_wing_in_each_half(cube: StickerCube) -> int:
        letters = np.array(list(cube.letters))
        halves: dict[frozenset[str], set[bool]] = {}
        for slot in essay.WINGS:
            halves.setdefault(frozenset(letters[slot]), set()).add(int(slot[0]) in low)
        return sum(len(half) == 2 for half in halves.values())

    assert edges_with_a_wing_in_each_half(after["centres apart"]) < 12
    assert edges_with_a_wing_in_each_half(after["edges oriented"]) == 12


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_phases_of_the_example_and_of_any_cube_reach_their_groups(
    essay: ModuleType, after: dict[str, StickerCube], seed: int | None
) -> None:
    cubes = list(after.values())
    if seed is not None:
        cube = random_cube(5, np.random.default_rng(seed))
        solution = solve_many(cube, Request("reduction", "obtm", time_limit=0.3))[0]
        cubes = [cube]
        for phase in solution.phases or ():
            cubes.append(cubes[-1].apply(" ".join(phase)))
    _, centres, apart, _, four_edges, reduced, solved = cubes
    assert any(essay.has_its_centres(centres, axis) for axis in range(3))
    assert all(essay.has_its_centres(apart, axis) for axis in range(3))
    assert len(essay.whole_edges(four_edges)) >= 4
    assert len(essay.whole_edges(reduced)) == 12 and not reduced.is_solved
    assert all(essay.has_its_centres(reduced, axis, apart=True) for axis in range(3))
    assert solved.is_solved
