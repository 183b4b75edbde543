"""Stored colours of a cube, made from a scan whose answer is known."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from solver.errors import CubistError
from vision.measure.colour_space import ColourReferences
from vision.measure.sticker_colours import FACES, StickerColours


class CalibrationFailed(CubistError):
    """Looks from which no calibration can be made; the text says what to do."""


def references_of(colours: StickerColours, facelets: str) -> ColourReferences:
    """Stored colours for a cube's letters, from a scan whose answer is known.

    ``facelets`` in the order of ``colours``. A face's light is taken out before the stickers of one
    colour are joined by their median. Raises :class:`CalibrationFailed` if a colour was not seen.
    """
    letters = np.array(list(facelets))
    if len(letters) != len(colours.linear_rgb):
        raise CalibrationFailed(
            f"{len(letters)} letters do not name {len(colours.linear_rgb)} stickers"
        )
    usable = colours.valid & ~colours.saturated
    missing = [f for f in FACES if not (usable & (letters == f)).any()]
    if missing:
        raise CalibrationFailed(
            f"no sticker of colour {', '.join(missing)} was seen well: dim the light and scan again"
        )
    light = _light_of_stickers(colours, letters, usable)
    even = colours.linear_rgb / light[:, None]
    medians = [np.median(even[usable & (letters == f)], axis=0) for f in FACES]
    return ColourReferences(np.array(medians, dtype=np.float64))


def _light_of_stickers(
    colours: StickerColours, letters: NDArray[np.str_], usable: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """How brightly each sticker's face was lit, relative to the cube: float64[6*N*N]."""
    brightness = np.log(np.maximum(colours.linear_rgb.max(axis=1), 1e-4))
    relative = np.zeros_like(brightness)
    for letter in FACES:
        mine = letters == letter
        relative[mine] = brightness[mine] - np.median(brightness[mine & usable])
    light = np.ones(len(brightness), dtype=np.float64)
    for face in FACES:
        part = colours.face_slice(face)
        seen = relative[part][usable[part]]
        light[part] = np.exp(np.median(seen)) if len(seen) else 1.0
    return light


def references_to_json(references: ColourReferences) -> str:
    """The stored form: ``{"linear_rgb": {"U": [r, g, b], ...}, "trust": ...}``."""
    colours = {f: [round(float(v), 5) for v in references.linear_rgb[i]] for i, f in _letters()}
    return json.dumps({"linear_rgb": colours, "trust": references.trust})


def references_from_json(text: str) -> ColourReferences:
    """The stored colours in a text; raises :class:`CalibrationFailed` for anything else."""
    try:
        document = json.loads(text)
        table = [document["linear_rgb"][f] for _, f in _letters()]
        rgb = np.array(table, dtype=np.float64)
        trust = float(document["trust"])
    except (ValueError, KeyError, TypeError) as error:
        raise CalibrationFailed(
            "the stored colours are damaged; calibrate the colours again"
        ) from error
    if rgb.shape != (6, 3) or not np.isfinite(rgb).all() or (rgb < 0).any() or trust <= 0:
        raise CalibrationFailed("the stored colours are damaged; calibrate the colours again")
    return ColourReferences(rgb, trust)


def _letters() -> Iterable[tuple[int, str]]:
    return enumerate(FACES)
