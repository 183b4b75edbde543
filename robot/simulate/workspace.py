"""The demo's own folder: sockets, state, logs; gone when the demo is, whatever ended it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "cubist-demo-"
LOCK_NAME = "in-use"
LONGEST_PARENT = 60
"""A Unix socket's path has at most 107 characters; ours needs 40 of them below the parent."""


@contextlib.contextmanager
def workspace(parent: Path | None = None) -> Iterator[Path]:
    """A fresh folder, locked while in use and removed at the end.

    Folders of demos that were killed are recognised by their free lock and removed first.
    """
    parent = parent or _short_parent()
    remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    lock = os.open(folder / LOCK_NAME, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _short_parent() -> Path:
    """The system's folder for temporary files, or /tmp when sockets would not fit there."""
    usual = Path(tempfile.gettempdir())
    return usual if len(str(usual)) <= LONGEST_PARENT else Path("/tmp")


def remove_abandoned(parent: Path) -> list[Path]:
    """Remove our folders that no living demo uses; returns them."""
    return [folder for folder in sorted(parent.glob(f"{PREFIX}*")) if _remove_if_free(folder)]


def _remove_if_free(folder: Path) -> bool:
    """A folder without a lock file is one that a demo is just making: left alone."""
    try:
        if folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
