"""Numbers of threads."""

from __future__ import annotations

import os

MOST_THREADS = 16
"""A search gains little from more."""


def processors() -> int:
    """The processors this process may use (``taskset``, systemd)."""
    return len(os.sched_getaffinity(0))


def search_processors() -> int:
    """Threads for a search that gives way to everything else: one for each processor."""
    return min(processors(), MOST_THREADS)


def spare_processors() -> int:
    """Threads for a search: all but one processor, which is left to other programs."""
    return max(1, min(processors() - 1, MOST_THREADS))
