"""The frame drawn into a camera's picture, and which of its corners is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from robot.calibration.camera import CHOSEN, FRAME, FaceFrame, Image
from robot.settings import load_profile


def pixels(picture: Image, colour: tuple[int, int, int]) -> int:
    return int((picture == colour).all(axis=2).sum())


@pytest.mark.parametrize("corner", range(4))
def test_the_chosen_corner_is_a_disc_around_its_place(corner: int) -> None:
    camera = load_profile("cubotino").cameras[0]
    frame = FaceFrame(camera, camera.views[0], 3)
    frame.move_to(corner, 0.5, 0.25)
    width, height = camera.resolution
    image = np.zeros((height, width, 3), np.uint8)
    picture = frame.drawn(image, corner)
    assert tuple(picture[round(height / 4), round(width / 2)]) == CHOSEN
    assert pixels(picture, FRAME) > 2 * pixels(picture, CHOSEN) > 0
    assert not image.any(), "the picture itself stays"
    assert pixels(frame.drawn(image), CHOSEN) == 0
