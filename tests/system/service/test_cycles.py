"""Memory: neither the daemon over many solves nor `cubist solve -` over many cubes grows."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.rig.footprint import SETTLED, anonymous_kb, footprints_of, seen_by_large_cameras

ANONYMOUS_KB = 112_000
RESIDENT_KB = 210_000
"""Limit including the search tables and the libraries, which are mapped files.

The kernel decides how much of a library in use is mapped; the daemon releases it after each job.
"""

GROWTH_KB = 2_000
SPARE_THREADS = 4

# The simulated robot runs in this process. Traced line by line it would be too slow for its board,
# and the process measured here is another one.
pytestmark = pytest.mark.no_cover
LONG = pytest.mark.long, pytest.mark.timeout(3600)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("cubotino", 1),
        *(pytest.param(name, 50, marks=LONG) for name in ("cubotino", "two-arm", "six-motor")),
    ],
)
async def test_memory_and_descriptors_do_not_grow_with_jobs(name, count, short_folder):
    """Check the peak of one solve daily, and the growth over many in the long run.

    The peak counts rather than the usual use: a Pi has no memory to spare even once.
    """
    profile = seen_by_large_cameras(name)
    held = await footprints_of(profile, short_folder, count, min(SETTLED, count))
    assert held.anonymous_peak_kb <= ANONYMOUS_KB, held
    assert held.resident_peak_kb <= RESIDENT_KB, held
    assert held.growth_kb < GROWTH_KB, held
    assert max(one.files for one in held.settled) <= held.settled[0].files + 1, held
    # Python's pool adds a thread each time that all were busy.
    assert max(one.threads for one in held.settled) <= held.settled[0].threads + SPARE_THREADS, held


STREAM_GROWTH_KB = 2_500
"""Allowed growth. Usual: under 300 for 80 cubes; it levels off at 1,900 after some 1,500."""
FIRST_CUBES = 10

SEARCHES = (["--algorithm", "thistlethwaite"], ["--robot", "cubotino", "--time-limit", "0.05"])


@pytest.mark.parametrize("count", [80, pytest.param(2000, marks=LONG)])
@pytest.mark.parametrize("options", SEARCHES)
def test_many_cubes_take_no_more_than_a_few(options, count):
    held = anonymous_kb(count, options)
    first = max(islice(held, FIRST_CUBES))
    assert max(held) - first < STREAM_GROWTH_KB
