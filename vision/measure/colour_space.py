"""The space in which sticker colours are compared, and the usual colours of cubes.

Light multiplies, so colours are compared as logarithms of linear light: brighter or warmer light on
a face then shifts all its stickers equally. A floor under each channel limits the noise of dark
channels. Near the floor a change of brightness changes the value by less; ``sensitivity`` records
by how much. The value of a clipped channel is only a lower bound.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import CubistError
from solver.files import parse_object
from vision.frame import Bools, Floats
from vision.measure.sticker_colours import FACES, SATURATED, FaceColours, StickerColours

_FLOOR = 0.02
"""Floor under a channel as a share of the scan's bright level: stray light, black level, noise."""

_FLOOR_LINEAR = 5e-4
"""Floor in absolute linear light: about one step of an 8 bit picture near black."""


@dataclass(frozen=True, eq=False)
class LightFeatures:
    """Stickers as log light: ``values`` float[n, 3], ``sensitivity`` float[n, 3] in 0..1.

    ``values = log((light + floor) / level)``. ``sensitivity`` is the derivative of ``values`` with
    respect to log light. ``clipped`` bool[n, 3] marks values that are lower bounds. ``floor`` is
    relative to ``level``, the scan's bright level in linear light. ``weight`` float[n] is 0 for
    stickers without a measurement. ``remoteness`` float[n] is the square of a sticker's distance
    from the middle of the picture, in half diagonals, minus the plane fitted to it over the face:
    vignetting follows it, but no linear gradient does.
    """

    values: Floats
    sensitivity: Floats
    clipped: Bools
    weight: Floats
    floor: float
    level: float
    remoteness: Floats

    @classmethod
    def from_colours(cls, colours: StickerColours) -> LightFeatures:
        """Return the features of a scan. At least one sticker must be valid."""
        light = np.maximum(colours.linear_rgb.astype(np.float64), 0.0)
        level = float(np.quantile(light[colours.valid].max(axis=1), 0.9))
        level = max(level, _FLOOR_LINEAR)
        floor = _FLOOR * level + _FLOOR_LINEAR
        clipped = colours.saturated[:, None] & (light >= SATURATED)
        values = np.log((light + floor) / level)
        weight = colours.valid.astype(np.float64)
        sensitivity = light / (light + floor)
        remoteness = np.concatenate([_remoteness(colours.face(face)) for face in FACES])
        return cls(values, sensitivity, clipped, weight, floor / level, level, remoteness)

    def to_features(self, linear_rgb: NDArray[np.floating[Any]]) -> Floats:
        """Return ``values`` for other colours, given as linear light relative to ``level``."""
        return np.asarray(np.log(np.maximum(linear_rgb, 0.0) + self.floor), dtype=np.float64)


@cache
def cell_places(size: int) -> Floats:
    """Return positions of a face's stickers, -1..1 across and down, float[size * size, 2]."""
    steps = (2 * np.arange(size) - (size - 1)) / size
    return np.asarray(np.stack(np.meshgrid(steps, steps), axis=-1)).reshape(-1, 2)


_USUAL_REACH = 0.45
"""Half the side of a face in half diagonals of the picture, if positions are unknown."""


def _remoteness(face: FaceColours) -> Floats:
    """Return ``remoteness`` of :class:`LightFeatures` for one face."""
    size = round(len(face.linear_rgb) ** 0.5)
    places = cell_places(size)
    positions = _USUAL_REACH * places if face.positions is None else face.positions
    distance = np.square(positions, dtype=np.float64).sum(axis=1)
    return np.asarray(distance - _plane(size) @ distance)


@cache
def _plane(size: int) -> Floats:
    """Return the matrix that projects values on a face's stickers to their best-fit plane."""
    places = np.column_stack([np.ones(size * size), cell_places(size)])
    return np.asarray(places @ np.linalg.pinv(places))


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
"""Linear light of the usual stickers in white light, for the faces URFDLB of the usual scheme."""


@dataclass(frozen=True, eq=False)
class ColourReferences:
    """Stored colours of one cube: ``linear_rgb`` float[6, 3] for the letters URFDLB.

    Only their ratios matter: each scan estimates the brightness and tint of its light.
    """

    linear_rgb: Floats


_OTHER_COLOUR = 0.2
"""Minimum difference of two colours in some channel, as a fraction of their brightest channel."""

_MOST_OTHERS = 1 / 8
"""Maximum share of stickers whose colour differs from the rest of their letter, because of
reflections or a logo. A single quarter turn exceeds it."""


CALIBRATION_FAILED = "calibration-failed"
"""Code of a :class:`CubistError` if colours cannot be calibrated from the pictures."""

OTHER_CUBE = "other-cube"
"""Code of a :class:`CubistError` if the cube in view is not the one that was specified."""


def references_of(colours: StickerColours, facelets: str) -> ColourReferences:
    """Return the colours to store for a cube's letters, from a scan of known ``facelets``.

    ``facelets`` has the order of ``colours``. Each colour is the median of its stickers, after the
    light on each face is divided out. Raises :class:`CubistError` if a colour was not seen, or,
    with the code ``OTHER_CUBE``, if the cube is another one.
    """
    letters = np.array(list(facelets))
    if len(letters) != len(colours.linear_rgb):
        raise CubistError(
            f"{len(letters)} letters do not name {len(colours.linear_rgb)} stickers",
            code=CALIBRATION_FAILED,
        )
    usable = colours.valid & ~colours.saturated
    missing = [f for f in FACES if not (usable & (letters == f)).any()]
    if missing:
        raise CubistError(
            f"no sticker of colour {', '.join(missing)} was seen well: "
            "dim the light and scan again",
            code=CALIBRATION_FAILED,
        )
    require_named_cube(colours, facelets)
    light = _light_of_stickers(colours, letters, usable)
    even = colours.linear_rgb / light[:, None]
    medians = [np.median(even[usable & (letters == f)], axis=0) for f in FACES]
    return ColourReferences(np.array(medians, dtype=np.float64))


def require_named_cube(colours: StickerColours, facelets: str) -> None:
    """Raise :class:`CubistError` if too many stickers differ from the others of their letter.

    Ignores invalid and saturated stickers.
    """
    letters, usable = np.array(list(facelets)), colours.valid & ~colours.saturated
    light = colours.linear_rgb / np.maximum(colours.linear_rgb.max(axis=1, keepdims=True), 1e-4)
    seen = {f: _colours_among(light[usable & (letters == f)]) for f in FACES}
    others = sum(sum(counts[1:]) for counts in seen.values())
    if others > _MOST_OTHERS * usable.sum():
        worst = max(seen, key=lambda face: len(seen[face]))
        count = sum(seen[worst])
        raise CubistError(
            f"the {count} stickers that should be of colour {worst} have {len(seen[worst])} "
            "colours: this is not the cube that was named",
            code=OTHER_CUBE,
        )


def _colours_among(light: NDArray[np.floating[Any]]) -> list[int]:
    """Count the stickers of each colour, most frequent first; ``light`` excludes brightness."""
    counts = []
    while len(light):
        near = np.abs(light[:, None] - light[None]).max(axis=2) < _OTHER_COLOUR
        mine = near[near.sum(axis=1).argmax()]
        counts.append(int(mine.sum()))
        light = light[~mine]
    return counts


def _light_of_stickers(colours: StickerColours, letters: NDArray[np.str_], usable: Bools) -> Floats:
    """Return the light on each sticker's face, relative to the cube: float64[6*N*N]."""
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
    """Return the stored form: ``{"linear_rgb": {"U": [r, g, b], ...}}``."""
    colours = {
        f: [round(float(v), 5) for v in references.linear_rgb[i]] for i, f in enumerate(FACES)
    }
    return json.dumps({"linear_rgb": colours})


def references_from_json(text: str) -> ColourReferences:
    """Parse stored colours. Raise :class:`CubistError` if they are damaged."""
    try:
        document = parse_object(text, "the stored colours")
        table = [document["linear_rgb"][f] for f in FACES]
        rgb = np.array(table, dtype=np.float64)
        if rgb.shape != (6, 3) or not np.isfinite(rgb).all() or (rgb < 0).any():
            raise ValueError(rgb)
    except (ValueError, KeyError, TypeError) as error:
        raise CubistError(
            "the stored colours are damaged; calibrate the colours again",
            code=CALIBRATION_FAILED,
        ) from error
    return ColourReferences(rgb)
