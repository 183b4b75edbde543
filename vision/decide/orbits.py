"""Orbits of an NxNxN cube: slots, pieces and the letters they may show.

An orbit is a set of slots whose pieces only ever change places among themselves: corners, middle
edges, wings, the centres of one kind, and the fixed centres of odd cubes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from solver import _native
from solver.cube import facelets as geometry
from solver.cube import orbits as places
from solver.cube.legality import CORNERS, EDGES
from solver.cube.pieces import spin
from vision.arrays import Floats, Ints


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
        """Cost float[slots, pieces, turns] of every piece in every slot.

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


def _turned_patterns(names: tuple[str, ...]) -> Ints:
    words = [spin(name, turn) for name in names for turn in range(len(name))]
    return _letters(words)


def _letters(words: list[str]) -> Ints:
    return np.array([[geometry.FACES.index(letter) for letter in word] for word in words])


def _piece_orbit(kind: str, names: tuple[str, ...], size: int) -> Orbit:
    slots = np.array([geometry.slot_facelets(name, size) for name in names], dtype=np.intp)
    return Orbit(kind, slots, _turned_patterns(names), len(names[0]), 1)


def _wing_orbit(offset: int, size: int) -> Orbit:
    slots = places.wing_slots(offset, size)
    return Orbit("wing", slots, _letters(list(places.WING_PAIRS)), 1, 1)


def _centre_orbit(row: int, column: int, size: int) -> Orbit:
    slots = places.centre_slots(row, column, size)[:, None]
    return Orbit("centre", slots, np.arange(6)[:, None], 1, 4)


def _fixed_orbit(size: int) -> Orbit:
    return Orbit("fixed", places.fixed_slots(size)[:, None], np.arange(6)[:, None], 1, 1)


@cache
def orbits(size: int) -> tuple[Orbit, ...]:
    """All orbits of a cube of ``size``; together they cover every sticker once."""
    found = [_piece_orbit("corner", CORNERS, size)]
    if size % 2:
        found.append(_piece_orbit("edge", EDGES, size))
        found.append(_fixed_orbit(size))
    found += [_wing_orbit(offset, size) for offset in places.offsets(size)]
    found += [_centre_orbit(row, column, size) for row, column in places.centre_spots(size)]
    return tuple(found)


@cache
def free_orbits(size: int) -> tuple[Orbit, ...]:
    """A stand-in for the orbits while colours have no faces yet: only their counts are known."""
    count = size * size
    stickers = np.arange(6 * count, dtype=np.intp)[:, None]
    return (Orbit("centre", stickers, np.arange(6, dtype=np.intp)[:, None], 1, count),)


@cache
def kernel_pieces(where: tuple[Orbit, ...]) -> _native.CubePieces:
    """The native kernel's tables of orbits (``solver/native/decode/cube_pieces.hpp``)."""
    return _native.CubePieces([(o.kind, o.facelets, o.patterns, o.turns, o.copies) for o in where])


def shares(cost: Floats, where: Iterable[Orbit], temperature: float = 1.0) -> Floats:
    """Probability of each letter on each sticker, float[stickers, 6], from its costs.

    The E step of the estimation: within an orbit the likelihoods of pieces in slots are scaled
    until every slot holds one piece and every piece is used as often as it exists (Sinkhorn's
    iteration, a close and fast stand-in for the sum over all permutations).
    """
    result = np.empty_like(cost)
    kernel_pieces(tuple(where)).shares(np.ascontiguousarray(cost), temperature, result)
    return result
