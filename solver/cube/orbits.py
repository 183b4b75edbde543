"""Slots of the wings and centres of a cube of any size, orbit by orbit.

An orbit is a set of slots whose pieces only change places among themselves. Distances are counted
from the middle in half steps, as in :mod:`solver.cube.facelets`; they are odd on even cubes.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from solver.cube.facelets import FACES, OPPOSITE, indices_at, vector

Slots = NDArray[np.intp]

WING_PAIRS = tuple(a + b for a, b in permutations(FACES, 2) if OPPOSITE[a] != b)
"""The 24 ordered pairs of neighbouring faces: names of wing slots and wings."""


def offsets(size: int) -> list[int]:
    """Return the distances of the inner layers other than the middle, the outermost first."""
    return list(range(size - 3, 0, -2))


@cache
def wing_slots(offset: int, size: int) -> Slots:
    """Return facelets int[24, 2] of the wings ``offset`` from the edges' middle, by WING_PAIRS.

    The two stickers are named in the order that makes face, face and offset along the edge
    right-handed. Rotations keep that order, so a wing shows its two letters only in one order.
    """
    slots = []
    for pair in WING_PAIRS:
        first, second = (vector(face) for face in pair)
        along = np.cross(first, second) * offset
        spots = np.array([(size - 1) * (first + second) + along + n for n in (first, second)])
        slots.append(indices_at(spots, size))
    found = np.array(slots, dtype=np.intp)
    found.setflags(write=False)
    return found


def centre_slots(row: int, column: int, size: int) -> Slots:
    """Return the centre facelets, int[24], that quarter turns bring to (row, column) off a centre.

    They are in the order of FACES, four of each.
    """
    middle = size - 1
    around = [(row, column), (column, -row), (-row, -column), (-column, row)]
    cells = [(middle + down) // 2 * size + (middle + right) // 2 for down, right in around]
    return np.array([face * size * size + cell for face in range(6) for cell in cells])


def centre_spots(size: int) -> list[tuple[int, int]]:
    """Return one (row, column) for each orbit of centres that move, in half steps."""
    inner = offsets(size)
    # Down > 0, right >= 0 reaches all but the fixed centres.
    rights = inner + ([0] if size % 2 else [])
    spots = [(down, side * right) for down in inner for right in rights for side in (1, -1)]
    return list(dict.fromkeys(_first_of_four(spot) for spot in spots))


def fixed_slots(size: int) -> Slots:
    """Return the six fixed centres of an odd cube, int[6]."""
    return np.arange(6) * size * size + (size * size) // 2


def _first_of_four(spot: tuple[int, int]) -> tuple[int, int]:
    """Return the same representative for all four places to which quarter turns bring a centre."""
    row, column = spot
    return max((row, column), (column, -row), (-row, -column), (-column, row))
