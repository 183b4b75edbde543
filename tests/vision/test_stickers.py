"""Measuring inside quadrilaterals: linear light, and whatever lies on a sticker left out."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vision.frame import Frame
from vision.measure.sticker_colours import srgb_to_linear
from vision.measure.stickers import BadQuads, face_quads, measure_face

COLOURS = np.array(
    [
        *([230, 230, 225], [180, 20, 30], [10, 130, 60]),
        *([235, 205, 25], [230, 95, 20], [15, 65, 160]),
        *([230, 230, 225], [10, 130, 60], [180, 20, 30]),
    ],
    dtype=np.uint8,
)
CORNERS = np.array([[40, 30], [340, 30], [340, 330], [40, 330]], dtype=np.float32)


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
    return measure_face(Frame(image, "test", 5), CORNERS, 3).linear_rgb


def assert_right(linear: np.ndarray, tolerance: float = 0.03) -> None:
    truth = srgb_to_linear(COLOURS)
    assert np.abs(linear - truth).max() < tolerance


def test_colours_are_linear_light_and_metadata_are_kept() -> None:
    look = measure_face(Frame(face(), "test", 5), CORNERS, 3, fit=0.8)
    assert_right(look.linear_rgb, 0.01)
    assert look.valid.all()
    assert not look.saturated.any()
    assert (look.camera, look.time_us, look.fit) == ("test", 5, 0.8)
    assert look.spread.max() < 0.03


def test_positions_are_in_half_diagonals_from_the_middle() -> None:
    positions = measure_face(Frame(face(), "", 0), CORNERS, 3).positions
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


def test_quads_that_are_off_by_a_tenth_of_a_sticker_still_measure_it() -> None:
    image = face()
    for shift in ((8, 8), (-8, 8), (8, -8)):
        look = measure_face(Frame(image, "", 0), CORNERS + np.float32(shift), 3)
        assert_right(look.linear_rgb)


def test_a_shadow_over_part_of_a_sticker_leaves_one_of_its_two_lights() -> None:
    image = face().astype(np.float64)
    image[:, :75] *= 0.5
    colour = measured(image.astype(np.uint8))[0]
    assert np.abs(colour - srgb_to_linear(COLOURS[0])).max() < 0.05


def test_clipped_channels_are_flagged() -> None:
    image = np.clip(face(0.5).astype(int) * 3 // 2, 0, 255).astype(np.uint8)
    look = measure_face(Frame(image, "", 0), CORNERS, 3)
    clipped = (COLOURS.astype(int) * 3 // 2 >= 255).any(axis=1)
    assert look.saturated.tolist() == clipped.tolist()


def test_stickers_outside_the_picture_are_not_valid() -> None:
    look = measure_face(Frame(face()[:, :230], "", 0), CORNERS, 3)
    assert look.valid.reshape(3, 3).tolist() == [[True, True, False]] * 3


def test_perspective_is_undone() -> None:
    target = np.array([[60, 50], [330, 20], [360, 350], [30, 320]], dtype=np.float32)
    warp = cv2.getPerspectiveTransform(CORNERS, target)
    image = cv2.warpPerspective(face(), warp, (380, 380))
    look = measure_face(Frame(np.asarray(image, np.uint8), "", 0), target, 3)
    assert_right(look.linear_rgb)


def test_given_quads_and_corners_agree() -> None:
    frame = Frame(face(), "", 0)
    by_quads = measure_face(frame, face_quads(CORNERS, 3))
    assert by_quads.linear_rgb == pytest.approx(measure_face(frame, CORNERS, 3).linear_rgb)


@pytest.mark.parametrize(
    ("quads", "size", "reason"),
    [
        (CORNERS, None, "number of layers"),
        (np.zeros((4, 2)), 3, "convex"),
        (CORNERS[[0, 2, 1, 3]], 3, "convex"),
        (np.zeros((8, 4, 2)), None, "N\\*N"),
        (np.zeros((9, 4, 2)), 2, "not a face of 2"),
        (np.full((9, 4, 2), np.nan), None, "finite"),
        (np.full((4, 2), np.inf), 3, "4 corners of x and y"),
    ],
)
def test_bad_quads_are_refused(quads: np.ndarray, size: int | None, reason: str) -> None:
    with pytest.raises(BadQuads, match=reason):
        measure_face(Frame(face(), "", 0), quads, size)


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
    look = measure_face(frame, [[0, 0], [80, 0], [80, 80], [0, 80]], 1)
    srgb = 255 * look.linear_rgb[0] ** (1 / 2.2)
    assert np.abs(srgb - np.array(colour)).max() < 12 + 2 * noise
