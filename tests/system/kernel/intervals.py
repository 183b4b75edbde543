"""Times at which a line went up or down, and how even they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Change = Sequence[float]
"""Time in seconds, pin and value of a line that was set."""


def times_us(changes: Sequence[Change], pin: int, level: int) -> list[float]:
    """When a line went to a level."""
    return [time_s * 1e6 for time_s, at, value in changes if (at, value) == (pin, level)]


def intervals_us(changes: Sequence[Change], pin: int) -> list[float]:
    """Between the rising edges of a line."""
    return [after - before for before, after in pairwise(times_us(changes, pin, 1))]


def errors_us(changes: Sequence[Change], pin: int, planned_us: float) -> list[float]:
    """How much shorter or longer than planned these are, the least first."""
    return sorted(abs(interval - planned_us) for interval in intervals_us(changes, pin))


def quantile(ordered: Sequence[float], part: float) -> float:
    """The value that this part of them does not exceed."""
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
