"""One daemon per robot: a lock that dies with the process that holds it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from solver.errors import CubistError


class AlreadyRunning(CubistError, RuntimeError):
    """Another process owns the robot."""


@contextlib.contextmanager
def owned(path: Path) -> Iterator[None]:
    """Hold the exclusive lock at ``path``; raises :class:`AlreadyRunning` if another process does.

    The kernel drops the lock with the process, however it ends, so a file left behind means
    nothing. It is never removed: removing it would let two processes lock two files of one name.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock(descriptor, path)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        raise AlreadyRunning(
            f"cubistd is already running (process {owner} holds {path}). "
            "Use `cubist status` to talk to it, or `systemctl stop cubistd`."
        ) from error
