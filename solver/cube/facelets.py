"""Places of the stickers of an NxNxN cube, and the permutations of turns.

Everything here follows from six unit vectors and the two reading directions of each face, so all
sizes share the same code. A sticker's place is an integer vector: the face's normal times ``N``
plus steps of 2 across the face, which keeps even and odd sizes on one grid. Faces and rows are read
as in Kociemba's drawing: U with B at its top edge, D with F at its top edge, the others with U on
top.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

FACES = "URFDLB"
"""Order of the faces in facelet strings and of sites in the robot frame."""

NORMALS = {
    "U": (0, 1, 0),
    "R": (1, 0, 0),
    "F": (0, 0, 1),
    "D": (0, -1, 0),
    "L": (-1, 0, 0),
    "B": (0, 0, -1),
}
"""Outward normals: x to the right, y up, z towards the viewer."""

READING = {
    "U": ((0, 0, 1), (1, 0, 0)),
    "R": ((0, -1, 0), (0, 0, -1)),
    "F": ((0, -1, 0), (1, 0, 0)),
    "D": ((0, 0, -1), (1, 0, 0)),
    "L": ((0, -1, 0), (0, 0, 1)),
    "B": ((0, -1, 0), (-1, 0, 0)),
}
"""The directions of increasing row and of increasing column of each face."""

OPPOSITE = dict(zip("URFDLB", "DLBURF", strict=True))
"""The opposite face of each face."""

Permutation = NDArray[np.int32]
"""``after = before[permutation]``: entry ``i`` is where the sticker now at ``i`` came from."""


def vector(face: str) -> NDArray[np.int64]:
    """Return the outward normal of ``face``, int64[3]."""
    return np.array(NORMALS[face], dtype=np.int64)


def face_towards(direction: NDArray[np.int64]) -> str:
    """Return the face whose outward normal is ``direction``."""
    wanted = tuple(int(part) for part in direction)
    return next(face for face, normal in NORMALS.items() if normal == wanted)


def rotation(face: str, quarters: int) -> NDArray[np.int64]:
    """Return the matrix int64[3, 3] of ``quarters`` clockwise quarter turns about ``face``."""
    normal = vector(face)
    across = np.cross(np.eye(3, dtype=np.int64), normal).T
    quarter = np.outer(normal, normal) + across
    turned: NDArray[np.int64] = np.linalg.matrix_power(quarter, quarters % 4)
    return turned


@cache
def places(size: int) -> NDArray[np.int64]:
    """Return every facelet's place, int64[6 * size**2, 3], read-only, in facelet-string order."""
    steps = 2 * np.arange(size) - (size - 1)
    faces = [_face_places(face, steps, size) for face in FACES]
    result = np.concatenate(faces)
    result.setflags(write=False)
    return result


def _face_places(face: str, steps: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    row, column = (np.array(way, dtype=np.int64) for way in READING[face])
    grid = steps[:, None, None] * row + steps[None, :, None] * column
    return np.asarray(grid + size * vector(face)).reshape(-1, 3)


@cache
def _numbering(size: int) -> dict[tuple[int, ...], int]:
    return {tuple(place): index for index, place in enumerate(places(size).tolist())}


def indices_at(spots: NDArray[np.int64], size: int) -> Permutation:
    """Return the facelets int32[n] at the places ``spots``, int64[n, 3]; KeyError off the cube."""
    numbering = _numbering(size)
    return np.array([numbering[tuple(spot)] for spot in spots.tolist()], dtype=np.int32)


def layers(face: str, size: int) -> NDArray[np.int64]:
    """Return the layer of every facelet, counted from ``face``: 1 next to it, ``size`` opposite."""
    depth = places(size) @ vector(face)
    layer: NDArray[np.int64] = np.clip((size + 1 - depth) // 2, 1, size)
    return layer


@cache
def turn(size: int, face: str, first: int, last: int, quarters: int) -> Permutation:
    """Return the origins of facelets in a clockwise turn of layers ``first``..``last`` of ``face``.

    Returns a read-only :data:`Permutation` of ``6 * size**2`` entries.
    """
    layer = layers(face, size)
    moving = np.flatnonzero((layer >= first) & (layer <= last))
    arrived = indices_at(places(size)[moving] @ rotation(face, quarters).T, size)
    result = np.arange(6 * size * size, dtype=np.int32)
    result[arrived] = moving
    result.setflags(write=False)
    return result


@cache
def slot_facelets(name: str, size: int) -> tuple[int, ...]:
    """Return the facelets of the slot ``name`` (``UFR``, ``UF``), in the order of its letters.

    Corners exist for every ``size >= 2``; edges mean the middle edge piece of an odd cube.
    """
    normals = np.array([vector(letter) for letter in name])
    stickers = (size - 1) * normals.sum(axis=0) + normals
    return tuple(int(index) for index in indices_at(stickers, size))
