"""What has no business in the robot's view: a hand, another cube, a cube of another size."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from robot.twin.cube import scrambled
from robot.twin.render import COLOURS, PLASTIC, Patch

FloatArray = NDArray[np.float64]


class OddScene(StrEnum):
    """What the cameras show instead of the robot with its cube."""

    NO_CUBE = "no-cube"
    TWO_CUBES = "two-cubes"
    WRONG_SIZE = "wrong-size"
    HAND = "hand"


SKIN = (206, 148, 116)
FINGERS = 4
FINGER_WIDTH = 0.12

SECOND_SIZE = 0.2
STICKER_PART = 0.86


def hand() -> Iterator[Patch]:
    """Four fingers side by side that reach into the picture from its right edge."""
    for number in range(FINGERS):
        top = 0.5 + FINGER_WIDTH * (number - FINGERS / 2)
        tip = 0.44 + 0.03 * abs(number - 1)
        shade = 1 - 0.06 * number
        box = _box(tip, top, 1.1, top + FINGER_WIDTH)
        yield Patch(box, tuple(round(level * shade) for level in SKIN))


def second_cube() -> Iterator[Patch]:
    """Another cube of three layers that lies in the corner of the picture."""
    left, top = 0.02, 0.04
    height = SECOND_SIZE * 4 / 3
    yield Patch(_box(left, top, left + SECOND_SIZE, top + height), PLASTIC)
    letters = iter(scrambled(3, 99).facelets()[:9])
    for row in range(3):
        for column in range(3):
            x = left + (column + (1 - STICKER_PART) / 2) * SECOND_SIZE / 3
            y = top + (row + (1 - STICKER_PART) / 2) * height / 3
            wide, high = STICKER_PART * SECOND_SIZE / 3, STICKER_PART * height / 3
            yield Patch(_box(x, y, x + wide, y + high), COLOURS[next(letters)])


def _box(left: float, top: float, right: float, bottom: float) -> FloatArray:
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
