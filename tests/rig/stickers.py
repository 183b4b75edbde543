"""A cube as stickers in space: a second opinion on turns that shares no code with the product."""

from __future__ import annotations

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
"""Directions of "right" and "down" on each face as Kociemba draws it."""


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

    def turn(self, site: str, quarters: int, layers: int = 1) -> None:
        """Turn layers at a site clockwise."""
        normal = np.array(NORMALS[site])
        taken = self.places @ normal > self.size - 1 - 2 * layers
        self._move(clockwise(normal, quarters), taken)

    def rotate(self, axis: str, quarters: int) -> None:
        """Rotate the whole cube about an axis."""
        self._move(clockwise(np.array(NORMALS["URF"["yxz".index(axis)]]), quarters), slice(None))

    def at(self, site: str) -> str:
        """Return the colours at a site, as drawn."""
        normal, (right, down) = np.array(NORMALS[site]), (np.array(v) for v in DRAWN[site])
        here = np.flatnonzero((self.normals == normal).all(axis=1))
        order = sorted(here, key=lambda i: (self.places[i] @ down, self.places[i] @ right))
        return "".join(self.colours[order])

    @property
    def is_solved(self) -> bool:
        """True if every face has one colour."""
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
