"""From rendered photographs to cubes: right at the first look, and never sure of a wrong one.

``CUBIST_STRESS_CUBES`` sets how many cubes the long campaign renders.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from rendered_cubes import FACES, RenderedCube, render_cube

from solver.cube.pocket import PocketCube
from vision.decide.reader import Unreadable, read_cube
from vision.locate.face import NoFace
from vision.locate.six_faces import look_at_frames


def is_true(cube: RenderedCube, facelets: str) -> bool:
    """Whether a reading is right: 2x2x2 with the DBL corner taken as solved; 4x4x4 and 6x6x6,
    whose colours have no places of their own, up to the names of the colours.
    """
    if cube.size == 2:
        return facelets == PocketCube.from_facelets(cube.facelets).relative.facelets()
    if cube.size % 2 == 0:
        return _pattern(facelets) == _pattern(cube.facelets)
    return facelets == cube.facelets


def _pattern(facelets: str) -> list[int]:
    """Every letter as the place where it first occurs."""
    return [facelets.index(letter) for letter in facelets]


def outcome(cube: RenderedCube) -> str:
    """``right``, ``unsure``, ``refused`` or, the worst, ``wrong``."""
    try:
        reading = read_cube(look_at_frames(cube.frames).colours)
    except (NoFace, Unreadable):
        return "refused"
    if not reading.confident:
        return "unsure"
    return "right" if is_true(cube, reading.facelets) else "wrong"


def outcomes(cubes: Iterable[RenderedCube]) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    wrong = []
    for cube in cubes:
        result = outcome(cube)
        counts[result] += 1
        if result == "wrong":
            wrong.append(cube.about)
    return counts, wrong


@pytest.mark.parametrize(("size", "least"), [(2, 11), (3, 11), (4, 3), (5, 3)])
def test_cubes_are_read_from_photographs(size: int, least: int) -> None:
    count = 12 if size < 4 else 6
    counts, wrong = outcomes(render_cube(10_000 + seed, size) for seed in range(count))
    assert not wrong
    assert counts["right"] >= least, counts


@pytest.mark.long
@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("size", [3, 2])
def test_campaign(size: int) -> None:
    count = int(os.environ.get("CUBIST_STRESS_CUBES", "2000"))
    counts, wrong = outcomes(render_cube(20_000 + seed, size) for seed in range(count))
    assert not wrong
    assert counts["right"] >= 0.98 * count, counts


def test_a_seed_always_gives_the_same_pictures() -> None:
    first, second = render_cube(3, 3), render_cube(3, 3)
    assert first.facelets == second.facelets
    for face in FACES:
        assert np.array_equal(first.frames[face].image, second.frames[face].image)


def test_corners_are_where_the_stickers_are() -> None:
    cube = render_cube(30, 3, stickerless=False, max_tilt=5)
    image = cube.frames["F"].image
    height, width = image.shape[:2]
    for x, y in cube.corners["F"]:
        assert 0 <= x < width
        assert 0 <= y < height
    edge = (cube.corners["F"][0] + cube.corners["F"][1]) / 2
    middle = cube.corners["F"].mean(axis=0)
    inside = edge + 0.02 * (middle - edge)
    x, y = np.round(inside).astype(int)
    assert image[y, x].max() <= image[int(middle[1]), int(middle[0])].max() + 60
