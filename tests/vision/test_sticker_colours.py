"""The value between measuring and deciding: conversions, checks, merging of looks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.errors import InvalidRequest
from vision.measure.sticker_colours import (
    FaceColours,
    StickerColours,
    linear_to_srgb,
    merge_faces,
    srgb_to_linear,
)


@given(st.lists(st.integers(0, 255), min_size=1, max_size=50))
def test_srgb_survives_linear_light(values):
    assert linear_to_srgb(srgb_to_linear(values)).tolist() == values


def test_absent_faces_count_as_unseen():
    face = FaceColours.from_light(np.full((9, 3), 0.5))
    colours = StickerColours.from_faces({"U": face, "R": face})
    assert colours.valid.sum() == 18
    assert not colours.valid[colours.face_slice("F")].any()


def part(light, spread=0.0, saturated=False, valid=True, **more):
    """A look at four stickers, all alike."""
    return FaceColours(
        np.full((4, 3), light, np.float32),
        np.full((4, 3), spread, np.float32),
        np.full(4, saturated),
        np.full(4, valid),
        **more,
    )


def test_two_looks_are_weighed_by_their_scatter_in_the_exposure_of_the_first():
    """Variances of what the spread is, after scaling, and two thousandths of noise."""
    first = part(0.6, spread=0.010)
    second = part(0.2, spread=0.002)
    second.linear_rgb[0] = 0.22
    merged = merge_faces([first, second])
    # Three times as bright: the median of three ratios of 3 and one of 2.7.
    weights = np.array([1 / 0.012**2, 1 / 0.008**2])
    share = weights / weights.sum()
    assert merged.linear_rgb[1] == pytest.approx([0.6] * 3)
    assert merged.linear_rgb[0] == pytest.approx([0.6 * share[0] + 0.66 * share[1]] * 3)
    assert merged.spread[0] == pytest.approx([0.010 * share[0] + 0.006 * share[1]] * 3)


@pytest.mark.parametrize(
    ("first", "second", "light", "saturated", "valid"),
    [
        # No sticker tells the exposures' ratio: it is taken to be 1.
        ({}, {"valid": False}, 0.6, False, True),
        ({"valid": False}, {}, 0.3, False, True),
        ({"valid": False}, {"valid": False}, None, False, False),
        ({"saturated": True}, {}, 0.3, False, True),
        ({}, {"saturated": True}, 0.6, False, True),
        ({"saturated": True}, {"saturated": True}, 0.45, True, True),
        ({"saturated": True}, {"valid": False}, 0.6, True, True),
        ({"valid": False}, {"saturated": True}, 0.3, True, True),
        # Never seen well: not valid is not saturated either.
        ({"saturated": True, "valid": False}, {}, 0.3, False, True),
        ({}, {"saturated": True, "valid": False}, 0.6, False, True),
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


@pytest.mark.parametrize(("first", "second", "camera"), [(0.8, 0.8, "a"), (0.7, 0.8, "b")])
def test_of_looks_as_good_the_first_tells_where_it_was_seen(first, second, camera):
    places = np.zeros((4, 2), np.float32)
    merged = merge_faces(
        [
            part(0.5, camera="a", fit=first, time_us=9, positions=places),
            part(0.5, camera="b", fit=second, time_us=5, positions=places + 1),
        ]
    )
    assert (merged.camera, merged.fit, merged.time_us) == (camera, 0.8, 9)
    assert merged.positions is not None and merged.positions.max() == (camera == "b")
    with pytest.raises(InvalidRequest, match="different sizes"):
        merge_faces([part(0.5), FaceColours.unseen(3)])
    alone = part(0.5)
    assert merge_faces([alone]) is alone


def changed(**values):
    return lambda: replace(part(0.5), **values)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (changed(linear_rgb=np.zeros((4, 2), np.float32)), "one colour and spread per"),
        (changed(spread=np.zeros((3, 3), np.float32)), "one colour and spread per sticker, 4 x 3"),
        (changed(saturated=np.zeros(3, bool)), "a face of 4 stickers needs as many flags"),
        (changed(valid=np.zeros(5, bool)), "a face of 4 stickers needs as many flags"),
        (lambda: StickerColours.from_faces({}), "faces are named U, R, F, D, L, B, not "),
        (lambda: StickerColours.from_faces({"X": part(0.5)}), "not X"),
        (
            lambda: StickerColours.from_faces({"U": part(0.5), "R": FaceColours.unseen(3)}),
            r"faces with \[4, 9\] stickers do not make one cube",
        ),
        (
            lambda: StickerColours.from_faces({"U": FaceColours.from_light(np.full((5, 3), 0.5))}),
            r"faces with \[5\] stickers",
        ),
        (
            lambda: StickerColours.from_faces({"U": FaceColours.unseen(8)}),
            "a cube of size 8: sizes",
        ),
        (
            lambda: StickerColours.from_faces({"U": FaceColours.unseen(1)}),
            "a cube of size 1: sizes",
        ),
        (lambda: StickerColours.from_srgb(1, [[0, 0, 0]] * 6), "a cube of size 1: sizes 2 to 7"),
        (lambda: StickerColours.from_srgb(2, [[0, 0, -1]] * 24), "between 0 and 255"),
        (lambda: StickerColours.from_srgb(2, [[0, 0, float("nan")]] * 24), "between 0 and 255"),
        (lambda: StickerColours.from_srgb(3, [[0, 0, 0]] * 53), "54 rgb triples"),
        (lambda: StickerColours.from_srgb(2, [["red", 0, 0]] * 24), "list of"),
    ],
)
def test_values_that_are_no_cubes_colours_are_named(make, says):
    with pytest.raises(InvalidRequest, match=says):
        make()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("linear_rgb", np.zeros((23, 3)), "a 2x2x2 has 24 stickers of 3 values, not .23, 3."),
        ("spread", np.zeros((24, 2)), "a 2x2x2 has 24 stickers"),
        ("saturated", np.zeros(25, bool), "24 stickers need as many flags"),
        ("valid", np.zeros(23, bool), "24 stickers need as many flags"),
        ("linear_rgb", np.full((24, 3), np.nan), "finite"),
    ],
)
def test_a_cube_needs_as_many_values_as_stickers(name, value, says):
    cube = StickerColours.from_faces(dict.fromkeys("URFDLB", part(0.5)))
    with pytest.raises(InvalidRequest, match=says):
        replace(cube, **{name: value})
    if says == "finite":  # what was not seen may be anything
        assert replace(cube, linear_rgb=value, valid=np.zeros(24, bool)).size == 2


def test_faces_stand_in_their_order_whatever_the_order_they_came_in():
    faces = {face: part(0.1 * number) for number, face in enumerate("URFDLB", 1)}
    cube = StickerColours.from_faces(dict(reversed(faces.items())))
    assert cube.size == 2
    for number, face in enumerate("URFDLB", 1):
        where = cube.face_slice(face)
        assert (where.start, where.stop) == (4 * number - 4, 4 * number)
        assert cube.linear_rgb[where] == pytest.approx(np.full((4, 3), 0.1 * number))
        assert cube.face(face) is faces[face]
        bare = replace(cube, looks={}).face(face)
        assert bare.linear_rgb == pytest.approx(faces[face].linear_rgb)
        assert (bare.camera, bare.fit) == ("", 1.0)


def test_a_channel_is_full_from_254_on():
    colours = StickerColours.from_srgb(2, [[253, 253, 253]] * 8 + [[0, 0, 254]] * 16)
    assert colours.saturated.tolist() == [False] * 8 + [True] * 16
    assert FaceColours.from_light([0.1, 0.2, 0.3] * 4).linear_rgb.shape == (4, 3)
    unseen = FaceColours.unseen(2)
    assert not unseen.valid.any() and not unseen.saturated.any() and unseen.fit == 0
    assert linear_to_srgb([-1.0, 0.0, 0.0031, 0.0032, 1.0, 2.0]).tolist() == [
        0,
        0,
        10,
        11,
        255,
        255,
    ]
    assert srgb_to_linear([10, 11, 255]) == pytest.approx([0.003035, 0.003347, 1.0], abs=1e-6)
