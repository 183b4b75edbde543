"""Rendered photographs: what a seed gives, and where the truth says stickers are."""

from __future__ import annotations

import numpy as np

from tests.rig.scenes import FACES, render_cube


def test_a_seed_always_gives_the_same_pictures() -> None:
    first, second = render_cube(3, 3), render_cube(3, 3)
    assert first.facelets == second.facelets
    for face in FACES:
        assert np.array_equal(first.frames[face].image, second.frames[face].image)


def test_corners_are_where_the_stickers_are() -> None:
    cube = render_cube(30, 3, stickerless=False, max_tilt=5)
    image = cube.frames["F"].image
    height, width = image.shape[:2]
    for x, y in cube.corners["F"]:
        assert 0 <= x < width
        assert 0 <= y < height
    edge = (cube.corners["F"][0] + cube.corners["F"][1]) / 2
    middle = cube.corners["F"].mean(axis=0)
    inside = edge + 0.02 * (middle - edge)
    x, y = np.round(inside).astype(int)
    assert image[y, x].max() <= image[int(middle[1]), int(middle[0])].max() + 60
