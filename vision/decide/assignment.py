"""The most likely legal cubes, best first, from the cost of every colour on every sticker.

The pieces of a cube form orbits: sets of slots that exchange pieces only among themselves. They are
the corners, middle edges, wings, the centres of one kind, and the fixed centres of odd cubes.

2x2x2: all corners once, twist 0. 3x3x3: also all edges once, flip 0, both parities equal. Larger
cubes: the same for their corners and middle edges, every wing once, every centre as often as it
exists. On all sizes the answer is exact: no legal cube costs less.

Slots are filled one after the other; dynamic programming over the sets of pieces used (Held and
Karp's idea) with the sum of turns and the parity so far takes the same time for hard scans as for
easy ones. The work is the native kernel's (``solver/native/decode/assignments.hpp``).

Example with two slots and the pieces a and b: in slot 1 they cost 1 and 2, in slot 2 they cost 1
and 4. The best piece for each slot alone is a, which is not a cube. After slot 1 the least costs of
the sets are ``{a}: 1`` and ``{b}: 2``. After slot 2 ``{a, b}`` costs ``min(1 + 4, 2 + 1) = 3``: b,
then a. With turns and parity, each set has a number for each sum and parity. For the twelve edges
these are 4,096 sets of 4 numbers each, instead of 12! * 2^12 arrangements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np

from solver import _native
from solver.cube import facelets as geometry
from solver.cube import orbits as places
from solver.cube.legality import CORNERS, EDGES
from solver.cube.pieces import spin
from vision.frame import Floats, Ints


@dataclass(frozen=True, eq=False)
class Orbit:
    """Slots that share pieces.

    ``facelets`` int[slots, stickers]; ``patterns`` int[patterns, stickers] are the letters (0..5 of
    URFDLB) a slot may show, pattern ``piece * turns + turn``; every piece exists ``copies`` times.
    ``kind`` is ``corner``, ``edge``, ``wing``, ``centre`` or ``fixed`` (slot i shows letter i).
    """

    kind: str
    facelets: Ints
    patterns: Ints
    turns: int
    copies: int

    @property
    def pieces(self) -> int:
        """The number of different pieces."""
        return len(self.patterns) // self.turns

    def costs(self, sticker_cost: Floats) -> Floats:
        """Return the cost float[slots, pieces, turns] of every piece in every slot.

        ``sticker_cost`` float[stickers of the cube, 6] is the cost of each letter on each sticker.
        """
        flat = sticker_cost.ravel()
        first, *others = self._cost_indices
        total: Floats = flat.take(first)
        for sticker in others:
            total += flat.take(sticker)
        costs: Floats = total.reshape(len(self.facelets), self.pieces, self.turns)
        return costs

    @cached_property
    def _cost_indices(self) -> Ints:
        """Indices of a pattern's letters in the flat costs of all stickers,
        int[stickers, slots, patterns].
        """
        shown: Ints = self.facelets.T[:, :, None] * 6 + self.patterns.T[:, None, :]
        return shown


def _letters(words: list[str]) -> Ints:
    return np.array([[geometry.FACES.index(letter) for letter in word] for word in words])


def _piece_orbit(kind: str, names: tuple[str, ...], size: int) -> Orbit:
    slots = np.array([geometry.slot_facelets(name, size) for name in names], dtype=np.intp)
    words = [spin(name, turn) for name in names for turn in range(len(name))]
    return Orbit(kind, slots, _letters(words), len(names[0]), 1)


@cache
def orbits(size: int) -> tuple[Orbit, ...]:
    """Return all orbits of a cube of ``size``. Together they cover every sticker once."""
    found = [_piece_orbit("corner", CORNERS, size)]
    colours = np.arange(6)[:, None]
    if size % 2:
        found.append(_piece_orbit("edge", EDGES, size))
        found.append(Orbit("fixed", places.fixed_slots(size)[:, None], colours, 1, 1))
    wings = _letters(list(places.WING_PAIRS))
    found += [
        Orbit("wing", places.wing_slots(offset, size), wings, 1, 1)
        for offset in places.offsets(size)
    ]
    found += [
        Orbit("centre", places.centre_slots(row, column, size)[:, None], colours, 1, 4)
        for row, column in places.centre_spots(size)
    ]
    return tuple(found)


@cache
def free_orbits(size: int) -> tuple[Orbit, ...]:
    """Return a substitute for the orbits while colours have no faces: only counts are known."""
    count = size * size
    stickers = np.arange(6 * count, dtype=np.intp)[:, None]
    return (Orbit("centre", stickers, np.arange(6, dtype=np.intp)[:, None], 1, count),)


@cache
def kernel_pieces(where: tuple[Orbit, ...]) -> _native.CubePieces:
    """Return the native kernel's tables of orbits (``solver/native/decode/cube_pieces.hpp``)."""
    return _native.CubePieces([(o.kind, o.facelets, o.patterns, o.turns, o.copies) for o in where])


def shares(cost: Floats, where: Iterable[Orbit], temperature: float = 1.0) -> Floats:
    """Return the probability of each letter on each sticker, float[stickers, 6], from its costs.

    The E step of the estimation: within an orbit the likelihoods of pieces in slots are scaled
    until every slot holds one piece and every piece is used as often as it exists (Sinkhorn's
    iteration, a close and fast stand-in for the sum over all permutations).
    """
    result = np.empty_like(cost)
    kernel_pieces(tuple(where)).shares(np.ascontiguousarray(cost), temperature, result)
    return result


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Pieces and turns per slot, int[slots] each, and their total cost."""

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
        """Return the cost of the ``rank``-th cheapest arrangement (0 first), inf if none."""
        return self._ranked.cost(turns, parity, rank)

    def arrangement(self, turns: int, parity: int, rank: int) -> Arrangement:
        """Return the ``rank``-th cheapest arrangement with that sum of turns and parity. Raise
        ValueError if there is none.
        """
        pieces, turned = np.empty(self._slots, np.int64), np.empty(self._slots, np.int64)
        self._ranked.arrangement(turns, parity, rank, pieces, turned)
        return Arrangement(self.cost(turns, parity, rank), pieces, turned)


@dataclass(frozen=True, eq=False)
class Labelling:
    """Letters (0..5 of URFDLB) for all stickers, int[6 * N * N], and their cost."""

    cost: float
    letters: Ints


_Shown = tuple[Ints, Ints]
"""Facelets of an orbit int[slots, stickers] and the letters there."""


@dataclass(frozen=True, eq=False)
class _Way:
    """A way to fill orbits, and its cost."""

    cost: float
    shown: tuple[_Shown, ...]

    def labelling(self, stickers: int) -> Labelling:
        letters = np.empty(stickers, dtype=np.intp)
        for facelets, own in self.shown:
            letters[facelets] = own
        return Labelling(self.cost, letters)


def ranked_cubes(sticker_cost: Floats, size: int, k: int) -> list[Labelling]:
    """Return the ``k`` cheapest legal cubes of ``size``, cheapest first.

    ``sticker_cost`` float[6 * size**2, 6] is additive, e.g. a negative log likelihood.
    """
    turning = [orbit for orbit in orbits(size) if orbit.kind in ("corner", "edge")]
    free = [orbit for orbit in orbits(size) if orbit.kind in ("wing", "centre", "fixed")]
    ways = _ranked_pieces(turning, sticker_cost, k)
    for orbit in free:
        ways = _cheapest_pairs(ways, _ranked_free(orbit, sticker_cost, k), k)
    return [way.labelling(len(sticker_cost)) for way in ways]


def _cheapest_pairs(first: list[_Way], second: list[_Way], k: int) -> list[_Way]:
    """Return the ``k`` cheapest combinations of one way from each."""
    sums = [
        (a.cost + b.cost, i, j)
        for i, a in enumerate(first)
        for j, b in enumerate(second)
        if (i + 1) * (j + 1) <= k
    ]
    return [_Way(total, first[i].shown + second[j].shown) for total, i, j in sorted(sums)[:k]]


def _ranked_pieces(turning: list[Orbit], sticker_cost: Floats, k: int) -> list[_Way]:
    """Return the cheapest corners, with middle edges of the same parity if there are any."""
    tables = [RankedArrangements(orbit.costs(sticker_cost), k) for orbit in turning]
    # A sum of ranks i, j is beaten by all combinations of lower ranks: (i + 1)(j + 1) <= k.
    choices = [
        (parity, ranks)
        for parity in (0, 1)
        for ranks in product(range(k), repeat=len(tables))
        if math.prod(rank + 1 for rank in ranks) <= k
    ]
    sums = [
        (sum(t.cost(0, parity, rank) for t, rank in zip(tables, ranks, strict=True)), parity, ranks)
        for parity, ranks in choices
    ]
    found = []
    for total, parity, ranks in sorted(sums)[:k]:
        if math.isfinite(total):
            best = [t.arrangement(0, parity, rank) for t, rank in zip(tables, ranks, strict=True)]
            shown = [
                (orbit.facelets, orbit.patterns[own.pieces * orbit.turns + own.turns])
                for orbit, own in zip(turning, best, strict=True)
            ]
            found.append(_Way(total, tuple(shown)))
    return found


def _ranked_free(orbit: Orbit, sticker_cost: Floats, k: int) -> list[_Way]:
    """Return the cheapest pieces of an orbit without constraints among them."""
    cost = orbit.costs(sticker_cost)[:, :, 0]
    if orbit.kind == "fixed":
        return [_Way(float(np.trace(cost)), ((orbit.facelets, orbit.patterns),))]
    ranked = ranked_assignments(cost, k, orbit.copies)
    return [_Way(total, ((orbit.facelets, orbit.patterns[own]),)) for total, own in ranked]


def matching(cost: Floats) -> tuple[Ints, Ints]:
    """Return rows and columns of the cheapest assignment in ``cost`` float[n, m], n <= m."""
    columns = _native.cheapest_assignment(np.ascontiguousarray(cost, dtype=np.float64))
    return np.arange(len(columns)), np.array(columns, dtype=np.intp)


def ranked_assignments(cost: Floats, k: int, copies: int = 1) -> list[tuple[float, Ints]]:
    """Return the ``k`` cheapest ways to give every slot one of the pieces, ``copies`` of each.

    ``cost`` float[slots, pieces], with as many slots as pieces with copies. Each way is its cost
    and int[slots].
    """
    ways = _native.ranked_assignments(np.ascontiguousarray(cost, dtype=np.float64), copies, k)
    return [(total, np.array(pieces, dtype=np.intp)) for total, pieces in ways]


def relaxed_cost(sticker_cost: Floats, where: Iterable[Orbit]) -> float:
    """Return a lower bound for the cost of pieces of ``where``, ignoring twist, flip and parity."""
    return float(relaxed_costs(sticker_cost, np.arange(6)[None], where)[0])


def relaxed_costs(sticker_cost: Floats, namings: Ints, where: Iterable[Orbit]) -> Floats:
    """Return :func:`relaxed_cost` for many namings at once, float[n].

    ``namings`` int[n, 6] are the columns of ``sticker_cost`` that the letters take.
    """
    cost = np.ascontiguousarray(sticker_cost)
    return np.array(kernel_pieces(tuple(where)).relaxed_costs(cost, np.ascontiguousarray(namings)))


def cheapest_naming(
    sticker_cost: Floats, namings: Ints, size: int, limit: float
) -> tuple[int, float] | None:
    """Return the number of the naming with the cheapest legal cube, and its cost.

    None if none costs less than ``limit``. ``namings`` int[n, 6] as for :func:`relaxed_costs`.
    Bounds rule out most namings without a search for their cubes.
    """
    cost = np.ascontiguousarray(sticker_cost)
    rows = np.ascontiguousarray(namings)
    naming, least, _ = kernel_pieces(orbits(size)).cheapest_naming(cost, rows, limit)
    return (naming, least) if naming >= 0 else None
