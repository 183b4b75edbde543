"""Shortest ways between turns, and from turn to turn, over the raw graph of a mechanism.

A node is ``24 * configuration + orientation``. The graph is the same in every orientation, so all
ways are computed from orientation 0 only and seen from others through ``frames``. Weights order
ways by time, then by how little moves: ``duration_us * 4096 + actuators moved``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.frames import AXIS_NAMES, ORIENTATIONS, between_table, rotate_table
from robot.mechanism.graph import CALM, SITE_AXIS, Mechanism, Transition, weight_of

Weights = NDArray[np.int64]
Nodes = NDArray[np.int64]

FAR = np.int64(1) << 60
"""No way; far below the overflow of a sum of a few."""

NO_NODE = -1


def microseconds_of(weights: Weights) -> NDArray[np.uint32]:
    """The time in weights; ``IMPOSSIBLE`` (all ones) where there is no way."""
    times = np.where(weights >= FAR, np.int64(0xFFFFFFFF), weights // CALM)
    return times.astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Closure:
    """Ways without turning a layer.

    ``from_zero`` int64[C, 24 C]: weights from ``(configuration, orientation 0)`` to all nodes.
    ``before`` int32[C, 24 C]: the node before the last step on that way, negative at the start and
    where there is no way. ``steps[node, node]``: the transition taken between neighbours.
    """

    from_zero: Weights
    before: NDArray[np.int32]
    steps: dict[tuple[int, int], Transition]

    @property
    def nodes(self) -> int:
        """How many nodes there are, 24 C."""
        return int(self.from_zero.shape[1])

    def between(self, starts: Nodes, ends: Nodes) -> Weights:
        """Weights from each of ``starts`` to each of ``ends``, arrays of nodes. int64[s, e]."""
        configurations, held = np.divmod(np.asarray(starts), ORIENTATIONS)
        there, then = np.divmod(np.asarray(ends), ORIENTATIONS)
        led = between_table()[held[:, None], then]
        return np.asarray(self.from_zero[configurations[:, None], ORIENTATIONS * there + led])


def close(mechanism: Mechanism) -> Closure:
    """The shortest ways between all nodes over transitions that turn no layer."""
    steps = _cheapest_steps(mechanism)
    weights = np.array([weight_of(step) for step in steps.values()], dtype=np.int64)
    ends = np.array(list(steps), dtype=np.int64).reshape(-1, 2)
    from_zero, before = _shortest_ways(len(mechanism.configurations), ends, weights)
    return Closure(from_zero, before, steps)


def _shortest_ways(
    configurations: int, ends: Nodes, weights: Weights
) -> tuple[Weights, NDArray[np.int32]]:
    """``from_zero`` and ``before`` of a closure, from edges int64[e, 2] and their weights, above 0.

    Bellman and Ford's: in each round all edges at once shorten what they can. The ways have few
    edges, so that there are few rounds.
    """
    nodes = ORIENTATIONS * configurations
    far = np.full((configurations, nodes), FAR)
    far[np.arange(configurations), np.arange(0, nodes, ORIENTATIONS)] = 0
    before = np.full(far.shape, NO_NODE, dtype=np.int32)
    if not len(ends):
        return far, before
    order = np.argsort(ends[:, 1], kind="stable")
    starts, led, weights = *ends[order].T, weights[order]
    heads = np.flatnonzero(np.diff(led, prepend=-1))
    targets = led[heads]
    while True:
        best = np.minimum.reduceat(far[:, starts] + weights, heads, axis=1)
        if (best >= far[:, targets]).all():
            break
        far[:, targets] = np.minimum(far[:, targets], best)
    last = (far[:, starts] + weights == far[:, led]) & (far[:, starts] < FAR)
    chosen = np.maximum.reduceat(np.where(last, starts, NO_NODE), heads, axis=1)
    before[:, targets] = chosen
    return far, before


def _cheapest_steps(mechanism: Mechanism) -> dict[tuple[int, int], Transition]:
    """The best transition that leaves the cube as it is between any two neighbouring nodes."""
    best: dict[tuple[int, int], Transition] = {}
    for step in mechanism.transitions:
        rotation = whole_rotation(step, mechanism.size)
        if step.turns and rotation is None:
            continue
        for orientation in range(ORIENTATIONS):
            ends = (
                step.start * ORIENTATIONS + orientation,
                step.end * ORIENTATIONS + rotated(orientation, rotation),
            )
            if ends not in best or weight_of(step) < weight_of(best[ends]):
                best[ends] = step
    return best


def whole_rotation(step: Transition, size: int) -> tuple[str, int] | None:
    """How a transition turns the cube as a whole, if it does.

    Turning both layers of a 2x2x2 together is nothing else.
    """
    if size == 2 and len(step.turns) == 2 and sum(q for _, q in step.turns) % 4 == 0:
        site, quarters = step.turns[0]
        return SITE_AXIS[site][0], quarters * SITE_AXIS[site][1] % 4
    return step.rotation


def rotated(orientation: int, rotation: tuple[str, int] | None) -> int:
    """Index of the orientation after a transition's rotation."""
    if rotation is None:
        return orientation
    return int(rotate_table()[AXIS_NAMES.index(rotation[0]), rotation[1], orientation])
