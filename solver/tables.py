"""Tables on disk: made when first needed, checked when loaded, shared by all processes.

A table is a file of the cache directory: a page with a header, then the table's bytes, which are
mapped read-only. A file that is damaged is made anew, one of an older version is replaced; where
nothing can be stored the table is kept in memory and the log says so.
"""

from __future__ import annotations

import fcntl
import logging
import mmap
import os
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver import _native
from solver.errors import SearchFailed
from solver.home import NoHomeDirectory, home_directory
from solver.solution import Progress, Request

Bytes = NDArray[np.uint8]
Make = Callable[[Bytes, Callable[[float], bool]], bool]
"""Fills the bytes, tells how much is done (0..1); false when told to stop."""

HEADER_SIZE = 4096
_HEADER = struct.Struct("=8sIIQQ")
_MAGIC = b"CUBIST\r\n"
_FORMAT = 1
_BYTE_ORDER_AND_FORMAT = 0x01000000 | _FORMAT

_IN_MEMORY = "until then it is made in memory, by every process again"

_VERSIONED = re.compile(r"(?:\.v(\d+))?\.table")
"""What follows a table's name in its file's name; the oldest had no version there."""

_log = logging.getLogger(__name__)


def cache_directory() -> Path:
    """Where tables are kept: CUBIST_CACHE_DIR, systemd's CACHE_DIRECTORY or the user's cache.

    Raises NoHomeDirectory where there is none of these.
    """
    for variable in ("CUBIST_CACHE_DIR", "CACHE_DIRECTORY"):
        if chosen := os.environ.get(variable):
            return Path(chosen.split(":")[0])
    home_cache = os.environ.get("XDG_CACHE_HOME") or home_directory("CUBIST_CACHE_DIR") / ".cache"
    return Path(home_cache) / "cubist"


def reporter(name: str, request: Request) -> Callable[[float], bool]:
    """What tells the request's listener how far a table is, and whether to go on making it."""

    def report(done: float) -> bool:
        if request.progress is not None:
            request.progress(Progress(f"making the table {name}", done=done))
        return request.cancel is None or not request.cancel.is_set()

    return report


def load(
    name: str,
    version: int,
    size: int,
    make: Make,
    *,
    progress: Callable[[float], bool] | None = None,
) -> Bytes:
    """The table ``name`` as read-only uint8[size], made and stored first if need be.

    ``version`` changes whenever the bytes would. Raises SearchFailed when ``progress`` stops the
    making by returning false.
    """
    report = progress or (lambda _: True)
    try:
        directory = cache_directory()
    except NoHomeDirectory as error:
        _log.warning("cannot keep the table %s (%s); %s", name, error, _IN_MEMORY)
        return _made_in_memory(name, size, make, report)
    try:
        return _kept(_path(directory, name, version), version, size, make, report)
    except OSError as error:
        _log.warning(
            "cannot keep the table %s in %s (%s): make that directory writable or set "
            "CUBIST_CACHE_DIR; %s",
            name,
            directory,
            error.strerror or error,
            _IN_MEMORY,
        )
    return _made_in_memory(name, size, make, report)


def _path(directory: Path, name: str, version: int) -> Path:
    return directory / f"{name}.v{version}.table"  # a name has no dot


def _name_of(path: Path) -> str:
    return path.name.partition(".")[0]


def _kept(
    path: Path, version: int, size: int, make: Make, report: Callable[[float], bool]
) -> Bytes:
    """The table of the file ``path``, made where it is missing; OSError if it cannot be."""
    found = _mapped(path, version, size)
    if found is not None:
        return found
    with _locked(path.parent):
        return _found_or_stored(path, version, size, make, report)


def in_huge_pages(table: Bytes) -> Bytes:
    """A copy of the table in huge pages, or the table itself where there is no memory for that.

    A table of many megabytes that is read all over misses the processor's address cache at nearly
    every access; there are few enough huge pages to keep all their addresses.
    """
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 2 * table.nbytes > free or not hasattr(mmap, "MADV_HUGEPAGE"):
        return table
    try:
        pages = mmap.mmap(-1, table.nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        return table
    copy: Bytes = np.frombuffer(pages, dtype=np.uint8)
    copy[:] = table
    copy.flags.writeable = False
    return copy


def _found_or_stored(
    path: Path, version: int, size: int, make: Make, report: Callable[[float], bool]
) -> Bytes:
    found = _mapped(path, version, size)  # another process may have made it meanwhile
    if found is None:
        if path.exists():
            _log.warning("the table %s is damaged: making it anew", path)
        _store(path, version, size, make, report)
        _remove_older(path, version)
        found = _mapped(path, version, size)
    if found is None:
        raise OSError(f"{path} cannot be read back")
    return found


def _mapped(path: Path, version: int, size: int) -> Bytes | None:
    """The table's bytes, or None when the file is absent, damaged or not what is wanted."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != HEADER_SIZE + size:
                return None
            pages = mmap.mmap(
                file.fileno(),
                HEADER_SIZE + size,
                flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0),
                prot=mmap.PROT_READ,
            )
    except OSError:
        return None
    table: Bytes = np.frombuffer(pages, dtype=np.uint8, offset=HEADER_SIZE)
    expected = _HEADER.pack(_MAGIC, _BYTE_ORDER_AND_FORMAT, version, size, _native.checksum(table))
    return table if pages[: _HEADER.size] == expected else None


def _store(
    path: Path, version: int, size: int, make: Make, report: Callable[[float], bool]
) -> None:
    """Make the table inside a temporary file, then give the file its name."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with temporary.open("w+b") as file:
            os.posix_fallocate(file.fileno(), 0, HEADER_SIZE + size)
            # Not closed by `with`: an error's traceback may still look into the pages.
            pages = mmap.mmap(file.fileno(), HEADER_SIZE + size)
            _fill(pages, _name_of(path), version, size, make, report)
            pages.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _fill(
    pages: mmap.mmap,
    name: str,
    version: int,
    size: int,
    make: Make,
    report: Callable[[float], bool],
) -> None:
    table: Bytes = np.frombuffer(pages, dtype=np.uint8, offset=HEADER_SIZE)
    if not make(table, report):
        raise _stopped(name)
    checksum = _native.checksum(table)
    header = _HEADER.pack(_MAGIC, _BYTE_ORDER_AND_FORMAT, version, size, checksum)
    pages[: len(header)] = header


def _made_in_memory(name: str, size: int, make: Make, report: Callable[[float], bool]) -> Bytes:
    table: Bytes = np.zeros(size, dtype=np.uint8)
    if not make(table, report):
        raise _stopped(name)
    table.flags.writeable = False
    return table


def _stopped(name: str) -> SearchFailed:
    return SearchFailed(f"Making the table {name} was stopped; the next search will make it again.")


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One process at a time makes tables; the lock ends with its process."""
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _remove_leftovers(directory)
        yield
    finally:
        os.close(descriptor)


def _remove_leftovers(directory: Path) -> None:
    """Temporary files of processes that died; the lock says that nobody writes one now."""
    for leftover in directory.glob("*.tmp"):
        with suppress(OSError):
            leftover.unlink()


def _remove_older(path: Path, version: int) -> None:
    """Files of the same table that only an older release would use."""
    name = _name_of(path)
    for file in path.parent.glob(f"{name}.*table"):
        found = _VERSIONED.fullmatch(file.name.removeprefix(name))
        if found and int(found[1] or 0) < version:
            with suppress(OSError):
                file.unlink()


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
