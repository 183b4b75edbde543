"""The cheapest way to turn two opposite faces of the cube, from turn to turn.

A composite ``(axis, qa, qb)`` may be one transition that turns both layers, or several with ways
between them: first the one face, then the other, or a half turn as two quarters when the range of
an actuator asks for it. Rounds of "way, turn" over the progress ``4 * qa + qb`` find the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.compile.closure import FAR, Closure, Weights, close
from robot.mechanism.frames import ORIENTATIONS, progress_table
from robot.mechanism.graph import Mechanism, Transition, weight_of

Ints = NDArray[np.int64]

PROGRESS = 16
MAX_ROUNDS = 6
"""Two quarters for each of two faces and some; no shipped robot needs more than three."""


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
    """Cheapest composites from orientation 0, with what is needed to retrace them.

    ``turned[axis][k]`` int64[C, 16, 24 C]: weight from ``(configuration, orientation 0)`` to the
    node *just after a turn* of round k + 1, by progress. ``best[axis]``: the least over rounds.
    """

    mechanism: Mechanism
    closure: Closure
    edges: tuple[TurnEdges, ...]
    turned: tuple[tuple[Weights, ...], ...]
    best: tuple[Weights, ...]


def compose(mechanism: Mechanism) -> Composites:
    """All composites of the three axes from every configuration."""
    closure = close(mechanism)
    edges = tuple(_turn_edges(mechanism, axis) for axis in range(3))
    rounds = tuple(_rounds(closure, edge) for edge in edges)
    best = tuple(np.minimum.reduce(turned) for turned in rounds)
    return Composites(mechanism, closure, edges, rounds, best)


def _turn_edges(mechanism: Mechanism, axis: int) -> TurnEdges:
    """The turns of the cube's ``axis``, as edges between nodes."""
    rows = [
        row
        for number, step in enumerate(mechanism.transitions)
        if step.turns
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
            start, end = (c * ORIENTATIONS + orientation for c in (step.start, step.end))
            rows.append((start, end, gain, weight_of(step), number))
    return rows


def _rounds(closure: Closure, edges: TurnEdges) -> tuple[Weights, ...]:
    """Ways with one turn, with two, ... as long as a further turn improves something."""
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
    """From every node and progress through each turn, to the nodes just after it."""
    turned = np.full_like(ways, FAR)
    if not len(edges.end):
        return turned
    for progress in range(PROGRESS):
        if (ways[:, progress] < FAR).any():
            _turn_from(ways[:, progress], progress, edges, turned)
    return turned


def _turn_from(ways: Weights, progress: int, edges: TurnEdges, turned: Weights) -> None:
    """Lower ``turned`` by what one more turn reaches from ``ways`` at that progress."""
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
    """Progress after more quarters: each face's modulo 4."""
    first, second = progress // 4 + gain // 4, progress % 4 + gain % 4
    return np.asarray(4 * (first % 4) + second % 4, dtype=np.int64)


def _walk(turned: Weights, closure: Closure, edges: TurnEdges) -> Weights:
    """From nodes just after a turn, without turning, to nodes where the next may begin."""
    starts = np.unique(edges.start)
    sources = np.unique(edges.end)
    ways = np.full_like(turned, FAR)
    between = closure.between(sources, starts)
    for configuration, progress in np.argwhere((turned[:, 1:] < FAR).any(axis=2)):
        row = turned[configuration, progress + 1, sources]
        live = row < FAR
        least = (row[live, None] + between[live]).min(axis=0)
        ways[configuration, progress + 1, starts] = np.minimum(least, FAR)
    return ways
