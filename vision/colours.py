"""The space in which sticker colours are compared, and what cubes usually look like.

Light multiplies, so colours are compared as logarithms of linear light: a brighter or warmer look
at a face is then a shift of all its stickers. A floor under each channel keeps the noise of dark
channels from being blown up; towards the floor brightness moves the value less than one for one,
which ``sensitivity`` records. Where a channel is clipped the value is only a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vision.sticker_colours import SATURATED, StickerColours

Floats = NDArray[np.float64]

_FLOOR = 0.02
"""Floor under a channel as a share of the scan's bright level: stray light, black level, noise."""

_FLOOR_LINEAR = 5e-4
"""The same in absolute linear light: about one step of an 8 bit picture near black."""


@dataclass(frozen=True, eq=False)
class LightFeatures:
    """Stickers as log light: ``values`` float[n, 3], ``sensitivity`` float[n, 3] in 0..1.

    ``values = log((light + floor) / level)``; ``sensitivity`` is how much of a change of log light
    arrives in ``values``; ``clipped`` bool[n, 3] where the light was at least that. ``floor`` is
    relative to ``level``, the scan's bright level in linear light. ``weight`` float[n] is 0 where
    nothing was measured.
    """

    values: Floats
    sensitivity: Floats
    clipped: NDArray[np.bool_]
    weight: Floats
    floor: float
    level: float

    @classmethod
    def of(cls, colours: StickerColours) -> LightFeatures:
        """The features of a scan; at least one sticker must be valid."""
        light = np.maximum(colours.linear_rgb.astype(np.float64), 0.0)
        level = float(np.quantile(light[colours.valid].max(axis=1), 0.9))
        level = max(level, _FLOOR_LINEAR)
        floor = _FLOOR * level + _FLOOR_LINEAR
        clipped = colours.saturated[:, None] & (light >= SATURATED)
        values = np.log((light + floor) / level)
        weight = colours.valid.astype(np.float64)
        return cls(values, light / (light + floor), clipped, weight, floor / level, level)

    def of_light(self, linear_rgb: NDArray[np.floating]) -> Floats:
        """Features of other colours, given as linear light relative to ``level``."""
        return np.asarray(np.log(np.maximum(linear_rgb, 0.0) + self.floor), dtype=np.float64)


USUAL = np.array(
    [
        [0.85, 0.87, 0.90],  # white
        [0.42, 0.025, 0.03],  # red
        [0.03, 0.36, 0.14],  # green
        [0.80, 0.75, 0.10],  # yellow
        [0.82, 0.20, 0.04],  # orange
        [0.02, 0.09, 0.42],  # blue
    ]
)
"""Linear light of the usual stickers under white light, on the faces URFDLB of the usual scheme."""


@dataclass(frozen=True, eq=False)
class ColourReferences:
    """Stored colours of one cube: ``linear_rgb`` float[6, 3] for the letters URFDLB.

    Only their ratios matter: how bright and of which tint the light is now is estimated anew.
    ``trust`` is how many stickers' worth of evidence they count as.
    """

    linear_rgb: Floats
    trust: float = 4.0
