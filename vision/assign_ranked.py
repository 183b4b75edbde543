"""The cheapest arrangements of pieces, in order, under twist, flip and parity: exact.

Slots are filled one after the other; a partial arrangement is known by the set of pieces used, the
sum of turns so far and the parity of the permutation so far (inversions counted as pieces come).
Dynamic programming over those sets (Held and Karp's idea) keeps the ``k`` cheapest of each, so the
answer is exact for any costs and takes the same time for hard scans as for easy ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Pieces and turns per slot, int[slots] each, and what they cost in sum."""

    cost: float
    pieces: Ints
    turns: Ints


@dataclass(frozen=True, eq=False)
class _Layer:
    """Ways to reach each set of ``s + 1`` pieces from a set of ``s``.

    ``piece``, ``origin`` int[s + 1, sets]: the piece added last and the number of the set before.
    Pieces of a set are listed in order, so the one at position ``j`` adds ``s - j`` inversions.
    """

    piece: Ints
    origin: Ints


@cache
def _layers(count: int) -> tuple[_Layer, ...]:
    sets = np.arange(1 << count)
    sizes = np.array([int(s).bit_count() for s in sets])
    rank = np.zeros(1 << count, dtype=np.intp)
    for size in range(count + 1):
        rank[sizes == size] = np.arange((sizes == size).sum())
    return tuple(_layer(sets[sizes == size + 1], rank, count) for size in range(count))


def _layer(targets: Ints, rank: Ints, count: int) -> _Layer:
    members = np.array([[p for p in range(count) if int(t) >> p & 1] for t in targets]).T
    return _Layer(members.astype(np.intp), rank[targets & ~(1 << members)])


class RankedArrangements:
    """The ``k`` cheapest arrangements for every sum of turns and parity.

    ``cost`` float[n, n, w] is the cost of piece ``p`` in slot ``s`` turned ``w`` ways.
    """

    def __init__(self, cost: Floats, k: int) -> None:
        self._cost = cost
        self._k = k
        start = np.full((2, cost.shape[2], k, 1), np.inf)
        start[0, 0, 0] = 0.0
        # Table s, float[parity, turns, k, sets]: the cheapest ways to fill slots before s.
        self._tables = [start]
        for slot, layer in enumerate(_layers(len(cost))):
            self._tables.append(self._advance(slot, layer))

    def _advance(self, slot: int, layer: _Layer) -> Floats:
        before = self._before(slot, layer.origin)
        added = np.moveaxis(self._cost[slot][layer.piece], 2, 0)  # [turn, members, sets]
        width = len(added)
        columns = []
        for turns in range(width):
            ways = [before[:, turns - turn] + added[turn] for turn in range(width)]
            best = ways[0]
            for way in ways[1:]:
                best = _merged(best, way, self._k)
            columns.append(_reduced(best, self._k))
        return np.stack(columns, axis=1)

    def _before(self, slot: int, origin: Ints) -> Floats:
        """The table before ``slot`` for each way, float[parity, turns, k, members, sets].

        Parities are those after the piece has been added.
        """
        table = self._tables[slot]
        before = np.take(table, origin, axis=3)
        odd = slice((slot + 1) % 2, None, 2)
        before[:, :, :, odd] = before[::-1, :, :, odd]
        return before

    def cost(self, turns: int, parity: int, rank: int) -> float:
        """Cost of the ``rank``-th cheapest arrangement (0 first); infinite where there is none."""
        return float(self._tables[-1][parity, turns, rank, 0])

    def arrangement(self, turns: int, parity: int, rank: int) -> Arrangement:
        """The ``rank``-th cheapest arrangement with that sum of turns and parity."""
        total = self.cost(turns, parity, rank)
        count, _, width = self._cost.shape
        pieces, turned = np.zeros(count, dtype=np.intp), np.zeros(count, dtype=np.intp)
        state = 0
        for slot in range(count - 1, -1, -1):
            layer = _layers(count)[slot]
            before = self._before(slot, layer.origin[:, state : state + 1])[parity, :, :, :, 0]
            added = self._cost[slot][layer.piece[:, state]]
            ways = np.stack([before[turns - turn] + added[:, turn] for turn in range(width)])
            # Ways in a fixed order make equal costs different ranks, here as in later slots.
            way = int(np.argsort(ways, axis=None, kind="stable")[rank])
            turn, rank, member = (int(i) for i in np.unravel_index(way, ways.shape))
            pieces[slot], turned[slot] = layer.piece[member, state], turn
            state = int(layer.origin[member, state])
            parity, turns = (parity + slot - member) % 2, (turns - turn) % width
        return Arrangement(total, pieces, turned)


def _merged(a: Floats, b: Floats, k: int) -> Floats:
    """The ``k`` smallest of two lists of ``k``, each in increasing order on axis 1."""
    if k == 1:
        return np.minimum(a, b)
    if k > 2:
        return np.sort(np.concatenate([a, b], axis=1), axis=1)[:, :k]
    best = np.empty_like(a)
    np.minimum(a[:, 0], b[:, 0], out=best[:, 0])
    np.maximum(a[:, 0], b[:, 0], out=best[:, 1])
    np.minimum(best[:, 1], np.minimum(a[:, 1], b[:, 1]), out=best[:, 1])
    return best


def _reduced(ways: Floats, k: int) -> Floats:
    """The ``k`` smallest over axis 2 of float[parity, k, members, sets]."""
    while ways.shape[2] > 1:
        half = ways.shape[2] // 2
        merged = _merged(ways[:, :, :half], ways[:, :, half : 2 * half], k)
        left = ways[:, :, 2 * half :]
        ways = np.concatenate([merged, left], axis=2) if left.shape[2] else merged
    return ways[:, :, 0]
