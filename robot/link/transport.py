"""The serial port: bytes to and from the microcontroller. The only file that imports pyserial."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import termios
from typing import TYPE_CHECKING, Protocol

from robot.text.faults import Fault, LinkError
from solver.errors import root_sentence

if TYPE_CHECKING:
    from serial import Serial

log = logging.getLogger("cubistd")

READ_SIZE = 4096
CONTROL_FLAGS = 2
"""Index of the control flags in the result of ``tcgetattr``."""


class Transport(Protocol):
    """A stream of bytes both ways. Every method raises :class:`LinkError` once it is broken."""

    async def open(self) -> None:
        """Connect."""

    async def read(self) -> bytes:
        """Wait for some bytes; one reader at a time."""

    def write(self, data: bytes) -> None:
        """Queue bytes without waiting."""

    def write_now(self, data: bytes) -> None:
        """Send bytes at once, discarding everything queued."""

    def close(self) -> None:
        """Disconnect; idempotent."""


TOUCH_BAUD = 1200


def touch_port(port: str) -> None:
    """Open a USB port at 1200 baud for a moment, which makes boards enter their bootloader.

    Raises ``PORT_MISSING`` or ``PORT_REFUSED``.
    """
    try:
        opened = _open_serial(port, TOUCH_BAUD)
    except Exception as error:
        raise _not_opened(port, error) from error
    _close(opened)


class SerialTransport:
    """A serial port, a USB adapter or a pseudo-terminal, on the running event loop."""

    def __init__(self, port: str, baud: int = 500_000) -> None:
        self.port = port
        self._baud = baud
        self._serial: Serial | None = None
        self._fd = -1
        self._received: asyncio.Queue[bytes | LinkError] = asyncio.Queue()
        self._unsent = bytearray()

    async def open(self) -> None:
        """Open the port; raises ``PORT_MISSING`` or ``PORT_REFUSED``."""
        self.close()
        self._serial, self._fd = await asyncio.to_thread(self._open_port)
        self._received = asyncio.Queue()
        self._unsent.clear()
        try:
            asyncio.get_running_loop().add_reader(self._fd, self._readable)
        except OSError as error:
            self.close()
            raise _not_opened(self.port, error) from error

    def _open_port(self) -> tuple[Serial, int]:
        port: Serial | None = None
        try:
            port = _open_serial(self.port, self._baud)
            descriptor = port.fileno()
            _keep_open_line(descriptor)
        except Exception as error:  # OSError, ValueError, termios.error, which is neither
            if port is not None:
                _close(port)
            raise _not_opened(self.port, error) from error
        return port, descriptor

    async def read(self) -> bytes:
        """Return received bytes, or raise the fault that broke the port."""
        item = await self._received.get()
        if isinstance(item, LinkError):
            self._received.put_nowait(item)
            raise item
        return item

    def write(self, data: bytes) -> None:
        """Queue bytes. They are sent as fast as the port accepts them."""
        self._unsent += data
        self._send()

    def write_now(self, data: bytes) -> None:
        """Discard everything queued here and in the driver, and send this."""
        self._unsent.clear()
        if self._serial is not None:
            with contextlib.suppress(Exception):  # the next write detects a broken port
                self._serial.reset_output_buffer()
        self.write(data)

    def close(self) -> None:
        """Release the port."""
        if self._serial is None:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._fd)
        loop.remove_writer(self._fd)
        port, self._serial = self._serial, None
        _close(port)

    def _readable(self) -> None:
        port = self._serial
        try:
            data = port.read(READ_SIZE) if port else b""
        except Exception as error:
            self._report_break(error)
            return
        if data:
            self._received.put_nowait(data)
        else:
            self._report_break()

    def _send(self) -> None:
        """Send what the port accepts. The rest follows when it is writable again."""
        port = self._serial
        if port is None:
            raise LinkError(Fault.LINK_LOST, detail=self.port)
        try:
            sent = port.write(bytes(self._unsent)) or 0
        except Exception as error:
            self._report_break(error)
            return
        del self._unsent[:sent]
        loop = asyncio.get_running_loop()
        if self._unsent:
            loop.add_writer(self._fd, self._send)
        else:
            loop.remove_writer(self._fd)

    def _report_break(self, error: Exception | None = None) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._fd)
        loop.remove_writer(self._fd)
        why = "" if error is None else f": {root_sentence(error)}"
        self._received.put_nowait(LinkError(Fault.LINK_LOST, detail=self.port + why))


def _open_serial(port: str, baud: int) -> Serial:
    import serial

    return serial.Serial(port, baud, timeout=0, write_timeout=0, exclusive=True)


def _not_opened(port: str, error: Exception) -> LinkError:
    number = error.args[0] if error.args else None
    if number in {errno.ENOENT, errno.ENODEV, errno.ENXIO}:
        return LinkError(Fault.PORT_MISSING, detail=port)
    in_use = number in {errno.EAGAIN, errno.EBUSY}  # it is locked, or allows only one user
    why = "another program uses it" if in_use else root_sentence(error)
    return LinkError(Fault.PORT_REFUSED, detail=f"{port}: {why}")


def _close(port: Serial) -> None:
    try:
        port.close()
    except Exception as error:  # nothing else can be done with it
        log.warning("closing %s: %s", port.port, root_sentence(error))


def _keep_open_line(descriptor: int) -> None:
    """Leave DTR on when the port is closed.

    Switching it on again resets an Arduino: a program started after one that was killed would stop
    the motors dead.
    """
    attributes = termios.tcgetattr(descriptor)
    attributes[CONTROL_FLAGS] &= ~termios.HUPCL
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
