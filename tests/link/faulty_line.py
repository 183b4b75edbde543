"""A transport that damages what passes: for the fault campaign."""

from __future__ import annotations

import random
from collections.abc import Callable

from robot.link import SerialTransport

Damage = Callable[[random.Random, bytes], bytes]


def drop(rate: float) -> Damage:
    """Lose bytes."""
    return lambda rng, data: bytes(byte for byte in data if rng.random() >= rate)


def repeat(rate: float) -> Damage:
    """Deliver bytes twice."""
    return lambda rng, data: b"".join(
        bytes([byte]) * (2 if rng.random() < rate else 1) for byte in data
    )


def insert(rate: float) -> Damage:
    """Put noise between bytes."""
    return lambda rng, data: b"".join(
        bytes([byte, rng.randrange(256)]) if rng.random() < rate else bytes([byte]) for byte in data
    )


def flip(rate: float) -> Damage:
    """Turn single bits."""
    return lambda rng, data: bytes(
        byte ^ (1 << rng.randrange(8)) if rng.random() < rate else byte for byte in data
    )


def reorder(rate: float) -> Damage:
    """Swap neighbours."""

    def damage(rng: random.Random, data: bytes) -> bytes:
        out = bytearray(data)
        for place in range(len(out) - 1):
            if rng.random() < rate:
                out[place], out[place + 1] = out[place + 1], out[place]
        return bytes(out)

    return damage


def nothing(_rng: random.Random, data: bytes) -> bytes:
    """Let everything pass."""
    return data


def silence(_rng: random.Random, _data: bytes) -> bytes:
    """Let nothing pass."""
    return b""


class FaultyTransport(SerialTransport):
    """A serial port whose two directions are damaged; set ``outwards`` and ``inwards`` any time."""

    def __init__(self, port: str, seed: int = 1) -> None:
        super().__init__(port)
        self.outwards: Damage = nothing
        self.inwards: Damage = nothing
        self._rng = random.Random(seed)

    async def read(self) -> bytes:
        """What is left of what came."""
        return self.inwards(self._rng, await super().read())

    def write(self, data: bytes) -> None:
        """Send what is left of ``data``."""
        super().write(self.outwards(self._rng, data))
