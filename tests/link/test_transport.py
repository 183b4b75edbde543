"""A serial port whose library raises whatever it can, on a pseudo-terminal."""

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

LIMIT_S = 60.0
"""For what takes a moment, on a computer that is busy with everything else."""

OPENING = ("__init__", "fileno", "tcgetattr", "tcsetattr")
GONE = OSError(errno.EIO, "Input/output error")


def in_context(inner: OSError) -> Exception:
    """An error as pyserial raises it: that of the system is only in its context."""
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
        termios.error(errno.EIO, "Input/output error"),
        ValueError("Invalid baud rate: 500000"),
        GONE,
    ],
    "fileno": [serial.PortNotOpenError()],
    "tcgetattr": [termios.error(errno.EIO, "Input/output error")],
    "tcsetattr": [termios.error(errno.EIO, "Input/output error")],
    "read": [
        serial.SerialException("device reports readiness to read but returned no data"),
        TypeError("'NoneType' object cannot be interpreted as an integer"),
        GONE,
    ],
    "write": [
        serial.SerialException("write failed: [Errno 5] Input/output error"),
        serial.SerialTimeoutException("Write timeout"),
        serial.PortNotOpenError(),
        GONE,
    ],
    "reset_output_buffer": [
        termios.error(errno.EIO, "Input/output error"),
        serial.PortNotOpenError(),
    ],
    "close": [GONE],
}
"""By function of pyserial or of the system: what came out of it, on some computer or other."""


class Port:
    """A pseudo-terminal with pyserial in front of it; ``board`` is its other end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.board, self._slave = os.openpty()
        os.set_blocking(self.board, False)
        self.name = os.ttyname(self._slave)
        self._monkeypatch = monkeypatch

    def fail(self, call: str, error: Exception) -> None:
        """The next call raises, once; what closes does so all the same."""
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
        """What the board was sent, as soon as there is something."""
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
def test_whatever_the_library_raises_is_a_fault_in_its_words_and_the_port_is_given_back(
    port: Port, call: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(_raises(port, call, error, caplog))


async def _raises(
    port: Port, call: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    transport = SerialTransport(port.name)
    before = open_files()
    if call in OPENING:
        port.fail(call, error)
        with pytest.raises(LinkError) as fault:
            await transport.open()
        assert fault.value.code == "port-refused"
        assert port.name in fault.value.detail and root_sentence(error) in fault.value.detail
        assert open_files() == before
    elif call in {"read", "write"}:
        await transport.open()
        port.fail(call, error)
        os.write(port.board, b"hello")
        if call == "write":
            transport.write(b"go")
        with pytest.raises(LinkError) as fault:
            while True:
                await asyncio.wait_for(transport.read(), LIMIT_S)
        assert fault.value.code == "link-lost"
        assert port.name in fault.value.detail and root_sentence(error) in fault.value.detail
    elif call == "reset_output_buffer":
        await transport.open()
        port.fail(call, error)
        transport.write_now(b"stop")
        assert await port.hears() == b"stop"
    else:
        await transport.open()
        port.fail(call, error)
        transport.close()
        assert root_sentence(error) in caplog.text
    transport.close()
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
        (errno.EBUSY, "port-refused", "another program has it"),
        (errno.EAGAIN, "port-refused", "another program has it"),  # it has locked it
    ],
)
def test_why_a_port_does_not_open(port: Port, number: int, fault: str, told: str) -> None:
    port.fail("__init__", in_context(OSError(number, os.strerror(number))))
    with pytest.raises(LinkError) as error:
        asyncio.run(SerialTransport(port.name).open())
    assert error.value.code == fault
    assert error.value.detail == f"{port.name}: {told}".removesuffix(": ")


def test_what_is_no_serial_port_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path):
        with pytest.raises(LinkError) as error:
            asyncio.run(SerialTransport(str(path)).open())
        assert error.value.code == "port-refused"
