"""Scans that do not fit together: pictures turned, exchanged or mirrored, seen twice, misaligned.

A cube is so constrained that five good faces nearly settle the sixth. What may have happened to the
pictures is found by trying it all: a bound from the pieces slot by slot for every way to turn the
six pictures in each of the 30 essentially different orders, then the exact cost of the most
promising ones. The 48 ways to hold or mirror the cube cost the same; the priors tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from vision.decide.arrangements import (
    Explanation,
    all_turns,
    held_stickers,
    least_priors,
    priors,
    symmetries,
    turned_cells,
)
from vision.decide.assignment import ranked_cubes, relaxed_cost
from vision.decide.colour_model import CubeModel, Observations, clusters
from vision.decide.orbits import Orbit, orbits
from vision.decide.schemes import known_orders, scheme_costs, schemes
from vision.measure.colour_space import LightFeatures
from vision.measure.sticker_colours import FACES, StickerColours

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

UNIQUE = 6.0
"""Log odds by which an explanation must beat all that lead to another cube."""
_CANDIDATES = 400
"""How many ways to put the pictures right, those with the best bounds, are looked at."""
_EXACT = 64
"""How many of them get their exact cost before it is left open which is best."""
_SAME_FACE = 0.15
"""Largest mean difference, in log light, between two looks at the same face."""


@dataclass(frozen=True, eq=False)
class Explained:
    """The likeliest explanation of a scan, and how far it leads.

    ``lead`` are the log odds against ``rival``, the best explanation that leads to another cube
    (:data:`UNIQUE` where there is none near; 0 where not all could be weighed). ``as_it_came``
    says that the scan with nothing put right leads to the same cube.
    """

    best: Explanation
    lead: float
    rival: Explanation | None
    as_it_came: bool

    @property
    def sure(self) -> bool:
        """Whether nothing else comes near."""
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


def explained(colours: StickerColours, scheme: str | None = None) -> Explained:
    """The likeliest way in which the pictures make a legal cube.

    On even sizes exchanged pictures are told only for the usual colours (on the faces URFDLB as
    ``scheme`` says, where given).
    """
    size = colours.size
    seen = Observations(LightFeatures.of(colours), size)
    model = clusters(seen)
    return _searched(seen.evidence(model).cost, _orders(seen, model, scheme), size)


def _orders(seen: Observations, model: CubeModel, scheme: str | None) -> list[_Order]:
    """The essentially different orders of the pictures, with what their colours may stand for."""
    likely = scheme_costs(model.mean, seen.features, scheme)
    held = symmetries().face
    if seen.size % 2:
        # The pictures' centres name the colours.
        return [_Order(order, order, likely(order[held])) for order in schemes()]
    plain, mirrored = _plain_and_mirrored()
    known = known_orders(model.mean, seen.features, scheme)
    if known is None:
        return [_Order(s, c, np.zeros(48)) for s in (plain, mirrored) for c in schemes()]
    both = [(c, likely(c[held])) for c in known]
    both_mirrored = [(c[mirrored], likely(c[mirrored][held])) for c in known]
    found = [_Order(s, c, against) for s in schemes() for c, against in both]
    return found + [_Order(mirrored, c, against) for c, against in both_mirrored]


def _plain_and_mirrored() -> tuple[Ints, Ints]:
    ways = symmetries()
    return np.arange(6, dtype=np.intp), ways.face[ways.mirrors][0]


def _searched(cost: Floats, orders: list[_Order], size: int) -> Explained:
    """The best explanation and its rival from the cost of every colour on every sticker."""
    best: dict[bytes, tuple[float, Explanation]] = {}
    plain = b""
    leader, complete = np.inf, False
    candidates, beyond = _candidates(cost, orders, size)
    for done, (bound, order, turns) in enumerate(candidates):
        complete = min(bound, beyond) > leader + UNIQUE
        if complete or done == _EXACT:
            break
        for total, cube, explanation in _decided(cost, order, turns, size):
            leader = min(leader, total)
            if cube not in best or total < best[cube][0]:
                best[cube] = (total, explanation)
            if explanation.prior == 0:
                plain = cube
    (cube, (first, winner)), *others = sorted(best.items(), key=lambda item: item[1][0])
    rival = others[0][1][1] if others and others[0][1][0] - first < UNIQUE else None
    lead = min(UNIQUE, others[0][1][0] - first) if others else UNIQUE
    return Explained(winner, lead if complete else 0.0, rival, cube == plain)


def _candidates(
    cost: Floats, orders: list[_Order], size: int
) -> tuple[list[tuple[float, _Order, tuple[int, ...]]], float]:
    """The likeliest ways to put the pictures right, in order, with lower bounds of their cost,
    prior included; and a lower bound for all others.
    """
    bounds = _bounds(cost, orders, size) + _centre_cost(cost, size)
    least = [least_priors(tuple(order.source.tolist()), order.against) for order in orders]
    rough = (bounds + np.stack(least)).ravel()
    ranked = np.argpartition(rough, _CANDIDATES)
    beyond = float(rough[ranked[_CANDIDATES]])
    ranked = ranked[:_CANDIDATES]
    which, way = np.divmod(ranked, bounds.shape[1])
    turns = all_turns()[way]
    source = np.array([order.source for order in orders])[which]
    against = np.array([order.against for order in orders])[which]
    full = bounds.ravel()[ranked] + _all_priors(source, turns, against).min(axis=1)
    found = [
        (float(full[i]), orders[which[i]], tuple(turns[i].tolist()))
        for i in np.argsort(full, kind="stable").tolist()
    ]
    return found, beyond


def _all_priors(source: Ints, turns: Ints, against: Floats) -> Floats:
    """Log odds float[n, 48] against explanations int[n, 6] held and mirrored in every way."""
    held, turned = symmetries().equivalents(source, turns)
    return priors(held, turned, symmetries().mirrors) + against


def _decided(
    cost: Floats, order: _Order, turns: tuple[int, ...], size: int
) -> list[tuple[float, bytes, Explanation]]:
    """Exact costs of the explanations worth it, keys of the cubes they lead to, and themselves."""
    seen = Explanation(tuple(order.source.tolist()), turns).stickers(size)
    cube = ranked_cubes(cost[seen][:, order.colours], size, 1)[0]
    source, turned = np.array([order.source]), np.array([turns])
    against = _all_priors(source, turned, order.against)[0]
    (sources,), (ways,) = symmetries().equivalents(source, turned)
    found = []
    for i in np.flatnonzero(against < against.min() + UNIQUE).tolist():
        mirrored = bool(symmetries().mirrors[i])
        explanation = Explanation(tuple(sources[i].tolist()), tuple(ways[i].tolist()), mirrored)
        letters = cube.letters[held_stickers(size)[i]]
        # Where the first sticker of the same colour is tells cubes apart, whatever their letters.
        _, first, same = np.unique(letters, return_index=True, return_inverse=True)
        found.append((cube.cost + float(against[i]), first[same].tobytes(), explanation))
    return found


def _centre_cost(cost: Floats, size: int) -> float:
    """What the centres cost whatever happened to the pictures: turning and exchanging them leaves
    every centre in its orbit or, mirrored, in the orbit of its mirror image.
    """
    return relaxed_cost(cost, [o for o in orbits(size) if o.kind in ("centre", "fixed")])


def _bounds(cost: Floats, orders: list[_Order], size: int) -> Floats:
    """Least cost of the pieces but centres, each slot on its own, for pictures in so many orders
    and turned in all ways, float[orders, 4096].
    """
    pictures = cost.reshape(6, size * size, 6)
    letters = np.stack([pictures[order.source][:, :, order.colours] for order in orders])
    # Cost of every letter on every cell of each face turned each way.
    by_face = letters[:, :, turned_cells(size)]
    # Slots of the same faces are summed first: corners, with the edges of their first two faces.
    edges: dict[tuple[int, ...], Floats] = {}
    corners: dict[tuple[int, ...], Floats] = {}
    for orbit in orbits(size):
        if orbit.kind not in ("centre", "fixed"):
            table = corners if orbit.kind == "corner" else edges
            faces = orbit.facelets // size**2
            for slot, least in zip(faces, _slot_bounds(by_face, orbit, size), strict=True):
                axes = np.argsort(slot)
                key = tuple(slot[axes].tolist())
                table[key] = table.get(key, 0.0) + least.transpose(0, *(1 + axes))
    total = np.zeros((len(orders),) + (4,) * 6)
    for corner, least in corners.items():
        beside = [pair for pair in edges if set(pair) < set(corner)]
        both = sum((_spread(edges.pop(pair), pair, corner) for pair in beside), least)
        total += _spread(both, corner, tuple(range(6)))
    return total.reshape(len(orders), -1)


def _spread(table: Floats, faces: tuple[int, ...], over: tuple[int, ...]) -> Floats:
    """A table float[orders, 4, ...] of the turns of ``faces`` with axes for those of ``over``."""
    return table.reshape(len(table), *[4 if face in faces else 1 for face in over])


def _slot_bounds(by_face: Floats, orbit: Orbit, size: int) -> Floats:
    """Least cost of each slot's piece for the turns of the slot's faces,
    float[slots, orders, 4, ...].
    """
    faces, cells = np.divmod(orbit.facelets, size * size)
    slots = len(faces)
    # Axes: slots, orders, turns of the slot's faces, then patterns.
    shown: Floats = np.zeros((slots, len(by_face), len(orbit.patterns)))
    for j, letters in enumerate(orbit.patterns.T):
        letter_cost = by_face[:, faces[:, j], :, cells[:, j]][..., letters]
        shown = shown[..., None, :] + letter_cost.reshape(slots, -1, *[1] * j, 4, len(letters))
    return np.asarray(shown.min(axis=-1))


def odd_face(colours: StickerColours) -> str:
    """The face without which the rest is nearest to a legal cube."""
    size = colours.size
    seen = Observations(LightFeatures.of(colours), size)
    model = clusters(seen)
    cost = seen.evidence(model).cost
    orders = known_orders(model.mean, seen.features) if size % 2 == 0 else [np.arange(6)]
    strain = []
    for face in FACES:
        rest = cost.copy()
        rest[colours.face_slice(face)] = 0.0
        tried = list(schemes()) if orders is None else orders
        least = min(relaxed_cost(rest[:, order], orbits(size)) for order in tried)
        strain.append(least - rest.min(axis=1).sum())
    return FACES[int(np.argmin(strain))]


def repeated_face(colours: StickerColours) -> tuple[str, str] | None:
    """Two faces whose looks are so alike that they are of the same face, turned or not."""
    features = LightFeatures.of(colours)
    size = colours.size
    looks = features.values.reshape(6, size * size, 3)
    for a, b in combinations(range(6), 2):
        for cells in turned_cells(size):
            difference = looks[a] - looks[b][cells]
            difference = difference - difference.mean()
            if np.abs(difference).mean() < _SAME_FACE:
                return FACES[a], FACES[b]
    return None
