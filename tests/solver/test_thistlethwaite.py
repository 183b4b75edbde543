"""Thistlethwaite's four groups, by their definition and by their turns."""

from __future__ import annotations

import numpy as np

from solver.cube.cube import Cube
from solver.search import solve

HALF_TURNS_ONLY = ("", "FB", "FBLR", "FBLRUD")
"""Faces of which a phase makes half turns only."""
LONGEST = (7, 10 + 1, 13 + 1, 15 + 1)
"""Length of the longest shortest path through each phase.

The search may take one turn more for a later gain.
"""


def is_in_group(cube: Cube, phase: int) -> bool:
    """Return whether the cube is in the group after ``phase``, by its definition."""
    edges = cube.edges
    conditions = [not edges[:, 1].any()]
    if phase >= 1:
        middle = set(edges[4:8, 0]) == {4, 5, 6, 7}
        conditions.append(middle and not cube.corners[:, 1].any())
    if phase >= 2:
        tetrads = all(int(c) % 2 == slot % 2 for slot, c in enumerate(cube.corners[:, 0]))
        slices = all(
            int(e) % 2 == slot % 2 for slot, e in enumerate(edges[:, 0]) if e not in range(4, 8)
        )
        even = round(np.linalg.det(np.eye(8)[cube.corners[:, 0]])) == 1
        conditions.append(tetrads and slices and even)
    return all(conditions)


def test_every_phase_ends_in_its_group_by_turns_of_the_group_before(rng, solves):
    for _ in range(20):
        cube = at = Cube.random(rng)
        solution = solve(cube, algorithm="thistlethwaite")
        assert solution.phases is not None
        assert tuple(move for phase in solution.phases for move in phase) == solution.moves
        for number, moves in enumerate(solution.phases):
            halved = [move for move in moves if move[0] in HALF_TURNS_ONLY[number]]
            assert all(move.endswith("2") for move in halved)
            assert len(moves) <= LONGEST[number]
            at = at.apply(" ".join(moves))
            assert is_in_group(at, min(number, 2))
        assert solves(cube.facelets(), " ".join(solution.moves), 3)
        assert solution.length <= 30
