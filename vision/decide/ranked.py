"""The cheapest arrangements of pieces, in order, under twist, flip and parity: exact.

Slots are filled one after the other; dynamic programming over the sets of pieces used (Held and
Karp's idea) with the sum of turns and the parity so far takes the same time for hard scans as for
easy ones. The work is the native kernel's (``solver/native/decode/arrangements.hpp``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver import _native

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Pieces and turns per slot, int[slots] each, and what they cost in sum."""

    cost: float
    pieces: Ints
    turns: Ints


class RankedArrangements:
    """The ``k`` cheapest arrangements for every sum of turns and parity.

    ``cost`` float[n, n, w] is the cost of piece ``p`` in slot ``s`` turned ``w`` ways, n <= 12,
    w <= 3, k <= 4.
    """

    def __init__(self, cost: Floats, k: int) -> None:
        self._slots = len(cost)
        self._ranked = _native.RankedArrangements(np.ascontiguousarray(cost), k)

    def cost(self, turns: int, parity: int, rank: int) -> float:
        """Cost of the ``rank``-th cheapest arrangement (0 first); infinite where there is none."""
        return self._ranked.cost(turns, parity, rank)

    def arrangement(self, turns: int, parity: int, rank: int) -> Arrangement:
        """The ``rank``-th cheapest arrangement with that sum of turns and parity; ValueError where
        there is none.
        """
        pieces, turned = np.empty(self._slots, np.int64), np.empty(self._slots, np.int64)
        self._ranked.arrangement(turns, parity, rank, pieces, turned)
        return Arrangement(self.cost(turns, parity, rank), pieces, turned)
