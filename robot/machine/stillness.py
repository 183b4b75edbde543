"""Detection of a still view: two successive pictures agree.

A cube swings after the robot has moved it, for a time that depends on the robot. A fixed pause is
too short for one robot and too long for another, so the pictures themselves decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.settings.profile import View
from vision.frame import Frame

CELLS = 40
"""Number of cells along each side of the area that is compared, the box around the views."""

SAME_LEVELS = 12.0
"""Maximum difference of a cell in a still view, in grey levels. The edge of a sticker exceeds it by
moving a seventh of a cell. Noise, averaged over a cell, and a flickering lamp stay below."""


def still_frame(capture: Callable[[], Frame], views: Sequence[View], limit_us: int) -> Frame:
    """Return the first picture that agrees with the previous one in the area of the ``views``.

    After ``limit_us`` from the first picture, by the camera's clock, return the next picture.
    """
    frame = capture()
    began_us, seen = frame.time_us, cells(frame.image, views)
    while True:
        frame = capture()
        now = cells(frame.image, views)
        if alike(seen, now) or frame.time_us - began_us >= limit_us:
            return frame
        seen = now


def cells(image: NDArray[np.uint8], views: Sequence[View]) -> NDArray[np.float32]:
    """Return the box around the views in grey, float32[CELLS, CELLS], 0..255.

    ``image``: uint8[H, W, 3], RGB.
    """
    height, width = image.shape[:2]
    corners = np.concatenate([np.array(view.quad) for view in views]) * (width, height)
    left, top = np.clip(np.floor(corners.min(axis=0)), 0, (width - 1, height - 1)).astype(int)
    right, bottom = np.ceil(corners.max(axis=0)).astype(int)
    part = image[top : max(bottom, top + 1), left : max(right, left + 1)]
    grey = cv2.cvtColor(np.ascontiguousarray(part), cv2.COLOR_RGB2GRAY)
    return cv2.resize(grey, (CELLS, CELLS), interpolation=cv2.INTER_AREA).astype(np.float32)


def alike(one: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
    """Return whether nothing has moved between two pictures' cells."""
    return bool(np.abs(one - other).max() <= SAME_LEVELS)
