"""The 24 orientations of a cube in a robot, and the places where its stickers are then seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from solver.cube.facelets import (
    FACES,
    Permutation,
    face_towards,
    indices_at,
    places,
    rotation,
    vector,
)
from solver.cube.notation import AXIS_FACE
from solver.errors import BadNotation

NAMES = (
    *("UF", "UR", "UB", "UL", "DF", "DL", "DB", "DR"),
    *("FU", "FL", "FD", "FR", "BU", "BR", "BD", "BL"),
    *("RU", "RF", "RD", "RB", "LU", "LB", "LD", "LF"),
)
"""Cube faces at the robot's sites U and F, by index.

Within each group of four, a ``y`` rotation leads to the next.
"""


@dataclass(frozen=True, slots=True)
class Orientation:
    """One of the 24 ways to hold a cube; ``index`` 0 (``UF``) has every face at its own site."""

    index: int

    def __post_init__(self) -> None:
        if not 0 <= self.index < len(NAMES):
            raise BadNotation(f"Orientation {self.index} does not exist; there are 24, 0 to 23.")

    @classmethod
    def named(cls, name: str) -> Orientation:
        """Return the orientation with these faces at U and F; BadNotation if there is none."""
        if name not in NAMES:
            raise BadNotation(f"'{name}' is not an orientation; use one of {' '.join(NAMES)}.")
        return cls(NAMES.index(name))

    @property
    def name(self) -> str:
        """The cube faces at the robot's sites U and F, such as ``UF``."""
        return NAMES[self.index]

    @property
    def faces(self) -> str:
        """The cube faces at the robot's sites U R F D L B."""
        return _faces(self.index)

    @property
    def matrix(self) -> NDArray[np.int64]:
        """Rotation int64[3, 3] from the cube's frame to the robot's."""
        return _matrix(self.index)

    @property
    def inverse(self) -> Orientation:
        """The orientation reached from ``UF`` by the inverse of the rotation to this one."""
        return _from_matrix(self.matrix.T)

    def rotated(self, axis: str, quarters: int) -> Orientation:
        """Return the orientation after a turn about the robot's x, y or z, like R, U or F."""
        return _from_matrix(rotation(AXIS_FACE[axis], quarters) @ self.matrix)

    def then(self, later: Orientation) -> Orientation:
        """Return the orientation after another rotation, which leads from ``UF`` to ``later``."""
        return _from_matrix(later.matrix @ self.matrix)

    def face_at(self, site: str) -> str:
        """Return the cube face at a robot site."""
        return self.faces[FACES.index(site)]

    def site_of(self, face: str) -> str:
        """Return the robot site at which a cube face is."""
        return FACES[self.faces.index(face)]


def all_orientations() -> tuple[Orientation, ...]:
    """Return the 24 orientations in order of index."""
    return tuple(Orientation(index) for index in range(len(NAMES)))


def held_with(faces: str) -> Orientation | None:
    """Return the orientation with the cube's ``faces`` at sites U R F D L B; None if none has."""
    return _index_faces().get(faces)


@cache
def _matrix(index: int) -> NDArray[np.int64]:
    up, front = (vector(letter) for letter in NAMES[index])
    result = np.array([np.cross(up, front), up, front], dtype=np.int64)
    result.setflags(write=False)
    return result


@cache
def _index_faces() -> dict[str, Orientation]:
    return {held.faces: held for held in all_orientations()}


@cache
def _faces(index: int) -> str:
    """Return the cube faces at sites U R F D L B."""
    return "".join(face_towards(_matrix(index).T @ vector(site)) for site in FACES)


def _from_matrix(matrix: NDArray[np.int64]) -> Orientation:
    up, front = (face_towards(matrix.T @ vector(site)) for site in "UF")
    return Orientation.named(up + front)


def site_facelets(orientation: Orientation, size: int) -> Permutation:
    """Return the cube facelet seen at every site sticker, read-only int32[6 * size**2].

    Sites are in the order U R F D L B of the robot, each read as in Kociemba's drawing, so
    ``facelets[site_facelets(o, n)]`` is how the cube ``facelets`` looks in the robot's frame.
    """
    return _site_facelets(orientation.index, size)


def upright(letters: str, held: Orientation, size: int) -> str:
    """Return the upright letters of a cube that looks like ``letters`` when it is ``held``."""
    if held.index == 0:
        return letters
    return "".join(letters[index] for index in site_facelets(held.inverse, size).tolist())


@cache
def _site_facelets(index: int, size: int) -> Permutation:
    result = indices_at(places(size) @ _matrix(index), size)
    result.setflags(write=False)
    return result
