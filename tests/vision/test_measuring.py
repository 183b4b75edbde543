"""Pixels become colours: stickers in linear light, looks merged, log light, stored colours."""

from __future__ import annotations

import json
from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import CubistError
from tests.rig.cameras import SceneCamera
from vision.frame import Frame
from vision.locate.face import FaceGrid
from vision.measure.colour_space import LightFeatures, references_from_json, references_of
from vision.measure.sticker_colours import (
    FACES,
    FaceColours,
    StickerColours,
    merge_faces,
    srgb_to_linear,
)
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


def face(noise: float = 2.0) -> np.ndarray:
    """Return a face of nine stickers of 80 pixels on black, 100 apart."""
    image = np.full((360, 380, 3), 14, dtype=np.float64)
    for number, colour in enumerate(COLOURS):
        row, column = divmod(number, 3)
        top, left = 30 + 100 * row + 10, 40 + 100 * column + 10
        image[top : top + 80, left : left + 80] = colour
    image += np.random.default_rng(0).normal(0, noise, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def measured(image: np.ndarray, corners: np.ndarray = CORNERS) -> FaceColours:
    return measure_face(Frame(image, "test", 5), FaceGrid.from_corners(corners, 3).quads)


def test_a_face_seen_from_aside_has_the_same_colours():
    aside = np.array([[60, 50], [330, 20], [360, 350], [30, 320]], dtype=np.float32)
    warp = cv2.getPerspectiveTransform(CORNERS, aside)
    tilted = np.asarray(cv2.warpPerspective(face(), warp, (380, 380)), np.uint8)
    for look in (measured(face()), measured(tilted, aside)):
        assert np.abs(look.linear_rgb - srgb_to_linear(COLOURS)).max() < 0.03


def test_clipped_channels_are_flagged_and_stickers_outside_the_picture_not_valid():
    look = measured(np.clip(face(0.5).astype(int) * 3 // 2, 0, 255).astype(np.uint8))
    clipped = (COLOURS.astype(int) * 3 // 2 >= 255).any(axis=1)
    assert look.saturated.tolist() == clipped.tolist()
    look = measured(face()[:, :230])
    assert look.valid.reshape(3, 3).tolist() == [[True, True, False]] * 3


@settings(max_examples=60)
@given(
    colour=st.tuples(*[st.integers(0, 252)] * 3),
    noise=st.floats(0, 8),
    cover=st.integers(0, 24),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_covers_less_than_half_never_wins(colour, noise, cover, seed):
    image = np.empty((80, 80, 3))
    image[:] = colour
    image[15 : 15 + cover, 15:65] = 255 - np.array(colour)
    image += np.random.default_rng(seed).normal(0, noise, image.shape)
    frame = Frame(np.clip(image, 0, 255).astype(np.uint8), "", 0)
    look = measure_face(frame, [[[0, 0], [80, 0], [80, 80], [0, 80]]])
    srgb = 255 * look.linear_rgb[0] ** (1 / 2.2)
    assert np.abs(srgb - np.array(colour)).max() < 12 + 2 * noise


SQUARE = np.array([[[10, 10], [30, 10], [30, 30], [10, 30]]], dtype=np.float32)


def lines(colour: tuple[int, int, int], over: tuple[int, int, int], count: int) -> FaceColours:
    """Return a look at SQUARE with ``count`` of its ten rows of samples painted over."""
    image = np.full((41, 61, 3), colour, dtype=np.uint8)
    steps = [*(10 + 20 * np.linspace(0.14, 0.86, 10)), 41]
    image[: int(np.ceil((steps[count - 1] + steps[count]) / 2)) if count else 0] = over
    return measure_face(Frame(image, "", 0), SQUARE)


@pytest.mark.parametrize(("rows", "saturated"), [(0, False), (3, False), (4, True), (10, True)])
def test_a_sticker_is_clipped_where_more_than_three_tenths_are(rows, saturated):
    """Use a colour near the top of one channel, so that the sticker counts as one colour."""
    assert lines((251, 60, 30), (254, 60, 30), rows).saturated.tolist() == [saturated]


def test_what_most_samples_share_is_taken_and_the_spread_told():
    for rows, colour in ((4, (120, 60, 30)), (6, (20, 200, 90))):
        look = lines((120, 60, 30), (20, 200, 90), rows)
        assert look.linear_rgb[0] == pytest.approx(srgb_to_linear(colour), rel=0.02)
    look = lines((100, 100, 100), (104, 100, 100), 5)
    low, high = (float(srgb_to_linear(level)) for level in (100, 104))
    assert look.linear_rgb[0, 0] == pytest.approx((low + high) / 2, rel=0.01)
    assert look.spread[0] == pytest.approx([(high - low) / 2, 0, 0], rel=0.1, abs=1e-6)


@pytest.mark.parametrize(
    ("enough", "asked"), [(1.0, []), (0.5, [0.4]), (0.2, [0.4, 0.16]), (0.1, [0.4, 0.16])]
)
def test_darker_pictures_are_taken_while_stickers_clip(enough, asked):
    def paint(_: int, exposure: float) -> np.ndarray:
        return np.full((41, 61, 3), (255 if exposure > enough else 200, 60, 30), np.uint8)

    camera = SceneCamera(paint)
    frame = camera.capture()
    camera.factors.clear()
    look = measure(camera, frame, SQUARE, fit=0.7)
    assert camera.factors == asked
    assert (look.saturated.tolist(), look.fit) == ([enough == 0.1], 0.7)
    camera.factors.clear()
    measure(camera, frame, SQUARE + np.array([60, 0], np.float32))
    assert camera.factors == [], "what cannot be seen is no reason"


def part(
    light: float, spread: float = 0.0, saturated: bool = False, valid: bool = True, **more: object
) -> FaceColours:
    """Return a look at four identical stickers."""
    return FaceColours(
        np.full((4, 3), light, np.float32),
        np.full((4, 3), spread, np.float32),
        np.full(4, saturated),
        np.full(4, valid),
        **more,
    )


def test_two_looks_are_weighed_by_their_scatter_in_the_exposure_of_the_first():
    """Weigh by variances: the spread squared after scaling, and noise of two thousandths."""
    first, second = part(0.6, spread=0.010), part(0.2, spread=0.002)
    second.linear_rgb[0] = 0.22
    merged = merge_faces([first, second])
    # Three times as bright: the median of three ratios of 3 and one of 2.7.
    weights = np.array([1 / 0.012**2, 1 / 0.008**2])
    share = weights / weights.sum()
    assert merged.linear_rgb[1] == pytest.approx([0.6] * 3)
    assert merged.linear_rgb[0] == pytest.approx([0.6 * share[0] + 0.66 * share[1]] * 3)
    assert merged.spread[0] == pytest.approx([0.010 * share[0] + 0.006 * share[1]] * 3)
    assert merge_faces([first]) is first


FULL, HIDDEN = {"saturated": True}, {"valid": False}


@pytest.mark.parametrize(
    ("first", "second", "light", "saturated", "valid"),
    [
        # No sticker shows the ratio of exposures: it is assumed to be 1.
        ({}, HIDDEN, 0.6, False, True),
        (HIDDEN, {}, 0.3, False, True),
        (HIDDEN, HIDDEN, None, False, False),
        (FULL, {}, 0.3, False, True),
        ({}, FULL, 0.6, False, True),
        (FULL, FULL, 0.45, True, True),
        (FULL, HIDDEN, 0.6, True, True),
        (HIDDEN, FULL, 0.3, True, True),
        # Never seen well: a sticker that is not valid is not saturated either.
        (FULL | HIDDEN, {}, 0.3, False, True),
        ({}, FULL | HIDDEN, 0.6, False, True),
    ],
)
def test_what_was_clipped_or_hidden_counts_only_where_nothing_better_was_seen(
    first, second, light, saturated, valid
):
    merged = merge_faces([part(0.6, **first), part(0.3, **second)])
    if light is not None:
        assert merged.linear_rgb == pytest.approx(np.full((4, 3), light), rel=1e-3)
    assert merged.saturated.tolist() == [saturated] * 4
    assert merged.valid.tolist() == [valid] * 4


LETTERS = "".join(FACES[(face + cell) % 6] for face in range(6) for cell in range(9))
INDEX = np.array([FACES.index(letter) for letter in LETTERS])
PALETTE = np.array(
    [[0.8, 0.8, 0.8], [0.5, 0.1, 0.1], [0.1, 0.4, 0.2], [0.7, 0.6, 0.1], [0.6, 0.2, 0.1], [0.1] * 3]
)


def scan(light: np.ndarray) -> StickerColours:
    parts = np.split(light.astype(np.float32), 6)
    looks = {f: FaceColours.from_light(part) for f, part in zip(FACES, parts, strict=True)}
    return StickerColours.from_faces(looks)


def test_features_are_log_light_over_a_floor():
    """Check that the level comes from valid stickers and is never zero."""
    colours = scan(np.random.default_rng(1).uniform(0.05, 0.9, (24, 3)))
    colours.linear_rgb[:6] = 5.0
    found = LightFeatures.from_colours(replace(colours, valid=np.arange(24) >= 6, looks={}))
    light = colours.linear_rgb.astype(float)
    level = np.quantile(light[6:].max(axis=1), 0.9)
    floor = 0.02 * level + 5e-4
    assert found.level == pytest.approx(level) and found.floor == pytest.approx(floor / level)
    assert found.values == pytest.approx(np.log((light + floor) / level))
    assert found.sensitivity == pytest.approx(light / (light + floor))
    assert found.weight.tolist() == [0.0] * 6 + [1.0] * 18
    expected = np.log(np.array([[0.5, 0.0, 0.0]]) + floor / level)
    assert found.to_features(np.array([[0.5, -0.1, 0.0]])) == pytest.approx(expected)
    dark = LightFeatures.from_colours(scan(np.full((24, 3), -1.0)))
    assert dark.values == pytest.approx(np.full((24, 3), np.log(1.02)))


def test_the_light_of_a_face_is_taken_out_of_stored_colours():
    """Use faces in different light, and stickers that glare, clip or were not seen."""
    lamps = np.array([1.0, 1.0, 1.0, 0.3, 1.0, 1.0])
    colours = scan(PALETTE[INDEX] * np.repeat(lamps, 9)[:, None])
    spoilt = replace(colours, linear_rgb=colours.linear_rgb.copy(), looks={})
    spoilt.linear_rgb[::4] = 3.0
    spoilt.saturated[::8] = True
    spoilt.valid[4::8] = False
    # First blue is seen on the dark face alone; then one face is not seen.
    of_face = np.repeat(np.arange(6), 9)
    blue = (FACES.index("B") != INDEX) | (of_face == FACES.index("D"))
    partly = (replace(colours, valid=valid, looks={}) for valid in (blue, of_face > 0))
    for seen in (colours, spoilt, *partly):
        assert references_of(seen, LETTERS).linear_rgb == pytest.approx(PALETTE, rel=1e-4)
    for odd in ({"valid": INDEX != 2}, {"saturated": INDEX == 2}):
        with pytest.raises(CubistError, match="no sticker of colour F was seen well: dim"):
            references_of(replace(colours, looks={}, **odd), LETTERS)
    with pytest.raises(CubistError, match="53 letters do not name 54 stickers"):
        references_of(colours, LETTERS[1:])


@pytest.mark.parametrize(
    "change",
    [
        {"linear_rgb": {face: [0.1, 0.2] for face in FACES}},
        {"linear_rgb": {face: [0.1, 0.2, -0.1] for face in FACES}},
        {"linear_rgb": {face: [0.1, 0.2, float("nan")] for face in FACES}},
        {"linear_rgb": {face: [0.1, 0.2, 0.3] for face in "URFDL"}},
    ],
)
def test_stored_colours_that_make_no_sense_are_refused(change):
    whole = {"linear_rgb": {face: [0.1, 0.0, 0.3] for face in FACES}}
    assert references_from_json(json.dumps(whole | {"trust": 4.0})).linear_rgb[0, 2] == 0.3
    with pytest.raises(CubistError, match="the stored colours are damaged"):
        references_from_json(json.dumps(whole | change))
