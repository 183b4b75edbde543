"""First models of a cube's colours: from references, from its centres, from nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vision.decide.assignment import ranked_assignments, relaxed_cost
from vision.decide.colour_model import CubeModel, Observations
from vision.decide.orbits import Orbit, anything, orbits, shares
from vision.decide.schemes import schemes
from vision.measure.colour_space import USUAL, ColourReferences, LightFeatures

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_ROUNDS = 10
_COOLING = 4
_HOT = 2.0
"""Rounds of estimation; the first are tempered so that early mistakes are not final."""
_STILL = 0.01
"""A model whose colours move less in a round, in log light, is done."""

_NAMINGS = 12
"""How many namings of the colours by the centres are compared on the whole cube."""


def starts(seen: Observations, references: ColourReferences | None) -> Iterator[CubeModel]:
    """Models to decide from, the most promising first, each estimated from another beginning."""
    if references is not None:
        yield _named(seen, seen.start(seen.features.of_light(references.linear_rgb)))
    middles = centres(seen.size)
    if len(middles) and (seen.features.weight[middles] > 0).all():
        yield estimated(seen, seen.start(seen.features.values[middles]), orbits(seen.size))
    yield _named(seen, seen.start(seen.features.of_light(USUAL)))
    yield _named(seen, seen.start(_spread_out(seen.features)))
    yield _named(seen, seen.start(seen.features.of_light(USUAL)), patience=2)


def centres(size: int) -> Ints:
    """The fixed centres' stickers in order of their letters, int[6]; none on even sizes."""
    if size % 2 == 0:
        return np.zeros(0, dtype=np.intp)
    return np.arange(6, dtype=np.intp) * size * size + size * size // 2


def estimated(
    seen: Observations, model: CubeModel, where: Sequence[Orbit], patience: int = 0
) -> CubeModel:
    """The model after rounds of expectation-maximisation with the pieces of ``where``.

    For the first ``patience`` rounds nothing is taken for an outlier, so that a colour can come
    from far; otherwise glare and dirt never touch the model.
    """
    for done in range(_ROUNDS):
        evidence = seen.evidence(model)
        temperature = max(1.0, _HOT * (1 - done / _COOLING))
        share = shares(evidence.cost, where, temperature)
        before = model.mean
        model = seen.update(model, share if done < patience else share * evidence.inlier)
        if done > _COOLING and np.abs(model.mean - before).max() < _STILL:
            break
    return model


def clusters(seen: Observations) -> CubeModel:
    """Six colours that occur equally often, estimated without knowing which pieces there are."""
    middles = centres(seen.size)
    where = anything(seen.size)
    if len(middles):
        return estimated(seen, seen.start(seen.features.values[middles]), where)
    usual = seen.features.of_light(USUAL)
    first = [(usual, 0), (_spread_out(seen.features), 0), (usual, 2)]
    found = [estimated(seen, seen.start(mean), where, patience) for mean, patience in first]
    return min(found, key=lambda model: relaxed_cost(seen.evidence(model).cost, where))


def named_orders(cost: Floats, size: int) -> list[Ints]:
    """Ways to give numbered colours letters, int[6] each: the colour of every letter.

    The likeliest by the centres where there are any, else one for each scheme.
    """
    middles = centres(size)
    if len(middles) == 0:
        return list(schemes())
    by_letter = cost[middles]
    return [order for _, order in ranked_assignments(by_letter, _NAMINGS)]


def _named(seen: Observations, start: CubeModel, patience: int = 0) -> CubeModel:
    """The model from a start whose colours are only clusters, with the likeliest letters."""
    unnamed = estimated(seen, start, anything(seen.size), patience)
    cost = seen.evidence(unnamed).cost
    size = seen.size
    telling = [orbit for orbit in orbits(size) if orbit.kind != "centre"]
    orders = named_orders(cost, size)
    best = min(orders, key=lambda order: relaxed_cost(cost[:, order], telling))
    return estimated(seen, unnamed.relabelled(best), orbits(size))


def _spread_out(features: LightFeatures) -> Floats:
    """Six stickers as different as can be, float[6, 3]: colours to start from knowing nothing."""
    values = features.values[features.weight > 0]
    # Differences of brightness are mostly light, differences between channels mostly colour.
    points = values - 0.6 * values.mean(axis=1, keepdims=True)
    chosen = [int(np.linalg.norm(points - np.median(points, axis=0), axis=1).argmax())]
    while len(chosen) < 6:
        gaps = np.linalg.norm(points[:, None] - points[chosen][None], axis=2).min(axis=1)
        chosen.append(int(gaps.argmax()))
    return np.asarray(values[chosen])
