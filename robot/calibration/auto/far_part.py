"""The part of the top face outside the layer of a gripper beside the cube.

A gripper that holds the cube alone tilts the whole face when it turns. If others hold too, it turns
only its own layer, and the rest of the face stays. The two corners farthest from the gripper show
which is the case, whatever its own layer looks like: jaws in the middle of the other sides leave
them visible. They are compared with their first picture, displaced in the direction in which the
gripper tilts them::

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
"""Distance from the middle of a flat picture to its edges, in half widths of the face."""
HALF_WIDTH_PX = 80
"""Size of half a face in a flat picture."""

FARTHEST = 0.3
"""Maximum displacement searched for a corner, in half widths."""
BESIDE_JAWS = 0.05
EDGE, BACK = 1.06, 0.97
"""Outer limits of the corners, in half widths, sideways and away from the gripper. The face ends
there, and a varying part of another face is visible beyond."""

FIRST_PICTURES = 3
"""Number of pictures averaged as the reference for later ones."""

ALIKE, ALIKE_CONTRAST = 0.03, 0.5
"""Maximum mean square difference between pictures of the same corner, relative to its brightness: a
constant, plus a fraction of its contrast."""

TOWARDS: dict[Site, tuple[int, int]] = {"R": (1, 0), "L": (-1, 0), "F": (0, 1), "B": (0, -1)}
"""Direction to the gripper at a site, right and down in the picture."""


class FarPart:
    """The corners farthest from the gripper at a site, seen by a camera that looks down."""

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
        """Take the reference pictures, from which degrees count."""
        pictures = [self._picture() for _ in range(FIRST_PICTURES)]
        self._first = np.mean(pictures, axis=0)

    def degrees(self) -> float:
        """Return the degrees by which it has tilted since :meth:`begin`, clockwise as seen from the
        gripper's side; infinite if it shows another face.

        Wait until the picture is still. Raise ``CalibrationError`` if it never is.
        """
        seen = [self._measure_tilt(self._picture())]
        while len(seen) <= MOST_LOOKS:
            seen.append(self._measure_tilt(self._picture()))
            if seen[-1] == seen[-2] or abs(seen[-1] - seen[-2]) < SAME_DEGREES:
                return seen[-1]
        if max(seen) - min(seen) > MOST_TREMBLING:
            raise CalibrationError(
                "the face keeps moving in the picture: does the camera or a part of the robot "
                "shake?"
            )
        return float(np.median(seen))

    def _picture(self) -> Picture:
        return self._watch.flat_picture(REACH, HALF_WIDTH_PX)

    def _measure_tilt(self, picture: Picture) -> float:
        """Return the degrees for one picture.

        The rising and the sinking corner move differently, because their distances to the camera
        change. Their middle moves a little less than the middle of the face.
        """
        moved = sum(self._displacement(corner, picture) for corner in self._corners) / 2
        sine = moved / (1 - 1 / USUAL_HEIGHT)
        return math.degrees(math.asin(sine)) if math.isfinite(moved) else math.inf

    def _displacement(self, corner: NDArray[np.bool_], after: Picture) -> float:
        """Return the half widths by which a corner has moved; infinite if it is not found."""
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
