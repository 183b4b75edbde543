"""Frames on the wire: ``COBS( session | seq | ack | type | payload | crc16 ) 00``."""

from __future__ import annotations

import binascii
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from cobs import cobs

from robot.link.protocol import (
    ANY_SESSION,
    MAX_PAYLOAD,
    MAX_REPLY,
    WINDOW,
    ClearProfiles,
    EmergencyStop,
    Go,
    GoAt,
    Home,
    Message,
    PlanBegin,
    ProfileBegin,
    ProfileSegments,
    Turns,
)

HEADER = 4
CRC = 2
LONGEST_BLOCK = HEADER + MAX_REPLY + CRC + 2
CRC_START = 0xFFFF


def crc16(data: bytes, crc: int = CRC_START) -> int:
    """Return the CRC-16/CCITT-FALSE, continued from ``crc``."""
    return binascii.crc_hqx(data, crc)


@dataclass(frozen=True, slots=True)
class WireFrame:
    """A frame's header fields and its payload; ``type`` is a message's number."""

    session: int
    seq: int
    ack: int
    type: int
    payload: bytes = b""

    def encode(self) -> bytes:
        """Return the frame as it is sent, with its final 00."""
        if len(self.payload) > MAX_PAYLOAD:
            raise ValueError(f"payload of {len(self.payload)} bytes, {MAX_PAYLOAD} fit")
        body = bytes([self.session, self.seq, self.ack, self.type]) + self.payload
        return bytes(cobs.encode(body + crc16(body).to_bytes(2, "little"))) + b"\0"


EMERGENCY_STOP = b"\0" + WireFrame(ANY_SESSION, 255, 255, EmergencyStop.TYPE).encode()
"""The emergency stop, separated from any incomplete frame before it."""


def decode(block: bytes) -> WireFrame | None:
    """Return the frame of a board in a block between two 00, or None if it is damaged."""
    try:
        body = cobs.decode(block)
    except cobs.DecodeError:
        return None
    if not HEADER + CRC <= len(body) <= HEADER + MAX_REPLY + CRC:
        return None
    if crc16(body[:-CRC]) != int.from_bytes(body[-CRC:], "little"):
        return None
    return WireFrame(body[0], body[1], body[2], body[3], body[HEADER:-CRC])


class CobsReader:
    """Splits a stream of bytes into frames, and counts damaged ones."""

    def __init__(self) -> None:
        self.frames = 0
        self.damaged = 0
        self._block = bytearray()

    def feed(self, data: bytes) -> Iterator[WireFrame]:
        """Yield the frames completed by ``data``."""
        *blocks, rest = data.split(b"\0")
        for block in blocks:
            whole = bytes(self._block) + block
            self._block.clear()
            if whole and (frame := self._read(whole)):
                yield frame
        if len(self._block) <= LONGEST_BLOCK:
            self._block += rest

    def _read(self, block: bytes) -> WireFrame | None:
        frame = decode(block)
        if frame:
            self.frames += 1
        else:
            self.damaged += 1
        return frame


MOTION = (ClearProfiles, ProfileBegin, ProfileSegments, PlanBegin, Turns, Go, GoAt, Home)
"""Messages of plans and homing."""

RESEND_AFTER_S = 0.04
LONGEST_RESEND_S = 0.1
"""Maximum wait before sending again. The line is not shared, but a busy Pi may need as long."""


@dataclass(slots=True)
class Sent:
    """A message under way, with its sequence number."""

    seq: int
    message: Message
    room: int
    """Bytes of the turn queue it will fill."""


class SendWindow:
    """The messages of one session in their order."""

    def __init__(self) -> None:
        self.sent = 0
        self.resent = 0
        self._waiting: deque[Message] = deque()
        self._under_way: deque[Sent] = deque()
        self._next_seq = 0
        self._free = 0
        self._last_progress = 0.0
        self._patience_s = RESEND_AFTER_S
        self._suspended = False
        self.stops = 0
        """Emergency stops that the board had reported when the messages under way were sent."""

    @property
    def idle(self) -> bool:
        """True when everything is acknowledged."""
        return not self._waiting and not self._under_way

    @property
    def credit(self) -> int:
        """Bytes of turns that may be sent now."""
        return self._free - sum(sent.room for sent in self._under_way)

    @property
    def handled(self) -> int:
        """Sequence number of the last message acknowledged."""
        first = self._under_way[0].seq if self._under_way else self._next_seq
        return (first - 1) % 256

    def put(self, message: Message) -> None:
        """Queue a message."""
        self._waiting.append(message)

    def discard(self) -> None:
        """Forget unsent messages."""
        self._waiting.clear()

    def discard_motion(self) -> None:
        """Forget unsent messages of plans and homing."""
        self._waiting = deque(one for one in self._waiting if not isinstance(one, MOTION))

    def suspend(self) -> None:
        """Forget unsent messages, and send nothing until :meth:`restart`."""
        self.discard()
        self._suspended = True

    def restart(self, ack: int, stops: int) -> None:
        """Forget all messages after an emergency stop: the board drops those from before it.

        ``ack``: the last sequence number that the board handled.
        """
        self.discard()
        self._under_way.clear()
        self._next_seq = (ack + 1) % 256
        self.stops = stops
        self._suspended = False

    def acknowledge(self, ack: int, now: float, free: int | None = None) -> None:
        """Note that everything up to ``ack`` was handled. Ignore a number that is not under way."""
        count = (ack - self.handled) % 256
        if count > len(self._under_way):
            return
        for _ in range(count):
            self._under_way.popleft()
        if count:
            self._last_progress = now
            self._patience_s = RESEND_AFTER_S
        if free is not None:
            self._free = free

    def pump(self, now: float) -> list[tuple[int, Message]]:
        """Return messages to send now, including overdue ones, with their sequence numbers."""
        out: list[tuple[int, Message]] = []
        if self._suspended:
            return out
        if self._under_way and now - self._last_progress >= self._patience_s:
            out += [(sent.seq, sent.message) for sent in self._under_way]
            self.resent += len(out)
            self._last_progress = now
            self._patience_s = min(2 * self._patience_s, LONGEST_RESEND_S)
        while self._waiting and len(self._under_way) < WINDOW and self._affordable():
            out.append(self._launch(now))
        return out

    def _affordable(self) -> bool:
        return _room(self._waiting[0]) <= self.credit

    def _launch(self, now: float) -> tuple[int, Message]:
        message = self._waiting.popleft()
        if not self._under_way:
            self._last_progress = now
        sent = Sent(self._next_seq, message, _room(message))
        self._under_way.append(sent)
        self._next_seq = (self._next_seq + 1) % 256
        self.sent += 1
        return sent.seq, message


def _room(message: Message) -> int:
    return len(message.turns) if isinstance(message, Turns) else 0
