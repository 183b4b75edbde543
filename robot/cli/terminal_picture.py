"""A camera's picture in a terminal: two pixels per character."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


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


def _cell(*rgb: int) -> str:
    r, g, b, r2, g2, b2 = rgb
    return f"\x1b[38;2;{r};{g};{b}m\x1b[48;2;{r2};{g2};{b2}m▀"
