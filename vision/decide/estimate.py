"""Estimating the colours of a cube and its arrangement together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from vision.decide.assignment import (
    Labelling,
    cheapest_naming,
    orbits,
    ranked_assignments,
    ranked_cubes,
    shares,
)
from vision.decide.colour_model import CubeModel, Observations, centres, starts
from vision.decide.misassembly import Misassembled, likeliest_misassembled
from vision.decide.schemes import all_namings, schemes
from vision.frame import Bools, Floats, Ints
from vision.measure.colour_space import ColourReferences, LightFeatures
from vision.measure.sticker_colours import StickerColours

_REFIT_ROUNDS = 4
_RERANKINGS = 5
"""Maximum number of times that the cube found changes the model, and the model the cube."""
_SETTLED = 2.0
"""Change of the cost below which a model is settled."""
_NAMINGS = 120
"""Maximum number of other namings of the colours by the centres to weigh."""
_EXCHANGED = 9.5
"""Log odds against two exchanged stickers. Those in real sets of pictures cost 13 and more."""
_ANOTHER_EXCHANGED = 3.0
"""Further log odds against every sticker after the second."""
_FROM_ELSEWHERE = 6.5
"""Further log odds against each surplus sticker of a colour, which exchanging stickers does not
cause. A reflection that drowns a colour makes a genuine sticker cost up to 11, without a partner. A
sticker from another cube is rarer and does not change the pieces."""
_NEVER = 1e6
"""Cost of impossible choices."""
_TELLING = 1.0
"""Minimum price at which a sticker counts as showing another colour."""
_RELETTERINGS = 3
"""Maximum number of rounds in which stickers that contradict the pieces may change the model."""
_MEDIAN_DEVIATION = 2.366
"""Median squared distance, in standard deviations, of a Gaussian in three channels."""
_EXCESS = 0.2
"""Relative excess of scatter over the model's at which overlapping colours are trusted least."""
_APART = 5.5
"""Standard deviations between two colours below which they overlap."""
_ALIKE = 4.0
"""Standard deviations between two colours below which a dark sticker may have either. This occurs
in 1 of 2,000 scans in common light."""
_GOOD_MARGIN = 12.0
_GOOD_MISFIT = 0.04
_GOOD_PRICE = 9.5
"""Margin, share of odd stickers and price of a start that ends the search. A reflection may drown
one sticker."""
_POOR_MISFIT = 0.1
"""Share of odd stickers above which a model may have the wrong colours, even for a clear cube."""
_OTHER_CENTRE = 3.0
"""Price from which a centre clearly shows another colour."""


@dataclass(frozen=True, eq=False)
class Decision:
    """The most likely legal cube and the evidence for and against it.

    ``letters``, ``runner_up`` int[6 * N * N]; ``margin``: their log likelihood ratio; ``cost``: the
    penalised negative log likelihood; ``price`` float[6 * N * N]: log odds for another colour on
    each sticker; ``strange`` bool[6 * N * N]: stickers that match none of the colours; ``doubt``
    float[6 * N * N]: the probability that a sticker's letter is wrong; ``doubtful`` int[...]: the
    stickers to report to a person; ``deviation`` float[6 * N * N]: the squared distance of each
    sticker from its colour, in standard deviations; ``model``, ``features``: the basis of the
    decision.

    Two explanations are not a legal cube: ``misassembled``, the likeliest cube that was assembled
    wrongly, and ``recoloured`` int[...], stickers whose colours contradict the cube.
    ``odds_of_assembly`` and ``odds_of_colouring`` are the log odds against them.
    """

    letters: Ints
    runner_up: Ints
    margin: float
    cost: float
    price: Floats
    strange: Bools
    doubt: Floats
    doubtful: Ints
    deviation: Floats
    model: CubeModel
    features: LightFeatures
    misassembled: Misassembled | None = None
    odds_of_assembly: float = np.inf
    recoloured: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    odds_of_colouring: float = np.inf

    @property
    def misfit(self) -> float:
        """The share of stickers that match none of the colours."""
        return float(self.strange.mean())

    @property
    def worst_face(self) -> float:
        """The largest share of strange stickers on one face."""
        return float(self.strange.reshape(6, -1).mean(axis=1).max())

    @cached_property
    def trust(self) -> float:
        """The share of the margin that counts, 0..1.

        It is less than 1 if two colours overlap and the stickers scatter more than in the model,
        which is estimated from the same stickers.
        """
        scatter = float(np.median(self.deviation)) / _MEDIAN_DEVIATION
        needed = _APART * min(1.0, max(0.0, scatter - 1.0) / _EXCESS)
        return min(1.0, (self.model.separation / needed) ** 2) if needed > 0 else 1.0

    @property
    def has_colours_alike(self) -> bool:
        """True if two colours overlap so much that a dark sticker may have either."""
        return bool(self.model.separation < _ALIKE)

    @property
    def renamed_centres(self) -> int:
        """The number of centres that clearly show a different colour from their letter's."""
        middles = centres(round((len(self.letters) / 6) ** 0.5))
        return int((self.price[middles] > _OTHER_CENTRE).sum())

    @property
    def strong(self) -> bool:
        """True if the cube stands out among legal ones and legality costs little."""
        return bool(self.margin > _GOOD_MARGIN and self.price.sum() <= _GOOD_PRICE)


@dataclass(frozen=True, eq=False)
class _Fit:
    """A cube's letters with the model that fits them best and the cost of both."""

    letters: Ints
    model: CubeModel
    cost: float

    @classmethod
    def from_letters(cls, seen: Observations, model: CubeModel, letters: Ints) -> _Fit:
        fitted = seen.fit(model, letters, _REFIT_ROUNDS)
        return cls(letters, fitted, seen.total_cost(fitted, letters))


def decide(colours: StickerColours, references: ColourReferences | None = None) -> Decision:
    """Return the best decision over several starts. Later ones are tried if others are unsure."""
    features = LightFeatures.from_colours(colours)
    seen = Observations(features, colours.size)
    found: list[Decision] = []
    for start in starts(seen, references):
        found.append(_decide_from(seen, start))
        if _enough(found):
            break
    best = min(found, key=lambda decision: decision.cost)
    rivals = [other.cost for other in found if not same_cube(other.letters, best.letters)]
    margin = min([best.margin, *(cost - best.cost for cost in rivals)])
    return _weigh_rivals(seen, replace(best, margin=margin))


def _enough(found: list[Decision]) -> bool:
    """Return True if another start is not worth its time: the last is clear, or two agree.

    Two starts from a centre in a reflection may agree on colours that are wrong because of it.
    """
    last = found[-1]
    if len(found) > 1 and last.strong and found[-2].strong:
        fits = min(last.misfit, found[-2].misfit) <= _POOR_MISFIT
        return fits and same_cube(last.letters, found[-2].letters)
    size = round((len(last.letters) / 6) ** 0.5)
    # A start from a centre with glare or a logo may lead to wrong colours.
    few = last.misfit <= _GOOD_MISFIT and not last.strange[centres(size)].any()
    return last.strong and few


def same_cube(a: Ints, b: Ints) -> bool:
    """Return True if two labellings differ only in the names of the colours, if at all."""
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == 6


def _decide_from(seen: Observations, model: CubeModel) -> Decision:
    """Return the most likely cube and its runner-up from a first model of the colours."""
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
    """Return the cheapest cube if the colours have other letters, and the colour of every letter.

    Tries other schemes on even sizes, and other colours of some centres on odd ones. None if no
    such cube costs less than ``limit``.
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
    """Return other ways to give the colours letters, int[n, 6], that may cost less than ``limit``,
    cheapest first.
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
    # A runner-up with only other names for the colours differs in no visible way.
    other_cube = not same_cube(letters, runner_up)
    differs = (letters != runner_up) & (margin < _GOOD_MARGIN / 2) & other_cube
    return Decision(
        letters,
        runner_up,
        margin,
        best.cost,
        _price(seen, best.model, letters),
        strange,
        doubt,
        np.flatnonzero((doubt > 0.01) | strange | differs),
        seen.deviation(best.model, letters),
        best.model,
        seen.features,
    )


def _price(seen: Observations, model: CubeModel, letters: Ints) -> Floats:
    """Return log odds for another colour on each sticker, float[n]."""
    cost = seen.evidence(model).cost
    return np.asarray(cost[np.arange(len(letters)), letters] - cost.min(axis=1))


def _weigh_rivals(seen: Observations, best: Decision) -> Decision:
    """Compare a cube with explanations that are not a legal cube, each with its own model."""
    wrong = likeliest_misassembled(seen.evidence(best.model).cost, best.letters, seen.size)
    assembled = _Fit.from_letters(seen, best.model, wrong.letters)
    shown, colouring = _recoloured(seen, best)
    return replace(
        best,
        misassembled=wrong,
        odds_of_assembly=assembled.cost + wrong.prior - best.cost,
        recoloured=shown,
        odds_of_colouring=colouring,
    )


def _recoloured(seen: Observations, best: Decision) -> tuple[Ints, float]:
    """Return stickers whose colours contradict the cube, and the log odds against that."""
    found = _explain_colouring(seen, best, _letters_shown)
    if not _surplus(found[0], best.letters):
        return found[1:]
    # Its partner in an exchange may be hidden, or match either colour equally.
    exchanged = _explain_colouring(seen, best, _letters_exchanged)
    return min(found, exchanged, key=lambda way: way[2])[1:]


def _explain_colouring(
    seen: Observations, best: Decision, find_letters: Callable[[Floats, Ints], Ints]
) -> tuple[Ints, Ints, float]:
    """Return letters found from the costs and those of the cube, the stickers whose letters differ,
    and the log odds against them.
    """
    letters, model, odds = best.letters, best.model, np.inf
    stickers = np.zeros(0, dtype=np.intp)
    for _ in range(_RELETTERINGS):
        shown = find_letters(seen.evidence(model).cost, best.letters)
        found = np.flatnonzero(shown != best.letters)
        if np.array_equal(found, stickers):
            break
        fitted = _Fit.from_letters(seen, model, shown)
        strays = _surplus(shown, best.letters)
        further = len(found) - (strays or 2)
        prior = _EXCHANGED + _ANOTHER_EXCHANGED * further + _FROM_ELSEWHERE * strays
        odds = fitted.cost + prior - best.cost if len(found) else np.inf
        letters, model, stickers = shown, fitted.model, found
    return letters, stickers, odds


def _surplus(shown: Ints, letters: Ints) -> int:
    """Return the number of surplus stickers, of colours that appear more often than on the cube."""
    more = np.bincount(shown, minlength=6) - np.bincount(letters, minlength=6)
    return int(more.clip(0).sum())


def _letters_shown(cost: Floats, letters: Ints) -> Ints:
    """Return ``letters``, changed for stickers that clearly show another colour."""
    return np.asarray(_tolls(cost, letters).argmin(axis=1))


def _letters_exchanged(cost: Floats, letters: Ints) -> Ints:
    """Return the letters that appear, with each colour on as many stickers as before."""
    tolls = _tolls(cost, letters)
    return ranked_assignments(tolls, 1, len(letters) // 6)[0][1]


def _tolls(cost: Floats, letters: Ints) -> Floats:
    """Return costs of the colours, with a surcharge unless they are the letter's own.

    Centres keep their letters, because they name the colours.
    """
    own = np.arange(6) == letters[:, None]
    tolls = np.where(own, cost, cost + _TELLING)
    middles = centres(round((len(letters) / 6) ** 0.5))
    tolls[middles] = np.where(own[middles], tolls[middles], _NEVER)
    return np.asarray(tolls)
