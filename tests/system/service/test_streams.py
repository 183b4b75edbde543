"""A thousand cubes are one process of `cubist solve -`, which does not grow with them."""

from __future__ import annotations

from itertools import islice

import pytest
from streams import anonymous_kb

GROWTH_KB = 1_000
"""Usually it is under 300, 900 for thousands of cubes; one more heap of a thread takes 1,600."""
SETTLED = 10

SEARCHES = (["--algorithm", "thistlethwaite"], ["--robot", "cubotino", "--time-limit", "0.1"])


def growth_kb(count: int, options: list[str]) -> int:
    """From the first few cubes to the most ever held after that."""
    held = anonymous_kb(count, options)
    first = max(islice(held, SETTLED))
    return max(held) - first


@pytest.mark.parametrize("options", SEARCHES)
def test_many_cubes_take_no_more_than_a_few(options: list[str]) -> None:
    assert growth_kb(80, options) < GROWTH_KB


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("options", SEARCHES)
def test_thousands_of_cubes_take_no_more_than_a_few(options: list[str]) -> None:
    assert growth_kb(2000, options) < GROWTH_KB
