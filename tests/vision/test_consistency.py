"""Turned, swapped, repeated and misaligned faces are corrected and reported, or refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from solver.cube.cube import Cube
from tests.rig.scans import (
    MIRRORED,
    PLAIN,
    altered,
    classic,
    moved,
    synthetic_scan,
    turned,
    with_look,
)
from tests.rig.scenes import outcome_of
from vision.decide.arrangements import Explanation
from vision.decide.consistency import UNIQUE, odd_face
from vision.decide.reader import Unreadable, read_cube
from vision.measure.sticker_colours import FACES, StickerColours

SWAPPED, CYCLED = (1, 0, 2, 3, 4, 5), (1, 2, 0, 3, 4, 5)
FOUR, FIVE, ALL = (1, 2, 3, 0, 4, 5), (1, 2, 3, 4, 0, 5), (1, 2, 3, 4, 5, 0)


@pytest.mark.parametrize(
    ("source", "turns", "mirrored", "against", "told"),
    [
        (PLAIN, "000000", False, 0, ""),
        (PLAIN, "001000", False, 4, "face F was seen rotated by a quarter turn clockwise"),
        (
            PLAIN,
            "201003",
            False,
            3 * 4 + 2 * 3,
            "face B was seen rotated by a quarter turn counterclockwise",
        ),
        (
            PLAIN,
            "333333",
            False,
            6,
            "all faces were seen rotated by a quarter turn counterclockwise",
        ),
        # All turned alike but one: one mistake more, and cheaper than five alone.
        (PLAIN, "222220", False, 6 + 4 + 3, "face U was seen rotated by half a turn"),
        (PLAIN, "222210", False, 6 + 2 * (4 + 3), "half a turn"),
        (PLAIN, "220000", False, 4 + 4 + 3, "half a turn"),
        (PLAIN, "000000", True, 6, "all pictures were mirrored"),
        (
            PLAIN,
            "111111",
            True,
            6 + 6 + 3,
            "all faces were seen rotated by a quarter turn clockwise",
        ),
        (SWAPPED, "000000", False, 6, "faces U and R were swapped"),
        (SWAPPED, "000030", True, 6 + 6 + 4 + 2 * 3, "face L was seen"),
        (CYCLED, "000000", False, 9, "face U in picture R, R in picture F, F in picture U"),
        (FOUR, "000000", False, 14, "pictures were exchanged"),
        (FIVE, "000000", False, 30, "pictures were exchanged"),
        (ALL, "010000", False, 30 + 4 + 3, "pictures were exchanged"),
    ],
)
def test_every_mistake_after_the_first_is_less_likely(source, turns, mirrored, against, told):
    one = Explanation(source, tuple(map(int, turns)), mirrored)
    assert one.prior == pytest.approx(against)
    assert one.is_plain == (against == 0)
    assert told in "; ".join(one.mistakes) and bool(one.mistakes) == (against > 0)
    assert one.is_mirrored_only == (told == "all pictures were mirrored")
    assert one.differing_face(one) == "U"


RANDOM = Cube.random(np.random.default_rng(11)).facelets()
CROSS = "DUDUUUDUDFRFRRRFRFRFRFFFRFRUDUDDDUDUBLBLLLBLBLBLBBBLBL"


@pytest.mark.parametrize(
    ("truth", "mistake", "decided"),
    [
        (RANDOM, MIRRORED, True),
        (RANDOM, Explanation(PLAIN, (3,) * 6), True),
        (RANDOM, moved({0: 1, 1: 2, 2: 0}), True),
        (RANDOM, moved({1: 4, 4: 1}), True),
        # Near the solved cube, swapped and turned pictures explain the same as one turned picture;
        # and for F2 B2 with U turned nobody can say whether it was U or D.
        ("U' D", turned("R", 3), True),
        ("R U", turned("F", 1), True),
        ("F2 B2", turned("U", 1), False),
        # A cross on every face with R and L swapped is legal, in a colour scheme that nobody sells.
        (CROSS, moved({1: 4, 4: 1}), False),
    ],
)
def test_the_simplest_of_several_explanations_is_taken_if_it_is_alone(truth, mistake, decided):
    if len(truth) < 54:
        truth = Cube.solved().apply(truth).facelets()
    reading = read_cube(altered(classic(truth), mistake))
    assert reading.confident == decided
    if decided:
        assert reading.facelets == truth
        assert truth != RANDOM or reading.corrections == mistake.mistakes
    else:
        assert reading.look_again in FACES and reading.margin < UNIQUE


def test_without_usual_colours_mirrored_pictures_are_never_told_from_a_swap():
    """Mirror the pictures, or swap R and L: equally good cubes, each the other's mirror image."""
    order = [2, 0, 1, 4, 5, 3]
    rgb = np.array([[250, 120, 190], [20, 20, 25], [120, 70, 30], [130, 130, 130], [90, 30, 140],
                    [120, 220, 220]], dtype=np.float64)  # fmt: skip
    stickers = np.array([rgb[order[FACES.index(letter)]] for letter in RANDOM])
    colours = StickerColours.from_srgb(3, stickers)
    assert read_cube(colours).confident
    for mistake in (MIRRORED, moved({1: 4, 4: 1})):
        reading = read_cube(altered(colours, mistake))
        assert not reading.confident
        assert reading.look_again in FACES


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_same_face_seen_twice_is_named(size):
    colours = synthetic_scan(6, size).colours
    again = replace(colours.face("R"), linear_rgb=colours.face("R").linear_rgb * np.float32(0.9))
    with pytest.raises(Unreadable, match="R and B show the same face") as refusal:
        read_cube(with_look(colours, "B", again))
    assert refusal.value.look_again == "B"


def a_row_off(colours: StickerColours, letter: str, fill: np.ndarray) -> StickerColours:
    """Return a 3x3x3 with a face read one row too low and ``fill`` in its last row."""
    grid = colours.face(letter).linear_rgb.reshape(3, 3, 3)
    light = np.concatenate([grid[1:], fill[None]]).astype(np.float32).reshape(-1, 3)
    return with_look(colours, letter, replace(colours.face(letter), linear_rgb=light))


@pytest.mark.parametrize("kind", ["dark", "of one colour", "the row below twice"])
def test_a_face_read_a_row_off_is_never_a_sure_wrong_cube(kind):
    counts: Counter[str] = Counter()
    named = 0
    for seed in range(4):
        scan = synthetic_scan(seed + 100, 3)
        rng = np.random.default_rng(seed)
        letter = FACES[rng.integers(6)]
        fill = {
            "dark": np.full((3, 3), 0.01),
            "of one colour": rng.uniform(0, 0.6, (1, 3)).repeat(3, axis=0),
            "the row below twice": scan.colours.face(letter).linear_rgb[6:9],
        }[kind]
        seen = a_row_off(scan.colours, letter, fill)
        counts[outcome_of(lambda seen=seen: read_cube(seen), scan.facelets)] += 1
        named += odd_face(seen) == letter
    assert counts["wrong"] == 0
    assert named >= 3
