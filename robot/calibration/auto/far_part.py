"""The part of the face on top that the layer of a gripper beside the cube does not reach.

A gripper that turns while nothing else holds the cube tilts all of this face. While others hold, it
turns its own layer only, and the rest of the face stays. The two corners farthest from the gripper
tell which, whatever its own layer looks like meanwhile: jaws in the middle of the other sides leave
them free. They are compared with themselves, displaced along the way on which the gripper tilts
them::

              B                    o o    the two corners of R
          +---+---+                o o
        L | o | # | R              # #    its own layer, which turns
          | o | # |
          +---+---+
              F
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robot.calibration.auto.face_watch import (
    MOST_LOOKS,
    MOST_TREMBLING,
    SAME_DEGREES,
    RotationGauge,
)
from robot.calibration.auto.fitting import CENTRE_MOVES, USUAL_HEIGHT
from robot.settings.base import Site
from robot.text.faults import CalibrationError

Picture = NDArray[np.float32]

REACH = 1.5
"""Half widths of the face, from its middle, that a flat picture shows."""
HALF_WIDTH_PX = 80
"""Size of half a face in a flat picture."""

FARTHEST = 0.3
"""Half widths by which the corners are looked for."""
BESIDE_JAWS = 0.05
EDGE, BACK = 1.06, 0.97
"""The corners end with the edge of the face: beside it the camera sees more or less of another."""

FIRST_PICTURES = 3
"""Pictures whose mean is what later ones are compared with."""

ALIKE, ALIKE_CONTRAST = 0.03, 0.5
"""Mean square difference of two pictures of the same corner, in parts of its brightness, at most,
and in addition the part of its contrast."""

TOWARDS: dict[Site, tuple[int, int]] = {"R": (1, 0), "L": (-1, 0), "F": (0, 1), "B": (0, -1)}
"""The direction to the gripper at a site, right and down in the picture."""


class FarPart:
    """The corners farthest from the gripper at a site, before a camera that looks down."""

    def __init__(self, watch: RotationGauge, site: Site) -> None:
        self._watch = watch
        self._first: Picture | None = None
        size = watch.profile.cube.size
        count = round(2 * REACH * HALF_WIDTH_PX)
        places = (np.arange(count) + 0.5) / HALF_WIDTH_PX - REACH
        right, down = np.meshgrid(places, places)
        (to_x, to_y), (along_x, along_y) = TOWARDS[site], CENTRE_MOVES[site]
        towards = right * to_x + down * to_y
        aside = right * along_x + down * along_y
        inner = 1 / size + BESIDE_JAWS
        self._corners = tuple(
            (towards > -BACK) & (towards < -inner) & (sign * aside > inner) & (sign * aside < EDGE)
            for sign in (1, -1)
        )
        self._axis = 1 if along_x else 0
        self._sign = round(along_x or along_y)

    def begin(self) -> None:
        """Count degrees from the pictures of this moment."""
        pictures = [self._picture() for _ in range(FIRST_PICTURES)]
        self._first = np.mean(pictures, axis=0)

    def degrees(self) -> float:
        """Return the degrees by which it has tilted since then, clockwise as seen from the
        gripper's side, once the picture is at rest; infinite if it shows another face.

        Raises ``CalibrationError`` if it never is at rest.
        """
        seen = [self._measure_tilt(self._picture())]
        while len(seen) <= MOST_LOOKS:
            seen.append(self._measure_tilt(self._picture()))
            if seen[-1] == seen[-2] or abs(seen[-1] - seen[-2]) < SAME_DEGREES:
                return seen[-1]
        if max(seen) - min(seen) > MOST_TREMBLING:
            raise CalibrationError(
                "the face does not come to rest in the picture: does the camera shake, or a part "
                "of the robot?"
            )
        return float(np.median(seen))

    def _picture(self) -> Picture:
        return self._watch.flat_picture(REACH, HALF_WIDTH_PX)

    def _measure_tilt(self, picture: Picture) -> float:
        """Return the degrees for one picture.

        The corner that rises and the one that sinks move differently, because their distance to the
        camera changes. Their middle moves a little less than the middle of the face.
        """
        moved = sum(self._displacement(corner, picture) for corner in self._corners) / 2
        sine = moved / (1 - 1 / USUAL_HEIGHT)
        return math.degrees(math.asin(sine)) if math.isfinite(moved) else math.inf

    def _displacement(self, corner: NDArray[np.bool_], after: Picture) -> float:
        """Return the half widths by which a corner has moved; infinite if it is not there."""
        reach = round(FARTHEST * HALF_WIDTH_PX)
        assert self._first is not None, "it begins before anything is measured"
        first = self._first[corner]
        first = first / max(float(first.mean()), 1.0)
        misses = []
        for pixels in range(-reach, reach + 1):
            moved = np.roll(after, -self._sign * pixels, axis=self._axis)[corner]
            moved = moved / max(float(moved.mean()), 1.0)
            misses.append(float(np.mean((moved - first) ** 2)))
        best = int(np.argmin(misses))
        if misses[best] > ALIKE + ALIKE_CONTRAST * float(first.var(axis=0).mean()):
            return math.inf
        finer = 0.0
        if 0 < best < 2 * reach:
            left, middle, right = misses[best - 1 : best + 2]
            bend = left - 2 * middle + right
            finer = 0.5 * (left - right) / bend if bend > 0 else 0.0
        return (best - reach + finer) / HALF_WIDTH_PX
