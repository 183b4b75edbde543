"""A canvas for pictures that explain: drawn twice as large, then halved, so that all is smooth."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.arrays import Floats

Colour = tuple[int, int, int]
Point = tuple[float, float]

DETAIL = 2
"""Pixels to a unit while drawing."""

_FONT = cv2.FONT_HERSHEY_DUPLEX
_SHIFT = 4
"""Fractional bits of the coordinates handed to OpenCV."""


class Canvas:
    """An RGB picture of ``width`` x ``height`` units; coordinates in units, y down."""

    def __init__(self, width: int, height: int, background: Colour) -> None:
        self._pixels = np.empty((height * DETAIL, width * DETAIL, 3), dtype=np.uint8)
        self._pixels[0] = background
        self._pixels[1:] = self._pixels[0]  # whole rows: ten times as fast as pixels

    def picture(self) -> NDArray[np.uint8]:
        """Return the picture, uint8[height, width, 3]."""
        height, width = self._pixels.shape[:2]
        size = (width // DETAIL, height // DETAIL)
        small = cv2.resize(self._pixels, size, interpolation=cv2.INTER_AREA)
        return np.asarray(small, dtype=np.uint8)

    def box(self, at: Point, size: Point, colour: Colour, radius: float = 0.0) -> None:
        """A filled rectangle with round corners, ``at`` its top left."""
        (x, y), (w, h) = at, size
        outline = _round_corners(x, y, w, h, min(radius, w / 2, h / 2))
        cv2.fillPoly(self._pixels, [_to_fixed_point(outline)], colour, cv2.LINE_AA, _SHIFT)

    def frame(
        self, at: Point, size: Point, colour: Colour, thickness: float, radius: float = 0.0
    ) -> None:
        """The border of a rectangle with round corners."""
        (x, y), (w, h) = at, size
        self.outline(_round_corners(x, y, w, h, min(radius, w / 2, h / 2)), colour, thickness)

    def outline(self, points: ArrayLike, colour: Colour, thickness: float) -> None:
        """A closed line through ``points`` float[n, 2]."""
        fixed = _to_fixed_point(np.asarray(points, dtype=np.float64))
        width = _pixels(thickness)
        cv2.polylines(self._pixels, [fixed], True, colour, width, cv2.LINE_AA, _SHIFT)

    def line(self, start: Point, end: Point, colour: Colour, thickness: float) -> None:
        """A straight line."""
        points = _to_fixed_point(np.array([start, end]))
        width = _pixels(thickness)
        cv2.polylines(self._pixels, [points], False, colour, width, cv2.LINE_AA, _SHIFT)

    def dot(self, at: Point, radius: float, colour: Colour) -> None:
        """A filled circle."""
        x, y = _to_fixed_point(np.array([at]))[0]
        reach = round(radius * DETAIL * (1 << _SHIFT))
        cv2.circle(self._pixels, (int(x), int(y)), reach, colour, -1, cv2.LINE_AA, _SHIFT)

    def text(
        self, at: Point, words: str, colour: Colour, height: float, bold: bool = False
    ) -> float:
        """A line of text with its base line at ``at``, capitals ``height`` high; its width."""
        scale, width = _font(height, bold)
        place = (round(at[0] * DETAIL), round(at[1] * DETAIL))
        cv2.putText(self._pixels, words, place, _FONT, scale, colour, width, cv2.LINE_AA)
        return text_width(words, height, bold)

    def paste(self, at: Point, size: Point, image: NDArray[np.uint8]) -> None:
        """A picture uint8[h, w, 3], scaled to ``size``."""
        x, y = (round(value * DETAIL) for value in at)
        w, h = (round(value * DETAIL) for value in size)
        shrinks = image.shape[1] > w
        way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        self._pixels[y : y + h, x : x + w] = cv2.resize(image, (w, h), interpolation=way)


def text_width(words: str, height: float, bold: bool = False) -> float:
    """Return the width of a line of text."""
    scale, width = _font(height, bold)
    return float(cv2.getTextSize(words, _FONT, scale, width)[0][0]) / DETAIL


def wrap_words(words: str, height: float, room: float) -> list[str]:
    """Lines of ``words`` that are each at most ``room`` wide."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, height) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def png(picture: NDArray[np.uint8]) -> bytes:
    """The bytes of a PNG file of an RGB picture uint8[h, w, 3]."""
    _, data = cv2.imencode(".png", picture[..., ::-1])
    return data.tobytes()


def _font(height: float, bold: bool) -> tuple[float, int]:
    """Scale and stroke for capitals of ``height``; Hershey's are 21 high at scale 1."""
    scale = height * DETAIL / 21.0
    return scale, max(1, round(scale * (1.9 if bold else 1.2)))


def _pixels(thickness: float) -> int:
    return max(1, round(thickness * DETAIL))


def _to_fixed_point(points: Floats) -> NDArray[np.int32]:
    return np.round(points * DETAIL * (1 << _SHIFT)).astype(np.int32)


def _round_corners(x: float, y: float, w: float, h: float, radius: float) -> Floats:
    """The outline of a rectangle with round corners."""
    if radius <= 0:
        return np.array([(x, y), (x + w, y), (x + w, y + h), (x, y + h)], dtype=np.float64)
    quarter = np.linspace(0, np.pi / 2, 9)
    left, right, top, bottom = x + radius, x + w - radius, y + radius, y + h - radius
    middles = ((right, bottom), (left, bottom), (left, top), (right, top))
    arcs = [
        np.stack([cx + radius * np.cos(quarter + a), cy + radius * np.sin(quarter + a)], axis=1)
        for (cx, cy), a in zip(middles, np.arange(4) * np.pi / 2, strict=True)
    ]
    return np.concatenate(arcs)
