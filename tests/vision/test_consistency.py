"""Turned, swapped, repeated and misaligned faces are put right and reported, or refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from solver.cube.cube import Cube
from tests.rig.scans import (
    MIRRORED,
    PLAIN,
    altered,
    classic,
    moved,
    outcome,
    synthetic_scan,
    turned,
    two_turns_from_solved,
    with_look,
)
from vision.decide.arrangements import Explanation
from vision.decide.consistency import UNIQUE, explain_scan, odd_face, repeated_face
from vision.decide.reader import Unreadable, read_cube
from vision.measure.sticker_colours import FACES, StickerColours


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("turns", [(0, 1, 0, 0, 0, 0), (2, 0, 3, 0, 0, 0), (0, 1, 3, 0, 2, 0)])
def test_turned_faces_are_turned_back(size, turns):
    scan = synthetic_scan(3, size)
    seen = altered(scan.colours, Explanation(PLAIN, turns))
    found = explain_scan(seen)
    assert found.is_sure
    assert found.best.turns == turns
    assert found.best.correct(seen).linear_rgb == pytest.approx(scan.colours.linear_rgb)


def test_six_pictures_turned_at_random_may_have_been_exchanged_too():
    """Held otherwise, the same cube needs four pictures exchanged and fewer of them turned."""
    found = explain_scan(altered(synthetic_scan(3).colours, Explanation(PLAIN, (1, 2, 3, 3, 2, 1))))
    assert not found.is_sure
    assert found.rival is not None


def test_a_turned_face_of_a_pocket_cube_is_turned_back_or_left():
    """With corners alone several cubes may explain a turned face."""
    found = 0
    for seed in range(8):
        explanation = explain_scan(altered(synthetic_scan(seed, 2).colours, turned("D", 1)))
        assert not explanation.is_sure or explanation.best.turns == (0, 0, 0, 1, 0, 0)
        found += explanation.is_sure
    assert found >= 4


RANDOM = Cube.random(np.random.default_rng(11)).facelets()


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (MIRRORED, "all pictures were mirrored"),
        (Explanation(PLAIN, (3,) * 6), "all faces were seen a quarter turn counterclockwise"),
        (moved({0: 1, 1: 2, 2: 0}), "face U in picture R, R in picture F, F in picture U"),
        (moved({1: 4, 4: 1}), "faces R and L were swapped"),
        (turned("B", 2), "face B was seen half a turn"),
    ],
)
def test_every_common_mistake_is_put_right_and_told(mistake, told):
    reading = read_cube(altered(classic(RANDOM), mistake))
    assert (reading.facelets, reading.confident) == (RANDOM, True)
    assert told in "; ".join(reading.corrections)


def test_without_usual_colours_mirrored_pictures_are_never_told_from_a_swap():
    """Mirrored pictures, and R and L swapped: equally good cubes, each the other's mirror image."""
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


def test_pictures_of_a_symmetrical_cube_swapped_show_in_the_order_of_the_colours():
    """A cross on every face with R and L swapped is a legal cube, of a scheme that nobody sells."""
    cross = "DUDUUUDUDFRFRRRFRFRFRFFFRFRUDUDDDUDUBLBLLLBLBLBLBBBLBL"
    assert read_cube(classic(cross)).confident
    assert not read_cube(altered(classic(cross), moved({1: 4, 4: 1}))).confident


@pytest.mark.parametrize(
    ("moves", "mistake", "decided"),
    [
        ("U' D", turned("R", 3), True),
        ("R U", turned("F", 1), True),
        ("F2 B2", turned("U", 1), False),
        ("L2 U", turned("B", 2), True),
    ],
)
def test_the_simplest_of_several_explanations_is_taken_if_it_is_alone(moves, mistake, decided):
    """Near the solved cube swapped and turned pictures explain what one turned picture does; and
    of ``F2 B2`` with U turned no one can say whether it was U or D.
    """
    truth = Cube.solved().apply(moves).facelets()
    seen = altered(classic(truth), mistake)
    reading = read_cube(seen)
    assert reading.confident == decided
    if decided:
        assert reading.facelets == truth
    else:
        assert reading.look_again in FACES
        assert explain_scan(seen).lead < UNIQUE


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_turns_from_solved_with_any_picture_turned():
    counts = Counter()
    for _, truth in two_turns_from_solved():
        colours = classic(truth)
        for face, quarters in product(FACES, (1, 2, 3)):
            counts[outcome(colours, truth, turned(face, quarters))] += 1
    assert counts["wrong"] == 0
    assert counts["right"] > 0.9 * counts.total(), counts


def test_a_good_scan_needs_no_explanation():
    for seed in range(10):
        colours = synthetic_scan(seed, 3).colours
        assert explain_scan(colours).as_it_came
        assert repeated_face(colours) is None


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_same_face_seen_twice_is_named(size):
    colours = synthetic_scan(6, size).colours
    again = replace(colours.face("R"), linear_rgb=colours.face("R").linear_rgb * np.float32(0.9))
    scan = with_look(colours, "B", again)
    assert repeated_face(scan) == ("R", "B")
    with pytest.raises(Unreadable, match="R and B show the same face") as refusal:
        read_cube(scan)
    assert refusal.value.look_again == "B"


def a_row_off(colours, letter, fill, size=3):
    grid = colours.face(letter).linear_rgb.reshape(size, size, 3)
    moved = np.concatenate([grid[1:], fill[None]]).astype(np.float32)
    look = replace(colours.face(letter), linear_rgb=moved.reshape(-1, 3))
    return with_look(colours, letter, look)


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
