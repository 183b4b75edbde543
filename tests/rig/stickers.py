"""A cube as stickers in space: a second opinion on turns that shares no code with the product."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from robot.planner import Plan

NORMALS = {
    "U": (0, 1, 0),
    "R": (1, 0, 0),
    "F": (0, 0, 1),
    "D": (0, -1, 0),
    "L": (-1, 0, 0),
    "B": (0, 0, -1),
}
DRAWN = {
    "U": ((1, 0, 0), (0, 0, 1)),
    "R": ((0, 0, -1), (0, -1, 0)),
    "F": ((1, 0, 0), (0, -1, 0)),
    "D": ((1, 0, 0), (0, 0, -1)),
    "L": ((0, 0, 1), (0, -1, 0)),
    "B": ((-1, 0, 0), (0, -1, 0)),
}
"""Directions "right" and "down" on each face in Kociemba's drawing."""
TOKEN = re.compile(r"(\d*)([URFDLBMESxyz])(w?)('|2|)")
LIKE = {"M": "L", "E": "D", "S": "F", "x": "R", "y": "U", "z": "F"}
"""Faces whose turns inner slices and rotations follow."""


def clockwise(normal: Any, quarters: int) -> Any:
    """Return the rotation by quarters clockwise, seen from outside the face."""
    x, y, z = normal
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    quarter = np.outer(normal, normal) - cross
    return np.linalg.matrix_power(quarter, quarters % 4)


class Stickers:
    """A cube as stickers in the robot's frame: place, direction, colour."""

    def __init__(self, facelets: str, size: int, held: str = "UF") -> None:
        self.size = size
        places, normals = [], []
        for face in "URFDLB":
            right, down = (np.array(v) for v in DRAWN[face])
            for row in range(size):
                for col in range(size):
                    spot = (2 * col - size + 1) * right + (2 * row - size + 1) * down
                    places.append(spot + (size - 1) * np.array(NORMALS[face]))
                    normals.append(NORMALS[face])
        self.places, self.normals = np.array(places), np.array(normals)
        self.colours = np.array(list(facelets))
        self._hold(held)

    def _hold(self, held: str) -> None:
        up, front = (np.array(NORMALS[face]) for face in held)
        self._move(np.array([np.cross(up, front), up, front]), slice(None))

    def _move(self, matrix: Any, which: Any) -> None:
        self.places[which] = self.places[which] @ matrix.T
        self.normals[which] = self.normals[which] @ matrix.T

    def turn(self, site: str, quarters: int, layers: int = 1, first: int = 0) -> None:
        """Turn layers at a site clockwise, from ``first`` up to ``layers``, counted from it."""
        normal = np.array(NORMALS[site])
        layer = (self.size - 1 - self.places @ normal) // 2
        self._move(clockwise(normal, quarters), (first <= layer) & (layer < layers))

    def rotate(self, axis: str, quarters: int) -> None:
        self._move(clockwise(np.array(NORMALS["URF"["yxz".index(axis)]]), quarters), slice(None))

    def at(self, site: str) -> str:
        """Return the colours at a site, as drawn."""
        here = np.flatnonzero((self.normals == NORMALS[site]).all(axis=1))
        across, along = (self.places[here] @ np.array(way) for way in DRAWN[site])
        return "".join(self.colours[here[np.lexsort((across, along))]])

    @property
    def facelets(self) -> str:
        return "".join(map(self.at, "URFDLB"))

    @property
    def is_solved(self) -> bool:
        return all(len(set(self.at(site))) == 1 for site in "URFDLB")


def replay(plan: Plan, facelets: str, size: int = 3) -> Stickers:
    """Return the cube after a plan's operations, performed in their order."""
    cube = Stickers(facelets, size, plan.initial_orientation.name)
    for operation in plan.operations:
        if operation.op == "turn":
            cube.turn(operation.site, operation.quarter_turns, operation.layers)
        elif operation.op == "rotate":
            cube.rotate(operation.axis, operation.quarter_turns)
    return cube


def replay_moves(facelets: str, moves: str, size: int) -> Stickers:
    """Return the cube after moves in WCA notation: wide ones, slices and rotations included."""
    cube = Stickers(facelets, size)
    for count, letter, wide, suffix in TOKEN.findall(moves):
        last = int(count or (2 if wide else 1))
        first = 0 if wide else last - 1
        if letter in LIKE:
            first, last = (0, size) if letter in "xyz" else (size // 2, size // 2 + 1)
        cube.turn(LIKE.get(letter, letter), {"": 1, "2": 2, "'": 3}[suffix], last, first)
    return cube


def looks_like(letters: str, wanted: str, size: int, *, in_colours: bool = True) -> bool:
    """Return whether a cube looks so in any orientation, perhaps with its colours exchanged."""
    pairs = (up + front for up in NORMALS for front in NORMALS)
    across = [p for p in pairs if not np.dot(NORMALS[p[0]], NORMALS[p[1]])]
    looks = [Stickers(letters, size, held).facelets for held in across]
    if in_colours:
        return wanted in looks
    return any(len(set(zip(look, wanted, strict=True))) == len(NORMALS) for look in looks)


def solved_stickers(size: int) -> np.ndarray:
    """Return the face of each sticker of a solved cube as a number. uint8[6 N^2]."""
    return np.repeat(np.arange(6, dtype=np.uint8), size * size)
