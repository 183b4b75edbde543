r"""How far a face is tilted, by its corners: for what rolls a cube that is seen from above.

A gripper beside the cube turns it about a horizontal axis through its middle. Between level
positions the camera still sees the face on top, displaced and foreshortened. Where its corners are
in the plane of the level face depends on the angle and on where the camera stands above that plane;
neither its lens nor its distance in pixels matters::

             camera at (foot, height)
              \\
    ___________\\__________  plane of the level face, one half width above the axis
          \\     \\
           face  ' seen here

Displacement alone confuses the angle with the camera's height. Foreshortening tells them apart, so
that a sweep of some degrees is enough to find both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from robot.calibration.finding.face_watch import UNIT_SQUARE
from robot.calibration.finding.least_squares import fitted
from robot.settings.base import Site

Floats = NDArray[np.float64]

USUAL_HEIGHT = 4.5
"""Of a camera above the face, in half widths of it: good enough to begin a sweep with."""

HEIGHTS = (1.5, 50.0)
CENTRE_MOVES: dict[Site, tuple[float, float]] = {
    "R": (0.0, -1.0),
    "L": (0.0, 1.0),
    "F": (1.0, 0.0),
    "B": (-1.0, 0.0),
}
"""Where the middle of the face on top goes, right and down in the face's plane, while the gripper
at a site turns the cube clockwise as seen from outside."""


@dataclass(frozen=True)
class TiltGauge:
    """Measures the tilt by the gripper at a ``site``; ``foot`` (right, down) and ``height`` of the
    camera over the level face are in half widths of it."""

    site: Site
    foot: tuple[float, float] = (0.0, 0.0)
    height: float = USUAL_HEIGHT

    def corners(self, degrees: float) -> Floats:
        """Where a face that is tilted so far has its corners in the level plane, float64[4, 2]."""
        angle, along = np.radians(degrees), np.array(CENTRE_MOVES[self.site])
        forwards = UNIT_SQUARE @ along
        aside = UNIT_SQUARE - np.outer(forwards, along)
        rise = np.cos(angle) - 1 - forwards * np.sin(angle)
        point = np.outer(forwards * np.cos(angle) + np.sin(angle), along) + aside
        foot = np.array(self.foot)
        seen = foot + (point - foot) * (self.height / (self.height - rise))[:, None]
        return np.asarray(seen, dtype=np.float64)

    def degrees(self, corners: Floats) -> float:
        """The tilt of a face with these corners in the level plane, float64[4, 2]."""
        found = fitted(lambda at: (self.corners(float(at[0])) - corners).ravel(), np.zeros(1))
        return float(found[0])

    def misses(self, corners: Floats, degrees: float) -> float:
        """How far corners are from those of a face that is tilted so, in half widths."""
        return float(np.abs(self.corners(degrees) - corners).max())

    def adapted(self, views: Sequence[Floats]) -> Self:
        """With the camera where the corners of a face at several angles say that it is."""
        first = [self.degrees(corners) for corners in views]

        def misses(at: Floats) -> Floats:
            gauge = self._at(at)
            parts = [gauge.corners(d) - seen for d, seen in zip(at[3:], views, strict=True)]
            return np.concatenate([part.ravel() for part in parts])

        return self._at(fitted(misses, np.array([*self.foot, self.height, *first])))

    def _at(self, values: Floats) -> Self:
        right, down, height = (float(value) for value in values[:3])
        return type(self)(self.site, (right, down), min(max(height, HEIGHTS[0]), HEIGHTS[1]))
