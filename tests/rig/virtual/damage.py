"""More ways to damage what passes a line than the cable of the demo has."""

from __future__ import annotations

import random

from robot.simulate.cable import Damage, Line, flip, nothing

__all__ = ["Damage", "Line", "drop", "flip", "insert", "nothing", "reorder", "repeat", "silence"]


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


def silence(_rng: random.Random, _byte: bytes) -> bytes:
    """Let nothing pass."""
    return b""
