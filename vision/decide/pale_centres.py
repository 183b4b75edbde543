"""The colours of centres under a lamp's reflection.

A reflection adds the lamp's light to a sticker's own. Its colour moves towards white and no longer
matches the others. On a robot it is at the same position of each face, for example the middle. The
pieces alone also fit a cube held differently, so the six centres together must determine how it is
held. Each may be its colour at any brightness plus any amount of white. Of the 24 ways to hold a
cube only one is then likely, unless the reflection drowns the colours.
"""

from __future__ import annotations

import numpy as np

from vision.decide.schemes import rotations
from vision.frame import Bools, Floats, Ints
from vision.measure.colour_space import LightFeatures

_SHADES = np.linspace(0.6, 1.4, 41)
"""Possible brightnesses of a centre relative to the other stickers of its colour."""
_SHADE_SD = 0.15
_LIGHT_SD = 0.04
"""Standard deviations of a centre's brightness and of its light, relative to it."""
_MOST = 4.0
"""Maximum mean squared deviation of the centres, in standard deviations, that is still likely."""
_LEAD = 40.0
"""Minimum difference of the sums of squared deviations to the next way to hold the cube."""


def are_faces_named(features: LightFeatures, letters: Ints, middles: Ints, seen: Bools) -> bool:
    """Return True if the centres, perhaps in a reflection, clearly show the colours of a cube.

    ``letters`` int[6 * N * N] are the cube's; ``middles`` int[6] are the centres' numbers; ``seen``
    bool[6 * N * N] marks the stickers that show their colours.
    """
    light = np.exp(features.values) - features.floor
    others = seen & (features.weight > 0) & ~features.clipped.any(axis=1)
    others[middles] = False
    if not features.weight[middles].all() or len(set(letters[others].tolist())) < 6:
        return False
    colours = np.array([np.median(light[others & (letters == one)], axis=0) for one in range(6)])
    cost = _costs(light[middles], colours)
    first, *ways = cost[np.arange(6), rotations()].sum(axis=1).tolist()
    return bool(first <= 6 * _MOST and min(ways) - first >= _LEAD)


def _costs(centres: Floats, colours: Floats) -> Floats:
    """Return the squared deviations of each centre from each colour, float64[6, 6]."""
    white = colours[np.argmax(colours.min(axis=1))]
    rest = centres[:, None, None] - _SHADES[:, None] * colours[:, None]  # centre, colour, shade
    added = np.maximum(0.0, rest @ white / (white @ white))
    off = np.square(rest - added[..., None] * white).sum(axis=-1)
    spread = _LIGHT_SD**2 * np.square(centres).sum(axis=-1)
    cost = off / spread[:, None, None] + np.square((_SHADES - 1) / _SHADE_SD)
    return np.asarray(cost.min(axis=-1))
