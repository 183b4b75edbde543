"""Turned, swapped, repeated and misaligned faces are put right and reported, or refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic_scans import synthetic_scan

from vision.consistency import Explanation, odd_face, only_explanation, repeated_face
from vision.reader import Unreadable, read_cube
from vision.sticker_colours import FACES, StickerColours

PLAIN = (0, 1, 2, 3, 4, 5)
STRAIGHT = (0, 0, 0, 0, 0, 0)


def spoilt(colours, source=PLAIN, turns=STRAIGHT):
    """The scan in which face ``p`` is picture ``source[p]``, turned clockwise by ``turns[p]``."""
    taken_back = Explanation(source, turns).stickers(colours.size)
    rgb = np.empty_like(colours.linear_rgb)
    rgb[taken_back] = colours.linear_rgb
    scan = {f: rgb[colours.face_slice(f)] for f in FACES}
    return StickerColours.of_faces({f: replace(colours.face(f), linear_rgb=scan[f]) for f in FACES})


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("turns", [(0, 1, 0, 0, 0, 0), (2, 0, 3, 0, 0, 0), (1, 2, 3, 3, 2, 1)])
def test_turned_faces_are_turned_back(size, turns):
    scan = synthetic_scan(3, size)
    seen = spoilt(scan.colours, turns=turns)
    explanation = only_explanation(seen)
    assert explanation is not None
    assert explanation.turns == turns
    assert explanation.applied(seen).linear_rgb == pytest.approx(scan.colours.linear_rgb)


def test_a_turned_face_of_a_pocket_cube_is_turned_back_or_left():
    """With corners alone several cubes may explain a turned face."""
    found = 0
    for seed in range(8):
        scan = synthetic_scan(seed, 2)
        explanation = only_explanation(spoilt(scan.colours, turns=(0, 0, 0, 1, 0, 0)))
        assert explanation is None or explanation.turns == (0, 0, 0, 1, 0, 0)
        found += explanation is not None
    assert found >= 4


def test_corrections_are_reported_with_the_reading():
    scan = synthetic_scan(4, 3)
    reading = read_cube(spoilt(scan.colours, turns=(0, 0, 3, 0, 0, 0)))
    assert reading.facelets == scan.facelets
    assert reading.corrections == (
        "face F was seen a quarter turn counterclockwise from how it should be",
    )
    assert sorted(reading.order) == list(range(54))


@pytest.mark.parametrize("swap", [(0, 2), (1, 4), (3, 5)])
def test_swapped_faces_are_put_back(swap):
    scan = synthetic_scan(5, 3)
    a, b = swap
    source = tuple({a: b, b: a}.get(i, i) for i in PLAIN)
    reading = read_cube(spoilt(scan.colours, source=source, turns=(0, 0, 0, 0, 1, 0)))
    assert reading.facelets == scan.facelets
    assert f"faces {FACES[a]} and {FACES[b]} were swapped" in reading.corrections


def test_a_good_scan_needs_no_explanation():
    for seed in range(10):
        colours = synthetic_scan(seed, 3).colours
        assert only_explanation(colours) is None
        assert repeated_face(colours) is None


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_same_face_seen_twice_is_named(size):
    colours = synthetic_scan(6, size).colours
    again = replace(colours.face("R"), linear_rgb=colours.face("R").linear_rgb * np.float32(0.9))
    scan = colours.with_look("B", again)
    assert repeated_face(scan) == ("R", "B")
    with pytest.raises(Unreadable, match="R and B show the same face") as refusal:
        read_cube(scan)
    assert refusal.value.look_again == "B"


def a_row_off(colours, letter, fill, size=3):
    grid = colours.face(letter).linear_rgb.reshape(size, size, 3)
    moved = np.concatenate([grid[1:], fill[None]]).astype(np.float32)
    look = replace(colours.face(letter), linear_rgb=moved.reshape(-1, 3))
    return colours.with_look(letter, look)


@pytest.mark.parametrize("seed", range(12))
def test_a_face_read_a_row_off_is_never_a_sure_wrong_cube(seed):
    scan = synthetic_scan(seed + 100, 3)
    rng = np.random.default_rng(seed)
    letter = FACES[rng.integers(6)]
    fills = (
        np.full((3, 3), 0.01),
        rng.uniform(0, 0.6, (1, 3)).repeat(3, axis=0),
        scan.colours.face(letter).linear_rgb[6:9],
    )
    seen = a_row_off(scan.colours, letter, fills[seed % 3])
    try:
        reading = read_cube(seen)
    except Unreadable as refusal:
        assert refusal.look_again in FACES
        assert str(refusal)
        return
    assert reading.facelets == scan.facelets or not reading.confident


def test_the_misaligned_face_is_named():
    named = 0
    for seed in range(10):
        colours = synthetic_scan(seed + 200, 3).colours
        letter = FACES[seed % 6]
        scan = a_row_off(colours, letter, np.full((3, 3), 0.02))
        named += odd_face(scan) == letter
    assert named >= 8
