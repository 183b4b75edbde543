"""Estimating the colours of a cube and its arrangement together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from vision.decide.assignment import Labelling, cheapest_naming, orbits, ranked_cubes, shares
from vision.decide.colour_model import CubeModel, Observations, centres, starts
from vision.decide.schemes import all_namings, schemes
from vision.frame import Bools, Floats, Ints
from vision.measure.colour_space import ColourReferences, LightFeatures
from vision.measure.sticker_colours import StickerColours

_REFIT_ROUNDS = 4
_RERANKINGS = 5
"""How often a cube found may change the model and the model the cube."""
_SETTLED = 2.0
"""A model that changes the cost by less is settled."""
_NAMINGS = 120
"""How many other namings of the colours by the centres are weighed at most."""
_CONTRADICTION = 5.0
"""Log odds for another colour from which a sticker contradicts the letter it was given."""
_MEDIAN_DEVIATION = 2.366
"""Median squared distance, in standard deviations, of a Gaussian in three channels."""
_EXCESS = 0.2
"""Scatter beyond the model's from which overlapping colours are believed least, as a share."""
_APART = 5.5
"""Standard deviations between two colours below which they overlap."""
_GOOD_MARGIN = 12.0
_GOOD_MISFIT = 0.04
_GOOD_PRICE = 3.0
"""A start that leads to such a margin, share of odd stickers and price ends the search."""


@dataclass(frozen=True, eq=False)
class Decision:
    """The most likely legal cube and what speaks for and against it.

    ``letters``, ``runner_up`` int[6 * N * N]; ``margin`` the log likelihood between them; ``cost``
    the penalised negative log likelihood; ``price`` float[6 * N * N] what legality costs against
    each sticker's own best letter; ``strange`` bool[6 * N * N] what looks like none of the colours;
    ``doubt`` float[6 * N * N] the probability that the sticker's letter is another; ``doubtful``
    int[...] the stickers to name to a person, ``contradicted`` int[...] those that clearly show
    another colour than the cube has there, and no reflection; ``deviation`` float[6 * N * N] the
    squared distance of every sticker from its colour, in standard deviations; ``model``,
    ``features`` for explaining it.
    """

    letters: Ints
    runner_up: Ints
    margin: float
    cost: float
    price: Floats
    strange: Bools
    doubt: Floats
    doubtful: Ints
    contradicted: Ints
    deviation: Floats
    model: CubeModel
    features: LightFeatures

    @property
    def legality_cost(self) -> float:
        """The price of legality, in log likelihood, less the two stickers that pay most."""
        return float(np.sort(self.price)[:-2].sum())

    @property
    def misfit(self) -> float:
        """Share of the stickers that look like no colour."""
        return float(self.strange.mean())

    @property
    def worst_face(self) -> float:
        """The largest share of strange stickers on one face."""
        return float(self.strange.reshape(6, -1).mean(axis=1).max())

    @cached_property
    def trust(self) -> float:
        """The share of the margin that counts, 0..1.

        Less than 1 if two colours overlap and the stickers scatter more than the model of the
        colours, which is estimated from the same stickers.
        """
        scatter = float(np.median(self.deviation)) / _MEDIAN_DEVIATION
        needed = _APART * min(1.0, max(0.0, scatter - 1.0) / _EXCESS)
        return min(1.0, (self.model.separation / needed) ** 2) if needed > 0 else 1.0

    @property
    def renamed_centres(self) -> int:
        """The number of centres that clearly show another colour than their letter's."""
        middles = centres(round((len(self.letters) / 6) ** 0.5))
        return int((self.price[middles] > _GOOD_PRICE).sum())

    @property
    def strong(self) -> bool:
        """True if the cube stands out among legal ones and legality costs little."""
        return self.margin > _GOOD_MARGIN and self.legality_cost <= _GOOD_PRICE


@dataclass(frozen=True, eq=False)
class _Fit:
    """A cube's letters with the model that suits them best and what both cost."""

    letters: Ints
    model: CubeModel
    cost: float

    @classmethod
    def from_letters(cls, seen: Observations, model: CubeModel, letters: Ints) -> _Fit:
        fitted = seen.fit(model, letters, _REFIT_ROUNDS)
        return cls(letters, fitted, seen.total_cost(fitted, letters))


def decide(colours: StickerColours, references: ColourReferences | None = None) -> Decision:
    """The best decision over the starts tried; later starts only where earlier ones are unsure."""
    features = LightFeatures.from_colours(colours)
    seen = Observations(features, colours.size)
    found: list[Decision] = []
    for start in starts(seen, references):
        found.append(_decide_from(seen, start))
        if _enough(found):
            break
    best = min(found, key=lambda decision: decision.cost)
    rivals = [other.cost for other in found if not same_cube(other.letters, best.letters)]
    return replace(best, margin=min([best.margin, *(cost - best.cost for cost in rivals)]))


def _enough(found: list[Decision]) -> bool:
    """True if another start is not worth its time: the last is clear, or two agree."""
    last = found[-1]
    if len(found) > 1 and last.strong and found[-2].strong:
        return same_cube(last.letters, found[-2].letters)
    size = round((len(last.letters) / 6) ** 0.5)
    # A start from a centre that glare or a logo spoils may lead astray.
    few = last.misfit <= _GOOD_MISFIT and not last.strange[centres(size)].any()
    return last.strong and few


def same_cube(a: Ints, b: Ints) -> bool:
    """True if two labellings differ by the names of the colours at most."""
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == 6


def _decide_from(seen: Observations, model: CubeModel) -> Decision:
    """The most likely cube and its runner-up from a first model of the colours."""
    rival = None
    for _ in range(_RERANKINGS):
        first, second = ranked_cubes(seen.evidence(model).cost, seen.size, 2)
        fitted = seen.fit(model, first.letters, _REFIT_ROUNDS)
        moved = seen.total_cost(model, first.letters) - seen.total_cost(fitted, first.letters)
        model = fitted
        if moved < _SETTLED:
            rival = _rival_naming(seen, model, min(second.cost, first.cost + _GOOD_MARGIN))
            if rival is None or rival[0].cost > first.cost:
                break
            model = model.relabel(rival[1])
    own = _Fit(first.letters, model, seen.total_cost(model, first.letters))
    fits = [own, _Fit.from_letters(seen, model, second.letters)]
    if rival is not None:
        fits.append(_Fit.from_letters(seen, model.relabel(rival[1]), rival[0].letters))
    best, *others = sorted(fits, key=lambda fit: fit.cost)
    gap = min(second.cost, rival[0].cost if rival else second.cost) - first.cost
    return _judge(seen, best, others[0].letters, min(others[0].cost - best.cost, gap))


def _rival_naming(
    seen: Observations, model: CubeModel, limit: float
) -> tuple[Labelling, Ints] | None:
    """The cheapest cube when the colours have other letters, and the colour of every letter.

    On even sizes another scheme, on odd ones another colour for some centres; None when no such
    cube costs less than ``limit``.
    """
    size = seen.size
    cost = seen.evidence(model).cost
    orders = _namings(cost, size, limit)
    if not len(orders):
        return None
    best = cheapest_naming(cost, orders, size, limit)
    if best is None:
        return None
    order: Ints = orders[best[0]]
    return ranked_cubes(cost[:, order], size, 1)[0], order


def _namings(cost: Floats, size: int, limit: float) -> Ints:
    """Other ways to give the colours letters that may cost less than ``limit``, cheapest first,
    int[n, 6].
    """
    middles = centres(size)
    if len(middles) == 0:
        return schemes()[1:]
    orders = all_namings()[1:]
    named = cost[middles][np.arange(6), orders].sum(axis=1)
    least = cost.min(axis=1).sum() - cost[middles].min(axis=1).sum()
    ranked = np.argsort(named)[:_NAMINGS]
    near: Ints = ranked[named[ranked] + least < limit]
    return np.asarray(orders[near])


def _judge(seen: Observations, best: _Fit, runner_up: Ints, margin: float) -> Decision:
    evidence = seen.evidence(best.model)
    letters = best.letters
    rows = np.arange(len(letters))
    doubt = 1.0 - shares(evidence.cost, orbits(seen.size))[rows, letters]
    strict = seen.evidence(best.model, strict=True)
    strange = (seen.features.weight > 0) & (strict.inlier[rows, letters] < 0.5)
    # A runner-up that only names the colours otherwise differs in nothing that was seen.
    other_cube = not same_cube(letters, runner_up)
    differs = (letters != runner_up) & (margin < _GOOD_MARGIN / 2) & other_cube
    price = strict.cost[rows, letters] - strict.cost.min(axis=1)
    # Clear only if another colour fits well and nothing that may happen to a sticker explains it.
    clear = np.minimum(price, evidence.cost[rows, letters] - evidence.cost.min(axis=1))
    contradicted = (clear > _CONTRADICTION) & ~seen.brighter(best.model, letters)
    return Decision(
        letters,
        runner_up,
        margin,
        best.cost,
        price,
        strange,
        doubt,
        np.flatnonzero((doubt > 0.01) | strange | differs | contradicted),
        np.flatnonzero(contradicted),
        seen.deviation(best.model, letters),
        best.model,
        seen.features,
    )
