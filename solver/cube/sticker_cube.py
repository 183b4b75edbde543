"""Cubes of any size as their stickers, with the three twists and WCA moves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.cube import facelets as geometry
from solver.cube import layered_legality, legality
from solver.cube.notation import Move, parse_moves
from solver.errors import BadNotation


@dataclass(frozen=True, slots=True)
class StickerCube:
    """An NxNxN cube as ``6 * size**2`` letters; ``str(cube)`` is its facelet string.

    Only :meth:`from_facelets` decides on legality.
    """

    letters: str
    size: int

    @classmethod
    def solved(cls, size: int) -> StickerCube:
        """Return the cube of ``size`` with every face of its own colour."""
        if size < 1:
            raise BadNotation(f"A cube has at least 1 layer, not {size}.")
        return cls("".join(face * size * size for face in geometry.FACES), size)

    @classmethod
    def from_facelets(cls, letters: str, size: int) -> StickerCube:
        """Read a facelet string; raises BadNotation or IllegalCube if it is none.

        From 4 layers on, it checks full legality; on smaller cubes it only counts the colours.
        """
        legality.check_letters(letters, size)
        if size >= 4:
            layered_legality.check(letters, size)
        else:
            legality.check_counts(letters, size)
        return cls(letters, size)

    @property
    def is_solved(self) -> bool:
        """True if every face shows one colour."""
        area = self.size**2
        return all(len(set(self.letters[at : at + area])) == 1 for at in range(0, 6 * area, area))

    def facelets(self) -> str:
        """Return the letters, faces U R F D L B read as in Kociemba's drawing."""
        return self.letters

    def __str__(self) -> str:
        return self.letters

    def move(self, move: Move) -> StickerCube:
        """Return the cube after one move."""
        first, last = move.layers(self.size)
        return self._permute(geometry.turn(self.size, move.face, first, last, move.quarters))

    def apply(self, moves: str | Iterable[Move]) -> StickerCube:
        """Return the cube after ``moves``, a string or parsed moves."""
        parsed = parse_moves(moves, self.size) if isinstance(moves, str) else moves
        cube = self
        for move in parsed:
            cube = cube.move(move)
        return cube

    def _permute(self, moved: NDArray[np.int32]) -> StickerCube:
        return StickerCube("".join(self.letters[i] for i in moved), self.size)
