"""How the daemon's memory is managed: what a job has used goes back to the system."""

from __future__ import annotations

import contextlib
import ctypes
import gc

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Of glibc's <malloc.h>."""

LARGE_BYTES = 128 * 1024
"""From this size on memory has a mapping of its own and goes back to the system when freed.

Said once, it stays: by itself glibc raises it to the largest block that was ever freed, and
pictures of 6 MB would lie between small things that stay.
"""


def keep_small() -> None:
    """One heap for all threads, and large blocks apart from it.

    Each new thread would have a heap of its own, of which hardly anything ever goes back. Does
    nothing where the C library is not glibc.
    """
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_ARENA_MAX, 1)
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Return to the system what is not used any more: cycles of objects, gaps in the heap."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
