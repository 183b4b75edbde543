"""Memory of a long-running process: return what a job has used to the system."""

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
"""Constants of glibc's <malloc.h>."""

LARGE_BYTES = 128 * 1024
"""Minimum bytes of a block that has its own mapping and goes back to the system when freed.

Setting it fixes it. Otherwise glibc raises it to the largest block ever freed, and pictures of 6 MB
would lie between small blocks that stay.
"""

_MAPPING = re.compile(
    r"(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) (?P<rights>\S{4}) \S+ \S+ \d+ +(?P<path>.*)"
)
"""The first line of a mapping in smaps."""


def keep_small() -> None:
    """Use one heap for all threads, and keep large blocks apart from it.

    Otherwise each new thread has its own heap, which returns hardly any memory. Does nothing if the
    C library is not glibc.
    """
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_ARENA_MAX, 1)
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Return unused memory to the system: cycles of objects, gaps in the heap, library pages."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    release_library_pages()


def release_library_pages() -> None:
    """Release the pages of libraries; those that are needed come back from the page cache.

    Importing a library touches much of it once, and the kernel maps more around each page. Only
    libraries imported before the first call are released, as they never move. Where a later library
    was unloaded, another thread may have mapped something else.
    """
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        for start, size in find_libraries():
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


@functools.cache
def find_libraries() -> tuple[tuple[int, int], ...]:
    """Return address and size of the mappings of libraries that equal their files.

    It leaves out those that the loader has changed (``Anonymous``) and writable data, as no file
    has their contents.
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
