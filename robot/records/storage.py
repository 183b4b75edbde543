"""Files that survive a power cut: replaced whole or not at all.

The order of system calls matters: write and flush a temporary file in the same directory, rename it
over the old one, flush the directory. Whenever the power fails, a reader finds the old contents or
the new, never a mixture. At most a temporary file is left over, which :func:`remove_leftovers`
removes at the next start.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from solver.errors import CubistError, ExitCode
from solver.files import BadFile, NoSuchFile, read_file

TEMPORARY_PREFIX = ".cubist-"
TEMPORARY_SUFFIX = ".tmp"

_REMEDIES = {
    errno.ENOSPC: "The disk is full; free some space (`sudo apt clean` helps).",
    errno.EDQUOT: "The disk quota is used up; free some space.",
    errno.EROFS: "The disk is mounted read-only; check `dmesg` for card errors, then remount it.",
    errno.EACCES: "Check who owns the directory; `cubist doctor` shows what is expected.",
    errno.ENOENT: "Create the directory first.",
    errno.EISDIR: "Name a file in it.",
    errno.ENXIO: "Nobody reads from this pipe; start its reader first.",
}


NOT_STORED = "not-stored"
"""Code of a :class:`StorageError` for a run, or a file of a run, that does not exist."""


class StorageError(CubistError, OSError):
    """A file could not be written or read; the previous contents are untouched."""

    code = "storage-error"
    exit_code = ExitCode.USAGE


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace the file at ``path`` with ``data``, durably, or leave it as it was.

    The directory must exist. Raises :class:`StorageError`.
    """
    with _naming_path(path):
        temporary = _temporary(path)
        try:
            _write_flushed(temporary, data, mode)
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        flush_directory(path.parent)


def write_given(path: Path, data: bytes) -> None:
    """Write to a path that a person named: replace a file whole, write into a device or pipe.

    ``-`` is standard output. Links are followed and stay. Raises :class:`StorageError`, also for a
    pipe that nobody reads.
    """
    if is_standard_output(path):
        with _naming_path(path):
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        return
    with _naming_path(path):
        mode = path.stat().st_mode if path.exists() else stat.S_IFREG | 0o644
        if stat.S_ISREG(mode) and path.absolute().parts[1:2] not in {("dev",), ("proc",)}:
            write_atomically(Path(os.path.realpath(path)), data, mode=stat.S_IMODE(mode))
        else:
            _write_into(path, data)


def read_regular(path: Path, limit: int) -> bytes:
    """Return all bytes of an ordinary file of at most ``limit`` bytes.

    Never wait for or read a pipe, device, folder or socket in its place. Raises
    :class:`StorageError`, with the code ``NOT_STORED`` if nothing is there.
    """
    try:
        return read_file(path, limit)
    except NoSuchFile as error:
        raise StorageError(str(error), code=NOT_STORED) from error
    except BadFile as error:
        raise StorageError(str(error)) from error


def reserve_room(path: Path, size: int) -> None:
    """Make a file of ``size`` bytes, to remove when room is needed; raises StorageError."""
    with _naming_path(path), path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


def is_standard_output(path: Path | None) -> bool:
    """Return whether a path that a person gave is ``-``."""
    return path is not None and str(path) == "-"


def _write_into(path: Path, data: bytes) -> None:
    """Write into a device or a pipe, without replacing it."""
    # Without O_NONBLOCK this would wait for the reader of a pipe that has none.
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        _write_all(file.fileno(), data)


def flush_directory(directory: Path) -> None:
    """Make renames and removals inside ``directory`` durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def set_aside(path: Path) -> Path:
    """Rename an unreadable file to ``NAME.unreadable``, and return its new path.

    Raises :class:`StorageError`.
    """
    first = path.with_name(f"{path.name}.unreadable")
    names = chain([first], (first.with_name(f"{first.name}-{count}") for count in range(2, 1000)))
    with _naming_path(path):
        aside = next(name for name in names if not name.exists())
        path.rename(aside)
        flush_directory(path.parent)
    return aside


def remove_leftovers(directory: Path) -> int:
    """Remove temporary files of interrupted saves. Return their number.

    Call it only while nothing can be saving: at the start of the program that owns the files.
    """
    count = 0
    for path in directory.iterdir():
        if is_leftover(path.name) and not path.is_dir():
            path.unlink(missing_ok=True)
            count += 1
    return count


def is_leftover(name: str) -> bool:
    """Return whether a file of this name is the temporary file of a save."""
    return name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)


def _temporary(path: Path) -> Path:
    return path.with_name(f"{TEMPORARY_PREFIX}{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")


def _write_flushed(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    descriptor = os.open(path, flags, mode)
    try:
        _write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def _naming_path(path: Path) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "")
        reason = error.strerror or type(error).__name__
        raise StorageError(f"{path}: cannot be written: {reason}. {remedy}".rstrip()) from error
