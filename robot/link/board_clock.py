"""The clock of a board, compared with this computer's over the link."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from robot.settings.board_table import TICKS_PER_S

WRAP = 1 << 32
"""A board counts its ticks so far."""
WINDOW_S = 1.0
"""The best comparison of each such time is kept."""
WINDOWS = 120
ASKING = 0.2
"""Part of the time there and back that a question takes: a Ping is much shorter than a Status."""
AGEING = 200e-6
"""Seconds by which two clocks may part in a second: what makes an older comparison worse."""
MOST_DRIFT = 0.01
"""Of a ceramic resonator, with room. What seems to be beyond is a simulation, whose pace varies."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A board told ``ticks`` between two moments of this computer's clock, in seconds."""

    asked_at: float
    heard_at: float
    ticks: int

    @property
    def at(self) -> float:
        """The most likely moment: most of the time the answer was on its way."""
        return self.asked_at + ASKING * (self.heard_at - self.asked_at)

    @property
    def doubt_s(self) -> float:
        """How far from it the true moment may be."""
        return self.heard_at - self.at


class BoardClock:
    """What a board's clock shows at a time of this computer's, as well as is known."""

    def __init__(self) -> None:
        self._kept: deque[Comparison] = deque(maxlen=WINDOWS)
        self._latest = 0
        self._only_new = False
        self._new: Comparison | None = None

    def forget_time(self) -> None:
        """From now on only new comparisons tell the time; those before still tell the drift.

        A board under simulation loses time when its computer is busy, as no quartz does.
        """
        self._only_new, self._new = True, None

    def compare(self, asked_at: float, heard_at: float, told: int) -> None:
        """The board was asked and told its ticks, of which it sends the lower 32 bits."""
        ticks = self._latest + (told - self._latest) % WRAP if self._kept else told
        self._latest = ticks
        new = Comparison(asked_at, heard_at, ticks)
        if self._new is None or new.doubt_s <= self._new.doubt_s:
            self._new = new
        if not self._kept or new.asked_at - self._kept[-1].asked_at >= WINDOW_S:
            self._kept.append(new)
        elif new.doubt_s <= self._kept[-1].doubt_s:
            self._kept[-1] = new

    @property
    def drift(self) -> float:
        """How much faster than this computer's it certainly goes: 0.0001 is 100 ppm.

        Every two comparisons give bounds; it is what lies within all of them and nearest to 0.
        """
        if not self._kept:
            return 0.0
        low, high = -float("inf"), float("inf")
        newest = self._best_kept(self._kept[-1].heard_at)
        for old in self._kept:
            if newest.asked_at <= old.heard_at:
                continue
            told = (newest.ticks - old.ticks) / TICKS_PER_S
            low = max(low, told / (newest.heard_at - old.asked_at) - 1)
            high = min(high, told / (newest.asked_at - old.heard_at) - 1)
        drift = max(low, min(high, 0.0))
        return drift if abs(drift) <= MOST_DRIFT else 0.0

    def doubt_s(self, at: float) -> float:
        """How far :meth:`tick_at` may be wrong, unless the clocks part unusually fast."""
        best = self._best_at(at)
        return best.doubt_s + AGEING * abs(at - best.at)

    def tick_at(self, at: float) -> int:
        """The lower 32 bits of its ticks at a time in seconds; it has been compared."""
        best = self._best_at(at)
        return round(best.ticks + (at - best.at) * TICKS_PER_S * (1 + self.drift)) % WRAP

    def _best_at(self, at: float) -> Comparison:
        if self._only_new and self._new is not None:
            return self._new
        return self._best_kept(at)

    def _best_kept(self, at: float) -> Comparison:
        return min(self._kept, key=lambda one: one.doubt_s + AGEING * abs(at - one.at))
