"""Measuring inside quadrilaterals: linear light, and whatever lies on a sticker left out."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rig.cameras import SceneCamera
from vision.frame import Frame
from vision.locate.face import FaceGrid
from vision.measure.sticker_colours import srgb_to_linear
from vision.measure.stickers import measure, measure_face

COLOURS = np.array(
    [
        *([230, 230, 225], [180, 20, 30], [10, 130, 60]),
        *([235, 205, 25], [230, 95, 20], [15, 65, 160]),
        *([230, 230, 225], [10, 130, 60], [180, 20, 30]),
    ],
    dtype=np.uint8,
)
CORNERS = np.array([[40, 30], [340, 30], [340, 330], [40, 330]], dtype=np.float32)
QUADS = FaceGrid.from_corners(CORNERS, 3).quads


def face(noise: float = 2.0, seed: int = 0) -> np.ndarray:
    """A face of nine stickers of 80 pixels on black, 100 apart."""
    image = np.full((360, 380, 3), 14, dtype=np.float64)
    for number, colour in enumerate(COLOURS):
        row, column = divmod(number, 3)
        top, left = 30 + 100 * row + 10, 40 + 100 * column + 10
        image[top : top + 80, left : left + 80] = colour
    image += np.random.default_rng(seed).normal(0, noise, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def measured(image: np.ndarray) -> np.ndarray:
    return measure_face(Frame(image, "test", 5), QUADS).linear_rgb


def assert_right(linear: np.ndarray, tolerance: float = 0.03) -> None:
    truth = srgb_to_linear(COLOURS)
    assert np.abs(linear - truth).max() < tolerance


def test_positions_are_in_half_diagonals_from_the_middle() -> None:
    positions = measure_face(Frame(face(), "", 0), QUADS).positions
    assert positions is not None
    middle = np.array([(190 - 189.5), (180 - 179.5)]) / (np.hypot(380, 360) / 2)
    assert positions[4] == pytest.approx(middle, abs=1e-3)
    assert (positions[0] < 0).all()
    assert (positions[8] > 0).all()


def test_glare_logo_dirt_and_border_do_not_count() -> None:
    image = face()
    cv2.circle(image, (90, 80), 18, (255, 255, 255), -1)
    cv2.ellipse(image, (290, 280), (22, 16), 0, 0, 360, (40, 20, 90), -1)
    cv2.line(image, (150, 160), (230, 240), (60, 50, 40), 5)
    assert_right(measured(image))


def test_clipped_channels_are_flagged() -> None:
    image = np.clip(face(0.5).astype(int) * 3 // 2, 0, 255).astype(np.uint8)
    look = measure_face(Frame(image, "", 0), QUADS)
    clipped = (COLOURS.astype(int) * 3 // 2 >= 255).any(axis=1)
    assert look.saturated.tolist() == clipped.tolist()


def test_stickers_outside_the_picture_are_not_valid() -> None:
    look = measure_face(Frame(face()[:, :230], "", 0), QUADS)
    assert look.valid.reshape(3, 3).tolist() == [[True, True, False]] * 3


def test_perspective_is_undone() -> None:
    target = np.array([[60, 50], [330, 20], [360, 350], [30, 320]], dtype=np.float32)
    warp = cv2.getPerspectiveTransform(CORNERS, target)
    image = cv2.warpPerspective(face(), warp, (380, 380))
    look = measure_face(
        Frame(np.asarray(image, np.uint8), "", 0), FaceGrid.from_corners(target, 3).quads
    )
    assert_right(look.linear_rgb)


@pytest.mark.parametrize(
    "quads", [CORNERS, np.zeros((9, 3, 2)), np.full((9, 4, 2), np.nan), np.full((4, 4, 2), np.inf)]
)
def test_only_finite_quadrilaterals_are_measured(quads: np.ndarray) -> None:
    with pytest.raises(ValueError, match="finite quadrilaterals"):
        measure_face(Frame(face(), "", 0), quads)


@settings(max_examples=60)
@given(
    colour=st.tuples(*[st.integers(0, 252)] * 3),
    noise=st.floats(0, 8),
    cover=st.integers(0, 24),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_covers_less_than_half_never_wins(
    colour: tuple[int, int, int], noise: float, cover: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    image = np.empty((80, 80, 3))
    image[:] = colour
    image[15 : 15 + cover, 15:65] = 255 - np.array(colour)
    image += rng.normal(0, noise, image.shape)
    frame = Frame(np.clip(image, 0, 255).astype(np.uint8), "", 0)
    look = measure_face(frame, [[[0, 0], [80, 0], [80, 80], [0, 80]]])
    srgb = 255 * look.linear_rgb[0] ** (1 / 2.2)
    assert np.abs(srgb - np.array(colour)).max() < 12 + 2 * noise


def flat(colour: tuple[int, int, int] = (120, 60, 30)) -> np.ndarray:
    return np.full((41, 61, 3), colour, dtype=np.uint8)


SQUARE = np.array([[[10, 10], [30, 10], [30, 30], [10, 30]]], dtype=np.float32)


def lines(image: np.ndarray, colour: tuple[int, int, int], count: int) -> np.ndarray:
    """The first so many of the ten rows of samples of SQUARE painted over."""
    steps = 10 + 20 * np.linspace(0.14, 0.86, 10)
    border = int(np.ceil((steps[count - 1] + steps[count]) / 2)) if count else 0
    image[:border] = colour
    return image


@pytest.mark.parametrize(("rows", "saturated"), [(0, False), (3, False), (4, True), (10, True)])
def test_a_sticker_is_clipped_where_more_than_three_tenths_are(rows: int, saturated: bool) -> None:
    """Of a colour near the top of one channel, so that all of it is one colour."""
    image = flat((251, 60, 30))
    image = lines(image, (254, 60, 30), rows) if rows < 10 else flat((254, 60, 30))
    assert measure_face(Frame(image, "", 0), SQUARE).saturated.tolist() == [saturated]


def test_what_most_samples_share_is_taken_and_the_spread_told() -> None:
    for rows, colour in ((4, (120, 60, 30)), (6, (20, 200, 90))):
        image = lines(flat(), (20, 200, 90), rows)
        look = measure_face(Frame(image, "", 0), SQUARE)
        assert look.linear_rgb[0] == pytest.approx(srgb_to_linear(colour), rel=0.02)
    image = lines(flat((100, 100, 100)), (104, 100, 100), 5)
    look = measure_face(Frame(image, "", 0), SQUARE)
    low, high = (float(srgb_to_linear(level)) for level in (100, 104))
    assert look.linear_rgb[0, 0] == pytest.approx((low + high) / 2, rel=0.01)
    assert look.spread[0] == pytest.approx([(high - low) / 2, 0, 0], rel=0.1, abs=1e-6)


def test_sides_of_a_sticker_are_not_exchanged() -> None:
    """Bright towards the right, and so to the middle of any quadrilateral."""
    ramp = np.clip(np.arange(61) * 4, 0, 255).astype(np.uint8)
    image = np.repeat(np.repeat(ramp[None, :, None], 41, axis=0), 3, axis=2)
    quad = np.array([[[20, 5], [44, 9], [40, 33], [16, 29]]], np.float32)
    look = measure_face(Frame(image, "", 0), quad)
    assert look.positions is not None
    middle = quad.mean(axis=1)[0]
    assert look.positions[0] == pytest.approx(
        (middle - np.array([30, 20])) / (np.hypot(61, 41) / 2), rel=1e-5
    )


@pytest.mark.parametrize(
    ("enough", "asked"), [(1.0, []), (0.5, [0.4]), (0.2, [0.4, 0.16]), (0.1, [0.4, 0.16])]
)
def test_darker_pictures_are_taken_while_stickers_clip(enough: float, asked: list[float]) -> None:
    camera = SceneCamera(lambda _, exposure: flat((255 if exposure > enough else 200, 60, 30)))
    frame = camera.capture()
    camera.factors.clear()
    look = measure(camera, frame, SQUARE, fit=0.7)
    assert camera.factors == asked
    assert look.saturated.tolist() == [enough == 0.1]
    assert look.fit == 0.7
    outside = SQUARE + np.array([60, 0], np.float32)
    camera.factors.clear()
    measure(camera, frame, outside)  # what cannot be seen is no reason
    assert camera.factors == []
