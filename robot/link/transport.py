"""The serial port: bytes to and from the microcontroller. The only file that imports pyserial."""

from __future__ import annotations

import asyncio
import contextlib
import termios
from typing import TYPE_CHECKING, Protocol

from robot.faults import Fault, LinkFault

if TYPE_CHECKING:
    from serial import Serial

READ_SIZE = 4096
CONTROL_FLAGS = 2
"""Their place in what ``tcgetattr`` tells."""


class Transport(Protocol):
    """A stream of bytes both ways; every method raises :class:`LinkFault` when it broke."""

    async def open(self) -> None:
        """Connect."""

    async def read(self) -> bytes:
        """Wait for some bytes; one reader at a time."""

    def write(self, data: bytes) -> None:
        """Queue bytes without waiting."""

    def write_now(self, data: bytes) -> None:
        """Send bytes before everything queued, which is thrown away."""

    def close(self) -> None:
        """Disconnect; idempotent."""


class SerialTransport:
    """A serial port, a USB adapter or a pseudo-terminal, on the running event loop."""

    def __init__(self, port: str, baud: int = 500_000) -> None:
        self.port = port
        self._baud = baud
        self._serial: Serial | None = None
        self._fd = -1
        self._received: asyncio.Queue[bytes | LinkFault] = asyncio.Queue()
        self._unsent = bytearray()

    async def open(self) -> None:
        """Open the port; raises ``PORT_MISSING`` or ``PORT_REFUSED``."""
        self.close()
        self._serial = await asyncio.to_thread(self._open_port)
        self._fd = self._serial.fileno()
        self._received = asyncio.Queue()
        self._unsent.clear()
        asyncio.get_running_loop().add_reader(self._fd, self._readable)

    def _open_port(self) -> Serial:
        import serial

        try:
            port = serial.Serial(self.port, self._baud, timeout=0, write_timeout=0, exclusive=True)
            _keep_open_line(port.fileno())
            return port
        except (OSError, ValueError, termios.error) as error:
            number = getattr(error, "errno", None)
            missing = isinstance(error, FileNotFoundError) or number == 2
            fault = Fault.PORT_MISSING if missing else Fault.PORT_REFUSED
            raise LinkFault(fault, self.port) from error

    async def read(self) -> bytes:
        """Bytes that came, or the fault that ended them."""
        item = await self._received.get()
        if isinstance(item, LinkFault):
            self._received.put_nowait(item)
            raise item
        return item

    def write(self, data: bytes) -> None:
        """Queue bytes; they leave as fast as the port takes them."""
        self._unsent += data
        self._send()

    def write_now(self, data: bytes) -> None:
        """Throw away what waits here and in the driver, and send this."""
        self._unsent.clear()
        if self._serial is not None:
            with contextlib.suppress(OSError):
                self._serial.reset_output_buffer()
        self.write(data)

    def close(self) -> None:
        """Give the port back."""
        if self._serial is None:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._fd)
        loop.remove_writer(self._fd)
        with contextlib.suppress(OSError):
            self._serial.close()
        self._serial = None

    def _readable(self) -> None:
        port = self._serial
        try:
            data = port.read(READ_SIZE) if port else b""
        except OSError:
            data = b""
        if data:
            self._received.put_nowait(data)
        else:
            self._broken()

    def _send(self) -> None:
        """Hand over what the port takes; the rest goes when it is writable again."""
        port = self._serial
        if port is None:
            raise LinkFault(Fault.LINK_LOST, self.port)
        try:
            sent = port.write(bytes(self._unsent)) or 0
        except OSError:
            self._broken()
            return
        del self._unsent[:sent]
        loop = asyncio.get_running_loop()
        if self._unsent:
            loop.add_writer(self._fd, self._send)
        else:
            loop.remove_writer(self._fd)

    def _broken(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._fd)
        loop.remove_writer(self._fd)
        self._received.put_nowait(LinkFault(Fault.LINK_LOST, self.port))


def _keep_open_line(descriptor: int) -> None:
    """Leave DTR on when the port is closed: Arduinos are reset when it is switched on, and the
    successor of a killed program must not stop the motors dead by asking how they are.
    """
    attributes = termios.tcgetattr(descriptor)
    attributes[CONTROL_FLAGS] &= ~termios.HUPCL
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
