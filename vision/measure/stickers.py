"""Measuring stickers: one robust colour in linear light for each quadrilateral of a picture.

Overexposed stickers are measured again with a shorter exposure and merged.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.frame import Bools, Camera, Frame
from vision.measure.sticker_colours import (
    SATURATED,
    FaceColours,
    merge_faces,
    srgb_to_linear,
)

Floats = NDArray[np.float32]

SAMPLES = 10
"""Sample points along each side of a sticker; 100 in all."""

_INSET = 0.14
"""Share of the quadrilateral left out on every side: black border, rounded corners, neighbours."""

_NOISE = (7.0, 2.6)
"""Two samples have the same colour if their sRGB values differ by less than the first value, or the
second times the noise between neighbouring samples."""

_ENOUGH = 0.2
"""Minimum share of the samples that agree on a colour."""

_CLIPPED_SHARE = 0.3
"""Share of clipped samples above which clipping shifts the mean by more than noise does."""


def measure_face(frame: Frame, quads: ArrayLike, *, fit: float = 1.0) -> FaceColours:
    """Measure the colours of a face's stickers.

    ``quads`` float[N*N, 4, 2] are the stickers' quadrilaterals in pixels, row by row as Kociemba
    draws the face, corners clockwise from the top left. ``fit`` is copied to the result. The colour
    is that shared by most samples in the quadrilateral, so glare, a logo, dirt and the border are
    ignored while they cover less than the sticker shows.
    """
    places = np.asarray(quads, dtype=np.float32)
    if places.ndim != 3 or places.shape[1:] != (4, 2) or not np.isfinite(places).all():
        raise ValueError(f"stickers need finite quadrilaterals of 4 corners, not {places.shape}")
    samples, inside = _sample(frame.image, places)
    chosen = _agreeing(samples) & inside
    count = chosen.sum(axis=1)
    linear = srgb_to_linear(samples)
    weight = chosen[:, :, None] / np.maximum(count, 1)[:, None, None]
    mean = (linear * weight).sum(axis=1)
    spread = np.sqrt(((linear - mean[:, None]) ** 2 * weight).sum(axis=1))
    clipped = ((linear >= SATURATED).any(axis=2) & chosen).sum(axis=1)
    return FaceColours(
        mean.astype(np.float32),
        spread.astype(np.float32),
        clipped > _CLIPPED_SHARE * np.maximum(count, 1),
        count >= _ENOUGH * SAMPLES**2,
        frame.camera,
        frame.time_us,
        fit,
        _positions(frame.image, places),
    )


def _sample(image: NDArray[np.uint8], places: Floats) -> tuple[Floats, Bools]:
    """Return sRGB float32[N*N, S, 3] at S points of each sticker, and which are in the picture."""
    steps = np.linspace(_INSET, 1 - _INSET, SAMPLES, dtype=np.float32)
    u, v = (axis.ravel()[:, None] for axis in np.meshgrid(steps, steps))
    top_left, top_right, bottom_right, bottom_left = (places[:, i, None] for i in range(4))
    # Within one sticker perspective is negligible: bilinear is enough.
    points = (top_left * (1 - u) + top_right * u) * (1 - v) + (
        bottom_left * (1 - u) + bottom_right * u
    ) * v
    height, width = image.shape[:2]
    limit = np.array([width - 1, height - 1], dtype=np.float32)
    inside = np.asarray(((points >= 0) & (points <= limit)).all(axis=2))
    # remap is limited to 32767 pixels a side; photographs.py rejects larger pictures.
    samples = cv2.remap(
        image, points[..., 0], points[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(samples, dtype=np.float32), inside


def _agreeing(samples: Floats) -> Bools:
    """Return the samples, bool[N*N, S], of each sticker that have its most common colour."""
    squares = np.einsum("ksc,ksc->ks", samples, samples)
    radius = _radius(samples)[:, None]
    # Alike if a² + b² - 2ab < radius², in as few passes over all pairs as possible.
    nearness = 2 * samples @ samples.transpose(0, 2, 1)
    nearness -= squares[:, None, :]
    alike = nearness > (squares - radius**2)[:, :, None]
    votes = alike.sum(axis=2, dtype=np.uint8)
    # Refine the centre: the mean of the samples around the one with the most votes.
    best = votes.argmax(axis=1)
    crowd = np.take_along_axis(alike, best[:, None, None], axis=1)[:, 0]
    middle = (samples * crowd[:, :, None]).sum(axis=1) / crowd.sum(axis=1)[:, None]
    distance = np.linalg.norm(samples - middle[:, None], axis=2)
    return np.asarray(distance < 1.5 * radius)


def _radius(samples: Floats) -> Floats:
    """Return the maximum distance of two samples of one colour, for every sticker float32[N*N]."""
    grid = samples.reshape(len(samples), SAMPLES, SAMPLES, 3)
    steps = np.linalg.norm(np.diff(grid, axis=2), axis=3).reshape(len(samples), -1)
    noise = np.median(steps, axis=1)
    return np.asarray(np.maximum(_NOISE[0], _NOISE[1] * noise), dtype=np.float32)


def _positions(image: NDArray[np.uint8], places: Floats) -> Floats:
    """Return the stickers' centres relative to the picture's centre, in half diagonals."""
    height, width = image.shape[:2]
    centre = np.array([width - 1, height - 1], dtype=np.float32) / 2
    half_diagonal = np.float32(np.hypot(width, height) / 2)
    return np.asarray((places.mean(axis=1) - centre) / half_diagonal, dtype=np.float32)


DARKER = (0.4, 0.16)
"""Exposures to try in turn while stickers clip, as fractions of the locked one."""


@runtime_checkable
class BracketingCamera(Camera, Protocol):
    """A camera whose exposure can be changed for one picture."""

    def capture_at(self, factor: float) -> Frame | None:
        """Return a picture with ``factor`` times the locked exposure, or None if impossible."""


def measure(camera: Camera, frame: Frame, quads: ArrayLike, *, fit: float = 1.0) -> FaceColours:
    """Measure a picture just taken. While stickers clip, take darker ones and merge them.

    ``quads`` and ``fit`` as for :func:`measure_face`. Nothing may have moved since ``frame``.
    Raises :class:`CameraError`.
    """
    looks = [measure_face(frame, quads, fit=fit)]
    if isinstance(camera, BracketingCamera):
        for factor in DARKER:
            if not (looks[-1].saturated & looks[-1].valid).any():
                break
            darker = camera.capture_at(factor)
            if darker is None:
                break
            looks.append(measure_face(darker, quads, fit=fit))
    return merge_faces(looks)
