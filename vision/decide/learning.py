"""Learning the colours of a cube that is known for certain, and the light on its stickers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vision.decide.estimate import Decision, decide, same_cube
from vision.decide.reader import Verdict
from vision.frame import Floats
from vision.measure.colour_space import ColourReferences
from vision.measure.sticker_colours import FACES, StickerColours

_LEAST_SENSITIVITY = 0.5
"""Sensitivity below which a channel is too near the floor to measure the light."""


@dataclass(frozen=True, eq=False)
class KnownCube:
    """The ``colours`` of a cube's letters, and the log ``light`` on each sticker relative to the
    median, float64[6*N*N, 3].

    NaN if the light is unknown: the sticker was not seen, clipped, dark, or of no known colour.
    """

    colours: ColourReferences
    light: Floats


def learn_from(
    colours: StickerColours, facelets: str, references: ColourReferences | None = None
) -> KnownCube | None:
    """Return a cube's colours and the light on its stickers, estimated from a scan.

    None unless the scan shows the cube ``facelets`` beyond doubt.
    """
    decision = decide(colours, references)
    letters = np.array([FACES.index(letter) for letter in facelets])
    verdict = Verdict(decision, colours.size)
    if not verdict.is_clear or not same_cube(decision.letters, letters):
        return None
    names = decision.letters[[facelets.index(face) for face in FACES]]
    seen = decision.features
    linear = np.maximum(np.exp(decision.model.mean[names]) - seen.floor, 0.0)
    return KnownCube(ColourReferences(linear * seen.level), _light_of(decision, colours))


def _light_of(decision: Decision, colours: StickerColours) -> Floats:
    seen = decision.features
    shift = seen.values - decision.model.mean[decision.letters]
    light = shift / np.maximum(seen.sensitivity, _LEAST_SENSITIVITY)
    told = (seen.weight > 0) & ~colours.saturated & ~decision.strange
    light[~told] = np.nan
    light[seen.sensitivity < _LEAST_SENSITIVITY] = np.nan
    return np.asarray(light - np.nanmedian(light, axis=0))
