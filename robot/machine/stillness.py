"""Waiting until the camera's view is at rest: two successive pictures that agree.

A cube swings after the robot has moved it, for how long depends on the robot. A fixed pause is too
short for one and too long for another, so the pictures themselves decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.settings.profile import View
from vision.frame import Frame

CELLS = 40
"""Along each side of what is compared: a cell is a fortieth of what the views take of a picture."""

SAME_LEVELS = 12.0
"""Grey levels by which a cell may differ. The edge of a sticker makes more when it has moved by a
seventh of a cell; noise, averaged over a cell, and a lamp that flickers make less."""


def still_frame(capture: Callable[[], Frame], views: Sequence[View], limit_us: int) -> Frame:
    """Return the first picture that agrees with the one before it where the ``views`` are.

    ``limit_us``, by the camera's clock from the first picture on: after that any picture will do.
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
    """float32[CELLS, CELLS], 0..255: the box around the views, grey, from uint8[H, W, 3] RGB."""
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
