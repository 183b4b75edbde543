"""Scans that do not fit together: faces turned, swapped, seen twice or misaligned.

A cube is so constrained that five good faces nearly settle the sixth. Turned and swapped faces are
found by trying them all: a bound from the pieces slot by slot for every way to turn the six faces,
then the exact cost of the most promising ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from vision.assign import ranked_cubes, relaxed_cost
from vision.assign_orbits import Orbit, orbits
from vision.assign_soft import anything
from vision.colours import LightFeatures
from vision.models import Observations
from vision.schemes import known_orders, schemes
from vision.starts import centres, estimated, starts
from vision.sticker_colours import FACES, FaceColours, StickerColours

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_TURNED_COST = 4.0
"""Log odds against a face having been turned in the scan."""
_SWAPPED_COST = 6.0
"""Log odds against two faces having been swapped."""
_UNIQUE = 8.0
"""Log odds by which an explanation must beat all that lead to another cube."""
_CANDIDATES = 40
"""How many of the explanations with the best bounds are looked at exactly."""
_SAME_FACE = 0.15
"""Largest mean difference, in log light, between two looks at the same face."""
_TURNS = ("", "a quarter turn clockwise", "half a turn", "a quarter turn counterclockwise")


@dataclass(frozen=True, eq=False)
class Explanation:
    """Where each face's picture belongs: face ``p`` is picture ``source[p]`` turned back.

    ``turns`` int[6] are the quarter turns clockwise by which the picture of face ``p`` was turned.
    """

    source: tuple[int, ...]
    turns: tuple[int, ...]

    @property
    def told(self) -> tuple[str, ...]:
        """What was wrong with the scan, one sentence each."""
        swapped = [FACES[i] for i, origin in enumerate(self.source) if origin != i]
        told = [f"faces {' and '.join(swapped)} were swapped"] if swapped else []
        for face, turn in zip(FACES, self.turns, strict=True):
            if turn:
                told.append(f"face {face} was seen {_TURNS[turn]} from how it should be")
        return tuple(told)

    @property
    def prior(self) -> float:
        """Log odds against it before looking."""
        turned = sum(turn != 0 for turn in self.turns)
        swapped = any(origin != i for i, origin in enumerate(self.source))
        return _TURNED_COST * turned + _SWAPPED_COST * swapped

    def stickers(self, size: int) -> Ints:
        """The sticker in the scan that is each sticker of the cube, int[6 * size**2]."""
        cells = _turned_cells(size)
        parts = [
            origin * size * size + cells[turn]
            for origin, turn in zip(self.source, self.turns, strict=True)
        ]
        return np.concatenate(parts)

    def applied(self, colours: StickerColours) -> StickerColours:
        """The scan put right."""
        cells = _turned_cells(colours.size)
        faces = {}
        for i, face in enumerate(FACES):
            look = colours.face(FACES[self.source[i]])
            faces[face] = _reordered(look, cells[self.turns[i]])
        return StickerColours.of_faces(faces)


def _reordered(look: FaceColours, cells: Ints) -> FaceColours:
    return replace(
        look,
        linear_rgb=look.linear_rgb[cells],
        spread=look.spread[cells],
        saturated=look.saturated[cells],
        valid=look.valid[cells],
        positions=None if look.positions is None else look.positions[cells],
    )


@cache
def _turned_cells(size: int) -> Ints:
    """Cell seen in place of each cell of a face turned 0..3 quarters clockwise, int[4, N * N]."""
    grid = np.arange(size * size).reshape(size, size)
    # rot90 turns counterclockwise: it undoes what the scan did.
    return np.stack([np.rot90(grid, turn).ravel() for turn in range(4)]).astype(np.intp)


def only_explanation(colours: StickerColours, scheme: str | None = None) -> Explanation | None:
    """The one way to turn or swap faces that makes a legal cube of the scan.

    On even sizes swaps are told only for the usual colours (on the faces URFDLB as ``scheme``
    says, where given). None when the scan as it is does as well, when nothing does, or when several
    cubes would.
    """
    size = colours.size
    cost, orders = _unconstrained(colours, scheme)
    best: dict[bytes, tuple[float, Explanation]] = {}
    ranked = sorted(_bounded(cost, orders, size), key=lambda pair: pair[0])[:_CANDIDATES]
    for bound, explanation in ranked:
        if best and bound > min(total for total, _ in best.values()) + _UNIQUE:
            break
        total, letters = _cheapest(cost, orders, explanation, size)
        key = letters.tobytes()
        if key not in best or total < best[key][0]:
            best[key] = (total, explanation)
    (first, winner), *others = sorted(best.values(), key=lambda pair: pair[0])
    unique = all(total > first + _UNIQUE for total, _ in others)
    return winner if unique and winner.prior > 0 else None


def _unconstrained(colours: StickerColours, scheme: str | None) -> tuple[Floats, list[Ints] | None]:
    """Cost of the colours on the stickers, estimated without knowing which pieces there are.

    With it, on even sizes, the schemes the colours can stand in if that is known.
    """
    seen = Observations(LightFeatures.of(colours), colours.size)
    middles = centres(colours.size)
    values = seen.features.values
    start = seen.start(values[middles]) if len(middles) else next(starts(seen, None))
    model = estimated(seen, start, anything(colours.size))
    orders = None if len(middles) else known_orders(model.mean, seen.features, scheme)
    return seen.evidence(model).cost, orders


def _orders(orders: list[Ints] | None, source: tuple[int, ...], size: int) -> list[Ints]:
    """Colours of the letters to be tried when pictures come from ``source``."""
    if size % 2:
        return [np.array(source, dtype=np.intp)]
    return list(schemes()) if orders is None else orders


def _bounded(
    cost: Floats, orders: list[Ints] | None, size: int
) -> Iterator[tuple[float, Explanation]]:
    """Explanations with a lower bound of their cost, prior included."""
    plain = tuple(range(6))
    swaps = [tuple({a: b, b: a}.get(i, i) for i in plain) for a, b in combinations(plain, 2)]
    # Without centres or a known scheme a swap cannot be told from other colours.
    tells_swaps = size % 2 == 1 or orders is not None
    for source in [plain, *swaps] if tells_swaps else [plain]:
        for order in _orders(orders, source, size):
            bounds = _bounds(_by_face(cost, source, order, size), size)
            for index in np.argsort(bounds, axis=None)[:_CANDIDATES].tolist():
                turns = tuple(int(turn) for turn in np.unravel_index(index, bounds.shape))
                explanation = Explanation(source, turns)
                yield float(bounds[turns]) + explanation.prior, explanation


def _by_face(cost: Floats, source: tuple[int, ...], order: Ints, size: int) -> Floats:
    """Cost float[6, 4, N * N, 6] of every letter on every cell of each face turned each way."""
    pictures: Floats = cost.reshape(6, size * size, 6)[np.array(source)][:, :, order]
    return pictures[:, _turned_cells(size)]


def _bounds(by_face: Floats, size: int) -> Floats:
    """Least cost of the pieces, each slot on its own, for all turns of the faces: float[4] * 6."""
    total = np.zeros((4,) * 6)
    for orbit in orbits(size):
        if orbit.kind not in ("centre", "fixed"):
            faces = orbit.facelets // size**2
            for slot, least in zip(faces, _slot_bounds(by_face, orbit, size), strict=True):
                shape = [4 if face in slot else 1 for face in range(6)]
                total += least.transpose(np.argsort(slot)).reshape(shape)
    return total


def _slot_bounds(by_face: Floats, orbit: Orbit, size: int) -> Floats:
    """Least cost of each slot's piece for the turns of the slot's faces, float[slots, 4, ...]."""
    faces, cells = np.divmod(orbit.facelets, size * size)
    slots = len(faces)
    # Axes: slots, turns of the slot's faces, then patterns.
    shown: Floats = np.zeros((slots, len(orbit.patterns)))
    for j, letters in enumerate(orbit.patterns.T):
        letter_cost = by_face[faces[:, j], :, cells[:, j]][:, :, letters]
        shown = shown[..., None, :] + letter_cost.reshape(slots, *[1] * j, 4, -1)
    return np.asarray(shown.min(axis=-1))


def _cheapest(
    cost: Floats, orders: list[Ints] | None, explanation: Explanation, size: int
) -> tuple[float, Ints]:
    """Cost of the best legal cube under an explanation, and the cube's colours.

    The colours come in the letters of the centres, or numbered by cluster on even sizes.
    """
    turned = cost[explanation.stickers(size)]
    tried = _orders(orders, explanation.source, size)
    pieces = [orbit for orbit in orbits(size) if orbit.kind not in ("centre", "fixed")]
    order = min(tried, key=lambda colours: relaxed_cost(turned[:, colours], pieces))
    best = ranked_cubes(turned[:, order], size, 1)[0]
    return best.cost + explanation.prior, order[best.letters]


def odd_face(colours: StickerColours) -> str:
    """The face without which the rest is nearest to a legal cube."""
    size = colours.size
    cost, orders = _unconstrained(colours, None)
    strain = []
    for face in FACES:
        rest = cost.copy()
        rest[colours.face_slice(face)] = 0.0
        tried = _orders(orders, tuple(range(6)), size)
        least = min(relaxed_cost(rest[:, order], orbits(size)) for order in tried)
        strain.append(least - rest.min(axis=1).sum())
    return FACES[int(np.argmin(strain))]


def repeated_face(colours: StickerColours) -> tuple[str, str] | None:
    """Two faces whose looks are so alike that they are of the same face, turned or not."""
    features = LightFeatures.of(colours)
    size = colours.size
    looks = features.values.reshape(6, size * size, 3)
    for a, b in combinations(range(6), 2):
        for cells in _turned_cells(size):
            difference = looks[a] - looks[b][cells]
            difference = difference - difference.mean()
            if np.abs(difference).mean() < _SAME_FACE:
                return FACES[a], FACES[b]
    return None
