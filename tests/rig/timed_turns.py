"""Costs of shipped robots and of robots that are only costs, by NumPy and brute force."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache
from heapq import heappop, heappush
from itertools import count, pairwise, product
from typing import TypeVar

import numpy as np

from robot.mechanism.compile.cost_model import compile_mechanism
from robot.mechanism.registry import build_mechanism
from robot.settings import load_profile
from solver.cost import (
    COMPOSITES,
    IMPOSSIBLE,
    CostModel,
    TurnCosts,
    composite_index,
    composite_of,
    moves_of,
)
from solver.cube.cube import Cube

NEVER = int(IMPOSSIBLE)

State = TypeVar("State", bound=Hashable)


@cache
def cost_model_of(robot: str) -> CostModel:
    """Return the costs of a shipped robot's turns from its start."""
    mechanism = build_mechanism(load_profile(robot))
    return compile_mechanism(mechanism).cost_model(mechanism.start)


def in_order_of_cost(
    start: State, onward: Callable[[State], Iterable[tuple[int, State]]]
) -> Iterator[tuple[int, State]]:
    """Yield the least cost of every reachable state, cheapest first.

    ``onward(state)`` returns the cost of each step from a state, and its end: plain Dijkstra.
    """
    best, numbers = {start: 0}, count(1)
    heap: list[tuple[int, int, State]] = [(0, 0, start)]
    while heap:
        cost, _, state = heappop(heap)
        if cost > best[state]:
            continue
        yield cost, state
        for more, after in onward(state):
            if after not in best or cost + more < best[after]:
                best[after] = cost + more
                heappush(heap, (cost + more, next(numbers), after))


def random_model(
    seed: int, states: int, blocked: float = 0.2, least: int = 100, most: int = 1000
) -> CostModel:
    """Return costs without symmetry; some transitions are closed, but no state is cut off."""
    rng = np.random.default_rng(seed)
    first = rng.integers(least, most, (COMPOSITES, states), dtype=np.uint32)
    following = rng.integers(least, most, (3, COMPOSITES, states, states), dtype=np.uint32)
    following[rng.random(following.shape) < blocked] = IMPOSSIBLE
    following[..., 0] = rng.integers(
        most // 2, most * 3 // 2, following.shape[:-1], dtype=np.uint32
    )
    for axis in range(3):
        following[axis, 15 * axis : 15 * axis + 15] = IMPOSSIBLE
    final = rng.integers(0, least // 2, (3, states), dtype=np.uint32)
    return CostModel(first, TurnCosts("random", following, final))


THREE_FACES = [composite_index(axis, quarters, 0) for axis in range(3) for quarters in (1, 2, 3)]
"""The turns of a 2x2x2, whose other layers can stand in for these."""


def of_three_faces(model: CostModel) -> CostModel:
    """Return the model of a robot that turns nothing else, and one face at a time."""
    others = np.setdiff1d(np.arange(COMPOSITES), THREE_FACES)
    model.first[others] = NEVER
    model.turns.next[:, others] = NEVER
    return model


def six_motors() -> CostModel:
    """Return a model: quarters take 20 ms, opposite faces together as long as the longer turn."""
    costs = np.array(
        [32_000 if 2 in composite_of(c)[1:] else 20_000 for c in range(COMPOSITES)], dtype=np.uint32
    )
    following = np.broadcast_to(costs[None, :, None, None], (3, COMPOSITES, 1, 1)).copy()
    for axis in range(3):
        following[axis, 15 * axis : 15 * axis + 15] = IMPOSSIBLE
    return CostModel(
        costs[:, None], TurnCosts("six motors", following, np.zeros((3, 1), np.uint32))
    )


def cost_of(model: CostModel, composites: Sequence[int]) -> int:
    """Return the cost by NumPy, one matrix at a time."""
    if not composites:
        return 0
    far = 1 << 40
    clip = lambda a: np.where(a == IMPOSSIBLE, far, a.astype(np.int64))  # noqa: E731 - local name
    now = clip(model.first[composites[0]])
    for before, composite in pairwise(composites):
        now = (now[:, None] + clip(model.turns.next[before // 15, composite])).min(axis=0)
    return int((now + model.turns.final[composites[-1] // 15]).min())


def cheapest_within(model: CostModel, cube: Cube, turns: int) -> int:
    """Return the least cost over all sequences of up to ``turns`` composites, by brute force."""
    cubes = [Cube.from_moves(" ".join(moves_of((c,)))) for c in range(COMPOSITES)]
    best = 0 if cube.is_solved else NEVER
    for length in range(1, turns + 1):
        for sequence in product(range(COMPOSITES), repeat=length - 1):
            if any(a // 15 == b // 15 for a, b in pairwise(sequence)):
                continue
            left = cube
            for composite in sequence:
                left = left * cubes[composite]
            last = LAST.get(left.states.tobytes())
            if last is None or (sequence and sequence[-1] // 15 == last // 15):
                continue
            best = min(best, cost_of(model, (*sequence, last)))
    return best


LAST = {
    Cube.from_moves(" ".join(moves_of((c,)))).inverse.states.tobytes(): c for c in range(COMPOSITES)
}
"""The composite that solves a cube one composite away."""
