"""Lattices among thousands of patches, as a picture full of texture has them."""

from __future__ import annotations

import tracemalloc
from itertools import chain

import numpy as np
import pytest

from vision.locate import lattice
from vision.locate.lattice import Blobs, find_lattices

WHOLE_TABLES = 2**40


def squares(centres: np.ndarray, sides: np.ndarray) -> Blobs:
    """Upright squares with sides in pixels."""
    shapes = np.square(sides)[:, None, None] / 12.0 * np.eye(2)
    return Blobs(centres.astype(np.float64), np.square(sides).astype(np.float64), shapes)


def texture(count: int, seed: int) -> Blobs:
    """A face of nine stickers among squares anywhere, as dense in every picture."""
    rng = np.random.default_rng(seed)
    width = 30.0 * count**0.5
    anywhere = squares(rng.uniform(0, width, (count, 2)), rng.uniform(6, 12, count))
    columns, rows = np.meshgrid(np.arange(3), np.arange(3))
    nodes = np.stack([columns.ravel(), rows.ravel()], axis=-1)
    return anywhere.joined(squares(width / 2 + 30.0 * nodes, np.full(9, 25.0)))


def found_in(blobs: Blobs) -> list[np.ndarray]:
    distinct = blobs.distinct()
    lattices = find_lattices(distinct)
    parts = [(each.nodes, each.blobs, each.homography) for each in lattices]
    return [distinct.centres, distinct.areas, *chain.from_iterable(parts)]


@pytest.mark.parametrize("pairs", [1, 97, 1000, 4321])
def test_how_many_pairs_are_looked_at_together_changes_nothing(
    pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        blobs = texture(60, seed)
        monkeypatch.setattr(lattice, "_PAIRS", WHOLE_TABLES)
        expected = found_in(blobs)
        monkeypatch.setattr(lattice, "_PAIRS", pairs)
        found = found_in(blobs)
        assert len(expected) > 2, "no lattice was found: nothing is compared"
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_of_patches_that_share_a_centre_the_largest_stays() -> None:
    """In any order, and however far apart they stand in the list."""
    middles = np.array([[100.0 * number, 50.0] for number in range(40)])
    inner = squares(middles + 1.0, np.full(40, 20.0))
    for side in (21.0, 60.0):
        outer = squares(middles, np.full(40, side))
        for both in (inner.joined(outer), outer.joined(inner)):
            assert sorted(both.distinct().centres.tolist()) == middles.tolist()
    beside = squares(middles + np.array([7.0, 0.0]), np.full(40, 21.0))
    assert len(inner.joined(beside).distinct()) == 80


def test_the_outline_of_a_face_does_not_stand_for_its_middle_sticker() -> None:
    nodes = np.array([[x, y] for y in range(3) for x in range(3)])
    stickers = squares(30.0 * nodes, np.full(9, 27.0))
    outline = squares(np.array([[30.0, 30.0]]), np.array([90.0]))
    assert len(stickers.joined(outline).distinct()) == 10


def test_a_row_without_patches_leaves_a_lattice_of_the_rows_beside_it() -> None:
    """As a reflection across the middle of a 3x3x3 leaves them."""
    nodes = np.array([[x, y] for y in (0, 2) for x in range(3)])
    blobs = squares(30.0 * nodes, np.full(6, 27.0))
    assert find_lattices(blobs) == []
    (found, *_) = find_lattices(blobs, gaps=True)
    steps = found.nodes - found.nodes.min(axis=0)
    assert sorted(map(tuple, steps.tolist())) == sorted(map(tuple, nodes.tolist()))
    assert np.linalg.norm(found.homography[:2, :2], axis=0) == pytest.approx([30.0, 30.0])


def test_a_face_is_found_once_from_whichever_sticker() -> None:
    nodes = np.array([[x, y] for y in range(3) for x in range(3)])
    (found,) = find_lattices(squares(30.0 * nodes, np.full(9, 27.0)))
    assert sorted(found.blobs.tolist()) == list(range(9))


def test_memory_does_not_grow_with_the_pairs_of_patches() -> None:
    blobs = texture(4000, 1)
    tracemalloc.start()
    try:
        assert find_lattices(blobs.distinct())
        assert tracemalloc.get_traced_memory()[1] < 25e6
    finally:
        tracemalloc.stop()
