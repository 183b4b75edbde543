"""A USB webcam in software: the kernel talks to it through its USB/IP driver.

It streams MJPEG and uncompressed pictures over a bulk endpoint, and has the controls of a usual
webcam. Closing the connection unplugs it.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import cv2
import numpy as np

from tests.system.kernel.inside.surroundings import attach

SUBMIT, UNLINK, SUBMITTED, UNLINKED = 1, 2, 3, 4
HEADER = struct.Struct(">5I5I8s")
ANSWER = struct.Struct(">5I5i8s")
"""USB/IP messages: a request, and its result."""
STALL, GONE = -32, -104

FRAME_S = 0.033
STILL = 1_000_000
"""Seed of a picture that does not change. No other picture uses it."""
PAYLOAD = 16_384
"""Bytes of one transfer, including its header of two bytes."""
PROBE = struct.Struct("<HBBIHHHHHII")

SET, GET_CURRENT, GET_LENGTH, GET_INFO = 0x01, 0x81, 0x85, 0x86
CAMERA, PROCESSING, OUTPUT = 1, 2, 3
"""Units of the webcam."""
AUTO_EXPOSURE, EXPOSURE, FOCUS, AUTO_FOCUS = (
    (CAMERA, 0x02),
    (CAMERA, 0x04),
    (CAMERA, 0x06),
    (CAMERA, 0x08),
)
WHITE_BALANCE, AUTO_WHITE_BALANCE = (PROCESSING, 0x0A), (PROCESSING, 0x0B)
FORMATS = ("YUYV", "MJPG")
BY_SHUTTER, BY_APERTURE = 0x01, 0x08
"""Modes of exposure: manual and automatic."""


class Control:
    """A control of ``size`` bytes. ``answers`` holds its values by request."""

    def __init__(self, size: int, least: int, most: int, step: int, now: int) -> None:
        self.size = size
        self.now = now
        self.answers = {0x82: least, 0x83: most, 0x84: step, 0x87: now}

    def read(self, request: int) -> bytes:
        if request == GET_INFO:
            return b"\x03"  # it can be read and set
        if request == GET_LENGTH:
            return struct.pack("<H", self.size)
        value = self.now if request == GET_CURRENT else self.answers[request]
        return value.to_bytes(self.size, "little")


def usual_controls() -> dict[tuple[int, int], Control]:
    """Return the controls that a webcam with autofocus has."""
    return {
        AUTO_EXPOSURE: Control(1, 0, 0, BY_SHUTTER | BY_APERTURE, BY_APERTURE),
        EXPOSURE: Control(4, 1, 5000, 1, 150),
        FOCUS: Control(2, 0, 250, 5, 30),
        AUTO_FOCUS: Control(1, 0, 1, 1, 1),
        WHITE_BALANCE: Control(2, 2800, 6500, 1, 4600),
        AUTO_WHITE_BALANCE: Control(1, 0, 1, 1, 1),
    }


def _block(kind: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return bytes([len(body) + 2, kind]) + body


def _interface(number: int, ends: int, subclass: int) -> bytes:
    return _block(4, bytes([number, 0, ends, 14, subclass, 0, 0]))


def _controls_of(controls: dict[tuple[int, int], Control]) -> tuple[bytes, bytes]:
    """Return the control bits of the camera unit and of the processing unit."""
    camera = {AUTO_EXPOSURE: 1, EXPOSURE: 3, FOCUS: 5, AUTO_FOCUS: 17}
    processing = {WHITE_BALANCE: 6, AUTO_WHITE_BALANCE: 12}
    bits = [
        sum(1 << at for name, at in some.items() if name in controls)
        for some in (camera, processing)
    ]
    return bits[0].to_bytes(3, "little"), bits[1].to_bytes(2, "little")


def _format(index: int, kind: str, width: int, height: int) -> bytes:
    """Return the descriptors of a format with one picture size."""
    size = width * height * 2
    interval = round(FRAME_S * 1e7)
    numbers = (width, height, size * 8 * 20, size * 8 * 40, size, interval, 1, interval)
    frame = struct.pack("<BBHHIIIIBI", 1, 0, *numbers)
    if kind == "MJPG":
        return _block(0x24, bytes([6, index, 1, 0, 1, 0, 0, 0, 0])) + _block(0x24, b"\x07", frame)
    yuyv = b"YUY2" + bytes.fromhex("000010008000 00aa00389b71".replace(" ", ""))
    return _block(0x24, bytes([4, index, 1]), yuyv, bytes([16, 1, 0, 0, 0, 0])) + _block(
        0x24, b"\x05", frame
    )


class Webcam:
    """A webcam with some formats that can be plugged in and out.

    ``is_cut_short``: pictures end too early. ``is_sending``: pictures arrive. ``shows``: "noise"
    like that of a sensor, the "same" picture for ever, or "black". ``format``: the driver's choice.
    """

    NAME = "UVC Camera (1d6b:0102)"
    width, height = 320, 240

    def __init__(self, formats: tuple[str, ...] = FORMATS, *, locks: bool = True) -> None:
        self.formats = formats
        self.controls = usual_controls() if locks else {}
        self.format = ""
        self.is_cut_short = False
        self.is_sending = True
        self.shows = "noise"
        self._probe = (0, 1, 1)
        self._line: socket.socket | None = None
        self._pending: list[tuple[int, int]] = []
        self._turn = threading.Condition()
        self._pictures = self._payloads()

    def plug_in(self) -> None:
        ours, theirs = socket.socketpair()
        self.connect(ours)
        attach(theirs)

    def connect(self, line: socket.socket) -> None:
        """Talk to the kernel at the other end of a line, in separate threads."""
        self._line = line
        self._pending.clear()
        for work in (self._answer, self._stream):
            threading.Thread(target=work, args=(line,), daemon=True).start()

    def pull_out(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            with suppress(OSError):  # the other end may have closed already
                line.shutdown(socket.SHUT_RDWR)

    def _answer(self, line: socket.socket) -> None:
        with line:
            while message := _receive(line, HEADER.size):
                command, number, _, direction, end, *fields, setup = HEADER.unpack(message)
                if command == UNLINK:
                    self._unlink(line, number, fields[0])
                    continue
                length = fields[1]
                data = _receive(line, length) if direction == 0 and length else b""
                if end:
                    with self._turn:
                        self._pending.append((number, length))
                        self._turn.notify_all()
                    continue
                answer = self._control(setup, data)
                with self._turn:
                    self._reply(
                        line, number, None if answer is None else answer[:length], len(data)
                    )

    def _unlink(self, line: socket.socket, number: int, unlinked: int) -> None:
        """Forget a transfer that the kernel no longer waits for, unless it was answered."""
        with self._turn:
            left = [one for one in self._pending if one[0] != unlinked]
            status = 0 if left == self._pending else GONE
            self._pending = left
            line.sendall(ANSWER.pack(UNLINKED, number, 0, 0, 0, status, 0, 0, 0, 0, b""))

    def _reply(self, line: socket.socket, number: int, data: bytes | None, taken: int = 0) -> None:
        status, data = (STALL, b"") if data is None else (0, data)
        fields = (status, taken or len(data), 0, 0, 0)
        line.sendall(ANSWER.pack(SUBMITTED, number, 0, 0, 0, *fields, b"") + data)

    def _control(self, setup: bytes, data: bytes) -> bytes | None:
        """Answer a request at endpoint 0; None refuses it."""
        kind, request, value, index, _ = struct.unpack("<BBHHH", setup)
        if kind & 0x60 == 0x20:
            return self._ask_class(request, value >> 8, index >> 8, index & 0xFF, data)
        if request == 6:
            return self._descriptor(value >> 8)
        return b"\0\0" if kind & 0x80 else b""

    def _ask_class(
        self, request: int, selector: int, unit: int, interface: int, data: bytes
    ) -> bytes | None:
        if interface == 1:
            return self._ask_stream(request, selector, data)
        control = self.controls.get((unit, selector))
        if control is None:
            return None
        if request != SET:
            return control.read(request)
        control.now = int.from_bytes(data, "little")
        return b""

    def _ask_stream(self, request: int, selector: int, data: bytes) -> bytes | None:
        if request == SET:
            self._probe = PROBE.unpack(data[: PROBE.size])[:3]
            if selector == 2:
                self.format = self.formats[max(self._probe[1], 1) - 1]
                self._pictures = self._payloads()
            return b""
        if request in (GET_LENGTH, GET_INFO):
            return struct.pack("<H", PROBE.size) if request == GET_LENGTH else b"\x03"
        hint, form, frame = self._probe
        numbers = (round(FRAME_S * 1e7), 0, 0, 0, 0, 0, self.width * self.height * 2, PAYLOAD)
        return PROBE.pack(hint, max(form, 1), max(frame, 1), *numbers)

    def _descriptor(self, kind: int) -> bytes | None:
        if kind == 1:
            numbers = (0x0200, 0xEF, 2, 1, 64, 0x1D6B, 0x0102, 0x0100, 0, 0, 0, 1)
            return _block(1, struct.pack("<HBBBBHHHBBBB", *numbers))
        if kind == 2:
            body = self._interfaces()
            return _block(2, struct.pack("<HBBBBB", 9 + len(body), 2, 1, 0, 0x80, 250)) + body
        return None

    def _interfaces(self) -> bytes:
        camera, processing = _controls_of(self.controls)
        units = [
            _block(
                0x24,
                bytes([2, CAMERA]),
                struct.pack("<HBBHHH", 0x0201, 0, 0, 0, 0, 0),
                b"\3",
                camera,
            ),
            _block(0x24, bytes([5, PROCESSING, CAMERA, 0, 0, 2]), processing, b"\0"),
            _block(0x24, bytes([3, OUTPUT]), struct.pack("<HBBB", 0x0101, 0, PROCESSING, 0)),
        ]
        length = 13 + sum(map(len, units))
        head = _block(0x24, struct.pack("<BHHIBB", 1, 0x0100, length, 48_000_000, 1, 1))
        formats = [
            _format(at, name, self.width, self.height)
            for at, name in enumerate(self.formats, start=1)
        ]
        count = len(formats)
        size = 13 + count + sum(map(len, formats))
        stream = struct.pack("<BBHBBBBBBB", 1, count, size, 0x81, 0, OUTPUT, 0, 0, 0, 1)
        return b"".join(
            [
                _block(11, bytes([0, 2, 14, 3, 0, 0])),
                *(_interface(0, 0, 1), head, *units),
                _interface(1, 1, 2),
                *(_block(0x24, stream, bytes(count)), *formats),
                _block(5, struct.pack("<BBHB", 0x81, 2, 512, 0)),
            ]
        )

    def _stream(self, line: socket.socket) -> None:
        """Send a payload for each transfer that the kernel waits for, while the line holds."""
        while self._line is line:
            with self._turn:
                self._turn.wait_for(lambda: self._pending or self._line is not line, 1.0)
            payload = next(self._pictures)
            with self._turn:
                # The kernel breaks the connection on a reply to a request that it has unlinked.
                if not self._pending or not self.is_sending or self._line is not line:
                    continue
                number, length = self._pending.pop(0)
                try:
                    self._reply(line, number, payload[:length])
                except OSError:
                    return

    def _payloads(self) -> Iterator[bytes]:
        """Yield pictures without end, in parts with their headers."""
        count = 0
        due = time.monotonic()
        while True:
            due = max(due + FRAME_S, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
            data = self._picture(count)
            chunks = [data[at : at + PAYLOAD - 2] for at in range(0, len(data), PAYLOAD - 2)]
            for at, chunk in enumerate(chunks, start=1):
                flags = 0x80 | count & 1 | (0x02 if at == len(chunks) else 0)
                yield bytes([2, flags]) + chunk
            count += 1

    def _picture(self, number: int) -> bytes:
        image = self.look(number)
        if self.format != "MJPG":
            return cv2.cvtColor(image, cv2.COLOR_BGR2YUV_YUY2).tobytes()
        data = cv2.imencode(".jpg", image)[1].tobytes()
        return data[: len(data) // 3] if self.is_cut_short else data

    def look(self, number: int) -> cv2.typing.MatLike:
        """Return the camera's view, B G R: a red patch on grey with noise."""
        seed = number if self.shows == "noise" else STILL
        size = (self.height, self.width, 3)
        noise = np.random.default_rng(seed).integers(0, 6, size, np.uint8)
        image = np.full(size, 120, np.uint8) + noise
        image[60:180, 80:240] = (40, 60, 200) + noise[60:180, 80:240]
        if self.shows == "black":
            image[:] = 0
        return image


def _receive(line: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        try:
            part = line.recv(length - len(data))
        except OSError:
            return b""
        if not part:
            return b""
        data += part
    return data
