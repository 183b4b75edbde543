"""The force with which an arm or jaws hold the cube, and the force to turn a layer against it.

The unit of force is the one that turns a layer of an ordinary cube near square. An arm or jaws
touch the cube at some position of their shaft. Beyond it, their force grows with every degree. It
reaches the unit within little more than one degree for hard plastic, within several for foam or a
belt that stretches. A layer needs more force midway than near square, more so on a stiffer cube,
and magnets pull it back at first. If the force is too small, the held part follows a fraction of
the turn. Friction varies randomly, so the probability of slipping is the measure of a position.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from robot.twin.misadjustment import CubeTruth

SPREAD = 0.06
"""Standard deviation of the friction from turn to turn, as a fraction of it."""
MIDWAY = 0.5
"""Additional force to turn a layer midway between square positions, relative to that at square."""
SELDOM = 0.001
"""Probability of a slip in a quarter turn at which a position counts as good."""


@dataclass(frozen=True)
class Grip:
    """The hold of an arm or of jaws: the position where it touches the cube, and its stiffness.

    ``touch`` is in the motor's units, ``sign`` the direction in which it closes. ``soft_us``: the
    travel beyond it for a force of 1.
    """

    touch: float
    sign: int
    soft_us: float

    def strength(self, position: float) -> float:
        """Return the force at a position."""
        return max(0.0, self.sign * (position - self.touch) / self.soft_us)


class Resistance:
    """The force with which one cube resists turning, with random friction for each turn."""

    def __init__(self, cube: CubeTruth, seed: int) -> None:
        self._cube = cube
        self._random = np.random.default_rng(seed)
        self._luck = 1.0

    def draw(self) -> None:
        """Draw the friction of another turn."""
        self._luck = math.exp(SPREAD * float(self._random.standard_normal()))

    def given_way(self, strength: float, off_quarters: float, quarters: float) -> float:
        """Return the fraction of a turn, 0..1, by which the held part follows it.

        ``off_quarters``: the layer's deviation from square; ``quarters``: its turn from there.
        """
        is_leaving = off_quarters * quarters >= 0
        needed = self._luck * effort(self._cube, 90 * abs(off_quarters), is_leaving)
        return max(0.0, 1 - strength / needed)


def effort(cube: CubeTruth, off_degrees: float, is_leaving: bool) -> float:
    """Return the force that turns a layer ``off_degrees`` off square, further away or back."""
    friction = cube.stiffness * (1 + MIDWAY * math.sin(math.radians(2 * off_degrees)))
    pull = cube.magnetism * math.sin(math.radians(4 * off_degrees))
    return friction + (pull if is_leaving else 0.0)


def least_strength(cube: CubeTruth) -> float:
    """Return the force at which a quarter turn slips with probability :data:`SELDOM`."""
    most = max(effort(cube, degrees, True) for degrees in range(46))
    return most * math.exp(SPREAD * NormalDist().inv_cdf(1 - SELDOM))
