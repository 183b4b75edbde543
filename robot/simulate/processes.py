"""Processes and folder of a demo; none of them outlives it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

from solver.errors import CubistError

LOG_LINES_SHOWN = 12
_PR_SET_PDEATHSIG = 1


class SimulationError(CubistError, RuntimeError):
    """A part of the demo ended or did not start."""

    code = "demo-fault"


class Child:
    """A running process and its log.

    A process that ends with exit code ``again_at`` is restarted.
    """

    def __init__(
        self, name: str, command: Sequence[str], log: Path, again_at: int | None = None
    ) -> None:
        self.name = name
        self.log = log
        self.process: asyncio.subprocess.Process
        self._command = command
        self._again_at = again_at
        self._is_stopping = False

    async def start(self) -> None:
        """Start the process, or raise :class:`SimulationError`."""
        with self.log.open("ab") as output:
            try:
                self.process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    preexec_fn=_end_with_parent(),
                )
            except OSError as error:
                raise SimulationError(f"{self.name} cannot be started: {error}") from error

    async def keep_running(self) -> None:
        """Restart the process while it ends with exit code ``again_at``."""
        while await self.process.wait() == self._again_at and not self._is_stopping:
            await self.start()

    async def wait_for_end(self) -> SimulationError:
        """Wait until the process ends; return an error with the end of its log."""
        while True:
            process = self.process
            code = await process.wait()
            if code != self._again_at or self._is_stopping:
                break
            while self.process is process:  # until its restart
                await asyncio.sleep(0.01)
        return SimulationError(
            f"{self.name} ended unexpectedly ({_how(code)}).{self._last_words()}"
        )

    async def stop(self, patience_s: float) -> None:
        """Terminate the process; kill it after ``patience_s``."""
        self._is_stopping = True
        for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 5.0)):
            if self.process.returncode is not None:
                return
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), wait_s)

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return "\n  " + "\n  ".join(lines) if lines else ""


@contextlib.asynccontextmanager
async def running(
    name: str,
    command: Sequence[str],
    folder: Path,
    patience_s: float = 5.0,
    again_at: int | None = None,
) -> AsyncIterator[Child]:
    """Run ``command`` with its output in ``folder``/NAME.log while the context lasts.

    It is restarted whenever it ends with exit code ``again_at``.
    """
    child = Child(name, command, folder / f"{name}.log", again_at)
    child.log.unlink(missing_ok=True)
    await child.start()
    keeping = asyncio.create_task(child.keep_running())
    try:
        yield child
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await child.stop(patience_s)


LINK_LIMIT_S = 60.0


async def wait_for_path(path: Path) -> None:
    """Wait for the serial port that a firmware makes, or raise :class:`SimulationError`."""
    deadline = asyncio.get_running_loop().time() + LINK_LIMIT_S
    while not path.exists():
        if asyncio.get_running_loop().time() > deadline:
            raise SimulationError(
                f"the firmware did not open its serial port in {LINK_LIMIT_S:g} s"
            )
        await asyncio.sleep(0.01)


def _end_with_parent() -> Callable[[], None]:
    """Return a function that makes a child end with its parent.

    It loads the library before the fork: after it, in a process with threads, little is safe.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)

    return ask


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


PREFIX = "cubist-demo-"
LOCK_NAME = "in-use"
LONGEST_PARENT = 60
"""Maximum length of the parent's path: a Unix socket's has at most 107, 40 of them below it."""


@contextlib.contextmanager
def workspace(parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder, locked while in use and removed at the end.

    First remove folders of killed demos, which are recognizable by their free lock.
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
    """Return the system's folder for temporary files, or /tmp if socket paths would be too long."""
    usual = Path(tempfile.gettempdir())
    return usual if len(str(usual)) <= LONGEST_PARENT else Path("/tmp")


def remove_abandoned(parent: Path) -> list[Path]:
    """Remove demo folders that no running demo uses, and return them."""
    return [folder for folder in sorted(parent.glob(f"{PREFIX}*")) if _remove_if_free(folder)]


def _remove_if_free(folder: Path) -> bool:
    """Remove an unlocked folder; return true if done. Keep one without a lock: it is being made."""
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
