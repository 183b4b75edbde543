"""Memory of a long process: return to the system what a job has used."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import mmap
import os
import re
import sys
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Of glibc's <malloc.h>."""

LARGE_BYTES = 128 * 1024
"""From this size on memory has a mapping of its own and goes back to the system when freed.

Said once, it stays: by itself glibc raises it to the largest block that was ever freed, and
pictures of 6 MB would lie between small things that stay.
"""

_MAPPING = re.compile(
    r"(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) (?P<rights>\S{4}) \S+ \S+ \d+ +(?P<path>.*)"
)
"""The first line of a mapping in smaps."""


def keep_small() -> None:
    """Use one heap for all threads, and keep large blocks apart from it.

    Each new thread would have a heap of its own, of which hardly anything ever goes back. Does
    nothing where the C library is not glibc.
    """
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_ARENA_MAX, 1)
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Return to the system what is not used any more: cycles of objects, gaps in the heap, pages of
    libraries."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    release_library_pages()


def release_library_pages() -> None:
    """Release the pages of libraries; those that are needed come back from the page cache.

    Importing a library touches much of it once, and the kernel maps more around each page.
    Only what was imported by the first call is let go of: that stays where it is for good, while
    another thread may put something else where a library was that is unloaded.
    """
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        for start, size in find_libraries():
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


@functools.cache
def find_libraries() -> tuple[tuple[int, int], ...]:
    """Return address and size of the mappings of libraries that equal their files.

    What the loader has changed (``Anonymous``) is nowhere else, and so are writable data.
    """
    found: list[tuple[int, int]] = []
    start = size = 0
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace").splitlines():
        if mapping := _MAPPING.match(line):
            start = int(mapping["start"], 16)
            size = int(mapping["end"], 16) - start if _is_library(mapping) else 0
        elif size and line.startswith("Anonymous:") and int(line.split()[1]) == 0:
            found.append((start, size))
    return tuple(found)


def _is_library(mapping: re.Match[str]) -> bool:
    path = mapping["path"]
    shared = ".so" in Path(path).name or path == os.path.realpath(sys.executable)
    return path.startswith("/") and shared and "w" not in mapping["rights"]
