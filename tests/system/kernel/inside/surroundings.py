"""Video devices of the virtual machine, and other processes in it."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

VIDEO = Path("/sys/class/video4linux")
ATTACH = Path("/sys/devices/platform/vhci_hcd.0/attach")
HIGH_SPEED = 3
DEVICE_ID = 0x0001_0002


@contextmanager
def other_user(take: Callable[[], object]) -> Iterator[None]:
    """Let another program use a device meanwhile. It is killed while it holds the device."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        held = take()
        os.write(writing, b"held" if held else b"none")
        signal.pause()
    os.close(writing)
    assert os.read(reading, 4) == b"held"
    yield
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until the kernel and udev have met a condition."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "the kernel does not do it"
        time.sleep(0.02)


def run_apart(work: Callable[[], None], limit_s: float) -> str:
    """Run a function in a process of its own, because it may hang or crash.

    Return an error text, empty if it ended well.
    """
    sys.stdout.flush()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        work()
        sys.stderr.flush()
        os._exit(0)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() - began > limit_s:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"it did not end within {limit_s:.0f} s"
        time.sleep(0.02)
    return f"it ended with {os.waitstatus_to_exitcode(ended[1])}" if ended[1] else ""


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
