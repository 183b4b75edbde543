"""How likely each colour is on each sticker, given that the pieces of a cube are all there once.

The E step of the estimation: within an orbit the likelihoods of pieces in slots are scaled until
every slot holds one piece and every piece is used as often as it exists (Sinkhorn's iteration, a
close and fast stand-in for the sum over all permutations).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vision.decide.orbits import Orbit

Floats = NDArray[np.float64]

_ROUNDS = 8


@cache
def anything(size: int) -> tuple[Orbit, ...]:
    """A stand-in for the orbits while colours have no faces yet: only their counts are known."""
    count = size * size
    stickers = np.arange(6 * count, dtype=np.intp)[:, None]
    return (Orbit("centre", stickers, np.arange(6, dtype=np.intp)[:, None], 1, count),)


def shares(cost: Floats, orbits: Iterable[Orbit], temperature: float = 1.0) -> Floats:
    """Probability of each letter on each sticker, float[stickers, 6], from its costs."""
    result = np.zeros_like(cost)
    for orbit in orbits:
        if orbit.kind == "fixed":
            result[orbit.facelets[:, 0], np.arange(6)] = 1.0
        else:
            _add_shares(result, orbit, cost / temperature)
    return result


def _add_shares(result: Floats, orbit: Orbit, cost: Floats) -> None:
    piece_cost = orbit.costs(cost)
    likelihood = np.exp(piece_cost.min(axis=(1, 2), keepdims=True) - piece_cost)
    balance = _balanced(likelihood.sum(axis=2), orbit.copies)
    weight = (likelihood * balance[:, :, None]).reshape(len(piece_cost), -1)
    shown = (weight @ orbit.letters).reshape(*orbit.facelets.shape, 6)
    result[orbit.facelets] += shown


def _balanced(likelihood: Floats, copies: int) -> Floats:
    """Factors that make every row sum to 1 and every column to ``copies``."""
    likelihood = likelihood + 1e-30
    rows = np.ones(likelihood.shape[0])
    columns = np.ones(likelihood.shape[1])
    for _ in range(_ROUNDS):
        columns = copies / (rows @ likelihood)
        rows = 1.0 / (likelihood @ columns)
    return np.outer(rows, columns)
