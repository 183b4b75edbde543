"""What a change of source text is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes from ``start`` to ``end`` of a file become ``text``."""

    start: int
    end: int
    text: bytes
    kind: str


def neighbours(number: int) -> tuple[int, int]:
    """The constants next to one."""
    return number - 1, number + 1
