"""Which pictures are taken for none: just too old, just too dark, one too often."""

from __future__ import annotations

import numpy as np
import pytest

from vision.cameras.base import CameraFault, CameraGuard, CameraTrouble
from vision.frame import Frame

NOW_US = 10_000_000
HEIGHT, WIDTH = 80, 200
"""With every fourth pixel of every fourth row looked at: 1000, of which two must be lit."""


def picture(lit: int = 1000, level: int = 11, time_us: int = NOW_US) -> Frame:
    image = np.full((HEIGHT, WIDTH, 3), 10, np.uint8)
    looked_at = image[::4, ::4].reshape(-1, 3)
    looked_at[:lit, 1] = level
    image[::4, ::4] = looked_at.reshape(image[::4, ::4].shape)
    return Frame(image, "top", time_us)


def trouble(guard: CameraGuard, frame: Frame) -> CameraTrouble | None:
    try:
        assert guard.checked(frame) is frame
    except CameraFault as fault:
        return fault.trouble
    return None


@pytest.fixture
def guard() -> CameraGuard:
    return CameraGuard("top", lambda: NOW_US)


def test_a_picture_may_be_half_a_second_old(guard: CameraGuard) -> None:
    assert trouble(guard, picture(time_us=NOW_US - 500_000)) is None
    assert trouble(guard, picture(time_us=NOW_US - 500_001)) is CameraTrouble.STALE
    assert trouble(CameraGuard("top", lambda: NOW_US, 0), picture(time_us=NOW_US)) is None
    with pytest.raises(CameraFault, match=r"2\.5 s old"):
        guard.checked(picture(time_us=NOW_US - 2_500_000))


@pytest.mark.parametrize(
    ("lit", "level", "is_black"), [(2, 11, False), (1, 255, True), (9, 10, True)]
)
def test_a_few_lit_pixels_are_a_picture(
    guard: CameraGuard, lit: int, level: int, is_black: bool
) -> None:
    assert (trouble(guard, picture(lit, level)) is CameraTrouble.BLACK) == is_black


def test_the_third_time_the_same_picture_is_frozen(guard: CameraGuard) -> None:
    one, other = picture(level=100), picture(level=101)
    frozen = CameraTrouble.FROZEN
    assert [trouble(guard, one) for _ in range(4)] == [None, None, frozen, frozen]
    assert trouble(guard, other) is None
    assert [trouble(guard, frame) for frame in (one, one, other, one)] == [None] * 4
    with pytest.raises(CameraFault, match="one picture 3 times"):
        for _ in range(3):
            guard.checked(other)
