"""Where the stickers are right now, mid-motion included: what a camera has to draw."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robot.twin.cube import NORMALS, CubeBody

FloatArray = NDArray[np.float64]


def turned(axis: tuple[int, int, int], quarters: float) -> FloatArray:
    """float64[3, 3]: clockwise by any number of quarters as seen from the tip of ``axis``."""
    angle = -quarters * math.pi / 2
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=float)
    rotation = np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    return np.asarray(rotation)


@dataclass(frozen=True)
class Pose:
    """How far the cube is from resting squarely in the robot.

    ``whole`` turns the entire cube; ``layers`` are quarters by which the layer of a site has been
    turned beyond where the body's stickers are booked (-0.5..0.5). ``covers`` are flat pieces of
    the robot in front of the cube, float64[4, 3] each (the cube's faces are at +-1).
    """

    whole: FloatArray = field(default_factory=lambda: np.eye(3))
    layers: tuple[tuple[str, float], ...] = ()
    covers: tuple[FloatArray, ...] = ()

    @property
    def layers_open(self) -> bool:
        """Whether some layer is so far from square that the cube shows it."""
        return any(abs(quarters) > 0.15 for _, quarters in self.layers)

    def sticker_rotations(self, body: CubeBody) -> FloatArray:
        """float64[6 N^2, 3, 3]: how each sticker of ``body`` is turned from its booked place."""
        rotations = np.tile(self.whole, (len(body.letters), 1, 1))
        for site, quarters in self.layers:
            rotations[body.layer(site)] = self.whole @ turned(NORMALS[site], quarters)
        return rotations
