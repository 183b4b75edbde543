"""A serial port, here a pseudo-terminal, whose library raises every possible error."""

from __future__ import annotations

import asyncio
import errno
import os
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import serial

from robot.link import SerialTransport
from robot.text.faults import LinkError
from solver.errors import root_sentence
from tests.rig.boards import is_fault

LIMIT_S = 60.0
"""Limit for operations that take a moment, on a busy computer."""

OPENING = ("__init__", "fileno", "tcsetattr")
GONE = OSError(errno.EIO, "Input/output error")
TERMIOS = termios.error(errno.EIO, "Input/output error")


def in_context(inner: OSError) -> Exception:
    """Return an error as pyserial raises it: the system's error is only in its context."""
    try:
        try:
            raise inner
        except OSError:
            raise serial.SerialException(inner.errno, f"could not open port X: {inner}")  # noqa: B904 # as it does
    except serial.SerialException as error:
        return error


RAISES: dict[str, list[Exception]] = {
    "__init__": [
        in_context(PermissionError(errno.EACCES, "Permission denied")),
        serial.SerialException("Could not configure port: (5, 'Input/output error')"),
        TERMIOS,
        ValueError("Invalid baud rate: 500000"),
    ],
    "fileno": [serial.PortNotOpenError()],
    "tcsetattr": [TERMIOS],
    "read": [
        serial.SerialException("device reports readiness to read but returned no data"),
        TypeError("'NoneType' object cannot be interpreted as an integer"),
        GONE,
    ],
    "write": [serial.SerialTimeoutException("Write timeout"), serial.PortNotOpenError(), GONE],
    "reset_output_buffer": [TERMIOS, serial.PortNotOpenError()],
    "close": [GONE],
}
"""Errors by function of pyserial or the system, each seen on some computer."""


class Port:
    """A pseudo-terminal with pyserial in front of it. ``board`` is its other end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.board, self._slave = os.openpty()
        os.set_blocking(self.board, False)
        self.name = os.ttyname(self._slave)
        self._monkeypatch = monkeypatch

    def fail(self, call: str, error: Exception) -> None:
        """Make the next call raise an error, once. A closing call still closes."""
        owner: Any = termios if call.startswith("tc") else serial.Serial
        owner, name = (serial, "Serial") if call == "__init__" else (owner, call)
        works = getattr(owner, name)

        def fails(*values: Any, **named: Any) -> None:
            self._monkeypatch.setattr(owner, name, works)
            if call == "close":
                works(*values, **named)
            raise error

        self._monkeypatch.setattr(owner, name, fails)

    async def hears(self) -> bytes:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self.board, heard.set)
        await asyncio.wait_for(heard.wait(), LIMIT_S)
        loop.remove_reader(self.board)
        return os.read(self.board, 100)

    def close(self) -> None:
        for descriptor in (self.board, self._slave):
            os.close(descriptor)


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[Port]:
    made = Port(monkeypatch)
    yield made
    made.close()


def open_files() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize(
    ("call", "error"), [(call, error) for call, errors in RAISES.items() for error in errors]
)
async def test_whatever_the_library_raises_is_a_fault_in_its_words_and_the_port_is_given_back(
    port, call, error, caplog
):
    transport = SerialTransport(port.name)
    before = open_files()
    if call not in OPENING:
        await transport.open()
    port.fail(call, error)
    fault: LinkError | None = None
    try:
        if call in OPENING:
            await transport.open()
        elif call == "reset_output_buffer":
            transport.write_now(b"stop")
            assert await port.hears() == b"stop"
        elif call in {"read", "write"}:
            os.write(port.board, b"hello")
            if call == "write":
                transport.write(b"go")
            while True:
                await asyncio.wait_for(transport.read(), LIMIT_S)
    except LinkError as raised:
        fault = raised
        assert raised.code == ("port-refused" if call in OPENING else "link-lost")
        assert port.name in raised.detail and root_sentence(error) in raised.detail
    assert (fault is None) == (call in {"reset_output_buffer", "close"})
    transport.close()
    assert call != "close" or root_sentence(error) in caplog.text
    transport.close()
    assert open_files() == before
    await transport.open()
    transport.write(b"again")
    assert await port.hears() == b"again"
    transport.close()


@pytest.mark.parametrize(
    ("number", "fault", "told"),
    [
        (errno.ENOENT, "port-missing", ""),
        (errno.ENODEV, "port-missing", ""),
        (errno.ENXIO, "port-missing", ""),
        (errno.EACCES, "port-refused", "Permission denied"),
        (errno.EBUSY, "port-refused", "another program uses it"),
        (errno.EAGAIN, "port-refused", "another program uses it"),  # it has locked it
    ],
)
async def test_a_port_that_does_not_open_is_explained(port, number, fault, told):
    port.fail("__init__", in_context(OSError(number, os.strerror(number))))
    with pytest.raises(LinkError, check=is_fault(fault)) as error:
        await SerialTransport(port.name).open()
    assert error.value.detail == f"{port.name}: {told}".removesuffix(": ")


async def test_closing_the_port_resets_no_board(port, tmp_path):
    """Check that anything but a serial port is refused."""
    attributes = termios.tcgetattr(port.board)
    attributes[2] |= termios.HUPCL
    termios.tcsetattr(port.board, termios.TCSANOW, attributes)
    transport = SerialTransport(port.name)
    await transport.open()
    transport.close()
    assert not termios.tcgetattr(port.board)[2] & termios.HUPCL
    with pytest.raises(LinkError, check=is_fault("port-refused")):
        await SerialTransport(str(tmp_path)).open()
