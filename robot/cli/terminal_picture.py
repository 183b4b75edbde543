"""A camera's picture in a terminal: two pixels per character, and what to improve."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]

DARK, BRIGHT = 50.0, 205.0
CLIPPED_SHARE = 0.02
BLURRED = 60.0
"""Variance of the Laplacian of a picture 640 wide below which edges of stickers are soft."""


def decode(jpeg: bytes) -> Image:
    """A JPEG as uint8[H, W, 3], RGB."""
    bgr = cv2.imdecode(np.frombuffer(jpeg, dtype=np.uint8), cv2.IMREAD_COLOR)
    if bgr is None:
        raise ValueError("the daemon sent no JPEG")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), dtype=np.uint8)


def half_blocks(image: Image, width: int) -> str:
    """The picture in 24-bit colour; each character shows an upper and a lower pixel."""
    height = max(2, round(image.shape[0] * width / image.shape[1]) // 2 * 2)
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    lines = []
    for upper, lower in zip(small[0::2], small[1::2], strict=True):
        cells = (_cell(*above, *below) for above, below in zip(upper, lower, strict=True))
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)


def advice(image: Image) -> dict[str, str]:
    """What to say about light and focus."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    scaled = cv2.resize(grey, (640, round(640 * grey.shape[0] / grey.shape[1])))
    sharpness = float(cv2.Laplacian(scaled, cv2.CV_64F).var())
    focus = "sharp" if sharpness >= BLURRED else "soft: turn the lens until this says sharp"
    return {"light": _light(image, float(grey.mean())), "focus": focus}


def _light(image: Image, mean: float) -> str:
    clipped = float((image.max(axis=2) >= 254).mean())
    if clipped > CLIPPED_SHARE:
        return f"{clipped:.0%} of the picture is overexposed: less light, or no reflections"
    if mean < DARK:
        return "dark: more light"
    return "very bright: less light" if mean > BRIGHT else "good"


def _cell(*rgb: int) -> str:
    r, g, b, r2, g2, b2 = rgb
    return f"\x1b[38;2;{r};{g};{b}m\x1b[48;2;{r2};{g2};{b2}m▀"
