"""What turns cost on a robot, in the form the native search consumes.

Faces are those of the *cube*; the orientation in which the robot holds it is part of the mechanism
state, so any mechanism becomes the same thing: matrices of microseconds between states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

AXES = ("UD", "RL", "FB")
"""The faces of the three axes; the first letter of each is the axis's first face."""

COMPOSITES = 45
"""Ways to turn the two faces of an axis by ``(qa, qb)`` clockwise quarters, not both 0."""

IMPOSSIBLE = np.uint32(0xFFFFFFFF)


def composite_index(axis: int, first_quarters: int, second_quarters: int) -> int:
    """Number of the composite turning the axis's faces by 0..3 clockwise quarters each."""
    return axis * 15 + 4 * first_quarters + second_quarters - 1


def composite_of(index: int) -> tuple[int, int, int]:
    """``(axis, first_quarters, second_quarters)`` of a composite's number."""
    axis, rest = divmod(index, 15)
    return axis, *divmod(rest + 1, 4)


def moves_of(composites: Iterable[int]) -> tuple[str, ...]:
    """The composites as WCA moves, each axis's first face first."""
    return tuple(_moves_of(composites))


def _moves_of(composites: Iterable[int]) -> Iterator[str]:
    for index in composites:
        axis, *quarters = composite_of(index)
        for face, q in zip(AXES[axis], quarters, strict=True):
            if q:
                yield face + ("", "", "2", "'")[q]


def merged_moves(moves: Iterable[str]) -> tuple[str, ...]:
    """Turns of faces with those of one axis that follow each other made one: ``D D`` is ``D2``."""
    groups: list[tuple[int, list[int]]] = []
    for move in moves:
        axis = next(number for number, faces in enumerate(AXES) if move[0] in faces)
        if not groups or groups[-1][0] != axis:
            groups.append((axis, [0, 0]))
        quarters = groups[-1][1]
        face = AXES[axis].index(move[0])
        quarters[face] = (quarters[face] + {"": 1, "2": 2, "'": 3}[move[1:]]) % 4
        if not any(quarters):
            groups.pop()
    return moves_of(composite_index(axis, *quarters) for axis, quarters in groups)


@dataclass(frozen=True, eq=False)
class TurnCosts:
    """Min-plus matrices of a mechanism whose equivalent states have been merged.

    They hold wherever a solve starts; what they are prepared into is kept by this object, of which
    there is one for a mechanism. ``next``: uint32[3, 45, S, S], ``next[a, t, s, s2]`` microseconds
    through composite ``t`` to state ``s2`` after a turn on axis ``a`` that ended in state ``s``;
    ``IMPOSSIBLE`` where there is no way, and for all ``t`` on axis ``a`` itself. ``final``:
    uint32[3, S], microseconds owed after the last turn. States are numbered per axis of the last
    turn and padded to the same ``S``.
    """

    name: str
    next: NDArray[np.uint32]
    final: NDArray[np.uint32]

    @property
    def states(self) -> int:
        """``S``, the number of mechanism states per axis after merging and padding."""
        return int(self.final.shape[1])

    def half_turn_weight(self) -> float:
        """What a half turn of one face takes, in quarter turns: a mean over states.

        1 where neither can follow anything.
        """
        fastest = self.next.min(axis=3)
        times: dict[bool, list[NDArray[np.uint32]]] = {False: [], True: []}
        for index in range(COMPOSITES):
            _, first, second = composite_of(index)
            if 0 in (first, second):
                row = fastest[:, index]
                times[first + second == 2].append(row[row != IMPOSSIBLE])
        half, quarter = (np.concatenate(times[is_half]) for is_half in (True, False))
        return float(half.mean() / quarter.mean()) if half.size and quarter.size else 1.0


@dataclass(frozen=True, eq=False)
class CostModel:
    """What turns cost from one start.

    ``first``: uint32[45, S], microseconds from there through a first composite to each state after
    it; ``turns``: all that comes then.
    """

    first: NDArray[np.uint32]
    turns: TurnCosts
