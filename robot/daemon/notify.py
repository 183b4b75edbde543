"""systemd's notification protocol (sd_notify(3)): datagrams of ``NAME=value`` lines."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass


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
