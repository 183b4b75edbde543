"""Logging that the journal understands: a level prefix under systemd, plain lines elsewhere.

And the words of it that take more than a line of code to find.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from robot.faults import advised
from robot.records.runs import RunRecord


@dataclass(frozen=True)
class Notifier:
    """Tells the service manager how we are; does nothing where there is none.

    ``address``: the manager's datagram socket (``@name`` for the abstract namespace) or None.
    ``watchdog_s``: seconds within which the manager wants a sign of life, or None.
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
        """Say that the service is up."""
        self._send(f"READY=1\nSTATUS={_one_line(status)}")

    def status(self, status: str) -> None:
        """Set the line that ``systemctl status`` shows."""
        self._send(f"STATUS={_one_line(status)}")

    def alive(self) -> None:
        """Feed the watchdog."""
        self._send("WATCHDOG=1")

    def stopping(self, status: str) -> None:
        """Say that we are shutting down on purpose."""
        self._send(f"STOPPING=1\nSTATUS={_one_line(status)}")

    def _send(self, message: str) -> None:
        if not self.address:
            return
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            try:
                channel.sendto(message.encode(), address)
            except OSError:
                # A manager that has gone is no reason to let go of the robot.
                return


def _one_line(text: str) -> str:
    return " ".join(text.split())


_PRIORITIES = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}


class JournalFormatter(logging.Formatter):
    """``<6>text``: sd-daemon(3)'s prefixes; every line of a traceback gets its own."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's lines, each with the record's priority."""
        priority = _PRIORITIES.get(record.levelno, 5)
        return "\n".join(f"<{priority}>{line}" for line in super().format(record).splitlines())


def configure_logging(level: str) -> None:
    """Log to standard error, for the journal when that is where it goes."""
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
    """How a job ended: ``stopped after 3.2 s: stopped by a person``."""
    text = f"{record.outcome} after {record.duration_s:.1f} s"
    return f"{text}: {record.reason}" if record.reason else text


def complaint(error: Exception) -> str:
    """An error and its remedy, which most errors name themselves."""
    text, remedy = str(error), str(getattr(error, "remedy", ""))
    return text if remedy in text else advised(text, remedy)
