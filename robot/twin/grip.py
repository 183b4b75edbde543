"""The force with which an arm or jaws hold the cube, and what it takes to turn a layer against it.

Forces are in parts of what turns a layer of an ordinary cube near its square place. What holds
begins to touch the cube at some place of its shaft. From there on its force grows with every
degree: in little more than one for hard plastic, in several for foam or a belt that stretches. A
layer needs more force midway than near its square place, the more the stiffer the cube is, and
magnets pull it back at first. Where the force is too small, what is held gives way by a part of the
turn; friction is never the same twice, so that the chance of it is the measure of a place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from robot.twin.misadjustment import CubeTruth

SPREAD = 0.06
"""Standard deviation of the friction from one turn to the next, in parts of it."""
MIDWAY = 0.5
"""Additional force that a layer needs midway between two square places, in parts of that there."""
SELDOM = 0.001
"""The chance of a slip in a quarter turn from which on a place is as good as any."""


@dataclass(frozen=True)
class Grip:
    """The hold of one arm or of jaws: where it touches the cube, and how much force it gains.

    ``touch``: in the motor's units, ``sign`` being the direction in which it closes. ``soft_us``:
    the way from there on for a force of 1.
    """

    touch: float
    sign: int
    soft_us: float

    def strength(self, position: float) -> float:
        """Return its force at a position."""
        return max(0.0, self.sign * (position - self.touch) / self.soft_us)


class Resistance:
    """The force with which one cube resists turning; each turn draws its own friction."""

    def __init__(self, cube: CubeTruth, seed: int) -> None:
        self._cube = cube
        self._random = np.random.default_rng(seed)
        self._luck = 1.0

    def draw(self) -> None:
        """Begin another turn, of another friction."""
        self._luck = math.exp(SPREAD * float(self._random.standard_normal()))

    def given_way(self, strength: float, off_quarters: float, quarters: float) -> float:
        """Return the part of a turn by which what is held follows it, 0..1.

        ``off_quarters``: how far the layer is off square, ``quarters``: how it goes on from there.
        """
        is_leaving = off_quarters * quarters >= 0
        needed = self._luck * effort(self._cube, 90 * abs(off_quarters), is_leaving)
        return max(0.0, 1 - strength / needed)


def effort(cube: CubeTruth, off_degrees: float, is_leaving: bool) -> float:
    """Return the force that turns a layer so far off square, away from there or back."""
    friction = cube.stiffness * (1 + MIDWAY * math.sin(math.radians(2 * off_degrees)))
    pull = cube.magnetism * math.sin(math.radians(4 * off_degrees))
    return friction + (pull if is_leaving else 0.0)


def least_strength(cube: CubeTruth) -> float:
    """Return the force with which a quarter turn slips only :data:`SELDOM`."""
    most = max(effort(cube, degrees, True) for degrees in range(46))
    return most * math.exp(SPREAD * NormalDist().inv_cdf(1 - SELDOM))
