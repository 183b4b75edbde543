"""Sticker-like patches of a photograph: compact regions without an edge inside."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Picture = NDArray[np.uint8]

EDGE_LEVELS = (28, 14, 56)
"""Steps of the strongest channel (0..255 within three pixels) that count as an edge, best first."""

_MIN_SIDE = 5.0
"""Pixels: smaller patches are noise."""

_LARGEST_SHARE = 0.3
"""Of the picture's area: no sticker of a face that is in view as a whole is larger."""

_SOLIDITY = (0.25, 0.86)
"""Area as a share of the convex hull's: too ragged below the first, whole above the second."""

_FLATTEST = 0.5
_PARALLELOGRAM = (0.88, 1.09)


@dataclass(frozen=True, eq=False)
class Blobs:
    """Patches: ``centres`` float64[n, 2] (x, y), ``areas`` float64[n], ``shapes`` float64[n, 2, 2].

    ``shapes`` are covariances of the patches' pixels: ``A @ A.T / 12`` for a parallelogram with
    the columns of ``A`` as sides.
    """

    centres: Floats
    areas: Floats
    shapes: Floats

    def __len__(self) -> int:
        return len(self.areas)

    def joined(self, other: Blobs) -> Blobs:
        """All patches of both."""
        return Blobs(
            np.concatenate([self.centres, other.centres]),
            np.concatenate([self.areas, other.areas]),
            np.concatenate([self.shapes, other.shapes]),
        )

    def distinct(self) -> Blobs:
        """One patch for each place: of those that share a centre, the largest."""
        order = np.argsort(-self.areas, kind="stable")
        centres, areas = self.centres[order], self.areas[order]
        x, y = centres.T
        gaps = np.square(x[:, None] - x) + np.square(y[:, None] - y)
        near = gaps < 0.3**2 * np.minimum(areas[:, None], areas[None, :])
        similar = areas[None, :] < 2.5 * areas[:, None]
        shadowed = np.triu(near & similar, 1).any(axis=0)
        chosen = order[~shadowed]
        return Blobs(self.centres[chosen], self.areas[chosen], self.shapes[chosen])


def edge_strength(image: Picture) -> Picture:
    """Largest step of any channel around every pixel, uint8[H, W]."""
    smooth = cv2.GaussianBlur(image, (3, 3), 0)
    steps = cv2.morphologyEx(smooth, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    red, green, blue = cv2.split(steps)
    strongest = cv2.max(cv2.max(red, green), blue)
    return np.asarray(strongest, dtype=np.uint8)


def find_blobs(edges: Picture, level: int) -> Blobs:
    """Compact parallelogram-like patches in which no step reaches ``level``."""
    _, flat = cv2.threshold(edges, level - 1, 255, cv2.THRESH_BINARY_INV)
    contours, _ = cv2.findContours(flat, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    largest = _LARGEST_SHARE * edges.size
    found = [blob for contour in contours if (blob := _blob(contour, largest)) is not None]
    if not found:
        return Blobs(np.empty((0, 2)), np.empty(0), np.empty((0, 2, 2)))
    table = np.array(found)
    shapes = table[:, [3, 4, 4, 5]].reshape(-1, 2, 2)
    return Blobs(table[:, :2], table[:, 2], shapes)


def _blob(contour: cv2.typing.MatLike, largest: float) -> tuple[float, ...] | None:
    """Centre, area and covariance of what a contour encloses, if it may be a sticker.

    A patch with a bay, as glare at its edge leaves, is taken as what it would be without.
    """
    if len(contour) < 4:
        return None
    area = cv2.contourArea(contour)
    if not _MIN_SIDE**2 <= area <= largest:
        return None
    hull = cv2.convexHull(contour)
    solidity = area / cv2.contourArea(hull)
    if solidity < _SOLIDITY[0]:
        return None
    whole = _described(contour) if solidity >= _SOLIDITY[1] else None
    return whole or _described(hull)


def _described(contour: cv2.typing.MatLike) -> tuple[float, ...] | None:
    """Centre (x, y), area and covariance (xx, xy, yy) of a parallelogram, None for other shapes."""
    moments = cv2.moments(contour)
    area = moments["m00"]
    xx, xy, yy = (moments[key] / area for key in ("mu20", "mu11", "mu02"))
    spread = max(xx * yy - xy * xy, 0.0) ** 0.5
    # Affine invariant: 1 for every parallelogram, 1.05 for an ellipse, less with bays and tails.
    if not _PARALLELOGRAM[0] <= area / (12.0 * spread + 1e-9) <= _PARALLELOGRAM[1]:
        return None
    half = 0.5 * (xx + yy)
    reach = max(half * half - spread * spread, 0.0) ** 0.5
    if (half - reach) < _FLATTEST**2 * (half + reach):
        return None
    return moments["m10"] / area, moments["m01"] / area, area, xx, xy, yy
