"""Turns of an NxNxN: its 6N twists, and the moves that count as one in each metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from solver.cube.notation import Move
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation

KINDS = {"horizontal": "U", "vertical": "L", "side": "F"}
"""The face from which the rows, columns or slices of a kind of twist are counted."""

_AXES = (("U", "D"), ("R", "L"), ("F", "B"))


@dataclass(frozen=True, slots=True)
class Twist:
    """One layer turned by a quarter.

    ``kind`` is ``horizontal`` (row ``index`` from the top), ``vertical`` (column from the left) or
    ``side`` (slice parallel to the front, from the front). ``direction`` 0 is clockwise seen from
    U, L or F, 1 counter-clockwise. Turning an outer layer turns its face with it.
    """

    kind: str
    index: int
    direction: int

    @property
    def move(self) -> Move:
        """The twist in WCA notation; BadNotation for a kind or direction that does not exist."""
        if self.kind not in KINDS or self.direction not in (0, 1) or self.index < 0:
            raise BadNotation(
                f"{self} is not a twist; kinds are {', '.join(KINDS)}, directions 0, 1."
            )
        layer = self.index + 1
        return Move(KINDS[self.kind], 3 if self.direction else 1, layer, layer)


def twists(size: int) -> tuple[Twist, ...]:
    """Return all ``6 * size`` twists of a cube."""
    return tuple(
        Twist(kind, index, direction)
        for kind in KINDS
        for index in range(size)
        for direction in (0, 1)
    )


def scrambled(size: int, count: int, rng: np.random.Generator) -> tuple[StickerCube, list[Move]]:
    """Return the solved cube after ``count`` random twists, and their moves."""
    every = twists(size)
    moves = [every[number].move for number in rng.integers(0, len(every), count)]
    return StickerCube.solved(size).apply(moves), moves


def counted_moves(size: int, metric: str) -> list[Move]:
    """Return the moves that count as one in ``htm`` or ``qtm``, axis by axis, block by block.

    These are outer blocks of any width up to half the cube from both faces and, from size 4 on,
    inner slices. All other moves differ from one of these by a rotation of the cube.
    """
    quarters = (1, 2, 3) if metric == "htm" else (1, 3)
    return [
        Move(face, turned, first, last)
        for axis in _AXES
        for face, first, last in _blocks(axis, size)
        for turned in quarters
    ]


def _blocks(axis: tuple[str, str], size: int) -> Iterator[tuple[str, int, int]]:
    near, far = axis
    for width in range(1, size // 2 + 1):
        yield near, 1, width
        if 2 * width < size:
            yield far, 1, width
    for layer in range(2, size):
        if size > 3:
            yield near, layer, layer
