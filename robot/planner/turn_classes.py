"""Single turns of any number of layers as matrices, for the search of a reduction.

The states just after a turn that cannot be told apart by what any turn costs from there are one
class, as in ``robot.mechanism.compile.cost_model``. A crane of N layers has 8 (N - 1) of them on
each axis: which face is up and which way the next roll goes, and so many rows raised.
"""

from __future__ import annotations

from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.compile.closure import FAR, Closure, microseconds_of
from robot.mechanism.compile.cost_model import node_of, number_rows, to_classes
from robot.mechanism.graph import Mechanism, State
from solver.cost import IMPOSSIBLE, BlockTurnTimes
from solver.cube.facelets import FACES
from solver.cube.orientation import Orientation, all_orientations

Ints = NDArray[np.int64]
Times = NDArray[np.uint32]

CutTurn = tuple[int, int, int]
"""Axis, cut and quarters: so many layers of the axis's first face, clockwise 1..3."""


class CutEdges(Protocol):
    """The transitions that turn one cut: nodes before and after each, and its weight."""

    @property
    def start(self) -> Ints:
        """Nodes before."""

    @property
    def end(self) -> Ints:
        """Nodes after."""

    @property
    def weight(self) -> Ints:
        """Weights, as of the closure's paths."""


class Turning(Protocol):
    """A mechanism that turns the cuts of a cube: :class:`robot.planner.block_turns.BlockTurns`."""

    mechanism: Mechanism
    closure: Closure

    def edges_of(self, turn: CutTurn) -> CutEdges | None:
        """Return the transitions that turn a cut; None if there are none."""


class TurnClasses:
    """The classes of the states after turns on each axis, and what turns take between them."""

    def __init__(self, turning: Turning) -> None:
        self._turning = turning
        cuts = range(1, turning.mechanism.size)
        self._turns = tuple(product(range(3), cuts, range(1, 4)))
        self._nodes = tuple(self._ends(axis) for axis in range(3))
        self._classes = self._refine()
        self.states = max(_count(classes) for classes in self._classes)

    def times_from(self, start: State) -> BlockTurnTimes:
        """The matrices, with those from ``start`` for a cube held in any way."""
        cuts, states = self._turning.mechanism.size - 1, self.states
        onward = np.full((3, 3, cuts, 3, states, states), IMPOSSIBLE, dtype=np.uint32)
        for before in range(3):
            _, members = np.unique(self._classes[before], return_index=True)
            for axis, cut, quarters in self._turns:
                block = self._times_to_classes(self._nodes[before][members], (axis, cut, quarters))
                onward[before, axis, cut - 1, quarters - 1, : block.shape[0], : block.shape[1]] = (
                    block
                )
        first = np.full((36, 3, cuts, 3, states), IMPOSSIBLE, dtype=np.uint32)
        for held in all_orientations():
            up, front = (FACES.index(held.face_at(site)) for site in "UF")
            seen = "".join(held.site_of(start.orientation.face_at(site)) for site in "UF")
            state = State(start.configuration, Orientation.named(seen))
            for axis, cut, quarters in self._turns:
                row = self._times_to_classes(np.array([node_of(state)]), (axis, cut, quarters))[0]
                first[6 * up + front, axis, cut - 1, quarters - 1, : len(row)] = row
        return BlockTurnTimes(onward, first)

    def _ends(self, axis: int) -> Ints:
        """The nodes just after a turn on ``axis``."""
        found = [self._turning.edges_of(turn) for turn in self._turns if turn[0] == axis]
        ends = [edges.end for edges in found if edges is not None]
        return np.unique(np.concatenate(ends)) if ends else np.zeros(0, dtype=np.int64)

    def _times(self, starts: Ints, turn: CutTurn) -> Times:
        """Microseconds from nodes through a turn to the nodes after turns on its axis."""
        nodes = self._nodes[turn[0]]
        least = np.full((len(starts), len(nodes)), FAR)
        edges = self._turning.edges_of(turn)
        if edges is not None:
            ways = self._turning.closure.weights_between(starts, edges.start) + edges.weight
            for column, end in zip(ways.T, np.searchsorted(nodes, edges.end), strict=True):
                least[:, end] = np.minimum(least[:, end], column)
        return microseconds_of(least)

    def _times_to_classes(self, starts: Ints, turn: CutTurn) -> Times:
        """Microseconds from nodes through a turn to classes of its axis."""
        return to_classes(self._times(starts, turn), self._classes[turn[0]])

    def _refine(self) -> tuple[Ints, ...]:
        """Classes of the nodes after turns on each axis, the coarsest that lose no cost."""
        classes = tuple(np.zeros(len(nodes), dtype=np.int64) for nodes in self._nodes)
        times = [[self._times(nodes, turn) for turn in self._turns] for nodes in self._nodes]
        while True:
            finer = tuple(
                self._split(classes, own, ahead) for own, ahead in zip(classes, times, strict=True)
            )
            if all(_count(new) == _count(old) for new, old in zip(finer, classes, strict=True)):
                return classes
            classes = finer

    def _split(self, classes: tuple[Ints, ...], own: Ints, times: list[Times]) -> Ints:
        """Classes of one axis after looking one turn ahead."""
        ahead = [
            to_classes(costs, classes[axis])
            for costs, (axis, _, _) in zip(times, self._turns, strict=True)
        ]
        return number_rows(np.concatenate([own[:, None].astype(np.uint32), *ahead], axis=1))


def _count(classes: Ints) -> int:
    return int(classes.max(initial=-1)) + 1
