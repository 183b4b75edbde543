"""Numbers of threads."""

from __future__ import annotations

import os

MOST_THREADS = 16
"""Maximum threads of a search, which gains little from more."""


def processors() -> int:
    """Return the number of processors that this process may use (``taskset``, systemd)."""
    return len(os.sched_getaffinity(0))


def search_processors() -> int:
    """Return the number of threads for a search of low priority: one for each processor."""
    return min(processors(), MOST_THREADS)


def spare_processors() -> int:
    """Return the number of threads for a search that leaves one processor to other programs."""
    return max(1, min(processors() - 1, MOST_THREADS))
