"""Video devices of the virtual machine."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
VIDEO = Path("/sys/class/video4linux")
ATTACH = Path("/sys/devices/platform/vhci_hcd.0/attach")
HIGH_SPEED = 3
DEVICE_ID = 0x0001_0002


def wait_for(condition: Callable[[], T]) -> T:
    """Wait until the kernel and udev have met a condition; return its value."""
    deadline = time.monotonic() + 20
    while not (found := condition()):
        assert time.monotonic() < deadline, "the kernel does not do it"
        time.sleep(0.02)
    return found


def nodes(name: str) -> list[Path]:
    """Return the devices of a name, in order."""

    def has_name(path: Path) -> bool:
        try:
            return name in (path / "name").read_text()
        except OSError:  # it has just gone
            return False

    found = sorted(path.name for path in VIDEO.glob("*") if has_name(path))
    return [Path("/dev", one) for one in sorted(found, key=len)]


def attach(line: socket.socket) -> None:
    """Let the kernel talk USB/IP to the device at the other end of a line."""
    ATTACH.write_text(f"0 {line.fileno()} {DEVICE_ID} {HIGH_SPEED}")
    line.close()
