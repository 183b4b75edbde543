"""How far a face is turned in its own plane, by what is drawn on it.

The corners of a turning layer stick out of the face that was there, and hide behind others. What
stays in view is the circle that touches the edges. Unrolled around its middle, a turned face is the
same picture shifted along the angle, and the shift is where the two agree best.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.calibration.camera import Corners, Image

Floats = NDArray[np.float64]

BINS = 720
"""Of a whole turn."""

RADII = np.linspace(0.2, 0.92, 24)
"""Parts of half an edge: outside the axle, inside the circle."""

REACH_DEGREES = 40.0
"""How far from where it is expected a face is looked for: less than half of a quarter turn, after
which the grid of its stickers looks the same."""

SHADOW = 0.5
"""Exponent that makes dark colours count as much as bright ones."""


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A face around its middle, float64[radii, angles, 3], without its mean over each circle."""

    picture: Floats

    @classmethod
    def of(cls, image: Image, corners: Corners) -> Unrolled:
        """Of a face in a picture uint8[H, W, 3], whose corners stand as the site is drawn."""
        square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=np.float32)
        to_pixels = cv2.getPerspectiveTransform(square, np.asarray(corners, dtype=np.float32))
        angles = np.arange(BINS) * (2 * np.pi / BINS)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        places = (RADII[:, None, None] * circle).reshape(1, -1, 2)
        pixels = cv2.perspectiveTransform(places, to_pixels).reshape(len(RADII), BINS, 2)
        seen = cv2.remap(
            image,
            pixels[..., 0].astype(np.float32),
            pixels[..., 1].astype(np.float32),
            cv2.INTER_LINEAR,
        )
        even = (seen.astype(np.float64) / 255) ** SHADOW
        return cls(even - even.mean(axis=1, keepdims=True))

    def turned_from(self, first: Unrolled, near: float) -> tuple[float, float]:
        """Degrees clockwise by which the face has turned since a picture of it, the nearest to
        ``near``, and how well the two agree there, up to 1."""
        spectrum = np.fft.rfft(self.picture, axis=1) * np.fft.rfft(first.picture, axis=1).conj()
        weights = RADII[:, None]
        agreement = (np.fft.irfft(spectrum, BINS, axis=1).sum(axis=2) * weights).sum(axis=0)
        scale = np.sqrt(self._power * first._power)
        agreement = agreement / max(scale, 1e-9)
        degrees = np.arange(BINS) * 360 / BINS
        away = (degrees - near + 180) % 360 - 180
        best = int(np.argmax(np.where(np.abs(away) <= REACH_DEGREES, agreement, -np.inf)))
        left, middle, right = (float(agreement[(best + off) % BINS]) for off in (-1, 0, 1))
        bend = left - 2 * middle + right
        finer = 0.5 * (left - right) / bend if bend < 0 else 0.0
        return float(near + away[best] + finer * 360 / BINS), middle

    @property
    def _power(self) -> float:
        return float(((self.picture**2).sum(axis=(1, 2)) * RADII).sum())
