"""``cubistd`` as a service: flags, lock, journal and the service manager."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from robot.api.endpoints import LOG_LEVELS
from robot.api.environment import read_setting, read_yes_or_no
from robot.api.paths import runtime_directory, state_directory
from robot.records.run_record import RunRecord
from robot.records.storage import StorageError
from robot.settings import DEFAULT_PROFILE
from solver.errors import InvalidRequest, advise, one_line
from solver.files import BadFile, open_file

RESTART_CODE = 75
"""Exit code that asks the service manager to start the daemon again (EX_TEMPFAIL)."""


@dataclass(frozen=True)
class Options:
    """The daemon's options.

    ``size``: layers of the cube, for a robot that accepts several sizes (default: the profile's).
    ``port`` overrides the profile's serial port. ``twin``: the socket of a simulated robot.
    ``page_calibrates``: the page on the robot may calibrate it. ``page_manages``: the page may
    change the profile and restart the daemon. ``supervised``: something other than systemd
    restarts the daemon when it ends with :data:`RESTART_CODE`.
    """

    profile: str
    runtime_dir: Path
    state_dir: Path
    size: int | None = None
    port: str | None = None
    twin: str | None = None
    log_level: str = "info"
    page_calibrates: bool = False
    page_manages: bool = False
    supervised: bool = False

    @property
    def socket_path(self) -> Path:
        """The path of the control socket."""
        return self.runtime_dir / "control.sock"

    @property
    def lock_path(self) -> Path:
        """The path of the lock that a running daemon holds."""
        return self.runtime_dir / "cubistd.lock"


def parse(arguments: Sequence[str] | None, environ: Mapping[str, str] = os.environ) -> Options:
    """Parse flags. Exit with code 2 and a message if they are wrong."""
    parser = make_parser(environ)
    found = parser.parse_args(arguments)
    found.log_level = found.log_level.lower()
    if found.log_level not in LOG_LEVELS:  # argparse does not check a default
        parser.error(f"CUBIST_LOG_LEVEL: write {', '.join(LOG_LEVELS)}, not {found.log_level!r}")
    found.runtime_dir = found.runtime_dir or runtime_directory(environ)
    try:
        found.page_calibrates |= read_yes_or_no(environ, "CUBIST_WEB_CALIBRATE")
        found.page_manages |= read_yes_or_no(environ, "CUBIST_WEB_MANAGE")
        found.state_dir = found.state_dir or state_directory(environ)
    except InvalidRequest as error:
        parser.error(str(error))
    return Options(**vars(found))


def make_parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    """Return the parser of the daemon's flags, with defaults from the environment."""
    parser = argparse.ArgumentParser(
        prog="cubistd",
        description="Controls a cube-solving robot: owns its serial port, cameras and panel.",
        epilog="Every flag can be set in the environment: CUBIST_PROFILE, CUBIST_RUNTIME_DIR, "
        "CUBIST_STATE_DIR, CUBIST_SIZE, CUBIST_PORT, CUBIST_TWIN, CUBIST_LOG_LEVEL, "
        "CUBIST_WEB_CALIBRATE and CUBIST_WEB_MANAGE (yes or no).",
    )
    add, get = parser.add_argument, partial(read_setting, environ)
    default = get("CUBIST_PROFILE", DEFAULT_PROFILE)
    add("--profile", default=default, help="name from config/ or path of the robot's profile")
    add("--runtime-dir", type=Path, help="directory of the control socket and the lock")
    add("--state-dir", type=Path, help="directory of run records and calibration")
    size = get("CUBIST_SIZE") or None
    add(
        "--size",
        type=int,
        default=size,
        help="layers of the cube, if the robot takes several sizes",
    )
    add("--port", default=get("CUBIST_PORT") or None, help="serial port of the firmware")
    add("--twin", default=get("CUBIST_TWIN") or None, help="socket of a simulated robot")
    add("--page-calibrates", action="store_true", help="let the page on the robot calibrate it")
    more = "let the page change the robot's profile and restart the daemon"
    add("--page-manages", action="store_true", help=more)
    again = f"the program that started this restarts it after exit code {RESTART_CODE}"
    add("--supervised", action="store_true", help=again)
    level = get("CUBIST_LOG_LEVEL", "info")
    add("--log-level", choices=LOG_LEVELS, default=level, help="lowest level to log (info)")
    return parser


ON_PURPOSE = (signal.SIGTERM, signal.SIGINT)
"""Signals with which a person or a service manager stops the daemon."""

END_SIGNALS = (
    *ON_PURPOSE,
    *(signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM),
    *(signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPWR, signal.SIGXCPU),
)
"""Every signal that a process can catch and that would otherwise end it.

Signals of a program's own errors are excluded: nothing it does after one is reliable.
"""


class EndSignals:
    """Ends the daemon in order on any of :data:`END_SIGNALS`.

    A signal that was ignored when the process began stays ignored, as nohup needs for SIGHUP.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._numbers = [n for n in END_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]

    def exit_at_once(self) -> None:
        """Make signals exit at once with their exit codes, while nothing can move yet."""

        def leave(number: int, _frame: object) -> None:
            self._received = number
            raise SystemExit(self.exit_code)

        for number in self._numbers:
            if number not in ON_PURPOSE:
                signal.signal(number, leave)

    def call(self, loop: asyncio.AbstractEventLoop, end: Callable[[], object]) -> None:
        """Make signals call ``end`` in the event loop from now on."""
        for number in self._numbers:
            loop.add_signal_handler(number, self._end, number, end)

    def _end(self, number: int, end: Callable[[], object]) -> None:
        if self._received is None:
            self._received = number
        end()

    @property
    def exit_code(self) -> int:
        """The exit code: 128 plus the number of a signal not in :data:`ON_PURPOSE`, otherwise 0.

        A nonzero code makes systemd restart the daemon, as after a failure. Without one, systemd
        would consider an end by SIGHUP intended.
        """
        by = self._received
        return 0 if by is None or by in ON_PURPOSE else 128 + by


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the exclusive lock at ``path``. Raise :class:`InvalidRequest` if another process does.

    The kernel releases the lock when the process ends, however it ends, so a file left behind
    means nothing. It is never removed: otherwise two processes could lock two files of one name.
    Raise :class:`StorageError` if the path is not an ordinary file.
    """
    try:
        descriptor = open_file(path, os.O_RDWR | os.O_CREAT)
    except BadFile as error:
        raise StorageError(f"{error}; remove it") from error
    try:
        _lock_file(descriptor, path)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)


def _lock_file(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        raise InvalidRequest(
            f"cubistd is already running (process {owner} holds {path}). "
            "Use `cubist status` to talk to it, or `systemctl stop cubistd`.",
            code="already-running",
        ) from error


@dataclass(frozen=True)
class Notifier:
    """Reports the daemon's state to the service manager; does nothing if there is none.

    ``address``: the manager's datagram socket (``@name`` for the abstract namespace) or None.
    ``watchdog_s``: seconds within which the manager expects a keep-alive, or None.
    """

    address: str | None = None
    watchdog_s: float | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Notifier:
        """Read ``NOTIFY_SOCKET``, ``WATCHDOG_USEC`` and ``WATCHDOG_PID`` as systemd sets them."""
        ours = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        microseconds = environ.get("WATCHDOG_USEC", "")
        period = int(microseconds) / 1e6 if ours and microseconds.isdigit() else None
        return cls(environ.get("NOTIFY_SOCKET"), period or None)

    def ready(self, status: str) -> None:
        """Report that the service is up."""
        self._send(f"READY=1\nSTATUS={one_line(status)}")

    def status(self, status: str) -> None:
        """Set the line that ``systemctl status`` shows."""
        self._send(f"STATUS={one_line(status)}")

    def alive(self) -> None:
        """Feed the watchdog."""
        self._send("WATCHDOG=1")

    def stopping(self, status: str) -> None:
        """Report an intended shutdown."""
        self._send(f"STOPPING=1\nSTATUS={one_line(status)}")

    def _send(self, message: str) -> None:
        if not self.address:
            return
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            try:
                channel.sendto(message.encode(), address)
            except OSError:
                # A missing manager is no reason to let go of the robot.
                return


_PRIORITIES = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}


class JournalFormatter(logging.Formatter):
    """Prefixes every line, also of a traceback, with a priority (``<6>text``): sd-daemon(3)."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's lines, each with the record's priority."""
        priority = _PRIORITIES.get(record.levelno, 5)
        return "\n".join(f"<{priority}>{line}" for line in super().format(record).splitlines())


def configure_logging(level: str) -> None:
    """Log to standard error, in the journal's format if it goes there."""
    handler = logging.StreamHandler(sys.stderr)
    if os.environ.get("JOURNAL_STREAM"):
        handler.setFormatter(JournalFormatter("%(message)s"))
    else:
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
        )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def ending(record: RunRecord) -> str:
    """Return a job's outcome as text: ``stopped after 3.2 s: stopped by a person``."""
    text = f"{record.outcome} after {record.duration_s:.1f} s"
    return f"{text}: {record.reason}" if record.reason else text


def complaint(error: Exception) -> str:
    """Return an error's text, followed by its remedy unless the text names it already."""
    text, remedy = str(error), str(getattr(error, "remedy", ""))
    return text if remedy in text else advise(text, remedy)
