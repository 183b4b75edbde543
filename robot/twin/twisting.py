"""A cube whose layers may stand anywhere between quarter turns."""

from __future__ import annotations

import numpy as np

from robot.twin.cube import NORMALS, SITES, CubeBody, FloatArray, IntArray, Pose, turned
from robot.twin.violations import Reporter


class Slipping:
    """Each slip asked for costs the next part that turns the first quarter of its way."""

    def __init__(self) -> None:
        self.wanted = 0
        self._left: dict[str, float] = {}

    def carry(self, part: str, quarters: float) -> float:
        """Return the quarters of a turn by ``part`` that reach the cube."""
        if self.wanted > 0 and quarters and part not in self._left:
            self.wanted -= 1
            self._left[part] = 1.0
        left = self._left.get(part, 0.0)
        lost = min(left, abs(quarters))
        if not lost:
            return quarters
        self._left[part] = left - lost
        if left == lost:
            del self._left[part]
        return quarters - (lost if quarters > 0 else -lost)


AT_REST_QUARTERS = 0.5 / 90
"""A layer this little off square stands square: its next motion is a start."""

OPPOSITE = dict(zip("URFDLB", "DLBURF", strict=True))


def rest_of_quarter(quarters: float) -> float:
    """Return the rest of an angle after whole quarters, -0.5..0.5."""
    return quarters - round(quarters)


class TwistingCube:
    """The body with the angle of every layer; two layers that cross cannot both be off square.

    ``corner_cutting`` is how far, in quarters, a layer may be off square when one that crosses it
    starts to turn, and how far both may be off at once: the rounded pieces push each other home.
    Where one is farther off, the other must be square within ``play`` (by default as much). The
    whole cube may be turned about one axis at a time.
    """

    def __init__(
        self,
        body: CubeBody,
        corner_cutting: float,
        report: Reporter,
        play: float | None = None,
    ) -> None:
        self.body = body
        self._corner_cutting = corner_cutting
        self._play = corner_cutting if play is None else play
        self._report = report
        self._twists = dict.fromkeys(SITES, 0.0)
        self._axis = "U"
        self._tilt = 0.0

    def turn_layer(self, site: str, quarters: float) -> None:
        """Turn the layer at ``site`` clockwise seen from outside."""
        before = self._twists[site]
        starts = self.quarters_off_square(site) < AT_REST_QUARTERS
        self._twists[site] = before + quarters
        self.body.turn(site, round(before + quarters) - round(before))
        self._check_crossing(site, starts)

    def turn_whole(self, site: str, quarters: float) -> None:
        """Turn the whole cube clockwise as seen from outside ``site``."""
        if site == OPPOSITE[self._axis]:
            site, quarters = self._axis, -quarters
        if site != self._axis:
            self._axis, self._tilt = site, 0.0
        before = self._tilt
        self._tilt = before + quarters
        self._rotate(site, round(before + quarters) - round(before))

    def quarters_off_square(self, site: str) -> float:
        """Quarters by which the layer at ``site`` is off square with the rest of the cube."""
        return abs(rest_of_quarter(self._twists[site]))

    @property
    def tilt(self) -> tuple[str, float]:
        """The axis about which the whole cube is off square, and by how much."""
        return self._axis, rest_of_quarter(self._tilt)

    def settle(self, site: str) -> None:
        """The layer at ``site`` comes to rest where it is nearest to; forgets the small rest."""
        self._twists[site] = 0.0

    def set_square(self) -> None:
        """A person sets every layer square, and the cube in the robot, each to what is nearest."""
        self._twists = {site: float(round(twist)) for site, twist in self._twists.items()}
        self._tilt = float(round(self._tilt))

    def settle_whole(self) -> None:
        """The cube comes to rest square in the robot."""
        self._tilt = 0.0

    def lean(self, site: str, quarters: float) -> None:
        """Set the cube off square: the part that holds the layer at ``site`` alone stands so, and
        so does the whole cube; the layer comes to rest with it."""
        self._axis, self._tilt = site, quarters
        self._twists[site] = 0.0

    def pose(self) -> Pose:
        """Return the places of cube and layers, for the camera."""
        whole: FloatArray = turned(NORMALS[self._axis], rest_of_quarter(self._tilt))
        off = ((site, rest_of_quarter(twist)) for site, twist in self._twists.items())
        return Pose(whole, tuple((site, twist) for site, twist in off if twist))

    def _rotate(self, site: str, quarters: int) -> None:
        """The booked stickers move on, and what is off square with them."""
        if not quarters:
            return
        self.body.rotate(NORMALS[site], quarters)
        whole = np.rint(turned(NORMALS[site], quarters)).astype(int)
        moved = {old: _site_of(whole @ np.array(NORMALS[old])) for old in SITES}
        self._twists = {moved[old]: twist for old, twist in self._twists.items()}

    def _check_crossing(self, site: str, starts: bool) -> None:
        off = self.quarters_off_square(site)
        if not starts and off <= self._play:
            return
        for other in SITES:
            crosses = other not in {site, OPPOSITE[site]}
            if crosses and self._jams(starts, off, self.quarters_off_square(other)):
                text = f"layers {other} and {site} were turned into each other"
                self._report("layers-collide", text, "".join(sorted(site + other)))

    def _jams(self, starts: bool, off: float, other: float) -> bool:
        """Return true if a layer gets stuck that starts, or is this many quarters off square, where
        one that crosses it is ``other`` quarters off."""
        if starts:
            return other > self._corner_cutting
        return min(off, other) > self._play and max(off, other) > self._corner_cutting


def _site_of(normal: IntArray) -> str:
    return next(site for site, direction in NORMALS.items() if tuple(normal) == direction)
