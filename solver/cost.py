"""Costs of turns on a robot, in the form that the kernel's searches read.

Faces are those of the *cube*; the orientation in which the robot holds it is part of the mechanism
state, so every mechanism has the same form: matrices of microseconds between states.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from solver.cube.notation import Move
from solver.errors import BadNotation

AXES = ("UD", "RL", "FB")
"""The faces of the three axes; the first letter of each is the axis's first face."""

COMPOSITES = 45
"""Number of turns of any axis's two faces by ``(qa, qb)`` clockwise quarters, not both 0."""

IMPOSSIBLE = np.uint32(0xFFFFFFFF)


def composite_index(axis: int, first_quarters: int, second_quarters: int) -> int:
    """Return the number of the composite that turns the axis's faces by 0..3 clockwise quarters."""
    return axis * 15 + 4 * first_quarters + second_quarters - 1


def composite_of(index: int) -> tuple[int, int, int]:
    """Return ``(axis, first_quarters, second_quarters)`` of a composite's number."""
    axis, rest = divmod(index, 15)
    return axis, *divmod(rest + 1, 4)


def moves_of(composites: Iterable[int]) -> tuple[str, ...]:
    """Return the composites as WCA moves, each axis's first face first."""
    return tuple(move for index in composites for move in _write(index))


def turns_of(composites: Iterable[int]) -> tuple[Move, ...]:
    """Return the composites as turns of single faces, each axis's first face first."""
    return tuple(
        Move(face, quarters)
        for axis, *both in map(composite_of, composites)
        for face, quarters in zip(AXES[axis], both, strict=True)
        if quarters
    )


@cache
def _write(composite: int) -> tuple[str, ...]:
    axis, *quarters = composite_of(composite)
    turned = zip(AXES[axis], quarters, strict=True)
    return tuple(face + ("", "", "2", "'")[q] for face, q in turned if q)


_QUARTERS = {"": 1, "2": 2, "'": 3}


def composites_of(moves: Iterable[Move]) -> tuple[int, ...]:
    """Return turns of faces as composites; consecutive turns on one axis become one."""
    merged = (Move(text[0], _QUARTERS[text[1:]]) for text in merge_moves(map(str, moves)))
    return tuple(
        composite_index(axis, *(sum(m.quarters for m in turned if m.face == f) for f in AXES[axis]))
        for axis, group in groupby(merged, key=lambda move: move.axis)
        for turned in (tuple(group),)
    )


def merge_moves(moves: Iterable[str]) -> tuple[str, ...]:
    """Merge turns of one layer with only turns on its axis between them: ``D D`` becomes ``D2``.

    The same for blocks of layers: ``3Rw Rw 3Rw`` becomes ``Rw 3Rw2``. Raises ``BadNotation``.
    """
    groups: list[tuple[int, dict[tuple[int, str], int]]] = []
    for move in moves:
        stem = move.rstrip("2'")
        face = stem.strip("0123456789w")
        axis = next((number for number, faces in enumerate(AXES) if face and face in faces), None)
        if axis is None or move.removeprefix(stem) not in _QUARTERS:
            raise BadNotation(f"{move!r} is not a turn of a face")
        if not groups or groups[-1][0] != axis:
            groups.append((axis, {}))
        quarters, key = groups[-1][1], (AXES[axis].index(face), stem)
        quarters[key] = quarters.get(key, 0) + _QUARTERS[move.removeprefix(stem)]
        if not any(turned % 4 for turned in quarters.values()):
            groups.pop()
    return tuple(
        stem + ("", "", "2", "'")[turned % 4]
        for _, quarters in groups
        for (_, stem), turned in sorted(
            quarters.items(), key=lambda one: (one[0][0], len(one[0][1]))
        )
        if turned % 4
    )


@dataclass(frozen=True, eq=False)
class TurnCosts:
    """Min-plus matrices of a mechanism whose equivalent states have been merged.

    They hold wherever a solve starts. Data prepared from them are cached by this object, so there
    is one for each mechanism. ``next``: uint32[3, 45, S, S], ``next[a, t, s, s2]`` microseconds
    through composite ``t`` to state ``s2`` after a turn on axis ``a`` that ended in state ``s``;
    ``IMPOSSIBLE`` if there is no path, and for all ``t`` on axis ``a`` itself. ``final``:
    uint32[3, S], remaining microseconds after the last turn. States are numbered per axis of the
    last turn and padded to the same ``S``.
    """

    name: str
    next: NDArray[np.uint32]
    final: NDArray[np.uint32]

    @property
    def states(self) -> int:
        """``S``, the number of mechanism states per axis after merging and padding."""
        return int(self.final.shape[1])

    def half_turn_weight(self) -> float:
        """Return the mean time of a half turn of one face over all states, in quarter turns.

        1 if no half turn, or no quarter turn, can follow anything.
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
    """Costs of turns from one start.

    ``first``: uint32[45, S], microseconds from the start through a first composite to each state
    after it. ``turns``: the costs of all later turns.
    """

    first: NDArray[np.uint32]
    turns: TurnCosts


@dataclass(frozen=True, eq=False)
class BlockTurnTimes:
    """Times of single turns of any number of layers on a robot, from one start.

    An axis of N layers can be cut in N - 1 places; cut ``c`` has ``c + 1`` layers on the side of
    the axis's first face. ``next``: uint32[3, 3, N - 1, 3, S, S], ``next[a, b, c, q - 1, s, s2]``
    microseconds from state ``s`` after a turn on axis ``a`` to ``s2`` through one of ``q`` quarters
    at cut ``c`` of axis ``b``; ``IMPOSSIBLE`` if there is no path. ``first``: uint32[36, 3,
    N - 1, 3, S], the same from the start for a cube held in another way: ``first[6 * u + f]`` if
    faces ``u`` and ``f`` of the given cube count as U and F.
    """

    next: NDArray[np.uint32]
    first: NDArray[np.uint32]

    @property
    def states(self) -> int:
        """The number of mechanism states, ``S``."""
        return int(self.first.shape[-1])

    def least_us(self, turns: int) -> int:
        """Return a lower bound on the time of this many turns of any kind."""
        return turns and int(self.first.min()) + (turns - 1) * int(self.next.min())


class BlockTurnCosts(Protocol):
    """Costs of turns of any number of layers on a robot, from one start; for 4 and more layers."""

    @property
    def name(self) -> str:
        """The robot's name."""

    def time_us(self, moves: Iterable[Move]) -> int:
        """Return the least time in which ``moves`` can be performed, one after the other."""

    def after(self, moves: Iterable[Move]) -> tuple[int, CostModel]:
        """Return the least time for ``moves`` and the costs of outer layers after them."""

    @property
    def turn_times(self) -> BlockTurnTimes:
        """Times of single turns."""

    def __hash__(self) -> int:
        """Hash the robot and the start that the costs belong to."""
