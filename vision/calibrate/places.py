"""Calibrating a camera: where a site's face is in its pictures, and the colours of a cube."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.errors import CubistError
from vision.frame import Frame
from vision.locate.face import FaceGrid, locate_grids
from vision.measure.colour_space import ColourReferences
from vision.measure.sticker_colours import FACES, StickerColours

_AGREE = 0.3
"""Looks agree if their corners differ by no more than this, in stickers."""

_LEAST_LOOKS = 3
_LEAST_SHARE = 0.6
"""Share of the looks that must agree: a cube that was turned or taken out spoils the rest."""


class CalibrationFailed(CubistError):
    """Looks from which no calibration can be made; the text says what to do."""


@dataclass(frozen=True, eq=False)
class FacePlace:
    """Where a face is in the pictures of a camera.

    ``corners`` float64[4, 2] in pixels: top left, top right, bottom right, bottom left as the site
    is drawn; ``spread_px`` how far single looks were from it (root mean square), ``looks`` how many
    agreed; ``resolution`` width and height of the pictures.
    """

    corners: NDArray[np.float64]
    spread_px: float
    looks: int
    resolution: tuple[int, int]

    @property
    def quad(self) -> tuple[tuple[float, float], ...]:
        """The corners as fractions of width and height, as a robot profile's ``quad`` has them."""
        parts = self.corners / np.array(self.resolution)
        return tuple((round(float(x), 5), round(float(y), 5)) for x, y in parts)


def place_face(frames: Sequence[Frame], size: int, *, quarter_turns: int = 0) -> FacePlace:
    """The place of a site's face from several looks at it, best with the cube seated anew between.

    The face stands in the picture as the site is drawn, or ``quarter_turns`` clockwise from that.
    Raises :class:`CalibrationFailed`.
    """
    resolutions = {frame.image.shape[:2] for frame in frames}
    if len(frames) < _LEAST_LOOKS or len(resolutions) != 1:
        raise CalibrationFailed(
            f"at least {_LEAST_LOOKS} pictures of one size are needed to place a face"
        )
    found = [grids[0] for frame in frames if (grids := locate_grids(frame.image, (size,)))]
    chosen = _agreeing(found)
    if len(chosen) < max(_LEAST_LOOKS, _LEAST_SHARE * len(frames)):
        raise CalibrationFailed(
            f"a face of {size} x {size} stickers was found in one place in only {len(chosen)} of "
            f"{len(frames)} pictures: have the whole face in view, in focus and evenly lit, and "
            "the camera fixed"
        )
    corners = np.array([grid.corners for grid in chosen])
    middle = np.median(corners, axis=0)
    spread = float(np.sqrt(((corners - middle) ** 2).sum(axis=2).mean()))
    height, width = next(iter(resolutions))
    return FacePlace(np.roll(middle, -quarter_turns, axis=0), spread, len(chosen), (width, height))


def _agreeing(grids: Sequence[FaceGrid]) -> list[FaceGrid]:
    """The most grids that lie within reach of one of them."""
    best: list[FaceGrid] = []
    for centre in grids:
        near = [
            grid
            for grid in grids
            if np.abs(grid.corners - centre.corners).max() < _AGREE * centre.pitch
        ]
        best = max(best, near, key=len)
    return best


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
            f"no sticker of colour {', '.join(missing)} was seen well: less light, and scan again"
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
