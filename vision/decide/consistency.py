"""Scans that do not fit together: pictures turned, exchanged or mirrored, seen twice, misaligned.

A cube is so constrained that five good faces nearly settle the sixth. The search tries everything
that may have happened to the pictures: first a bound, from the pieces slot by slot, for every way
to turn the six pictures in each of the 30 essentially different orders, then the exact cost of the
most promising ones. The 48 ways to hold or mirror the cube cost the same; the priors decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from vision.decide.arrangements import (
    Explanation,
    LeastPriors,
    all_turns,
    held_stickers,
    priors,
    symmetries,
    turned_cells,
)
from vision.decide.assignment import (
    cheapest_naming,
    kernel_pieces,
    orbits,
    ranked_cubes,
    relaxed_cost,
    relaxed_costs,
)
from vision.decide.colour_model import CubeModel, Observations, clusters
from vision.decide.schemes import known_orders, scheme_costs, schemes
from vision.frame import Floats, Ints
from vision.measure.colour_space import LightFeatures
from vision.measure.sticker_colours import FACES, StickerColours

UNIQUE = 6.0
"""Log odds by which an explanation must beat all that lead to another cube."""
_CANDIDATES = 400
"""How many ways to put the pictures right, those with the best bounds, are looked at."""
_EXACT = 64
"""How many of them get their exact cost before it is left open which is best."""
_SAME_FACE = 0.15
"""Largest mean difference, in log light, between two looks at the same face."""


@dataclass(frozen=True, eq=False)
class ScanExplanation:
    """The likeliest explanation of a scan, and how far it leads.

    ``lead`` are the log odds against ``rival``, the best explanation that leads to another cube
    (:data:`UNIQUE` where there is none near; 0 where not all could be weighed). ``as_it_came``: the
    uncorrected scan leads to the same cube.
    """

    best: Explanation
    lead: float
    rival: Explanation | None
    as_it_came: bool

    @property
    def is_sure(self) -> bool:
        """True if no other explanation comes near."""
        return self.lead >= UNIQUE


@dataclass(frozen=True, eq=False)
class _Order:
    """The pictures in one order, not turned yet.

    ``source`` int[6] is the picture of every face, ``colours`` int[6] the colour (cluster) of every
    letter, ``against`` float[48] the log odds against the colours standing so on the cube, held or
    mirrored in each way.
    """

    source: Ints
    colours: Ints
    against: Floats


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Pictures in an order and turned, and that cube held and mirrored in all ways.

    ``bound`` is a lower bound of the cost, prior included; ``against`` float[48] the log odds
    against each way to hold it; ``is_plain``: the uncorrected scan is among them.
    """

    bound: float
    order: _Order
    turns: tuple[int, ...]
    against: Floats
    is_plain: bool

    @cached_property
    def explanation(self) -> Explanation:
        """The one not held otherwise."""
        return Explanation(tuple(self.order.source.tolist()), self.turns)


def explain_scan(colours: StickerColours, scheme: str | None = None) -> ScanExplanation:
    """Find the likeliest way in which the pictures make a legal cube.

    On even sizes exchanged pictures are recognised only for the usual colours, whose order on the
    faces URFDLB is ``scheme`` if given.
    """
    size = colours.size
    seen = Observations(LightFeatures.from_colours(colours), size)
    model = clusters(seen)
    return _search(seen.evidence(model).cost, _orders(seen, model, scheme), size)


def _orders(seen: Observations, model: CubeModel, scheme: str | None) -> list[_Order]:
    """The essentially different orders of the pictures, each with the colours of the letters."""
    likely = scheme_costs(model.mean, seen.features, scheme)
    if seen.size % 2:
        # The pictures' centres name the colours.
        against = _when_held(likely, schemes())
        return [_Order(order, order, own) for order, own in zip(schemes(), against, strict=True)]
    plain, mirrored = _plain_and_mirrored()
    known = known_orders(model.mean, seen.features, scheme)
    if known is None:
        return [_Order(s, c, np.zeros(48)) for s in (plain, mirrored) for c in schemes()]
    colours = np.array(known)
    both = list(zip(colours, _when_held(likely, colours), strict=True))
    reflected = colours[:, mirrored]
    found = [_Order(s, c, against) for s in schemes() for c, against in both]
    return found + [
        _Order(mirrored, c, a)
        for c, a in zip(reflected, _when_held(likely, reflected), strict=True)
    ]


def _when_held(likely: Callable[[Ints], Floats], colours: Ints) -> Floats:
    """Values of ``likely`` for cubes int[n, 6] held and mirrored in all ways, float[n, 48].

    Turning a cube does not change its scheme.
    """
    mirrors = symmetries().mirrors
    mirrored = symmetries().face[mirrors][0]
    return np.where(mirrors, likely(colours[:, mirrored])[:, None], likely(colours)[:, None])


def _plain_and_mirrored() -> tuple[Ints, Ints]:
    ways = symmetries()
    return np.arange(6, dtype=np.intp), ways.face[ways.mirrors][0]


def _search(cost: Floats, orders: list[_Order], size: int) -> ScanExplanation:
    """The best explanation and its rival from the cost of every colour on every sticker."""
    candidates, beyond = _candidates(cost, orders, size)
    near, complete = _cheapest(cost, candidates, beyond, size)
    leader = min((total for total, _ in near), default=np.inf)
    best: dict[bytes, tuple[float, Explanation]] = {}
    plain = b""
    for least, candidate in near:
        if least > leader + UNIQUE and not candidate.is_plain:
            continue
        for total, cube, explanation in _decide_exactly(cost, candidate, size):
            if cube not in best or total < best[cube][0]:
                best[cube] = (total, explanation)
            if explanation.is_plain:
                plain = cube
    (cube, (first, winner)), *others = sorted(best.items(), key=lambda item: item[1][0])
    rival = others[0][1][1] if others and others[0][1][0] - first < UNIQUE else None
    lead = min(UNIQUE, others[0][1][0] - first) if others else UNIQUE
    return ScanExplanation(winner, lead if complete else 0.0, rival, cube == plain)


def _cheapest(
    cost: Floats, candidates: list[_Candidate], beyond: float, size: int
) -> tuple[list[tuple[float, _Candidate]], bool]:
    """Return the candidates near the cheapest, with their costs including the prior.

    The uncorrected scan is always among them. The flag is true if no other explanation can come
    near; ``beyond`` is a lower bound for those that are no candidates.
    """
    leader = np.inf
    near: list[tuple[float, _Candidate]] = []
    for done, candidate in enumerate(candidates):
        if min(candidate.bound, beyond) > leader + UNIQUE:
            return near, True
        if done == _EXACT:
            break
        prior = float(candidate.against.min())
        # The uncorrected scan is compared with the best at any cost.
        limit = np.inf if candidate.is_plain else leader + UNIQUE - prior
        seen = candidate.explanation.stickers(size)
        found = cheapest_naming(cost[seen], candidate.order.colours[None], size, limit)
        if found is not None:
            total = found[1] + prior
            leader = min(leader, total)
            near.append((total, candidate))
    return near, False


def _candidates(cost: Floats, orders: list[_Order], size: int) -> tuple[list[_Candidate], float]:
    """The likeliest ways to put the pictures right, in order, with lower bounds of their cost,
    prior included; and a lower bound for all others.
    """
    bounds = _bounds(cost, orders, size) + _centre_cost(cost, size)
    ranked, beyond = _most_promising(bounds, orders)
    which, way = np.divmod(ranked, bounds.shape[1])
    turns = all_turns()[way]
    source = np.array([order.source for order in orders])[which]
    against = np.array([order.against for order in orders])[which]
    before = _all_priors(source, turns)
    every = before + against
    # Only what nothing happened to has no prior.
    plain = ((before == 0) & (every < every.min(axis=1)[:, None] + UNIQUE)).any(axis=1)
    full = bounds.ravel()[ranked] + every.min(axis=1)
    found = [
        _Candidate(
            float(full[i]), orders[which[i]], tuple(turns[i].tolist()), every[i], bool(plain[i])
        )
        for i in np.argsort(full, kind="stable").tolist()
    ]
    return found, beyond


def _most_promising(bounds: Floats, orders: list[_Order]) -> tuple[Ints, float]:
    """Numbers of the explanations with the least ``bounds`` float[orders, 4096] plus least priors,
    and the sum of the best that is not among them.

    Priors are looked up only where the bound and a quick bound of the priors leave a chance.
    """
    priors_of = [LeastPriors(tuple(order.source.tolist()), order.against) for order in orders]
    floor = (bounds + np.stack([least.floor for least in priors_of])).ravel()
    near = np.argpartition(floor, 2 * _CANDIDATES)[: 2 * _CANDIDATES]
    limit = np.partition(_rough(bounds, near, priors_of), _CANDIDATES)[_CANDIDATES]
    near = np.flatnonzero(floor <= limit)
    rough = _rough(bounds, near, priors_of)
    ranked = np.argpartition(rough, _CANDIDATES)
    return near[ranked[:_CANDIDATES]], float(rough[ranked[_CANDIDATES]])


def _rough(bounds: Floats, ranked: Ints, priors_of: list[LeastPriors]) -> Floats:
    """Bounds plus least priors of the explanations with these numbers, float[n]."""
    which, way = np.divmod(ranked, bounds.shape[1])
    rough = bounds.ravel()[ranked]
    by_order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[by_order], np.arange(len(priors_of) + 1))
    for least, first, end in zip(priors_of, ends[:-1], ends[1:], strict=True):
        own = by_order[first:end]
        rough[own] += least.bounds_for(way[own])
    return rough


def _all_priors(source: Ints, turns: Ints) -> Floats:
    """Log odds float[n, 48] against explanations int[n, 6] held and mirrored in every way."""
    held, turned = symmetries().equivalents(source, turns)
    return priors(held, turned, symmetries().mirrors)


def _decide_exactly(
    cost: Floats, candidate: _Candidate, size: int
) -> list[tuple[float, bytes, Explanation]]:
    """Exact costs of the explanations worth it, keys of the cubes they lead to, and themselves."""
    order, against = candidate.order, candidate.against
    seen = candidate.explanation.stickers(size)
    cube = ranked_cubes(cost[seen][:, order.colours], size, 1)[0]
    source, turned = np.array([order.source]), np.array([candidate.turns])
    (sources,), (ways,) = symmetries().equivalents(source, turned)
    which = np.flatnonzero(against < against.min() + UNIQUE)
    keys = _cube_keys(cube.letters[held_stickers(size)[which]])
    found = []
    for i, key in zip(which.tolist(), keys, strict=True):
        mirrored = bool(symmetries().mirrors[i])
        explanation = Explanation(tuple(sources[i].tolist()), tuple(ways[i].tolist()), mirrored)
        found.append((cube.cost + float(against[i]), key.tobytes(), explanation))
    return found


def _cube_keys(letters: Ints) -> Ints:
    """The first sticker of the same colour, for letters int[n, 6 * size**2] of cubes.

    It distinguishes cubes whatever their letters are.
    """
    first = (letters[:, None] == np.arange(6)[:, None]).argmax(axis=2)
    return np.take_along_axis(first, letters, axis=1)


def _centre_cost(cost: Floats, size: int) -> float:
    """The cost of the centres, which is the same for all explanations.

    Turning and exchanging pictures leaves every centre in its orbit or, mirrored, in the orbit of
    its mirror image.
    """
    return relaxed_cost(cost, [o for o in orbits(size) if o.kind in ("centre", "fixed")])


def _bounds(cost: Floats, orders: list[_Order], size: int) -> Floats:
    """Least cost of the pieces without centres, each slot on its own, for pictures in these orders
    and turned in all ways, float[orders, 4096].
    """
    bounds = np.empty((len(orders), len(all_turns())))
    sources = np.array([order.source for order in orders])
    colours = np.array([order.colours for order in orders])
    pieces = kernel_pieces(orbits(size))
    pieces.turned_bounds(np.ascontiguousarray(cost), sources, colours, turned_cells(size), bounds)
    return bounds


def odd_face(colours: StickerColours) -> str:
    """The face without which the rest is nearest to a legal cube."""
    size = colours.size
    seen = Observations(LightFeatures.from_colours(colours), size)
    model = clusters(seen)
    cost = seen.evidence(model).cost
    orders = known_orders(model.mean, seen.features) if size % 2 == 0 else [np.arange(6)]
    strain = []
    for face in FACES:
        rest = cost.copy()
        rest[colours.face_slice(face)] = 0.0
        tried = list(schemes()) if orders is None else orders
        least = relaxed_costs(rest, np.array(tried), orbits(size)).min()
        strain.append(least - rest.min(axis=1).sum())
    return FACES[int(np.argmin(strain))]


def repeated_face(colours: StickerColours) -> tuple[str, str] | None:
    """Return two faces whose pictures show the same face, turned or not."""
    features = LightFeatures.from_colours(colours)
    size = colours.size
    looks = features.values.reshape(6, size * size, 3)
    for a, b in combinations(range(6), 2):
        for cells in turned_cells(size):
            difference = looks[a] - looks[b][cells]
            difference = difference - difference.mean()
            if np.abs(difference).mean() < _SAME_FACE:
                return FACES[a], FACES[b]
    return None
