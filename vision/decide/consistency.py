"""Inconsistent scans: pictures turned, exchanged or mirrored, taken twice, or misaligned.

A cube is so constrained that five good faces nearly determine the sixth. The search tries all
mistakes with the pictures. First it computes a bound, from the pieces slot by slot, for every way
to turn the six pictures in each of the 30 essentially different orders. Then it computes the exact
cost of the most promising ones. The 48 ways to hold or mirror the cube cost the same, so the priors
decide.
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
"""Number of ways to correct the pictures, with the best bounds, that are examined."""
_EXACT = 64
"""Maximum number of exact costs. If they do not decide, the best explanation stays uncertain."""
_SAME_FACE = 0.15
"""Maximum mean difference, in log light, between two pictures of the same face."""


@dataclass(frozen=True, eq=False)
class ScanExplanation:
    """The likeliest explanation of a scan, and its lead.

    ``lead`` are the log odds over ``rival``, the best explanation that leads to another cube
    (:data:`UNIQUE` if none is near; 0 if not all could be weighed). ``as_it_came``: the uncorrected
    scan leads to the same cube.
    """

    best: Explanation
    lead: float
    rival: Explanation | None
    as_it_came: bool

    @property
    def is_sure(self) -> bool:
        """True if no other explanation is near."""
        return self.lead >= UNIQUE


@dataclass(frozen=True, eq=False)
class _Order:
    """The pictures in one order, not turned yet.

    ``source`` int[6] is the picture of each face, ``colours`` int[6] the colour (cluster) of each
    letter. ``against`` float[48] are the log odds against this order of the colours on the cube,
    held or mirrored in each way.
    """

    source: Ints
    colours: Ints
    against: Floats


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Pictures in an order and turned, for a cube held and mirrored in all ways.

    ``bound`` is a lower bound of the cost including the prior. ``against`` float[48] are the log
    odds against each way to hold the cube. ``is_plain``: the uncorrected scan is one of the ways.
    """

    bound: float
    order: _Order
    turns: tuple[int, ...]
    against: Floats
    is_plain: bool

    @cached_property
    def explanation(self) -> Explanation:
        """The explanation for the cube held as it is."""
        return Explanation(tuple(self.order.source.tolist()), self.turns)


def explain_scan(colours: StickerColours, scheme: str | None = None) -> ScanExplanation:
    """Find the likeliest way to make a legal cube of the pictures.

    On even sizes exchanged pictures are recognised only for the usual colours. ``scheme`` is their
    order on the faces URFDLB, if known.
    """
    size = colours.size
    seen = Observations(LightFeatures.from_colours(colours), size)
    model = clusters(seen)
    return _search(seen.evidence(model).cost, _orders(seen, model, scheme), size)


def _orders(seen: Observations, model: CubeModel, scheme: str | None) -> list[_Order]:
    """Return the essentially different orders of the pictures, with the colours of the letters."""
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
    """Return ``likely`` for cubes int[n, 6] held and mirrored in all ways, float[n, 48].

    Turning a cube does not change its scheme.
    """
    mirrors = symmetries().mirrors
    mirrored = symmetries().face[mirrors][0]
    return np.where(mirrors, likely(colours[:, mirrored])[:, None], likely(colours)[:, None])


def _plain_and_mirrored() -> tuple[Ints, Ints]:
    ways = symmetries()
    return np.arange(6, dtype=np.intp), ways.face[ways.mirrors][0]


def _search(cost: Floats, orders: list[_Order], size: int) -> ScanExplanation:
    """Return the best explanation and its rival by the cost of every colour on every sticker."""
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

    The uncorrected scan is always among them. The flag is true if no other explanation can be near.
    ``beyond`` is a lower bound for those that are not candidates.
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
    """Return the likeliest ways to correct the pictures, ordered by lower bounds of their cost
    including the prior, and a lower bound for all others.
    """
    bounds = _bounds(cost, orders, size) + _centre_cost(cost, size)
    ranked, beyond = _most_promising(bounds, orders)
    which, way = np.divmod(ranked, bounds.shape[1])
    turns = all_turns()[way]
    source = np.array([order.source for order in orders])[which]
    against = np.array([order.against for order in orders])[which]
    before = _all_priors(source, turns)
    every = before + against
    # Only the uncorrected scan has no prior.
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
    """Return numbers of the explanations with the lowest sums of ``bounds`` float[orders, 4096] and
    least priors, and the lowest sum of the others.

    Looks up priors only if the bound plus a quick bound of the priors is low enough.
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
    """Return bounds plus least priors of the explanations with these numbers, float[n]."""
    which, way = np.divmod(ranked, bounds.shape[1])
    rough = bounds.ravel()[ranked]
    by_order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[by_order], np.arange(len(priors_of) + 1))
    for least, first, end in zip(priors_of, ends[:-1], ends[1:], strict=True):
        own = by_order[first:end]
        rough[own] += least.bounds_for(way[own])
    return rough


def _all_priors(source: Ints, turns: Ints) -> Floats:
    """Return log odds float[n, 48] against explanations int[n, 6] held and mirrored in all ways."""
    held, turned = symmetries().equivalents(source, turns)
    return priors(held, turned, symmetries().mirrors)


def _decide_exactly(
    cost: Floats, candidate: _Candidate, size: int
) -> list[tuple[float, bytes, Explanation]]:
    """Return promising explanations with their exact costs and the keys of their cubes."""
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
    """Return the first sticker of each sticker's colour, for letters int[n, 6 * size**2] of cubes.

    This distinguishes cubes regardless of their letters.
    """
    first = (letters[:, None] == np.arange(6)[:, None]).argmax(axis=2)
    return np.take_along_axis(first, letters, axis=1)


def _centre_cost(cost: Floats, size: int) -> float:
    """Return the cost of the centres, which is the same for all explanations.

    Turning or exchanging pictures leaves every centre in its orbit. Mirroring moves it to the orbit
    of its mirror image.
    """
    return relaxed_cost(cost, [o for o in orbits(size) if o.kind in ("centre", "fixed")])


def _bounds(cost: Floats, orders: list[_Order], size: int) -> Floats:
    """Return the least cost of the pieces except centres, for each slot separately, for pictures in
    these orders and turned in all ways, float[orders, 4096].
    """
    bounds = np.empty((len(orders), len(all_turns())))
    sources = np.array([order.source for order in orders])
    colours = np.array([order.colours for order in orders])
    pieces = kernel_pieces(orbits(size))
    pieces.turned_bounds(np.ascontiguousarray(cost), sources, colours, turned_cells(size), bounds)
    return bounds


def odd_face(colours: StickerColours) -> str:
    """Return the face without which the rest is nearest to a legal cube."""
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
