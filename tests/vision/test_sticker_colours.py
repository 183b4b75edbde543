"""The value between measuring and deciding: conversions, checks, merging of looks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vision.measure.sticker_colours import (
    BadColours,
    FaceColours,
    StickerColours,
    linear_to_srgb,
    merge_looks,
    srgb_to_linear,
)


@given(st.lists(st.integers(0, 255), min_size=1, max_size=50))
def test_srgb_survives_linear_light(values):
    assert linear_to_srgb(srgb_to_linear(values)).tolist() == values


@pytest.mark.parametrize(
    ("size", "rgb", "says"),
    [
        (3, [[0, 0, 0]] * 53, "54 rgb triples"),
        (2, [[0, 0, 256]] * 24, "between 0 and 255"),
        (2, [[0, 0]] * 24, "24 rgb triples"),
        (2, [["red", 0, 0]] * 24, "list of"),
        (8, [[0, 0, 0]] * 384, "sizes 2 to 7"),
        (2, [[0, 0, float("nan")]] * 24, "between 0 and 255"),
    ],
)
def test_bad_colours_are_named(size, rgb, says):
    with pytest.raises(BadColours, match=says):
        StickerColours.from_srgb(size, rgb)


def test_absent_faces_count_as_unseen():
    face = FaceColours.measured(np.full((9, 3), 0.5))
    colours = StickerColours.of_faces({"U": face, "R": face})
    assert colours.valid.sum() == 18
    assert not colours.valid[colours.face_slice("F")].any()


def _look(light, **changes):
    return replace(FaceColours.measured(np.array(light, dtype=np.float32)), **changes)


def test_a_second_look_of_other_exposure_fills_what_was_clipped():
    light = np.array([[0.2, 0.3, 0.1], [0.4, 0.1, 0.1], [0.9, 0.9, 0.9], [2.0, 1.6, 0.4]])
    bright = _look(np.minimum(light, 1.0))
    dark = _look(light * 0.4)
    merged = merge_looks([bright, dark])
    assert not merged.saturated.any()
    assert merged.linear_rgb == pytest.approx(light, rel=1e-4)


def test_a_hidden_sticker_comes_from_the_look_that_saw_it():
    first = _look(np.full((4, 3), 0.5), valid=np.array([True, False, True, True]))
    second = _look(np.full((4, 3), 0.25))
    merged = merge_looks([first, second])
    assert merged.valid.all()
    assert merged.linear_rgb == pytest.approx(np.full((4, 3), 0.5), rel=1e-5)


def test_the_steadier_measurement_weighs_more():
    first = _look(np.full((4, 3), 0.5), spread=np.full((4, 3), 0.1, dtype=np.float32))
    light = np.full((4, 3), 0.5)
    light[0] = 0.3
    second = _look(light, spread=np.full((4, 3), 0.001, dtype=np.float32))
    merged = merge_looks([first, second])
    assert merged.linear_rgb[0] == pytest.approx(np.full(3, 0.3), rel=0.05)


def test_metadata_come_from_the_better_fit():
    first = _look(np.full((4, 3), 0.5), fit=0.6, time_us=5, camera="a")
    second = _look(np.full((4, 3), 0.5), fit=0.9, time_us=9, camera="b")
    merged = merge_looks([first, second])
    assert (merged.fit, merged.time_us, merged.camera) == (0.9, 9, "b")
