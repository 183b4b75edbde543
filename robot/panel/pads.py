"""Two touch pads, as of a speedcubing timer: lay both hands on, lift them, and it begins.

No clock, no pin: only samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from robot.panel.button import Contact

HOLD_US = 550_000
"""How long both hands must lie before lifting them counts, as timers of competitions have it."""

SETTLE_US = 25_000

STUCK_US = 60_000_000
"""Nobody leaves a hand on a pad for so long."""


class Hands(StrEnum):
    """What a person's hands did."""

    LAID = "laid"
    READY = "ready"
    LIFTED = "lifted"


class Pads:
    """From samples of the pads (``True``: a hand lies on it) to what the hands did.

    A pad that is covered at the first sample, or for longer than anybody waits, is stuck: broken,
    or of the other polarity. Until it can be believed again hands do nothing.
    """

    def __init__(self, count: int) -> None:
        self._pads = [Contact(SETTLE_US, STUCK_US) for _ in range(count)]
        self._since_us: int | None = None
        self._ready = False

    @property
    def stuck(self) -> tuple[bool, ...]:
        """Which of the pads are stuck."""
        return tuple(pad.stuck for pad in self._pads)

    def sample(self, covered: Sequence[bool], time_us: int) -> Hands | None:
        """Take the pads' levels at a time; what the hands have done just now, if anything."""
        for pad, level in zip(self._pads, covered, strict=True):
            pad.sample(level, time_us)
        if not all(pad.believed for pad in self._pads):
            self._ready, self._since_us = False, None
            return None
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
