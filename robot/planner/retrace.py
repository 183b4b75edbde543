"""The transitions behind costs: the steps in which a robot performs a sequence of composites.

The compiled tables hold weights, not paths, because the paths of all pairs would take far more
memory than the few that a plan needs. Three steps recover a plan's transitions from the weights.

1. Where does each composite end? Dynamic programming over the nodes, forwards through the sequence
   with the compiled rows. The last end is chosen with its residual motion added; the others follow
   backwards (``best_ends``).
2. Which turns make up one composite? Its weight is the least over the rounds of
   ``compile.composites``. Beginning with the round that has this weight, look for a turn that ends
   at the node, and for a node of the round before, whose weights add up to exactly that. At least
   one pair does, since the same additions in int64 made the table (``_legs``).
3. Which path leads to each turn? The closure stores the node before the last step of every path.
   Follow it backwards (``path``).

Example: CUBOTino, lid closed, table at 0, a half turn of D: 3.38 s. In round one, the turn from -1
to +1 ends with that weight: 1.88 s of its own, and 1.5 s remain. The closure has a path of 1.5 s
from the start to (table at -1, lid closed). Followed backwards it is: close the lid, turn the table
with the cube to -1, open the lid.

Among equally fast paths the weights prefer the one that moves fewer actuators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.compile.closure import FAR, Closure, Weights
from robot.mechanism.compile.composites import Composites
from robot.mechanism.compile.cost_model import Compiled, residual_motion_us
from robot.mechanism.frames import ORIENTATIONS, between_table, reframe_table, seen_table
from robot.mechanism.graph import CALM, Transition
from solver.cost import composite_of
from solver.errors import CubistError, ExitCode

Ints = NDArray[np.int64]


class PlanningError(CubistError, ValueError):
    """A scan or turns that the robot cannot perform; the text says which."""

    code = "no-way"
    exit_code = ExitCode.USAGE


def best_ends(compiled: Compiled, start: int, composites: Sequence[int]) -> list[int]:
    """Return the nodes after each of ``composites`` on the cheapest path from node ``start``.

    Raise :class:`PlanningError` if the mechanism cannot perform them.
    """
    costs: Weights = np.zeros(1, dtype=np.int64)
    here: Ints = np.array([start])
    trail: list[tuple[Ints, Ints]] = []
    for composite in composites:
        axis, column = divmod(composite, 15)
        onward = costs[:, None] + compiled.rows[axis][here, column]
        chosen = onward.argmin(axis=0)
        costs = onward[chosen, np.arange(onward.shape[1])]
        here = compiled.nodes[axis]
        trail.append((chosen, here))
        if not (costs < FAR).any():
            turn = composite_of(composite)
            raise PlanningError(
                f"{compiled.mechanism.name} cannot turn axis {turn[0]} by {turn[1:]}"
            )
    return _walk_back(
        trail, costs + CALM * residual_motion_us(compiled.mechanism, here).astype(np.int64)
    )


def _walk_back(trail: list[tuple[Ints, Ints]], costs: Weights) -> list[int]:
    """Return the nodes along the cheapest path, traced back from the end of its last composite."""
    ends: list[int] = []
    at = int(costs.argmin())
    for chosen, nodes in reversed(trail):
        ends.append(int(nodes[at]))
        at = int(chosen[at])
    return ends[::-1]


def transitions_between(
    compiled: Compiled, start: int, composite: int, end: int
) -> list[Transition]:
    """Return the cheapest transitions from node ``start`` through ``composite`` to ``end``."""
    composites = compiled.composites
    configuration, orientation = divmod(start, ORIENTATIONS)
    options = list(_base_legs(composites, orientation, composite, end))
    axis, progress, node = min(
        options, key=lambda leg: int(composites.best[leg[0]][configuration, leg[1], leg[2]])
    )
    legs = _legs(composites, axis, configuration * ORIENTATIONS, progress, node)
    return [step for leg in legs for step in leg]


def _base_legs(
    composites: Composites, orientation: int, composite: int, end: int
) -> Iterator[tuple[int, int, int]]:
    """Yield ``composite`` to ``end`` as ``(axis, progress, node)`` seen from orientation 0.

    There is one for a 3x3x3, and for a 2x2x2 one for each split of the turn over its two layers.
    """
    configuration, held = divmod(end, ORIENTATIONS)
    axis, first, second = composite_of(composite)
    splits = [(first, second)]
    if composites.mechanism.size == 2:
        splits = [((first - other) % 4, other) for other in range(4)]
    for qa, qb in splits:
        unframed = held
        if composites.mechanism.size == 2:
            unframed = int(reframe_table()[axis, qb, held])
        seen = int(seen_table()[orientation, axis * 15 + 4 * qa + qb - 1])
        base = int(between_table()[orientation, unframed])
        yield seen // 15, seen % 15 + 1, configuration * ORIENTATIONS + base


def _legs(
    composites: Composites, axis: int, source: int, progress: int, node: int
) -> list[list[Transition]]:
    """Return the cheapest legs to ``node``, each a path and a turn, found backwards."""
    configuration = source // ORIENTATIONS
    rounds = composites.turned[axis]
    target = composites.best[axis][configuration, progress, node]
    number = next(k for k, r in enumerate(rounds) if r[configuration, progress, node] == target)
    legs: list[list[Transition]] = []
    while True:
        value = rounds[number][configuration, progress, node]
        edge, came_from, progress = _last_turn(
            composites, axis, (configuration, number, progress, node), int(value)
        )
        edges = composites.edges[axis]
        step = composites.mechanism.transitions[edges.step[edge]]
        way = path(composites.closure, came_from, int(edges.start[edge]))
        legs.append([*way, step])
        if number == 0:
            return legs[::-1]
        number, node = number - 1, came_from


def _last_turn(
    composites: Composites, axis: int, leg: tuple[int, int, int, int], value: int
) -> tuple[int, int, int]:
    """Return a leg's last turn as ``(edge, node its path came from, progress before it)``."""
    configuration, number, progress, node = leg
    edges = composites.edges[axis]
    turns = np.flatnonzero(edges.end == node)
    everywhere = np.arange(composites.closure.nodes)
    onward = composites.closure.weights_between(everywhere, edges.start[turns])
    for edge, way in zip(turns, onward.T, strict=True):
        before = _retreat(progress, int(edges.gain[edge]))
        sources = _sources(composites, axis, configuration, number, before)
        ways = sources + way + edges.weight[edge]
        found = np.flatnonzero(ways == value)
        if len(found):
            return int(edge), int(found[0]), before
    raise PlanningError(f"the tables of {composites.mechanism.name} do not agree with its graph")


def _sources(
    composites: Composites, axis: int, configuration: int, number: int, progress: int
) -> Weights:
    """Return the weights before round ``number``: those of the start or of the round before."""
    sources: Weights = np.full(composites.closure.nodes, FAR)
    if number:
        sources[:] = composites.turned[axis][number - 1][configuration, progress]
        return sources
    if progress == 0:
        sources[configuration * ORIENTATIONS] = 0
    return sources


def _retreat(progress: int, gain: int) -> int:
    """Return the progress before a turn: each face's quarters modulo 4."""
    return 4 * ((progress // 4 - gain // 4) % 4) + (progress % 4 - gain % 4) % 4


def path(closure: Closure, start: int, end: int) -> list[Transition]:
    """Return the cheapest transitions between two nodes that turn no layer.

    Raise :class:`PlanningError` if there are none.
    """
    configuration, orientation = divmod(start, ORIENTATIONS)
    there, held = divmod(end, ORIENTATIONS)
    node = there * ORIENTATIONS + int(between_table()[orientation, held])
    steps: list[Transition] = []
    while node != configuration * ORIENTATIONS:
        before = int(closure.before[configuration, node])
        if before < 0:
            raise PlanningError(f"the robot cannot get from state {start} to state {end}")
        steps.append(closure.steps[before, node])
        node = before
    return steps[::-1]
