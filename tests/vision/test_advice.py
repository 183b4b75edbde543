"""Advice about a view: focus, light and framing."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.rig.scenes import render_cube
from vision.decide.reader import read_cube
from vision.frame import Frame
from vision.locate import advice
from vision.locate.advice import Matter, advise, edge_width, flatness
from vision.locate.face import FaceGrid
from vision.locate.six_faces import scan_frames
from vision.measure.colour_space import (
    references_from_json,
    references_of,
    references_to_json,
)


def upright(left: float, top: float, width: float, height: float, size: int = 3) -> FaceGrid:
    corners = [[left, top], [left + width, top], [left + width, top + height], [left, top + height]]
    return FaceGrid.from_corners(corners, size)


def test_a_tilt_is_measured_in_the_middle_of_the_face() -> None:
    assert flatness(upright(0, 0, 90, 90)) == pytest.approx(1)
    assert (
        flatness(upright(0, 0, 90, 60)) == flatness(upright(0, 0, 60, 90)) == pytest.approx(2 / 3)
    )
    # Leaning like a parallelogram: axes of the ellipse that a circle becomes.
    leaning = FaceGrid.from_corners([[0, 0], [90, 0], [180, 90], [90, 90]], 2)
    long, short = np.linalg.svd(np.array([[1.0, 1.0], [0.0, 1.0]]), compute_uv=False)
    assert flatness(leaning) == pytest.approx(short / long)
    away = FaceGrid(3, np.array([[30.0, 0, 0], [0, 30.0, 0], [0, 0.2, 1.0]]), 1.0, 1.0)
    w = 1 + 0.2 * 1.5
    right, down = 30 * 0.5 / w, 30 * (2.0 / (1 + 0.2 * 2.0) - 1.5 / w)
    aside = 30 * 1.5 * (1 / (1 + 0.2 * 2.0) - 1 / w)
    axes = np.linalg.svd(np.array([[right, 0], [aside, down]]), compute_uv=False)
    assert flatness(away) == pytest.approx(axes[1] / axes[0])


def borders(ramp: int, upright_only: bool = False) -> Frame:
    """A face of 3 x 3 stickers of 40 pixels that go over into each other within ``ramp``."""
    levels = np.array([60.0, 200.0, 90.0])
    place = np.arange(120)
    row = np.interp(
        place,
        [0, 40 - ramp / 2, 40 + ramp / 2, 80 - ramp / 2, 80 + ramp / 2, 120],
        [levels[0], levels[0], levels[1], levels[1], levels[2], levels[2]],
    )
    flat = np.repeat(row[None], 120, axis=0)
    image = flat if upright_only else (flat + flat.T) / 2
    return Frame(np.repeat(image[..., None], 3, axis=2).astype(np.uint8), "", 0)


@pytest.mark.parametrize("ramp", [4, 8, 16])
@pytest.mark.parametrize("upright_only", [False, True])
def test_the_width_of_borders_is_a_part_of_a_sticker(ramp: int, upright_only: bool) -> None:
    grid = FaceGrid(3, np.array([[40.0, 0, -0.5], [0, 40.0, -0.5], [0, 0, 1]]), 1.0, 1.0)
    width = edge_width(borders(ramp, upright_only), grid)
    assert width == pytest.approx(ramp / 40, rel=0.15)


def test_light_that_falls_off_downwards_is_measured_as_well() -> None:
    """Of one colour everywhere, so that nothing but light changes."""
    rows, columns = np.mgrid[0:300, 0:300] / 300.0
    for across, down in ((0.5, 0.0), (0.0, 0.5), (-0.3, 0.4)):
        light = 0.6 * np.exp(-across * columns - down * rows)
        srgb = np.round(255 * (1.055 * light ** (1 / 2.4) - 0.055)).astype(np.uint8)
        frame = Frame(np.repeat(srgb[..., None], 3, axis=2), "", 0)
        for size in (2, 3, 5):
            grid = FaceGrid.from_corners(
                [[-0.5, -0.5], [299.5, -0.5], [299.5, 299.5], [-0.5, 299.5]], size
            )
            found = advice.falloff(frame, grid)
            at = np.array([1 / 6, 1 / 2, 5 / 6])
            expected = np.exp(-across * at[None, :] - down * at[:, None])
            assert found == pytest.approx(expected / expected.max(), rel=0.03)


def test_a_spot_of_light_makes_a_curve_and_glare_on_a_sticker_none() -> None:
    rows, columns = np.mgrid[0:400, 0:400] / 400.0 - 0.5
    light = 0.6 * np.exp(-1.5 * (columns**2 + rows**2) + 0.8 * columns * rows)
    image = np.round(255 * (1.055 * light ** (1 / 2.4) - 0.055)).astype(np.uint8)
    image = np.repeat(image[..., None], 3, axis=2)
    grid = FaceGrid.from_corners([[-0.5, -0.5], [399.5, -0.5], [399.5, 399.5], [-0.5, 399.5]], 7)
    at = np.array([1 / 6, 1 / 2, 5 / 6]) - 0.5
    expected = np.exp(
        -1.5 * (at[None, :] ** 2 + at[:, None] ** 2) + 0.8 * at[None, :] * at[:, None]
    )
    found = advice.falloff(Frame(image, "", 0), grid)
    assert found == pytest.approx(expected / expected.max(), abs=0.04)
    spoilt = image.copy()
    spoilt[20:50, 20:35] = 255
    assert advice.falloff(Frame(spoilt, "", 0), grid) == pytest.approx(found, abs=0.04)


def plain_face(level: float = 0.6, size: int = 3, side: int = 300) -> tuple[np.ndarray, FaceGrid]:
    """A face seen straight on, 640 x 480, with its grid; borders a tenth of a sticker wide."""
    colours = [(230, 230, 225), (180, 20, 30), (10, 130, 60), (235, 205, 25), (230, 95, 20)]
    image = np.full((480, 640, 3), 40, dtype=np.float64)
    cell = side // size
    left, top = 320 - side // 2, 240 - side // 2
    image[top : top + side, left : left + side] = 10
    for number in range(size * size):
        y, x = top + cell * (number // size), left + cell * (number % size)
        inset = cell // 10
        image[y + inset : y + cell - inset, x + inset : x + cell - inset] = colours[number % 5]
    linear = (image / 255) ** 2.2 * (level / 0.8)
    homography = np.array([[cell, 0, left - 0.5], [0, cell, top - 0.5], [0, 0, 1.0]])
    return linear, FaceGrid(size, homography, 1.0, 1.0)


def photographed(linear: np.ndarray) -> Frame:
    noise = np.random.default_rng(1).normal(0, 1.5, linear.shape)
    srgb = 255 * np.clip(linear, 0, 1) ** (1 / 2.2) + noise
    return Frame(np.clip(srgb, 0, 255).astype(np.uint8), "test", 0)


def matters(linear: np.ndarray, grid: FaceGrid) -> dict[Matter, str]:
    return {advice.matter: advice.text for advice in advise(photographed(linear), grid)}


@pytest.mark.parametrize(
    ("rows", "columns", "place"),
    [
        (slice(240, 480), slice(0, 320), "lower left"),
        (slice(0, 240), slice(320, 640), "upper right"),
    ],
)
def test_shadow_is_named_by_its_place(rows: slice, columns: slice, place: str) -> None:
    linear, grid = plain_face()
    mask = np.ones((480, 640))
    mask[rows, columns] = 0.2
    text = matters(linear * cv2.GaussianBlur(mask, (0, 0), 70)[..., None], grid)[Matter.LIGHT]
    assert f"the {place} is in shadow" in text


def test_dark_and_clipped_faces_are_told() -> None:
    linear, grid = plain_face()
    assert "dark" in matters(linear * 0.04, grid)[Matter.LIGHT]
    assert "too bright" in matters(linear * 2.5, grid)[Matter.LIGHT]


@pytest.mark.parametrize(("at", "place"), [((220, 140), "upper left"), ((320, 240), "middle")])
def test_a_reflection_is_told_with_its_place(at: tuple[int, int], place: str) -> None:
    linear, grid = plain_face()
    x, y = np.meshgrid(np.arange(640), np.arange(480))
    spot = np.exp(-(((x - at[0]) / 50) ** 2 + ((y - at[1]) / 50) ** 2))
    text = matters(np.clip(linear + 1.2 * spot[..., None], 0, 1), grid)[Matter.LIGHT]
    assert f"reflection at the {place}" in text


def test_blur_is_told_and_grows_with_the_blur() -> None:
    linear, grid = plain_face()
    widths = []
    for sigma in (0.5, 2.0, 6.0, 10.0):
        blurred = cv2.GaussianBlur(linear, (0, 0), sigma)
        widths.append(edge_width(photographed(blurred), grid))
        assert (Matter.FOCUS in matters(blurred, grid)) == (sigma > 4)
    assert widths == sorted(widths)


def test_framing_is_told() -> None:
    linear, grid = plain_face(side=30)
    assert "10 pixels wide" in matters(linear, grid)[Matter.FRAMING]
    linear, grid = plain_face(side=474)
    assert "edge of the picture" in matters(linear, grid)[Matter.FRAMING]
    linear, grid = plain_face()
    squeezed = np.array([[1, 0, 0], [0, 0.6, 96], [0, 0, 1.0]])
    flat = cv2.warpPerspective(linear, squeezed, (640, 480))
    aside = FaceGrid(3, squeezed @ grid.homography, 1.0, 1.0)
    assert "more squarely" in matters(flat, aside)[Matter.FRAMING]


def test_references_survive_storing_and_help_reading() -> None:
    cube = render_cube(7200, 3)
    colours = scan_frames(cube.frames).colours
    references = references_of(colours, cube.facelets)
    stored = references_from_json(references_to_json(references))
    assert stored.linear_rgb == pytest.approx(references.linear_rgb, abs=1e-4)
    assert read_cube(colours, stored).facelets == cube.facelets
