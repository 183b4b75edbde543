"""Two touch pads, as of a speedcubing timer: lay both hands on, lift them, and it begins.

No clock, no pin: only samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from robot.panel.button import Debouncer

HOLD_US = 550_000
"""How long both hands must lie before lifting them counts, as timers of competitions have it."""

SETTLE_US = 25_000


class Hands(StrEnum):
    """What a person's hands did."""

    LAID = "laid"
    READY = "ready"
    LIFTED = "lifted"


class Pads:
    """From samples of the pads (``True``: a hand lies on it) to what the hands did.

    Hands that lie there at the first sample, as a broken pad would have it, are ignored until they
    were lifted once.
    """

    def __init__(self, count: int) -> None:
        self._pads = [Debouncer(SETTLE_US) for _ in range(count)]
        self._since_us: int | None = None
        self._ready = False
        self._armed: bool | None = None

    def sample(self, covered: Sequence[bool], time_us: int) -> Hands | None:
        """Take the pads' levels at a time; what the hands have done just now, if anything."""
        if self._armed is None:
            self._armed = not any(covered)
        self._armed = self._armed or not any(covered)
        for pad, level in zip(self._pads, covered, strict=True):
            pad.sample(level and self._armed, time_us)
        if not all(pad.level for pad in self._pads):
            return self._lifted()
        if self._since_us is None:
            self._since_us = time_us
            return Hands.LAID
        if not self._ready and time_us - self._since_us >= HOLD_US:
            self._ready = True
            return Hands.READY
        return None

    def _lifted(self) -> Hands | None:
        ready, self._ready, self._since_us = self._ready, False, None
        return Hands.LIFTED if ready else None
