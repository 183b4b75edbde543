"""The picture that explains a reading."""

from dataclasses import replace

import numpy as np
import pytest

from tests.rig.scans import synthetic_scan
from vision.decide.reader import CubeReading, read_cube
from vision.decide.schemes import NAMES
from vision.explain import Canvas, colour_names, explain
from vision.measure.sticker_colours import FACES, linear_to_srgb


def has_colour(picture, colour, least=30):
    distance = np.abs(picture.astype(int) - np.array(colour)).max(axis=2)
    return (distance <= 6).sum() >= least


@pytest.mark.parametrize("size", [2, 3, 7])
def test_measured_colours_are_shown(size):
    scan = synthetic_scan(1, size)
    picture = explain(scan.colours, read_cube(scan.colours))
    assert picture.dtype == np.uint8
    assert picture.shape[1:] == (1560, 3)
    light = scan.colours.linear_rgb
    bright = np.quantile(light.max(axis=1), 0.95)
    for sticker in (0, size * size, len(light) - 1):
        assert has_colour(picture, linear_to_srgb(light[sticker] * 0.9 / bright), least=4)


def test_doubtful_stickers_are_ringed():
    colours = synthetic_scan(1, 3).colours
    reading = read_cube(colours)
    ring = (255, 64, 200)
    plain = CubeReading(3, reading.facelets, reading.cube, 5.0, True)
    doubtful = CubeReading(3, reading.facelets, reading.cube, 5.0, False, ("F3", "U1"))
    assert not has_colour(explain(colours, plain), ring)
    assert has_colour(explain(colours, doubtful), ring)


def test_stickers_carry_the_letters_that_people_call_their_colours_by(monkeypatch):
    drawn = set()
    text = Canvas.text

    def noted(canvas, at, words, *more, **options):
        drawn.add(words)
        return text(canvas, at, words, *more, **options)

    monkeypatch.setattr(Canvas, "text", noted)
    colours = synthetic_scan(1, 3).colours
    reading = read_cube(colours)
    explain(colours, reading)
    assert {word for word in drawn if len(word) == 1} == set(NAMES)
    order = np.arange(54)
    assert colour_names(colours, order, reading.facelets) == dict(zip(FACES, NAMES, strict=True))
    # The same cube with its colours permuted: the letters belong to the colours, not to the faces.
    turned = str.translate(reading.facelets, str.maketrans("URFDLB", "FURBDL"))
    assert colour_names(colours, order, turned)["F"] == "W"
    # Colours without a usual letter keep the letters of the faces.
    grey = replace(colours, linear_rgb=np.full_like(colours.linear_rgb, 0.2))
    assert colour_names(grey, order, reading.facelets) == {}
