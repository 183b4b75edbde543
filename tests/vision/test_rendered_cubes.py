"""From rendered photographs to cubes: right at the first look, and never sure of a wrong one.

``CUBIST_STRESS_CUBES`` sets how many cubes the long campaign renders.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.rig.scenes import RenderedCube, read_outcome, render_cube


def outcomes(cubes: Iterable[RenderedCube]) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    wrong = []
    for cube in cubes:
        result = read_outcome(cube)
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
