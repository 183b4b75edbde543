"""Tables on disk: made when first needed, checked when loaded, shared by all processes.

A table is a file in the cache directory: a page with a header, then the table's bytes, which are
mapped read-only. A damaged file is made again, and a file of an older version is replaced. If
nothing can be stored, the table is kept in memory and the log says so.

Code that needs tables loads them inside ``with making(...)``, which reports to the request's
listener what is made, where it is kept and the remaining time.
"""

from __future__ import annotations

import fcntl
import logging
import mmap
import os
import re
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from solver import _native
from solver.errors import InvalidRequest, SearchError
from solver.files import user_directory
from solver.solution import Progress, Request

T = TypeVar("T")

Bytes = NDArray[np.uint8]
Make = Callable[[Bytes, Callable[[float], bool]], bool]
"""A function that fills the bytes and reports its progress (0..1); it returns False if stopped."""

HEADER_SIZE = 4096
_HEADER = struct.Struct("=8sIIQQ")
_MAGIC = b"CUBIST\r\n"
_FORMAT = 1
_BYTE_ORDER_AND_FORMAT = 0x01000000 | _FORMAT

_IN_MEMORY = "until then every process makes it in memory again"

_VERSIONED = re.compile(r"(?:\.v(\d+))?\.table")
"""The part of a file's name after the table's name; the oldest had no version there."""

_TEMPORARY = re.compile(r"[a-z0-9-]+(?:\.v\d+)?\.\d+\.tmp")
"""The name of a file that a process is writing: see :func:`_store` and the databases' own."""

_log = logging.getLogger(__name__)


def cache_directory() -> Path:
    """Return the folder of tables: CUBIST_CACHE_DIR, systemd's CACHE_DIRECTORY or the user's cache.

    Raises InvalidRequest if there is none of these.
    """
    if chosen := os.environ.get("CUBIST_CACHE_DIR"):
        return Path(chosen)
    if given := os.environ.get("CACHE_DIRECTORY"):  # systemd separates several by colons
        return Path(given.split(":")[0])
    return user_directory("XDG_CACHE_HOME", ".cache", "CUBIST_CACHE_DIR") / "cubist"


class Making:
    """Progress of tables that somebody waits for, reported to the listener of ``request``.

    ``shares`` are the parts of the whole work, one for each table, in the order in which they are
    made. Nothing is reported if all tables exist.
    """

    def __init__(
        self,
        what: str,
        request: Request,
        shares: Sequence[float] = (1.0,),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._request = request
        self._shares = shares
        self._clock = clock
        self._place = ""
        self._table = 0
        self._began: tuple[float, float] | None = None
        self._last: Progress | None = None

    def begin_table(self, number: int) -> None:
        """Count reports from now on as progress of this table."""
        self._table = number

    def is_kept_in(self, place: Path | None) -> None:
        """Set the place where the tables are kept; None: in memory only."""
        self._place = f" in {place}" if place else " in memory"

    def report(self, done: float) -> bool:
        """Report the progress of the table, 0..1; return False if the request was cancelled."""
        before = sum(self._shares[: self._table])
        whole = (before + self._shares[self._table] * done) / sum(self._shares)
        if whole < 1.0:  # `finish` reports the end, once
            text = f"making {self._what}{self._place}"
            self._tell(Progress(text, whole, making=True, remaining_s=self._remaining_s(whole)))
        return self.is_wanted

    def wait(self, others: Progress | None) -> None:
        """Report the progress of the process that is making tables, if known, and wait a moment.

        Raises SearchError if the request is cancelled.
        """
        if others is not None:
            self._tell(others)
        if not self.is_wanted:
            raise _stop_error(self._what)
        time.sleep(_LOOK_AGAIN_S)

    def finish(self) -> None:
        """Report the end, if anything was reported before."""
        if self._last is not None:
            self._tell(replace(self._last, done=1.0, remaining_s=0.0))

    @property
    def is_wanted(self) -> bool:
        """True unless the request was cancelled."""
        return self._request.cancel is None or not self._request.cancel.is_set()

    @property
    def last(self) -> Progress | None:
        """The last report."""
        return self._last

    def _tell(self, progress: Progress) -> None:
        self._last = progress
        if self._request.progress is not None:
            self._request.progress(progress)

    def _remaining_s(self, done: float) -> float | None:
        """Estimate the remaining time from the pace so far; None right at the beginning."""
        now = self._clock()
        if self._began is None:
            self._began = now, done
        began, done_then = self._began
        gained = done - done_then
        return None if gained < _TELLING else (now - began) * (1.0 - done) / gained


_LOOK_AGAIN_S = 0.1
"""Seconds between two checks whether another thread or process is done."""

_TELLING = 0.02
"""The share of the work after which its pace is known."""

_ANOTHER_PROCESS = Progress("waiting for another process that is making tables", making=True)

_one_at_a_time = threading.RLock()
_under_way: list[Making] = []
_active: ContextVar[Making | None] = ContextVar("making", default=None)


@contextmanager
def making(what: str, request: Request, shares: Sequence[float] = (1.0,)) -> Iterator[Making]:
    """Enter the context in which tables are loaded, or made if they are missing.

    One thread of a process enters at a time; others wait and report its progress. ``what`` names
    the tables for people: "the pruning tables of two-phase". Raises SearchError if the request is
    cancelled.
    """
    made = Making(what, request, shares)
    while not _one_at_a_time.acquire(blocking=False):
        made.wait(next((other.last for other in _under_way[-1:]), None))
    _under_way.append(made)
    token = _active.set(made)
    try:
        yield made
        made.finish()
    finally:
        _active.reset(token)
        _under_way.remove(made)
        _one_at_a_time.release()


def load(name: str, version: int, size: int, make: Make) -> Bytes:
    """Return the table ``name`` as read-only uint8[size], made and stored first if needed.

    ``version`` changes whenever the bytes would. Raises SearchError if the request of the
    :func:`making` around this call is cancelled meanwhile.
    """
    made = _active.get() or Making(f"the table {name}", Request())
    try:
        directory = cache_directory()
    except InvalidRequest as error:
        _log.warning("cannot keep the table %s (%s); %s", name, error, _IN_MEMORY)
        return _make_in_memory(name, size, make, made)
    made.is_kept_in(directory)
    try:
        return _load_or_store(_path(directory, name, version), version, size, make, made)
    except OSError as error:
        _log.warning(
            "cannot keep the table %s in %s (%s): make that directory writable or set "
            "CUBIST_CACHE_DIR; %s",
            name,
            directory,
            error.strerror or error,
            _IN_MEMORY,
        )
    return _make_in_memory(name, size, make, made)


def release_pages(table: Bytes) -> None:
    """Release the pages of a table's file; they come back from the page cache when they are read.

    If a search reads several large tables one after the other, only one is then resident. A thread
    that reads the table meanwhile loses a little time. A table without a file stays where it is.
    """
    owner: object = table.base  # depending on NumPy's version, the pages or a view of them
    pages = owner.obj if isinstance(owner, memoryview) else owner
    if isinstance(pages, _Pages):
        pages.madvise(mmap.MADV_DONTNEED)


def build(what: str, make: Callable[[Callable[[float], bool]], T]) -> T:
    """Build tables in memory by ``make``, which is quicker than reading them.

    ``make`` gets a function for its progress. Raises SearchError if the request of the
    :func:`making` around this call is cancelled meanwhile.
    """
    made = _active.get() or Making(what, Request())
    made.is_kept_in(None)
    try:
        return make(made.report)
    except _native.Stopped as stop:
        raise _stop_error(what) from stop


def _path(directory: Path, name: str, version: int) -> Path:
    return directory / f"{name}.v{version}.table"  # a name has no dot


def _name_of(path: Path) -> str:
    return path.name.partition(".")[0]


def _load_or_store(path: Path, version: int, size: int, make: Make, made: Making) -> Bytes:
    """Return the table of the file ``path``, made if missing; raises OSError if that fails."""
    found = _map_file(path, version, size)
    if found is not None:
        return found
    with hold_lock(path.parent, made):
        return _find_or_store(path, version, size, make, made)


def copy_to_huge_pages(table: Bytes) -> Bytes:
    """Return a copy of the table in huge pages, or the table itself if memory is short.

    In a table of many megabytes that is read at random places, nearly every access misses the
    processor's address cache. Huge pages are few enough for it to keep all their addresses.
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


def _find_or_store(path: Path, version: int, size: int, make: Make, made: Making) -> Bytes:
    found = _map_file(path, version, size)  # another process may have made it meanwhile
    if found is None:
        if path.exists():
            _log.warning("the table %s is damaged: making it again", path)
        _store(path, version, size, make, made)
        _remove_older(path, version)
        found = _map_file(path, version, size)
    if found is None:
        raise OSError(f"{path} cannot be read back")
    return found


class _Pages(mmap.mmap):
    """A table's file, mapped read-only, so that releasing its pages loses nothing.

    While it exists, the kernel's failure to read it names the file (``cube/table_bytes.hpp``).
    """

    _watched: int | None = None

    def watch(self, path: Path) -> None:
        """Watch the pages from now on."""
        self._watched = np.frombuffer(self, dtype=np.uint8).ctypes.data
        _native.watch_table(self._watched, len(self), str(path))

    def __del__(self) -> None:
        """Stop watching the address, which something else may get."""
        if self._watched is not None:
            _native.unwatch_table(self._watched)


def end_by_signal(number: int) -> None:
    """Make this process send itself a signal when it loses a table that it uses.

    Without it, the process ends at once, with exit code 3 and the name of the file on standard
    error. With it, results of running searches are worthless, but the process can end in order.
    """
    _native.set_lost_table_signal(number)


def _map_file(path: Path, version: int, size: int) -> Bytes | None:
    """Return the table's bytes; None if the file is absent, damaged or another table's."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != HEADER_SIZE + size:
                return None
            pages = _Pages(
                file.fileno(),
                HEADER_SIZE + size,
                flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0),
                prot=mmap.PROT_READ,
            )
    except OSError:
        return None
    pages.watch(path)
    table: Bytes = np.frombuffer(pages, dtype=np.uint8, offset=HEADER_SIZE)
    expected = _HEADER.pack(_MAGIC, _BYTE_ORDER_AND_FORMAT, version, size, _native.checksum(table))
    return table if pages[: _HEADER.size] == expected else None


def _store(path: Path, version: int, size: int, make: Make, made: Making) -> None:
    """Make the table inside a temporary file, then give the file its name."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with temporary.open("w+b") as file:
            os.posix_fallocate(file.fileno(), 0, HEADER_SIZE + size)
            # Not closed by `with`: an error's traceback may still look into the pages.
            pages = mmap.mmap(file.fileno(), HEADER_SIZE + size)
            _fill(pages, _name_of(path), version, size, make, made)
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
    made: Making,
) -> None:
    table: Bytes = np.frombuffer(pages, dtype=np.uint8, offset=HEADER_SIZE)
    if not make(table, made.report):
        raise _stop_error(f"the table {name}")
    checksum = _native.checksum(table)
    header = _HEADER.pack(_MAGIC, _BYTE_ORDER_AND_FORMAT, version, size, checksum)
    pages[: len(header)] = header


def _make_in_memory(name: str, size: int, make: Make, made: Making) -> Bytes:
    made.is_kept_in(None)
    table: Bytes = np.zeros(size, dtype=np.uint8)
    if not make(table, made.report):
        raise _stop_error(f"the table {name}")
    table.flags.writeable = False
    return table


def _stop_error(what: str) -> SearchError:
    return SearchError(f"Making {what} was stopped; the next search starts it again.")


@contextmanager
def hold_lock(directory: Path, made: Making) -> Iterator[None]:
    """Hold the lock that lets one process at a time make tables; it ends with its process.

    Waiting is reported. Raises SearchError if the request is cancelled meanwhile.
    """
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while not _has_locked(descriptor):
            made.wait(_ANOTHER_PROCESS)
        _remove_leftovers(directory)
        yield
    finally:
        os.close(descriptor)


def _has_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_leftovers(directory: Path) -> None:
    """Remove temporary files of processes that died; under the lock nobody writes one."""
    for leftover in directory.glob("*.tmp"):
        if _TEMPORARY.fullmatch(leftover.name):  # the folder may hold other things, too
            with suppress(OSError):
                leftover.unlink()


def _remove_older(path: Path, version: int) -> None:
    """Remove files of the same table that only an older release would use."""
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
