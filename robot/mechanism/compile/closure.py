"""Fastest paths between turns: all motions of the mechanism that turn no layer.

A node is ``24 * configuration + orientation``: the actuators' positions and the cube's orientation.
The mechanism's graph is independent of the orientation: a transition possible in one is possible in
all. So paths are computed from orientation 0 only. A path from orientation ``o`` to ``p`` is the
one from 0 to the rotation between ``o`` and ``p`` (``frames.between_table``). That saves 23 of 24
searches and as much memory.

Weights order paths by time, then by number of motions: ``duration_us * 4096 + actuators moved``.
They stay exact, as int64, and the time is the weight divided by 4096.

Example: CUBOTino has 3 angles of its table and 3 positions of its lid, so 9 configurations and 216
nodes. From (table home, lid open) to (table home, lid closed) with the cube rolled once about x
leads open -> flip, 0.5 s, which rolls it, then flip -> close, 0.6 s and 0.2 s to settle: 1.3 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.frames import AXIS_NAMES, ORIENTATIONS, between_table, rotate_table
from robot.mechanism.graph import CALM, SITE_AXIS, Mechanism, Transition, weight_of

Weights = NDArray[np.int64]
Nodes = NDArray[np.int64]

FAR = np.int64(1) << 60
"""Weight of a missing path; a sum of a few does not overflow."""

NO_NODE = -1


def microseconds_of(weights: Weights) -> NDArray[np.uint32]:
    """Return the times of weights; ``IMPOSSIBLE`` (all ones) if there is no path."""
    times = np.where(weights >= FAR, np.int64(0xFFFFFFFF), weights // CALM)
    return times.astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Closure:
    """Paths that turn no layer.

    ``from_zero`` int64[C, 24 C]: weights from ``(configuration, orientation 0)`` to all nodes.
    ``before`` int32[C, 24 C]: the node before the last step on that path, negative at the start and
    if there is no path. ``steps[node, node]``: the transition between neighbours.
    """

    from_zero: Weights
    before: NDArray[np.int32]
    steps: dict[tuple[int, int], Transition]

    @property
    def nodes(self) -> int:
        """The number of nodes, 24 C."""
        return int(self.from_zero.shape[1])

    def weights_between(self, starts: Nodes, ends: Nodes) -> Weights:
        """Return weights from each of ``starts`` to each of ``ends`` (nodes). int64[s, e]."""
        configurations, held = np.divmod(np.asarray(starts), ORIENTATIONS)
        there, then = np.divmod(np.asarray(ends), ORIENTATIONS)
        led = between_table()[held[:, None], then]
        return np.asarray(self.from_zero[configurations[:, None], ORIENTATIONS * there + led])


@lru_cache(maxsize=8)
def path_closure(mechanism: Mechanism) -> Closure:
    """Return the fastest paths between all nodes over transitions that turn no layer."""
    steps = _cheapest_steps(mechanism)
    weights = np.array([weight_of(step) for step in steps.values()], dtype=np.int64)
    ends = np.array(list(steps), dtype=np.int64).reshape(-1, 2)
    from_zero, before = _shortest_ways(len(mechanism.configurations), ends, weights)
    return Closure(from_zero, before, steps)


def _shortest_ways(
    configurations: int, ends: Nodes, weights: Weights
) -> tuple[Weights, NDArray[np.int32]]:
    """Return ``from_zero`` and ``before`` of a closure from edges int64[e, 2] and weights above 0.

    Algorithm: Bellman-Ford. Each round relaxes all edges at once. Paths have few edges, so there
    are few rounds. Configurations are processed one by one: all at once, 179 configurations take
    six times as long and 150 MB more.
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
    for row, row_before in zip(far, before, strict=True):
        while True:
            best = np.minimum.reduceat(row[starts] + weights, heads)
            if (best >= row[targets]).all():
                break
            row[targets] = np.minimum(row[targets], best)
        last = (row[starts] + weights == row[led]) & (row[starts] < FAR)
        row_before[targets] = np.maximum.reduceat(np.where(last, starts, NO_NODE), heads)
    return far, before


def _cheapest_steps(mechanism: Mechanism) -> dict[tuple[int, int], Transition]:
    """Return the best transition between any two neighbouring nodes that turns no layer."""
    best: dict[tuple[int, int], Transition] = {}
    for step in mechanism.transitions:
        if turns_layers(step, mechanism.size):
            continue
        rotation = whole_rotation(step, mechanism.size)
        for orientation in range(ORIENTATIONS):
            ends = (
                step.start * ORIENTATIONS + orientation,
                step.end * ORIENTATIONS + rotate_orientation(orientation, rotation),
            )
            if ends not in best or weight_of(step) < weight_of(best[ends]):
                best[ends] = step
    return best


def turns_layers(step: Transition, size: int) -> bool:
    """Return true if a transition changes the cube, not only its orientation."""
    return bool(step.turns) and not _turns_both(step, size)


def whole_rotation(step: Transition, size: int) -> tuple[str, int] | None:
    """Return the rotation of the whole cube by a transition, if there is one.

    Turning both layers of a 2x2x2 together is such a rotation.
    """
    if _turns_both(step, size):
        site, quarters = step.turns[0]
        return SITE_AXIS[site][0], quarters * SITE_AXIS[site][1] % 4
    return step.rotation


def _turns_both(step: Transition, size: int) -> bool:
    """Return true if both layers of a 2x2x2 turn as one."""
    return size == 2 and len(step.turns) == 2 and sum(q for _, q in step.turns) % 4 == 0


def rotate_orientation(orientation: int, rotation: tuple[str, int] | None) -> int:
    """Return the index of the orientation after a transition's rotation."""
    if rotation is None:
        return orientation
    return int(rotate_table()[AXIS_NAMES.index(rotation[0]), rotation[1], orientation])


def reachable_nodes(mechanism: Mechanism) -> set[int]:
    """Return the nodes that some sequence of transitions reaches from the start."""
    seen = {ORIENTATIONS * mechanism.start.configuration + mechanism.start.orientation.index}
    pending = list(seen)
    while pending:
        configuration, orientation = divmod(pending.pop(), ORIENTATIONS)
        for step in mechanism.steps_from(configuration):
            node = ORIENTATIONS * step.end + rotate_orientation(orientation, step.rotation)
            if node not in seen:
                seen.add(node)
                pending.append(node)
    return seen
