"""Colours as log light, where stickers stand in the picture, and colours that are stored."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from solver.errors import CubistError
from vision.measure.colour_space import (
    ColourReferences,
    LightFeatures,
    references_from_json,
    references_of,
    references_to_json,
)
from vision.measure.sticker_colours import FACES, FaceColours, StickerColours

RNG = np.random.default_rng(1)


def scan(size: int = 3, light: np.ndarray | None = None) -> StickerColours:
    count = 6 * size * size
    rgb = RNG.uniform(0.05, 0.9, (count, 3)) if light is None else light
    return StickerColours.from_faces(
        {
            face: FaceColours.from_light(part)
            for face, part in zip(FACES, np.split(rgb.astype(np.float32), 6), strict=True)
        }
    )


def test_features_are_log_light_over_a_floor() -> None:
    colours = scan()
    light = colours.linear_rgb.astype(float)
    found = LightFeatures.from_colours(colours)
    level = np.quantile(light.max(axis=1), 0.9)
    floor = 0.02 * level + 5e-4
    assert found.level == pytest.approx(level) and found.floor == pytest.approx(floor / level)
    assert found.values == pytest.approx(np.log((light + floor) / level))
    assert found.sensitivity == pytest.approx(light / (light + floor))
    assert found.weight.tolist() == [1.0] * 54
    relative = np.array([[0.5, -0.1, 0.0]])
    expected = np.log(np.array([[0.5, 0.0, 0.0]]) + floor / level)
    assert found.to_features(relative) == pytest.approx(expected)


def test_the_level_is_of_what_was_seen_and_never_nothing() -> None:
    colours = scan(2)
    colours.linear_rgb[:6] = 5.0
    valid = np.arange(24) >= 6
    found = LightFeatures.from_colours(replace(colours, valid=valid, looks={}))
    seen = colours.linear_rgb[6:].astype(float).max(axis=1)
    assert found.level == pytest.approx(np.quantile(seen, 0.9))
    assert found.weight.tolist() == [0.0] * 6 + [1.0] * 18
    dark = LightFeatures.from_colours(scan(2, np.full((24, 3), -1.0)))
    assert dark.level == 5e-4 and np.isfinite(dark.values).all()
    assert dark.values == pytest.approx(np.full((24, 3), np.log(1.02)))


LETTERS = "".join(FACES[(face + cell) % 6] for face in range(6) for cell in range(9))
PALETTE = np.array(
    [[0.8, 0.8, 0.8], [0.5, 0.1, 0.1], [0.1, 0.4, 0.2], [0.7, 0.6, 0.1], [0.6, 0.2, 0.1], [0.1] * 3]
)


def test_the_light_of_a_face_is_taken_out_of_stored_colours() -> None:
    """Faces that are lit differently, and stickers that glare, clip or were not seen."""
    index = np.array([FACES.index(letter) for letter in LETTERS])
    lamps = np.array([1.0, 1.0, 1.0, 0.3, 1.0, 1.0])
    colours = scan(3, PALETTE[index] * np.repeat(lamps, 9)[:, None])
    found = references_of(colours, LETTERS)
    assert found.trust == 4.0
    assert found.linear_rgb == pytest.approx(PALETTE, rel=1e-4)
    # Blue was seen on the dark face alone.
    face = np.repeat(np.arange(6), 9)
    valid = (index != FACES.index("B")) | (face == FACES.index("D"))
    found = references_of(replace(colours, valid=valid, looks={}), LETTERS)
    assert found.linear_rgb == pytest.approx(PALETTE, rel=1e-4)
    spoilt = replace(colours, linear_rgb=colours.linear_rgb.copy(), looks={})
    spoilt.linear_rgb[[0, 10, 20]] = 3.0
    spoilt.saturated[[0, 10]] = True
    spoilt.valid[20] = False
    assert references_of(spoilt, LETTERS).linear_rgb == pytest.approx(PALETTE, rel=1e-4)


def test_a_face_that_was_not_seen_changes_no_stored_colour() -> None:
    index = np.array([FACES.index(letter) for letter in LETTERS])
    colours = scan(3, PALETTE[index])
    valid = np.arange(54) >= 9
    found = references_of(replace(colours, valid=valid, looks={}), LETTERS)
    assert found.linear_rgb == pytest.approx(PALETTE, rel=1e-4)
    everywhere = np.array([letter != "F" for letter in LETTERS])
    for odd in ({"valid": everywhere}, {"saturated": ~everywhere}):
        with pytest.raises(CubistError, match="no sticker of colour F was seen well: dim"):
            references_of(replace(colours, looks={}, **odd), LETTERS)
    with pytest.raises(CubistError, match="53 letters do not name 54 stickers"):
        references_of(colours, LETTERS[1:])


def test_stored_colours_are_a_table_by_letters() -> None:
    references = ColourReferences(PALETTE / 3, 2.5)
    text = references_to_json(references)
    document = json.loads(text)
    assert list(document["linear_rgb"]) == list(FACES)
    assert document["linear_rgb"]["R"] == [0.16667, 0.03333, 0.03333] and document["trust"] == 2.5
    again = references_from_json(text)
    assert again.linear_rgb == pytest.approx(references.linear_rgb, abs=1e-5)
    assert again.trust == 2.5


@pytest.mark.parametrize(
    "change",
    [
        {"trust": 0},
        {"trust": -1},
        {"trust": "much"},
        {"linear_rgb": {face: [0.1, 0.2] for face in FACES}},
        {"linear_rgb": {face: [0.1, 0.2, -0.1] for face in FACES}},
        {"linear_rgb": {face: [0.1, 0.2, float("nan")] for face in FACES}},
        {"linear_rgb": {face: [0.1, 0.2, 0.3] for face in "URFDL"}},
    ],
)
def test_stored_colours_that_make_no_sense_are_refused(change: dict[str, object]) -> None:
    whole = {"linear_rgb": {face: [0.1, 0.0, 0.3] for face in FACES}, "trust": 0.5}
    assert references_from_json(json.dumps(whole)).trust == 0.5
    with pytest.raises(CubistError, match="the stored colours are damaged"):
        references_from_json(json.dumps(whole | change))
