"""The fastest way to turn two opposite faces of the cube, from turn to turn.

The search solves in *composites* ``(axis, qa, qb)``: quarters of both faces of one axis, in any
order. A mechanism performs one with a single transition, or with several and paths between them:
one face after the other, or a half turn as two quarters where an actuator's range ends.

So the cost of a composite is a shortest path over (node, progress), where the progress
``4 * qa + qb`` counts the quarters made so far, each modulo 4. It is found in rounds. Each round
is a path that turns no layer (from the closure), then one transition that turns some. Round k gives
the least weight of every node *just after* its k-th turn. Rounds continue while another turn makes
anything faster; there are at most six, and four for CUBOTino.

Composites end with a turn, never with a movement after it. Such a movement belongs to the path
before the next turn and can be chosen to suit it. As in the closure, rounds start in orientation 0
of every configuration; ``frames`` converts them to the other orientations.

Example: CUBOTino's table turns -1..+1 quarters. With the lid closed and the table at -1, a half
turn of the face at D is one transition to +1: 1.88 s, one round. From 0 no transition turns by two
quarters. The fastest way is to open the lid (0.3 s), take the cube along to the end of the range
(0.7 s), close the lid (0.5 s) and turn from there (1.88 s): 3.38 s. It is a path and one turn,
again one round. Two quarters with a return in between are two rounds: 3.5 s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.compile.closure import FAR, Closure, Weights, path_closure, rotate_orientation
from robot.mechanism.frames import ORIENTATIONS, progress_table
from robot.mechanism.graph import Mechanism, Transition, weight_of

Ints = NDArray[np.int64]

PROGRESS = 16
MAX_ROUNDS = 6
"""Maximum rounds: two quarters for each of two faces, plus two; no shipped robot needs over 4."""


@dataclass(frozen=True, eq=False)
class TurnEdges:
    """Transitions that turn faces of one axis, in every orientation: one entry for each.

    ``start``, ``end``: nodes; ``gain``: ``4 * qa + qb`` quarters; ``weight``; ``step``: number of
    the transition. Sorted by ``end``. All int64[E].
    """

    start: Ints
    end: Ints
    gain: Ints
    weight: Ints
    step: Ints


@dataclass(frozen=True, eq=False)
class Composites:
    """Cheapest composites from orientation 0, with the data to retrace them.

    ``turned[axis][k]`` int64[C, 16, 24 C]: weight from ``(configuration, orientation 0)`` to the
    node *just after a turn* of round k + 1, by progress. ``best[axis]``: the least over rounds.
    """

    mechanism: Mechanism
    closure: Closure
    edges: tuple[TurnEdges, ...]
    turned: tuple[tuple[Weights, ...], ...]
    best: tuple[Weights, ...]


def compose(mechanism: Mechanism) -> Composites:
    """Return all composites of the three axes from every configuration."""
    closure = path_closure(mechanism)
    edges = tuple(_turn_edges(mechanism, axis) for axis in range(3))
    rounds = tuple(_rounds(closure, edge) for edge in edges)
    best = tuple(np.minimum.reduce(turned) for turned in rounds)
    return Composites(mechanism, closure, edges, rounds, best)


def _turn_edges(mechanism: Mechanism, axis: int) -> TurnEdges:
    """Return the turns of the cube's ``axis``, as edges between nodes."""
    rows = [
        row
        for number, step in enumerate(mechanism.transitions)
        if step.turns and step.layers == 1
        for row in _edges_of(number, step, axis)
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    table = table[np.argsort(table[:, 1], kind="stable")]
    return TurnEdges(*(np.ascontiguousarray(column) for column in table.T))


def _edges_of(number: int, step: Transition, axis: int) -> list[tuple[int, int, int, int, int]]:
    rows = []
    for orientation in range(ORIENTATIONS):
        gain = 0
        for site, quarters in step.turns:
            turned_axis, weight = progress_table()[orientation, "URFDLB".index(site)]
            if turned_axis == axis:
                gain += int(weight) * quarters
        if gain:
            start = step.start * ORIENTATIONS + orientation
            end = step.end * ORIENTATIONS + rotate_orientation(orientation, step.rotation)
            rows.append((start, end, gain, weight_of(step), number))
    return rows


def _rounds(closure: Closure, edges: TurnEdges) -> tuple[Weights, ...]:
    """Return paths with one turn, with two, ... while another turn improves something."""
    configurations = closure.before.shape[0]
    nodes = ORIENTATIONS * configurations
    ways = np.full((configurations, PROGRESS, nodes), FAR)
    ways[:, 0] = closure.from_zero
    turned = [_turn(ways, edges)]
    best = turned[0]
    fresh = best < FAR
    for _ in range(MAX_ROUNDS - 1):
        onward = np.where(fresh, turned[-1], FAR)
        further = _turn(_walk(onward, closure, edges), edges)
        fresh = further < best
        fresh[:, 0] = False
        if not fresh.any():
            break
        turned.append(np.where(fresh, further, FAR))
        best = np.minimum(best, further)
    return tuple(turned)


def _turn(ways: Weights, edges: TurnEdges) -> Weights:
    """Extend paths from every node and progress by one turn, to the nodes just after it."""
    turned = np.full_like(ways, FAR)
    if not len(edges.end):
        return turned
    for progress in range(PROGRESS):
        if (ways[:, progress] < FAR).any():
            _turn_from(ways[:, progress], progress, edges, turned)
    return turned


def _turn_from(ways: Weights, progress: int, edges: TurnEdges, turned: Weights) -> None:
    """Lower ``turned`` to the weights that one more turn reaches from ``ways`` at ``progress``."""
    after = _advance(progress, edges.gain)
    reached = np.minimum(ways[:, edges.start] + edges.weight, FAR)
    for target in np.unique(after):
        chosen = np.flatnonzero(after == target)
        ends = edges.end[chosen]
        heads = np.flatnonzero(np.diff(ends, prepend=-1))
        least = np.minimum.reduceat(reached[:, chosen], heads, axis=1)
        there = turned[:, target]
        there[:, ends[heads]] = np.minimum(there[:, ends[heads]], least)


def _advance(progress: int, gain: Ints) -> Ints:
    """Return the progress after more quarters: each face's modulo 4."""
    first, second = progress // 4 + gain // 4, progress % 4 + gain % 4
    return np.asarray(4 * (first % 4) + second % 4, dtype=np.int64)


def _walk(turned: Weights, closure: Closure, edges: TurnEdges) -> Weights:
    """Extend paths from nodes just after a turn to nodes where the next one may begin."""
    starts = np.unique(edges.start)
    sources = np.unique(edges.end)
    ways = np.full_like(turned, FAR)
    between = closure.weights_between(sources, starts)
    for configuration, progress in np.argwhere((turned[:, 1:] < FAR).any(axis=2)):
        row = turned[configuration, progress + 1, sources]
        live = row < FAR
        least = (row[live, None] + between[live]).min(axis=0)
        ways[configuration, progress + 1, starts] = np.minimum(least, FAR)
    return ways
