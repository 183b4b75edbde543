"""The picture that explains a reading."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from tests.rig.scans import synthetic_scan
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.decide.schemes import NAMES
from vision.explain import Canvas, colour_names, explain, png, text_width, wrap_words
from vision.frame import Frame
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


def test_photographs_show_the_grid():
    colours = synthetic_scan(1, 3).colours
    axis = np.arange(3.0) * 20
    cells = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 1, 2)
    quads = cells + np.array([[30, 30], [50, 30], [50, 50], [30, 50]])
    frame = Frame(np.full((120, 160, 3), (10, 90, 30), dtype=np.uint8), "test", 0)
    looks = SimpleNamespace(
        frames=dict.fromkeys(FACES, frame),
        grids=dict.fromkeys(FACES, SimpleNamespace(quads=quads, fit=0.9)),
    )
    without = explain(colours, read_cube(colours))
    picture = explain(colours, read_cube(colours), looks)
    assert picture.shape[0] > without.shape[0]
    assert has_colour(picture, (10, 90, 30), least=10_000)


def test_png_is_lossless():
    picture = explain(synthetic_scan(2, 2).colours, Unreadable("nothing", (), "U"))
    decoded = cv2.imdecode(np.frombuffer(png(picture), dtype=np.uint8), cv2.IMREAD_COLOR)
    assert (decoded[..., ::-1] == picture).all()


def test_long_words_wrap_inside_the_room():
    lines = wrap_words("one two three four five six seven", 12, 120)
    assert " ".join(lines) == "one two three four five six seven"
    assert len(lines) > 1
    assert all(text_width(line, 12) <= 120 for line in lines)


def test_colours_have_the_letters_that_people_call_them_by():
    colours = synthetic_scan(1, 3).colours
    reading = read_cube(colours)
    order = np.arange(54)
    assert colour_names(colours, order, reading.facelets) == dict(zip(FACES, NAMES, strict=True))
    # The same cube with its colours permuted: the letters go with the colours, not with the faces.
    turned = str.translate(reading.facelets, str.maketrans("URFDLB", "FURBDL"))
    named = colour_names(colours, order, turned)
    assert {named[new] for new in "F"} == {"W"}


def test_stickers_carry_the_letters_of_their_colours(monkeypatch):
    drawn = set()
    text = Canvas.text

    def noted(canvas, at, words, *more, **options):
        drawn.add(words)
        return text(canvas, at, words, *more, **options)

    monkeypatch.setattr(Canvas, "text", noted)
    colours = synthetic_scan(1, 3).colours
    explain(colours, read_cube(colours))
    assert {word for word in drawn if len(word) == 1} == set(NAMES)


def test_colours_that_nobody_has_a_letter_for_keep_the_faces_letters():
    colours = synthetic_scan(1, 3).colours
    reading = read_cube(colours)
    grey = replace(colours, linear_rgb=np.full_like(colours.linear_rgb, 0.2))
    assert colour_names(grey, np.arange(54), reading.facelets) == {}


BACK, INK = (10, 20, 30), (200, 100, 50)


def inked(canvas):
    """Where a canvas is of the ink's colour, as rows, columns: bool[height, width]."""
    return (canvas.picture() == INK).all(axis=2)


def bounds(mask):
    """Left, top, right, bottom of what is set; right and bottom are beyond it."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return columns[0], rows[0], columns[-1] + 1, rows[-1] + 1


@pytest.mark.parametrize("radius", [0.0, 8.0])
def test_a_box_fills_its_place_and_round_corners_are_left_free(radius):
    canvas = Canvas(60, 50, BACK)
    canvas.box((10, 8), (30, 20), INK, radius)
    mask = inked(canvas)
    assert np.abs(np.array(bounds(mask)) - (10, 8, 40, 28)).max() <= 1
    assert mask[18, 12:38].all() and mask[10:26, 25].all()
    corners = [mask[y, x] for y in (9, 26) for x in (11, 38)]
    assert corners == [radius == 0.0] * 4
    round_part = (4 - np.pi) * radius**2
    assert mask.sum() == pytest.approx(600 - round_part, abs=50)


@pytest.mark.parametrize(("height", "bold"), [(12, False), (12, True), (24, False)])
def test_words_stand_on_their_line_as_wide_as_is_said(height, bold):
    canvas = Canvas(200, 60, BACK)
    width = canvas.text((20, 40), "HEI", INK, height, bold)
    drawn = (canvas.picture() != BACK).any(axis=2)
    left, top, right, bottom = bounds(drawn)
    assert width == text_width("HEI", height, bold)
    assert left + 1 >= 20 and right <= 20 + width + 1 and right - left > 0.8 * width
    assert abs(bottom - 40) <= 2 and abs(bottom - top - height) <= 3
    strokes = drawn[30:38].sum()
    plain = Canvas(200, 60, BACK)
    plain.text((20, 40), "HEI", INK, height)
    assert strokes >= (plain.picture() != BACK).any(axis=2)[30:38].sum()


@pytest.mark.parametrize("side", [4, 400])
def test_a_picture_is_pasted_to_its_place_and_size(side):
    image = np.zeros((side, side, 3), dtype=np.uint8)
    image[:, : side // 2] = INK
    canvas = Canvas(60, 50, BACK)
    canvas.paste((12, 6), (20, 30), image)
    assert (canvas.picture()[:, [11, 32]] == BACK).all()
    assert (canvas.picture()[[5, 36]] == BACK).all()
    # Where it is made larger, the border between its halves is soft.
    assert np.abs(np.array(bounds(inked(canvas))) - (12, 6, 22, 36)).max() <= 3


def test_the_stickers_stand_as_on_an_unfolded_cube_and_by_their_hue():
    """Of as many colours as there are stickers each is found once, where it belongs."""
    steps = np.array([0.05, 0.16, 0.36, 0.7])
    light = np.array(np.meshgrid(steps, steps, steps)).reshape(3, -1).T[:54]
    colours = replace(synthetic_scan(1, 3).colours, linear_rgb=light.astype(np.float32))
    picture = explain(colours, Unreadable("all differ", (), "U")).astype(int)
    shown = linear_to_srgb(light * 0.9 / np.quantile(light.max(axis=1), 0.95))
    net, clusters = picture[:, :880], picture[:, 890:]

    def middle(part, colour):
        rows, columns = np.nonzero(np.abs(part - colour).max(axis=2) <= 1)
        return (float(np.median(rows)), float(np.median(columns))) if len(rows) else (-1.0, -1.0)

    at = np.array([middle(net, colour) for colour in shown]).reshape(6, 3, 3, 2)
    pitch = at[0, 1, 1, 0] - at[0, 0, 1, 0]
    assert np.abs(np.diff(at[..., 0], axis=1) - pitch).max() < 2
    assert np.abs(np.diff(at[..., 1], axis=2) - pitch).max() < 2
    assert np.abs(np.diff(at[..., 0], axis=2)).max() < 2
    faces = {face: at[number, 1, 1] for number, face in enumerate(FACES)}
    step = faces["R"][1] - faces["F"][1]
    assert 3 * pitch < step < 4 * pitch
    for face, row, column in (("U", -1, 0), ("L", 0, -1), ("R", 0, 1), ("B", 0, 2), ("D", 1, 0)):
        assert faces[face] == pytest.approx(faces["F"] + (row * step, column * step), abs=2)
    reds, blues = light[:, 0] / light[:, 1], light[:, 2] / light[:, 1]
    dots = np.array([middle(clusters, colour) for colour in shown])
    free = dots[:, 0] >= 0  # not behind another of its hue
    assert free.sum() > 12
    for values, places in ((reds, dots[:, 1]), (blues, -dots[:, 0])):
        assert places[free & (values > 4)].min() > places[free & (values < 1 / 4)].max()
