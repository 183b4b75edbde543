"""Advice about a view: focus, light and framing."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.frame import Frame
from vision.locate import advice
from vision.locate.advice import Matter, advise, edge_width
from vision.locate.face import FaceGrid


def upright(left: float, top: float, width: float, height: float, size: int = 3) -> FaceGrid:
    corners = [[left, top], [left + width, top], [left + width, top + height], [left, top + height]]
    return FaceGrid.from_corners(corners, size)


def slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.exp(0.3 * x - 0.4 * y)


def spot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.exp(-1.5 * (x**2 + y**2) + 0.8 * x * y)


@pytest.mark.parametrize(("light", "size"), [(slope, 2), (slope, 3), (slope, 5), (spot, 7)])
def test_light_that_falls_off_is_measured_and_glare_on_a_sticker_is_not(light, size):
    """Use one colour everywhere, so that nothing but light changes."""
    rows, columns = np.mgrid[0:400, 0:400] / 400.0 - 0.5
    srgb = 255 * (1.055 * (0.45 * light(columns, rows)) ** (1 / 2.4) - 0.055)
    image = np.repeat(np.round(srgb).astype(np.uint8)[..., None], 3, axis=2)
    grid = upright(-0.5, -0.5, 400, 400, size)
    at = np.array([1 / 6, 1 / 2, 5 / 6]) - 0.5
    expected = light(at[None, :], at[:, None])
    found = advice.falloff(Frame(image, "", 0), grid)
    assert found == pytest.approx(expected / expected.max(), abs=0.04)
    image[20:50, 20:35] = 255
    assert size < 7 or advice.falloff(Frame(image, "", 0), grid) == pytest.approx(found, abs=0.04)


def plain_face(side: int = 300) -> tuple[np.ndarray, FaceGrid]:
    """Return a 3x3x3's face seen straight on, 640 x 480, and its grid; borders: a tenth sticker."""
    colours = [(230, 230, 225), (180, 20, 30), (10, 130, 60), (235, 205, 25), (230, 95, 20)]
    image = np.full((480, 640, 3), 40, dtype=np.float64)
    cell = side // 3
    left, top = 320 - side // 2, 240 - side // 2
    image[top : top + side, left : left + side] = 10
    for number in range(9):
        y, x = top + cell * (number // 3), left + cell * (number % 3)
        inset = cell // 10
        image[y + inset : y + cell - inset, x + inset : x + cell - inset] = colours[number % 5]
    return 0.75 * (image / 255) ** 2.2, upright(left - 0.5, top - 0.5, 3 * cell, 3 * cell)


def photographed(linear: np.ndarray) -> Frame:
    noise = np.random.default_rng(1).normal(0, 1.5, linear.shape)
    srgb = 255 * np.clip(linear, 0, 1) ** (1 / 2.2) + noise
    return Frame(np.clip(srgb, 0, 255).astype(np.uint8), "test", 0)


def matters(linear: np.ndarray, grid: FaceGrid) -> dict[Matter, str]:
    return {advice.matter: advice.text for advice in advise(photographed(linear), grid)}


def shaded(linear: np.ndarray, x: int, y: int) -> np.ndarray:
    """Return the picture with the quarter that has this corner in shadow."""
    mask = np.ones((480, 640))
    mask[y : y + 240, x : x + 320] = 0.2
    return linear * cv2.GaussianBlur(mask, (0, 0), 70)[..., None]


def shining(linear: np.ndarray, x: int, y: int) -> np.ndarray:
    """Return the picture with a reflection at a point."""
    columns, rows = np.meshgrid(np.arange(640), np.arange(480))
    spot = np.exp(-(((columns - x) / 50) ** 2 + ((rows - y) / 50) ** 2))
    return np.clip(linear + 1.2 * spot[..., None], 0, 1)


LINEAR, GRID = plain_face()


@pytest.mark.parametrize(
    ("linear", "told"),
    [
        (shaded(LINEAR, 0, 240), "the lower left is in shadow"),
        (shaded(LINEAR, 320, 0), "the upper right is in shadow"),
        (shining(LINEAR, 220, 140), "reflection at the upper left"),
        (shining(LINEAR, 320, 240), "reflection at the middle"),
        (LINEAR * 0.04, "dark"),
        (LINEAR * 2.5, "too bright"),
    ],
)
def test_bad_light_is_reported_with_its_place(linear, told):
    assert told in matters(linear, GRID)[Matter.LIGHT]


def test_blur_is_reported_in_proportion():
    widths = []
    for sigma in (0.5, 2.0, 6.0, 10.0):
        blurred = cv2.GaussianBlur(LINEAR, (0, 0), sigma)
        widths.append(edge_width(photographed(blurred), GRID))
        assert (Matter.FOCUS in matters(blurred, GRID)) == (sigma > 4)
    assert widths == sorted(widths)


def test_bad_framing_is_reported():
    assert "10 pixels wide" in matters(*plain_face(side=30))[Matter.FRAMING]
    assert "edge of the picture" in matters(*plain_face(side=474))[Matter.FRAMING]
    squeezed = np.array([[1, 0, 0], [0, 0.6, 96], [0, 0, 1.0]])
    flat = cv2.warpPerspective(LINEAR, squeezed, (640, 480))
    aside = FaceGrid(3, squeezed @ GRID.homography, 1.0, 1.0)
    assert "more squarely" in matters(flat, aside)[Matter.FRAMING]
