"""Pictures in which something else is where a face is expected: a hand, two cubes, nothing."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from rendered_light import Picture, expose, random_exposure
from rendered_rooms import random_room

from vision.locate.face import FaceGrid

Corners = NDArray[np.float64]

SKIN = ((224, 172, 140), (198, 134, 98), (110, 70, 50))


def with_hand(
    picture: Picture, corners: Corners, rng: np.random.Generator, reach: float
) -> Picture:
    """Fingers over a face from any side, ``reach`` of its side in from the edge."""
    middle = corners.mean(axis=0)
    side = float(np.linalg.norm(corners[0] - corners[1]))
    angle = rng.uniform(0, 2 * np.pi)
    along = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-along[1], along[0]])
    width = side * rng.uniform(0.17, 0.26)
    fingers = int(rng.integers(3, 6))
    cover = np.zeros(picture.shape[:2], dtype=np.float32)
    for number in range(fingers):
        tip = middle - along * side * (reach - 0.5 + rng.uniform(-0.1, 0.1))
        tip = tip + across * width * 1.05 * (number - (fingers - 1) / 2)
        end = tip + along * 3 * side
        cv2.line(cover, _pixel(tip), _pixel(end), 0.8 + 0.05 * number, int(width), cv2.LINE_AA)
    tone = np.array(SKIN[rng.integers(len(SKIN))]) * rng.uniform(0.6, 1.05)
    share = np.clip(1.3 * cv2.GaussianBlur(cover, (0, 0), 1.2), 0, 1)[..., None]
    shade = 0.55 + 0.5 * cv2.GaussianBlur(cover, (0, 0), width / 4)[..., None]
    noisy = picture * (1 - share) + tone * shade * share + rng.normal(0, 2, picture.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def empty_place(seed: int) -> Picture:
    """The room of a robot in which no cube is."""
    rng = np.random.default_rng(seed)
    exposure = random_exposure(rng, np.random.default_rng(seed), (320.0, 240.0, 100.0))
    return expose(random_room(rng, (640, 480)), exposure, rng)


def side_by_side(left: Picture, right: Picture) -> Picture:
    """One picture that shows what two showed, at three quarters of their scale."""
    width, height = (3 * side // 4 for side in left.shape[1::-1])
    parts = [np.asarray(cv2.resize(part, (width, height)), np.uint8) for part in (left, right)]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def in_the_left_part(corners: Corners) -> Corners:
    """Where corners in the left picture are after :func:`side_by_side`."""
    return (corners + 0.5) * 0.75 - 0.5


def seated(corners: Corners, size: int, rng: np.random.Generator, slack: float = 0.06) -> FaceGrid:
    """A calibrated place from which the cube lies off by ``slack`` of a sticker, as it will."""
    grid = FaceGrid.of_corners(corners, size)
    return FaceGrid.of_corners(corners + rng.normal(0, slack * grid.pitch, 2), size)


def _pixel(point: Corners) -> tuple[int, int]:
    return int(point[0]), int(point[1])
