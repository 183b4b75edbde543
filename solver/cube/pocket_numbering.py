"""The 2x2x2 in another numbering: seven places, orientations counted clockwise.

A published IDA* for the 2x2x2 leaves the corner DLB out and numbers the other places so that
turns move these places, each a face read from its top left: U (0 1 2 3), F (2 3 4 5), R (3 1 5 6).
That makes place 0 our UBL, 1 URB, 2 ULF, 3 UFR, 4 DFL, 5 DRF and 6 DBR. ``cp[i]`` is the corner in
place ``i``, ``co[i]`` how often it is turned, in the sense opposite to ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solver.cube.legality import CORNERS
from solver.cube.pocket import REFERENCE, PocketCube
from solver.errors import BadNotation

PLACES = tuple(map(CORNERS.index, ("UBL", "URB", "ULF", "UFR", "DFL", "DRF", "DBR")))
"""Our slot of each of the seven places."""


def from_seven(cp: Sequence[int], co: Sequence[int]) -> PocketCube:
    """The cube with those seven corners; BadNotation or IllegalCube if there is none."""
    if len(cp) != len(PLACES) or len(co) != len(PLACES):
        raise BadNotation(f"There are 7 corners and 7 orientations, not {len(cp)} and {len(co)}.")
    if sorted(cp) != list(range(7)) or not set(co) <= {0, 1, 2}:
        raise BadNotation("The corners are the numbers 0 to 6, each once; orientations 0, 1 or 2.")
    states = np.zeros((8, 2), dtype=np.uint8)
    states[REFERENCE, 0] = REFERENCE
    for place, corner, turns in zip(PLACES, cp, co, strict=True):
        states[place] = PLACES[corner], -turns % 3
    return PocketCube(states)


def to_seven(cube: PocketCube) -> tuple[list[int], list[int]]:
    """``cp`` and ``co`` of the cube, colours named so that the corner DLB is at home."""
    rows = cube.relative.states[list(PLACES)].tolist()
    return [PLACES.index(cubie) for cubie, _ in rows], [-turns % 3 for _, turns in rows]
