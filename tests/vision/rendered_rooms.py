"""What is around a cube in rendered photographs: tables, beams, boxes and cables."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from rendered_light import Linear, Picture, to_linear


def random_room(rng: np.random.Generator, resolution: tuple[int, int]) -> Linear:
    """A table, a robot's beams, rails with holes, boxes and cables, anything but a cube."""
    width, height = resolution
    ground = rng.integers(10, 200, 3)
    image: Picture = np.full((height, width, 3), ground, dtype=np.uint8)
    for _ in range(int(rng.integers(0, 14))):
        colour = _clutter_colour(rng)
        start = rng.uniform(0, 1, 2) * resolution
        kind = rng.integers(4)
        if kind == 0:
            _draw_box(image, start, rng, colour)
        elif kind == 1:
            _draw_beam(image, start, rng, colour)
        elif kind == 2:
            axes = tuple(int(v) for v in rng.uniform(0.02, 0.2, 2) * height)
            middle = (int(start[0]), int(start[1]))
            cv2.ellipse(image, middle, axes, rng.uniform(0, 180), 0.0, 360.0, colour, -1)
        else:
            end = rng.uniform(0, 1, 2) * resolution
            thickness = int(rng.integers(1, max(2, height // 24)))
            cv2.line(image, _pixel(start), _pixel(end), colour, thickness, cv2.LINE_AA)
    return to_linear(image)


def _clutter_colour(rng: np.random.Generator) -> tuple[int, int, int]:
    if rng.random() < 0.6:
        grey = int(rng.integers(5, 220))
        return grey, grey, min(255, grey + int(rng.integers(0, 20)))
    red, green, blue = rng.integers(0, 255, 3).tolist()
    return red, green, blue


def _pixel(point: NDArray[np.float64]) -> tuple[int, int]:
    return int(point[0]), int(point[1])


def _draw_box(
    image: Picture,
    start: NDArray[np.float64],
    rng: np.random.Generator,
    colour: tuple[int, int, int],
) -> None:
    extent = rng.uniform(0.03, 0.4, 2) * image.shape[0]
    box = cv2.boxPoints((start.tolist(), extent.tolist(), rng.uniform(0, 90)))
    cv2.fillConvexPoly(image, np.round(box * 16).astype(np.int32), colour, cv2.LINE_AA, 4)


def _draw_beam(
    image: Picture,
    start: NDArray[np.float64],
    rng: np.random.Generator,
    colour: tuple[int, int, int],
) -> None:
    """A beam with a row of round holes, as building sets have."""
    angle = rng.uniform(0, np.pi)
    along = np.array([np.cos(angle), np.sin(angle)])
    pitch = rng.uniform(0.02, 0.06) * image.shape[0]
    count = int(rng.integers(4, 16))
    end = start + along * pitch * count
    cv2.line(image, _pixel(start), _pixel(end), colour, int(pitch * 1.1), cv2.LINE_AA)
    hole = tuple(int(c * 0.25) for c in colour)
    for k in range(count):
        middle = _pixel(start + along * pitch * (k + 0.5))
        cv2.circle(image, middle, max(1, int(pitch * 0.3)), hole, -1, cv2.LINE_AA)
