"""Measuring stickers: one robust colour in linear light for each quadrilateral of a picture.

Stickers too bright for one exposure are looked at again with less light, and merged.
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
"""Points along each side of a sticker; 100 in all."""

_INSET = 0.14
"""Share of the quadrilateral left out on every side: black border, rounded corners, neighbours."""

_NOISE = (7.0, 2.6)
"""Two samples show one colour if their sRGB values are closer than the first, or than the second
times the noise found between neighbouring samples."""

_ENOUGH = 0.2
"""Share of the samples that must agree on a colour."""

_CLIPPED_SHARE = 0.3
"""Share of the samples that agree from which clipping moves their mean by more than noise does."""


def measure_face(frame: Frame, quads: ArrayLike, *, fit: float = 1.0) -> FaceColours:
    """Measure the colours of a face's stickers.

    ``quads`` float[N*N, 4, 2] are the stickers' quadrilaterals in pixels, row by row as Kociemba
    draws the face, corners clockwise from the top left. ``fit`` is passed on. Inside each
    quadrilateral the colour that most samples share is taken, so that glare, a logo, dirt and the
    border count for nothing as long as they cover less than the sticker shows.
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
    """sRGB float32[N*N, S, 3] at S points of each sticker, and which lie within the picture."""
    steps = np.linspace(_INSET, 1 - _INSET, SAMPLES, dtype=np.float32)
    u, v = (axis.ravel()[:, None] for axis in np.meshgrid(steps, steps))
    top_left, top_right, bottom_right, bottom_left = (places[:, i, None] for i in range(4))
    # Within one sticker perspective bends nothing that matters: bilinear will do.
    points = (top_left * (1 - u) + top_right * u) * (1 - v) + (
        bottom_left * (1 - u) + bottom_right * u
    ) * v
    height, width = image.shape[:2]
    limit = np.array([width - 1, height - 1], dtype=np.float32)
    inside = np.asarray(((points >= 0) & (points <= limit)).all(axis=2))
    # remap addresses pictures of up to 32767 pixels a side; photographs.py lets none larger in.
    samples = cv2.remap(
        image, points[..., 0], points[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(samples, dtype=np.float32), inside


def _agreeing(samples: Floats) -> Bools:
    """The samples bool[N*N, S] of each sticker that show the colour most of them share."""
    squares = np.einsum("ksc,ksc->ks", samples, samples)
    radius = _radius(samples)[:, None]
    # Alike where a² + b² - 2ab < radius², in as few passes over all pairs as can be.
    nearness = 2 * samples @ samples.transpose(0, 2, 1)
    nearness -= squares[:, None, :]
    alike = nearness > (squares - radius**2)[:, :, None]
    votes = alike.sum(axis=2, dtype=np.uint8)
    # The middle of the crowd, not its first member: the mean of those around the best sample.
    best = votes.argmax(axis=1)
    crowd = np.take_along_axis(alike, best[:, None, None], axis=1)[:, 0]
    middle = (samples * crowd[:, :, None]).sum(axis=1) / crowd.sum(axis=1)[:, None]
    distance = np.linalg.norm(samples - middle[:, None], axis=2)
    return np.asarray(distance < 1.5 * radius)


def _radius(samples: Floats) -> Floats:
    """Largest distance of two samples of one colour, for every sticker float32[N*N]."""
    grid = samples.reshape(len(samples), SAMPLES, SAMPLES, 3)
    steps = np.linalg.norm(np.diff(grid, axis=2), axis=3).reshape(len(samples), -1)
    noise = np.median(steps, axis=1)
    return np.asarray(np.maximum(_NOISE[0], _NOISE[1] * noise), dtype=np.float32)


def _positions(image: NDArray[np.uint8], places: Floats) -> Floats:
    """Centres of the stickers from the picture's centre, in half diagonals."""
    height, width = image.shape[:2]
    centre = np.array([width - 1, height - 1], dtype=np.float32) / 2
    half_diagonal = np.float32(np.hypot(width, height) / 2)
    return np.asarray((places.mean(axis=1) - centre) / half_diagonal, dtype=np.float32)


DARKER = (0.4, 0.16)
"""Exposures tried one after the other, as parts of the locked one, while stickers clip."""


@runtime_checkable
class BracketingCamera(Camera, Protocol):
    """A camera whose exposure can be changed for one picture."""

    def capture_at(self, factor: float) -> Frame | None:
        """A picture with ``factor`` times the locked exposure; None if it cannot be had."""


def measure(camera: Camera, frame: Frame, quads: ArrayLike, *, fit: float = 1.0) -> FaceColours:
    """Measure a picture just taken, and merge darker ones while stickers clip.

    ``quads`` and ``fit`` as for :func:`measure_face`; the view must not have moved since ``frame``.
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
