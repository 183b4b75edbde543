"""Frames on the wire: ``COBS( session | seq | ack | type | payload | crc16 ) 00``."""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from cobs import cobs

from robot.link.protocol import ANY_SESSION, MAX_PAYLOAD, EmergencyStop

HEADER = 4
CRC = 2
LONGEST_BLOCK = HEADER + MAX_PAYLOAD + CRC + 2
CRC_START = 0xFFFF


def crc16(data: bytes, crc: int = CRC_START) -> int:
    """CRC-16/CCITT-FALSE, continued from ``crc``."""
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
        """The frame as it travels, with its final 00."""
        if len(self.payload) > MAX_PAYLOAD:
            raise ValueError(f"payload of {len(self.payload)} bytes, {MAX_PAYLOAD} fit")
        body = bytes([self.session, self.seq, self.ack, self.type]) + self.payload
        return bytes(cobs.encode(body + crc16(body).to_bytes(2, "little"))) + b"\0"


EMERGENCY_STOP = b"\0" + WireFrame(ANY_SESSION, 255, 255, EmergencyStop.TYPE).encode()
"""The emergency stop, separated from whatever half frame precedes it."""


def decode(block: bytes) -> WireFrame | None:
    """The frame in a block between two 00, or None if it is damaged."""
    try:
        body = cobs.decode(block)
    except cobs.DecodeError:
        return None
    if not HEADER + CRC <= len(body) <= HEADER + MAX_PAYLOAD + CRC:
        return None
    if crc16(body[:-CRC]) != int.from_bytes(body[-CRC:], "little"):
        return None
    return WireFrame(body[0], body[1], body[2], body[3], body[HEADER:-CRC])


class CobsReader:
    """Cuts a stream of bytes into frames; counts what was damaged."""

    def __init__(self) -> None:
        self.frames = 0
        self.damaged = 0
        self._block = bytearray()

    def feed(self, data: bytes) -> Iterator[WireFrame]:
        """Frames completed by ``data``."""
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
