"""The cost model of a mechanism: nodes with the same costs of all sequences become one class.

The search needs the cost of a composite from the end of the one before it. For each possible end it
keeps the least cost so far, so its work grows with the square of the number of ends. There are up
to 24 nodes for each configuration just after a turn, but many of them have the same costs for
everything that follows.

Partition refinement finds the classes, as in the minimization of automata. At first nodes differ
only by their residual motion when the robot stops there. Then a class is split if two of its
members differ in the cost of some composite of another axis to some class. When nothing splits any
more, members of a class have the same cost for every sequence that follows. So the quotient is
exact: it makes no plan slower and no bound wrong.

Each axis of the cube has its own nodes and classes, those just after a turn on it: two composites
of one axis never follow each other.

Examples: six fixed motors leave one node and one class for each axis. Four arms (7 configurations)
have 96 nodes after a turn, which form 10 classes: the arms look the same after half a turn, and
most differences do not matter to the next turn. CUBOTino's 24 nodes stay 24 classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.compile.closure import FAR, Weights, microseconds_of, reachable_nodes
from robot.mechanism.compile.composites import Composites, compose
from robot.mechanism.frames import ORIENTATIONS, compose_table, reframe_table, seen_table
from robot.mechanism.graph import Mechanism, State
from solver.cost import COMPOSITES, IMPOSSIBLE, CostModel, TurnCosts

Ints = NDArray[np.int64]
Times = NDArray[np.uint32]

OTHER_AXES = ((1, 2), (0, 2), (0, 1))


@dataclass(frozen=True, eq=False)
class Compiled:
    """A mechanism ready for the search.

    ``rows[b]`` int64[24 C, 15, n_b]: weights from every node through each composite of axis b to
    ``nodes[b]`` int64[n_b], the nodes just after a turn on b, with ``classes[b]`` int64[n_b].
    """

    composites: Composites
    nodes: tuple[Ints, ...]
    rows: tuple[Weights, ...]
    classes: tuple[Ints, ...]

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that was compiled."""
        return self.composites.mechanism

    @property
    def states(self) -> int:
        """The number of classes of the axis that has most."""
        return max(_count(classes) for classes in self.classes)

    def cost_model(self, start: State) -> CostModel:
        """Return the costs of turns in a solve that begins in ``start``."""
        return CostModel(self._first(start), self.turn_costs)

    @cached_property
    def turn_costs(self) -> TurnCosts:
        """The matrices of :class:`solver.cost.TurnCosts`, the same for every start of a solve."""
        size = self.states
        onward = np.full((3, COMPOSITES, size, size), IMPOSSIBLE, dtype=np.uint32)
        for axis in range(3):
            _, members = np.unique(self.classes[axis], return_index=True)
            for other in OTHER_AXES[axis]:
                costs = self._costs(self.nodes[axis][members], other)
                block = onward[axis, 15 * other : 15 * other + 15]
                block[:, : costs.shape[0], : costs.shape[2]] = costs.transpose(1, 0, 2)
        return TurnCosts(self.mechanism.name, onward, self._final(size))

    def _costs(self, starts: Ints, axis: int) -> Times:
        """Return the microseconds from nodes through the composites of ``axis`` to its classes."""
        return to_classes(microseconds_of(self.rows[axis][starts]), self.classes[axis])

    def _first(self, start: State) -> Times:
        first = np.full((COMPOSITES, self.states), IMPOSSIBLE, dtype=np.uint32)
        here = np.array([node_of(start)])
        for axis in range(3):
            costs = self._costs(here, axis)[0]
            first[15 * axis : 15 * axis + 15, : costs.shape[1]] = costs
        return first

    def _final(self, size: int) -> Times:
        final = np.zeros((3, size), dtype=np.uint32)
        for axis in range(3):
            final[axis, self.classes[axis]] = residual_motion_us(self.mechanism, self.nodes[axis])
        return final


def node_of(state: State) -> int:
    """Return the number of a state in the raw graph."""
    return ORIENTATIONS * state.configuration + state.orientation.index


def residual_motion_us(mechanism: Mechanism, nodes: Ints) -> Times:
    """Return the microseconds that parts still move at each of ``nodes`` if nothing follows."""
    residual_us = [configuration.residual_motion_us for configuration in mechanism.configurations]
    return np.take(np.asarray(residual_us, dtype=np.uint32), nodes // ORIENTATIONS)


@lru_cache(maxsize=8)
def compile_mechanism(mechanism: Mechanism) -> Compiled:
    """Compute the shortest composites of ``mechanism`` and the classes of its states, once."""
    composites = compose(mechanism)
    full = [_rows(composites, axis) for axis in range(3)]
    known = _solve_nodes(mechanism)
    nodes = tuple(known[(row[known][:, :, known] < FAR).any(axis=(0, 1))] for row in full)
    rows = tuple(np.ascontiguousarray(full[axis][:, :, nodes[axis]]) for axis in range(3))
    resting = tuple(number_rows(residual_motion_us(mechanism, there)[:, None]) for there in nodes)
    times = [
        [(other, microseconds_of(rows[other][nodes[axis]])) for other in OTHER_AXES[axis]]
        for axis in range(3)
    ]
    return Compiled(composites, nodes, rows, refine(resting, times))


@lru_cache(maxsize=4)
def cost_model(mechanism: Mechanism, start: State) -> CostModel:
    """Return the costs of turns on ``mechanism`` from ``start``, computed once."""
    return compile_mechanism(mechanism).cost_model(start)


def _solve_nodes(mechanism: Mechanism) -> Ints:
    """Return the nodes of solves, ascending: those reachable from the start.

    For a 2x2x2 these are all, since the frame of its corner at DLB turns with the layers.
    """
    if mechanism.size == 2:
        return np.arange(ORIENTATIONS * len(mechanism.configurations))
    return np.array(sorted(reachable_nodes(mechanism)))


def _rows(composites: Composites, axis: int) -> Weights:
    """Return weights from every node through each composite of ``axis``. int64[n, 15, n]."""
    configurations = len(composites.mechanism.configurations)
    rows = np.empty((configurations, ORIENTATIONS, 15, configurations, ORIENTATIONS), np.int64)
    for orientation in range(ORIENTATIONS):
        seen = seen_table()[orientation, 15 * axis : 15 * axis + 15]
        best = composites.best[seen[0] // 15][:, seen % 15 + 1]
        block = rows[:, orientation]
        block[..., compose_table()[orientation]] = best.reshape(block.shape)
        if composites.mechanism.size == 2:
            rows[:, orientation] = _relative(block, axis)
    nodes = configurations * ORIENTATIONS
    return rows.reshape(nodes, 15, nodes)


def _relative(block: Weights, axis: int) -> Weights:
    """Return composites of a 2x2x2 as turns of the first face of ``axis``. int64[C, 15, C, 24].

    Turning the second face leaves the same relative cube as turning the first. The frame of the
    corner at DLB turns with it, back by as many quarters, and so does the orientation.
    """
    relative = np.full_like(block, FAR)
    for quarters in range(1, 4):
        for second in range(4):
            split = block[:, 4 * ((quarters - second) % 4) + second - 1]
            target = relative[:, 4 * quarters - 1]
            frame = reframe_table()[axis, -second % 4]
            target[..., frame] = np.minimum(target[..., frame], split)
    return relative


def refine(classes: tuple[Ints, ...], times: list[list[tuple[int, Times]]]) -> tuple[Ints, ...]:
    """Split ``classes`` of the nodes of each axis until they lose no cost, but no further.

    ``times[axis]``: the axis of each possible next step, and its ``costs[node, ..., node after
    it]``.
    """
    while True:
        finer = tuple(_split(classes, *one) for one in zip(classes, times, strict=True))
        if all(_count(new) == _count(old) for new, old in zip(finer, classes, strict=True)):
            return classes
        classes = finer


def _split(classes: tuple[Ints, ...], own: Ints, times: list[tuple[int, Times]]) -> Ints:
    """Return the classes of one axis after looking one step ahead."""
    if not len(own):
        return own
    ahead = [to_classes(costs, classes[axis]).reshape(len(own), -1) for axis, costs in times]
    return number_rows(np.concatenate([own[:, None].astype(np.uint32), *ahead], axis=1))


def to_classes(costs: Times, classes: Ints) -> Times:
    """Return the least of ``costs[..., node]`` over the members of each class."""
    if not len(classes):
        return costs
    order = np.argsort(classes, kind="stable")
    heads = np.flatnonzero(np.diff(classes[order], prepend=-1))
    return np.minimum.reduceat(costs[..., order], heads, axis=-1)


def number_rows(signatures: Times) -> Ints:
    """Number the rows from 0; equal rows get equal numbers."""
    if not len(signatures):
        return np.zeros(0, dtype=np.int64)
    rows = np.ascontiguousarray(signatures).view(f"V{signatures.shape[1] * 4}").reshape(-1)
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows], dtype=np.int64)


def _count(classes: Ints) -> int:
    return int(classes.max(initial=-1)) + 1
