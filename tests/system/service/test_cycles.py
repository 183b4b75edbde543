"""Memory: neither the daemon over many solves nor `cubist solve -` over many cubes grows."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.rig.footprint import (
    SETTLED,
    Footprints,
    anonymous_kb,
    footprints_of,
    seen_by_large_cameras,
)

ANONYMOUS_KB = 112_000
RESIDENT_KB = 210_000
"""With the tables of the search and the libraries, which are mapped files. How much of a library is
mapped when it is used is up to the kernel; the daemon lets go of it after each job."""

GROWTH_KB = 2_000
SPARE_THREADS = 4

# The simulated robot runs in this process: traced line by line it is too slow for its board, and
# what is watched here is another process.
pytestmark = pytest.mark.no_cover


def assert_small(held: Footprints) -> None:
    """The worst moment counts, not a usual one: a Pi has no memory to spare even once."""
    assert held.anonymous_peak_kb <= ANONYMOUS_KB, held
    assert held.resident_peak_kb <= RESIDENT_KB, held
    assert held.growth_kb < GROWTH_KB, held
    settled = held.settled
    assert max(one.files for one in settled) <= settled[0].files + 1, held
    # Python's pool has a thread more for each time that all were busy.
    assert max(one.threads for one in settled) <= settled[0].threads + SPARE_THREADS, held


LONG = pytest.mark.long, pytest.mark.timeout(3600)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("cubotino", 1),
        *(pytest.param(name, 50, marks=LONG) for name in ("cubotino", "two-arm", "six-motor")),
    ],
)
async def test_memory_and_descriptors_do_not_grow_with_jobs(name, count, short_folder):
    """Every day one solve says how much it is at its peak."""
    settled = min(SETTLED, count)
    assert_small(await footprints_of(seen_by_large_cameras(name), short_folder, count, settled))


STREAM_GROWTH_KB = 1_000
"""Usually it is under 300, 900 for thousands of cubes; one more heap of a thread takes 1,600."""
FIRST_CUBES = 10

SEARCHES = (["--algorithm", "thistlethwaite"], ["--robot", "cubotino", "--time-limit", "0.05"])


@pytest.mark.parametrize("count", [80, pytest.param(2000, marks=LONG)])
@pytest.mark.parametrize("options", SEARCHES)
def test_many_cubes_take_no_more_than_a_few(options, count):
    held = anonymous_kb(count, options)
    first = max(islice(held, FIRST_CUBES))
    assert max(held) - first < STREAM_GROWTH_KB
