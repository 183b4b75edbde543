"""A line that damages what passes: by the place in the stream, however the stream is cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

Damage = Callable[[random.Random, bytes], bytes]
"""One byte in; none, one or several out. Draws equally often whatever comes of it."""


def drop(rate: float) -> Damage:
    """Lose bytes."""
    return lambda rng, byte: b"" if rng.random() < rate else byte


def repeat(rate: float) -> Damage:
    """Deliver bytes twice."""
    return lambda rng, byte: byte * (2 if rng.random() < rate else 1)


def insert(rate: float) -> Damage:
    """Put noise between bytes."""

    def damage(rng: random.Random, byte: bytes) -> bytes:
        hit, noise = rng.random() < rate, bytes([rng.randrange(256)])
        return byte + noise if hit else byte

    return damage


def flip(rate: float) -> Damage:
    """Turn single bits."""

    def damage(rng: random.Random, byte: bytes) -> bytes:
        hit, bit = rng.random() < rate, rng.randrange(8)
        return bytes([byte[0] ^ (1 << bit)]) if hit else byte

    return damage


def reorder(rate: float) -> Damage:
    """Swap neighbours."""
    held = b""

    def damage(rng: random.Random, byte: bytes) -> bytes:
        nonlocal held
        hit = rng.random() < rate
        if hit and not held:
            held = byte
            return b""
        out, held = byte + held, b""
        return out

    return damage


def nothing(_rng: random.Random, byte: bytes) -> bytes:
    """Let everything pass."""
    return byte


def silence(_rng: random.Random, _byte: bytes) -> bytes:
    """Let nothing pass."""
    return b""


class Line:
    """One direction of a line; set ``damage`` any time."""

    def __init__(self, seed: int = 1, damage: Damage = nothing) -> None:
        self.damage = damage
        self._random = random.Random(seed)

    def carry(self, data: bytes) -> bytes:
        """What arrives of ``data``."""
        if self.damage is nothing:
            return data
        return b"".join(self._carried(data))

    def _carried(self, data: bytes) -> Iterator[bytes]:
        for place in range(len(data)):
            yield self.damage(self._random, data[place : place + 1])
