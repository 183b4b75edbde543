"""What may have happened to six pictures: how likely each mistake is, and how it is told."""

from __future__ import annotations

import numpy as np
import pytest

from vision.decide.arrangements import Explanation, LeastPriors, all_turns, priors, symmetries
from vision.measure.sticker_colours import FACES, FaceColours, StickerColours

PLAIN = (0, 1, 2, 3, 4, 5)
NONE = (0,) * 6
SWAPPED, CYCLED = (1, 0, 2, 3, 4, 5), (1, 2, 0, 3, 4, 5)
FOUR, FIVE, ALL = (1, 2, 3, 0, 4, 5), (1, 2, 3, 4, 0, 5), (1, 2, 3, 4, 5, 0)


@pytest.mark.parametrize(
    ("source", "turns", "mirrored", "against"),
    [
        (PLAIN, NONE, False, 0),
        (PLAIN, (0, 0, 1, 0, 0, 0), False, 4),
        (PLAIN, (0, 0, 1, 0, 0, 3), False, 4 + 4 + 3),
        (PLAIN, (2, 0, 1, 0, 0, 3), False, 3 * 4 + 2 * 3),
        (PLAIN, (1,) * 6, False, 6),
        (PLAIN, (3,) * 6, False, 6),
        # All turned alike but one: one mistake more, and cheaper than five alone.
        (PLAIN, (2, 2, 2, 2, 2, 0), False, 6 + 4 + 3),
        (PLAIN, (2, 2, 2, 2, 1, 0), False, 6 + 2 * (4 + 3)),
        (PLAIN, (2, 2, 0, 0, 0, 0), False, 4 + 4 + 3),
        (PLAIN, NONE, True, 6),
        (PLAIN, (1, 0, 0, 0, 0, 0), True, 6 + 4 + 3),
        (PLAIN, (1,) * 6, True, 6 + 6 + 3),
        (SWAPPED, NONE, False, 6),
        (SWAPPED, NONE, True, 6 + 6 + 3),
        (SWAPPED, (0, 0, 0, 0, 3, 0), False, 6 + 4 + 3),
        (SWAPPED, (0, 0, 0, 0, 3, 0), True, 6 + 6 + 4 + 2 * 3),
        (CYCLED, NONE, False, 9),
        (FOUR, NONE, False, 14),
        (FIVE, NONE, False, 30),
        (ALL, NONE, False, 30),
        (ALL, (0, 1, 0, 0, 0, 0), False, 30 + 4 + 3),
    ],
)
def test_every_mistake_after_the_first_is_less_likely(
    source: tuple[int, ...], turns: tuple[int, ...], mirrored: bool, against: float
) -> None:
    one = Explanation(source, turns, mirrored)
    assert one.prior == pytest.approx(against)
    assert one.is_plain == (against == 0)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (Explanation(PLAIN, NONE), ()),
        (Explanation(PLAIN, NONE, True), ("all pictures were mirrored",)),
        (Explanation(SWAPPED, NONE), ("faces U and R were swapped",)),
        (
            Explanation(CYCLED, NONE),
            ("pictures were exchanged: face U in picture R, R in picture F, F in picture U",),
        ),
        (
            Explanation(PLAIN, (2,) * 6),
            ("all faces were seen half a turn from how they should be",),
        ),
        (
            Explanation(SWAPPED, (1, 0, 0, 0, 0, 3), True),
            (
                "all pictures were mirrored",
                "faces U and R were swapped",
                "face U was seen a quarter turn clockwise from how it should be",
                "face B was seen a quarter turn counterclockwise from how it should be",
            ),
        ),
    ],
)
def test_mistakes_are_told_one_by_one(one: Explanation, told: tuple[str, ...]) -> None:
    assert one.mistakes == told


def test_two_explanations_differ_first_in_their_order_then_in_their_turns() -> None:
    plain = Explanation(PLAIN, NONE)
    assert plain.differing_face(plain) == "U"
    assert plain.differing_face(Explanation(PLAIN, (0, 0, 0, 2, 1, 0))) == "D"
    assert plain.differing_face(Explanation((0, 1, 2, 3, 5, 4), (1, 0, 0, 0, 0, 0))) == "L"


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_scan_put_right_takes_every_sticker_from_its_picture(size: int, mirrored: bool) -> None:
    """Turned clockwise by each number of quarters, after all were mirrored."""
    count = 6 * size * size
    light = np.arange(3 * count, dtype=np.float32).reshape(count, 3) / (3 * count)
    true = {
        face: FaceColours(
            part,
            part / 8,
            part[:, 0] > 0.5,
            part[:, 1] > 0.2,
            camera=face,
            positions=part[:, :2] if face != "B" else None,
        )
        for face, part in zip(FACES, np.split(light, 6), strict=True)
    }
    turns, source = (0, 1, 2, 3, 1, 2), (3, 0, 1, 2, 5, 4)

    def seen(values: np.ndarray, turn: int) -> np.ndarray:
        grid = values.reshape(size, size, -1)
        grid = np.rot90(grid, -turn)
        grid = grid[:, ::-1] if mirrored else grid
        return grid.reshape(values.shape)

    pictures = {}
    for face, turn, origin in zip(FACES, turns, source, strict=True):
        look = true[face]
        parts = (look.linear_rgb, look.spread, look.saturated, look.valid)
        positions = None if look.positions is None else seen(look.positions, turn)
        pictures[FACES[origin]] = FaceColours(
            *(seen(part, turn) for part in parts), camera=face, positions=positions
        )
    scan = StickerColours.from_faces(pictures)
    ways = [
        one
        for way in (turns, tuple(-turn % 4 for turn in turns))
        if np.array_equal(
            (one := Explanation(source, way, mirrored)).correct(scan).linear_rgb, light
        )
    ]
    (one,) = ways
    assert one.turns == (turns if not mirrored else one.turns)
    right = one.correct(scan)
    assert np.array_equal(scan.linear_rgb[one.stickers(size)], light)
    for face in FACES:
        look, wanted = right.face(face), true[face]
        for name in ("linear_rgb", "spread", "saturated", "valid"):
            assert np.array_equal(getattr(look, name), getattr(wanted, name))
        assert look.camera == face
        assert (look.positions is None) == (wanted.positions is None)
        assert wanted.positions is None or np.array_equal(look.positions, wanted.positions)


@pytest.mark.parametrize("source", [PLAIN, SWAPPED, ALL])
def test_the_least_priors_bound_all_ways_to_hold_the_cube(source: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    against = rng.uniform(0, 5, 48)
    least = LeastPriors(source, against)
    turns = rng.integers(0, 4096, 200)
    held, turned = symmetries().equivalents(np.array([source] * 200), all_turns()[turns])
    every = priors(held, turned, symmetries().mirrors) + against
    found, exact = least.bounds_for(turns), every.min(axis=1)
    assert (found <= exact + 1e-9).all()
    assert found[exact < 30] == pytest.approx(exact[exact < 30])
    assert (least.floor[turns] <= found + 1e-9).all()
    assert all_turns()[[0, 1, 4095]].tolist() == [[0] * 6, [0, 0, 0, 0, 0, 1], [3] * 6]
