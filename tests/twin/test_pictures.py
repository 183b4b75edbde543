"""Small pictures without noise, level by level as they were when somebody looked at them.

``pictures.png`` shows them one below the other: the cube in the light that a studio has at first,
with a layer of two in mid-turn, covered parts, glare, the lid, no cube, and what is in front.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from robot.settings import RobotProfile
from robot.twin.cube import NORMALS, Pose, scrambled, turned
from robot.twin.render import (
    LID,
    TABLE,
    Image,
    Optics,
    Painter,
    StudioLight,
    place_camera,
    site_corners,
)
from robot.twin.studio import hand, second_cube

SEEN = Path(__file__).with_name("pictures.png")
WIDTH, HEIGHT = 96, 72
FEW = 3
"""Levels of a picture that may differ by rounding, on another processor."""
WHITE = StudioLight((1.0, 1.0, 1.0), (0.0, 0.0), 0.0)


@pytest.fixture
def optics(cubotino: RobotProfile) -> Optics:
    """The robot's camera with fewer pixels, a little aside so that three faces are seen."""
    placed = place_camera(cubotino.cameras[0])
    scale = WIDTH / placed.width
    aside = placed.rotation @ turned(NORMALS["U"], 0.3) @ turned(NORMALS["R"], 0.2)
    return replace(
        placed, width=WIDTH, height=HEIGHT, focal=0.8 * placed.focal * scale, rotation=aside
    )


def pictures(optics: Optics) -> Iterator[Image]:
    painter = Painter(optics, 0.0)
    body, usual = scrambled(3, 5), StudioLight()
    covers = site_corners("R") * (1.001, 0.4, 0.3), site_corners("F") * (0.3, 0.5, 1.001)
    turning = Pose(turned(NORMALS["D"], 0.1), (("U", 0.3),))
    yield painter.paint(body, Pose(), usual)
    yield painter.paint(body, turning, usual)
    yield painter.paint(scrambled(4, 2), Pose(layers=(("R", -0.4),), depth=2), usual)
    yield painter.paint(scrambled(2, 2), Pose(covers=(*covers, -covers[0], -covers[1])), WHITE)
    yield painter.paint(body, Pose(), replace(usual, glare=0.5, glare_at=(0.4, 0.3)))
    yield painter.paint(body, Pose(), WHITE, covered=True)
    yield painter.paint(None, Pose(), usual, props=[*hand(), *second_cube()])


def test_pictures_are_as_they_were(optics: Optics) -> None:
    shown = np.concatenate(list(pictures(optics)))
    seen = cv2.imread(str(SEEN))[..., ::-1]
    assert shown.shape == seen.shape
    for number, (one, other) in enumerate(
        zip(np.split(shown, len(shown) // HEIGHT), np.split(seen, len(seen) // HEIGHT), strict=True)
    ):
        assert (one != other).sum() <= FEW, f"picture {number}"


def test_noise_is_about_the_picture_without_it(optics: Optics) -> None:
    plain = Painter(optics, 0.0).paint(None, Pose(), WHITE).astype(int)
    noisy = Painter(optics, 4.0, seed=2)
    first, second = (noisy.paint(None, Pose(), WHITE).astype(int) for _ in range(2))
    assert (first - plain).std() == pytest.approx(4.0, rel=0.03)
    assert (first - plain).mean() == pytest.approx(0.0, abs=0.5)
    assert (first - second).std() == pytest.approx(4.0 * 2**0.5, rel=0.03)
    same = Painter(optics, 4.0, seed=2).paint(None, Pose(), WHITE)
    assert np.array_equal(first, same)


def test_light_that_is_too_bright_is_white(optics: Optics) -> None:
    bright = replace(WHITE, gains=(30.0, 30.0, 1.0))
    for noise in (0.0, 4.0):
        seen = Painter(optics, noise).paint(None, Pose(), bright)
        assert (seen[..., :2] >= 255 - 5 * noise).all() and seen[..., 2].max() < 140


def test_lid_and_table_have_their_colours(optics: Optics) -> None:
    seen = Painter(optics, 0.0).paint(None, Pose(), WHITE, covered=True)
    for colour, at in ((LID, (HEIGHT // 2, WIDTH // 2)), (TABLE, (0, 0))):
        assert tuple(seen[at]) == tuple(int(level * 0.82 ** (1 / 2.2) + 0.5) for level in colour)
