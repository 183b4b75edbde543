"""The measured colours of a cube's stickers, passed from measuring to deciding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solver.errors import InvalidRequest
from vision.frame import Bools

FACES = "URFDLB"
"""Order of the faces everywhere. A sticker's number is ``face * N * N + row * N + column``."""

Floats = NDArray[np.float32]


def _bad_colours(text: str) -> InvalidRequest:
    return InvalidRequest(text, code="bad-colours")


def srgb_to_linear(srgb: ArrayLike) -> Floats:
    """Return linear light 0..1 for sRGB values 0..255 (IEC 61966-2-1), any shape."""
    value = np.asarray(srgb, dtype=np.float32) / np.float32(255.0)
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return linear.astype(np.float32)


def linear_to_srgb(linear: ArrayLike) -> NDArray[np.uint8]:
    """Return sRGB values 0..255 for linear light, clipped to 0..1."""
    value = np.clip(np.asarray(linear, dtype=np.float64), 0.0, 1.0)
    srgb = np.where(value <= 0.0031308, value * 12.92, 1.055 * value ** (1 / 2.4) - 0.055)
    return np.asarray(np.round(srgb * 255.0), dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class FaceColours:
    """One measurement of one face of N x N stickers, row by row as in Kociemba's drawing.

    ``linear_rgb`` and ``spread`` are float32[N*N, 3] in linear light (spread: a robust standard
    deviation inside the sticker), ``saturated`` and ``valid`` bool[N*N] (``valid`` is False if the
    sticker was hidden or could not be measured). ``positions`` float32[N*N, 2] are the stickers'
    centres in the picture: x to the right, y down, from the picture's centre, in units of its half
    diagonal. The falloff of light and lens depends on them. ``fit`` is the quality of the grid,
    0..1.
    """

    linear_rgb: Floats
    spread: Floats
    saturated: Bools
    valid: Bools
    camera: str = ""
    time_us: int = 0
    fit: float = 1.0
    positions: Floats | None = None

    def __post_init__(self) -> None:
        count = len(self.linear_rgb)
        if self.linear_rgb.shape != (count, 3) or self.spread.shape != (count, 3):
            raise _bad_colours(f"a face needs one colour and spread per sticker, {count} x 3")
        if self.saturated.shape != (count,) or self.valid.shape != (count,):
            raise _bad_colours(f"a face of {count} stickers needs as many flags")

    @classmethod
    def from_light(cls, linear_rgb: ArrayLike) -> FaceColours:
        """Return a face from colours alone: no spread, saturated if a channel is full."""
        rgb = np.asarray(linear_rgb, dtype=np.float32).reshape(-1, 3)
        saturated = np.asarray((rgb >= SATURATED).any(axis=1))
        return cls(rgb, np.zeros_like(rgb), saturated, np.ones(len(rgb), dtype=np.bool_))

    @classmethod
    def unseen(cls, size: int) -> FaceColours:
        """Return a face of ``size`` x ``size`` stickers that no camera has seen."""
        none = np.zeros((size * size, 3), dtype=np.float32)
        flags = np.zeros(size * size, dtype=np.bool_)
        return cls(none, none.copy(), flags, flags.copy(), fit=0.0)

    def even_out(self, light: NDArray[np.floating[Any]]) -> FaceColours:
        """Return the measurement with this log light, float[N*N, 3], at most 0, divided out."""
        factor = np.exp(-light).astype(np.float32)
        return replace(self, linear_rgb=self.linear_rgb * factor, spread=self.spread * factor)

    def reorder(self, cells: NDArray[np.intp]) -> FaceColours:
        """Return the measurement with its stickers in this order, int[N*N]."""
        return replace(
            self,
            linear_rgb=self.linear_rgb[cells],
            spread=self.spread[cells],
            saturated=self.saturated[cells],
            valid=self.valid[cells],
            positions=None if self.positions is None else self.positions[cells],
        )


SATURATED = 0.983
"""Linear light from which a channel counts as clipped, just above sRGB 253."""


@dataclass(frozen=True, eq=False)
class StickerColours:
    """Colours of all 6*N*N stickers of a cube of ``size`` N, in URFDLB facelet order.

    ``linear_rgb`` float32[6*N*N, 3] is linear light, 0..1 for one measurement, possibly above 1 if
    different exposures were merged. ``spread`` float32[6*N*N, 3] is the robust deviation inside
    each sticker. ``saturated`` and ``valid`` are bool[6*N*N]. ``looks`` has the measurement of each
    face (camera, time, fit, positions) by letter, if known.
    """

    size: int
    linear_rgb: Floats
    spread: Floats
    saturated: Bools
    valid: Bools
    looks: Mapping[str, FaceColours] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 7:
            raise _bad_colours(f"a cube of size {self.size} cannot be read; sizes 2 to 7 can")
        count = 6 * self.size**2
        if self.linear_rgb.shape != (count, 3) or self.spread.shape != (count, 3):
            raise _bad_colours(
                f"a {self.size}x{self.size}x{self.size} has {count} stickers of 3 values, "
                f"not {self.linear_rgb.shape}"
            )
        if self.saturated.shape != (count,) or self.valid.shape != (count,):
            raise _bad_colours(f"{count} stickers need as many flags")
        if not np.isfinite(self.linear_rgb[self.valid]).all():
            raise _bad_colours("colours must be finite numbers")

    @classmethod
    def from_srgb(cls, size: int, rgb: ArrayLike) -> StickerColours:
        """Return colours from sRGB triples 0..255 in facelet order (``cubist read --colours``)."""
        if not 2 <= size <= 7:
            raise _bad_colours(f"a cube of size {size} cannot be read; sizes 2 to 7 can")
        try:
            triples = np.asarray(rgb, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise _bad_colours("rgb must be a list of [red, green, blue] triples") from error
        if triples.shape != (6 * size * size, 3):
            raise _bad_colours(
                f"size {size} needs {6 * size * size} rgb triples, not an array of {triples.shape}"
            )
        if not ((triples >= 0) & (triples <= 255)).all():
            raise _bad_colours("rgb values must lie between 0 and 255")
        linear = srgb_to_linear(triples).reshape(6, size * size, 3)
        return cls.from_faces({f: FaceColours.from_light(linear[i]) for i, f in enumerate(FACES)})

    @classmethod
    def from_faces(cls, faces: Mapping[str, FaceColours]) -> StickerColours:
        """Return the colours of measured faces, by letter. A missing face counts as unseen."""
        if not faces or not set(faces) <= set(FACES):
            raise _bad_colours(f"faces are named {', '.join(FACES)}, not {', '.join(faces)}")
        counts = {len(face.linear_rgb) for face in faces.values()}
        size = round(max(counts) ** 0.5)
        if counts != {size * size}:
            raise _bad_colours(f"faces with {sorted(counts)} stickers do not make one cube")
        looks = [faces.get(letter) or FaceColours.unseen(size) for letter in FACES]
        return cls(
            size,
            np.concatenate([look.linear_rgb for look in looks]),
            np.concatenate([look.spread for look in looks]),
            np.concatenate([look.saturated for look in looks]),
            np.concatenate([look.valid for look in looks]),
            dict(faces),
        )

    def face(self, letter: str) -> FaceColours:
        """Return the stickers of one face, with its metadata if known."""
        known = self.looks.get(letter)
        if known is not None:
            return known
        part = self.face_slice(letter)
        return FaceColours(
            self.linear_rgb[part], self.spread[part], self.saturated[part], self.valid[part]
        )

    def face_slice(self, letter: str) -> slice:
        """Return the slice of the arrays that holds a face's stickers."""
        start = FACES.index(letter) * self.size**2
        return slice(start, start + self.size**2)


def merge_faces(looks: Sequence[FaceColours]) -> FaceColours:
    """Merge several measurements of one face with different exposures.

    Later ones are scaled to the exposure of the first by the median ratio of the stickers that are
    well lit and unsaturated in both. Each sticker is then the mean of its unsaturated measurements,
    weighted by the inverse of their variance. Metadata are those of the best fit.
    """
    base = looks[0]
    for look in looks[1:]:
        base = _merge_pair(base, look)
    return base


def _merge_pair(first: FaceColours, second: FaceColours) -> FaceColours:
    if len(first.linear_rgb) != len(second.linear_rgb):
        raise _bad_colours("scans of cubes of different sizes cannot be merged")
    gain = _exposure_ratio(first, second)
    noise = np.float32(2e-3)
    weights, values, spreads = [], [], []
    for look, scale in ((first, np.float32(1.0)), (second, gain)):
        spread = look.spread * scale
        usable = look.valid & ~look.saturated
        # A saturated measurement counts only if there is nothing better.
        trust = np.where(usable, 1.0, np.where(look.valid, 1e-4, 0.0))[:, None]
        weights.append(trust / (spread + noise) ** 2)
        values.append(look.linear_rgb * scale)
        spreads.append(spread)
    total = weights[0] + weights[1]
    share = np.divide(weights[0], total, out=np.ones_like(total), where=total > 0)
    better = first if first.fit >= second.fit else second
    return FaceColours(
        (values[0] * share + values[1] * (1 - share)).astype(np.float32),
        (spreads[0] * share + spreads[1] * (1 - share)).astype(np.float32),
        _all_saturated(first, second),
        first.valid | second.valid,
        better.camera,
        max(first.time_us, second.time_us),
        better.fit,
        better.positions,
    )


def _all_saturated(first: FaceColours, second: FaceColours) -> Bools:
    """Return True for stickers that were seen, but saturated in every measurement."""
    clean_first = first.valid & ~first.saturated
    clean_second = second.valid & ~second.saturated
    return (first.valid | second.valid) & ~clean_first & ~clean_second


def _exposure_ratio(first: FaceColours, second: FaceColours) -> np.float32:
    """Return the exposure of the first relative to the second, or 1 if no sticker shows it."""
    both = first.valid & second.valid & ~first.saturated & ~second.saturated
    a = first.linear_rgb[both].max(axis=1, initial=0.0)
    b = second.linear_rgb[both].max(axis=1, initial=0.0)
    lit = (a > 0.01) & (b > 0.01)
    return np.float32(np.median(a[lit] / b[lit])) if lit.any() else np.float32(1.0)
