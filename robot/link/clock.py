"""The clock of a board, compared with this computer's over the link."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from robot.settings.board_table import TICKS_PER_S

WRAP = 1 << 32
"""Ticks after which a board's counter wraps."""
WINDOW_S = 1.0
"""Length of a window, in which only the best comparison is kept."""
WINDOWS = 120
RECENT = 64
"""Number of comparisons kept since time was forgotten."""
ASKING = 0.2
"""Fraction of the round trip that a question takes: a Ping is much shorter than a Status."""
AGEING = 200e-6
"""Seconds by which two clocks may diverge in a second. This makes older comparisons worse."""
EVEN = 2 * AGEING
"""Contradiction of the bounds of a drift above which time did not pass evenly: the computer of a
simulated board was busy, or a computer slept."""
MOST_DRIFT = 0.01
"""Maximum drift of a ceramic resonator, with a margin. Only a simulation, whose pace varies, may
exceed it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A reading ``ticks`` of a board's clock, between two times of this computer's, in seconds."""

    asked_at: float
    heard_at: float
    ticks: int

    @property
    def at(self) -> float:
        """Most likely time of the reading: the answer takes most of the round trip."""
        return self.asked_at + ASKING * (self.heard_at - self.asked_at)

    @property
    def doubt_s(self) -> float:
        """Largest distance of the true time from :attr:`at`."""
        return self.heard_at - self.at


class BoardClock:
    """Estimate of a board's clock at a time of this computer's."""

    def __init__(self) -> None:
        self._kept: deque[Comparison] = deque(maxlen=WINDOWS)
        self._window_at = 0.0
        self._latest = 0
        self._only_new = False
        self._new: deque[Comparison] = deque(maxlen=RECENT)

    def forget_time(self) -> None:
        """Use only new comparisons for the time from now on; older ones still give the drift.

        Unlike a quartz, a simulated board loses time when its computer is busy.
        """
        self._only_new = True
        self._new.clear()

    def compare(self, asked_at: float, heard_at: float, told: int) -> None:
        """Note the ticks that the board reported. It sends their lower 32 bits."""
        ticks = self._latest + (told - self._latest) % WRAP if self._kept else told
        self._latest = ticks
        new = Comparison(asked_at, heard_at, ticks)
        if self._only_new:
            self._new.append(new)
        if not self._kept or new.asked_at - self._window_at >= WINDOW_S:
            self._kept.append(new)
            self._window_at = new.asked_at
        elif new.doubt_s < self._kept[-1].doubt_s:
            self._kept[-1] = new

    @property
    def new(self) -> Sequence[Comparison]:
        """The comparisons since time was forgotten."""
        return self._new

    @property
    def latest(self) -> int:
        """The board's last report: all its ticks, not only their lower 32 bits."""
        return self._latest

    @property
    def drift(self) -> float:
        """The smallest possible excess of its rate over this computer's: 0.0001 is 100 ppm."""
        bounds = self.drift_bounds
        return 0.0 if bounds is None else _nearest_to_zero(bounds)

    @property
    def drift_bounds(self) -> tuple[float, float] | None:
        """Lower and upper bound of the drift; None if time did not pass evenly.

        Every two comparisons give bounds, and the drift lies within all of them.
        """
        low, high = -math.inf, math.inf
        newest = self._best_kept(self._kept[-1].heard_at) if self._kept else None
        for old in self._kept:
            if newest is None or newest.asked_at <= old.heard_at:
                continue
            told = (newest.ticks - old.ticks) / TICKS_PER_S
            low = max(low, told / (newest.heard_at - old.asked_at) - 1)
            high = min(high, told / (newest.asked_at - old.heard_at) - 1)
        if low - high > EVEN or abs(_nearest_to_zero((low, high))) > MOST_DRIFT:
            return None
        return low, high

    def doubt_s(self, at: float) -> float:
        """Return the maximum error of :meth:`tick_at`, unless the clocks diverge unusually fast."""
        best = self._best_at(at)
        return best.doubt_s + AGEING * abs(at - best.at)

    def tick_at(self, at: float) -> int:
        """Return the board's ticks at a time in seconds. Compare the clocks first."""
        best = self._best_at(at)
        return round(best.ticks + (at - best.at) * TICKS_PER_S * (1 + self.drift))

    def _best_at(self, at: float) -> Comparison:
        return _best(self._new, at) if self._new else self._best_kept(at)

    def _best_kept(self, at: float) -> Comparison:
        return _best(self._kept, at)


def _best(comparisons: Iterable[Comparison], at: float) -> Comparison:
    return min(comparisons, key=lambda one: one.doubt_s + AGEING * abs(at - one.at))


def _nearest_to_zero(bounds: tuple[float, float]) -> float:
    return max(bounds[0], min(bounds[1], 0.0))


def certain_drifts(bounds: Mapping[str, tuple[float, float] | None]) -> dict[str, float]:
    """Return the rates by which the boards' clocks are certainly faster than this computer's.

    Boards whose rates may be equal get zeros: simulated boards share their time, whatever it does.
    """
    known = [pair for pair in bounds.values() if pair is not None]
    may_be_alike = max((low for low, _ in known), default=0.0) <= min(
        (high for _, high in known), default=0.0
    )
    if len(known) < len(bounds) or may_be_alike:
        return dict.fromkeys(bounds, 0.0)
    return {name: _nearest_to_zero(pair) for name, pair in bounds.items() if pair is not None}


def difference_bounds(
    one: Sequence[Comparison], other: Sequence[Comparison]
) -> tuple[float, float]:
    """Return bounds, in ticks, of the lead of another board's clock over one board's.

    A board reads its clock between question and answer. So if one board's answer came before the
    other was asked, it also read its clock before the other. This holds however long anything took
    by this computer's clock, even if the computer or the simulation of the boards is busy.
    """
    highest = [b.ticks - a.ticks for a in one for b in other if a.heard_at <= b.asked_at]
    lowest = [b.ticks - a.ticks for a in one for b in other if b.heard_at <= a.asked_at]
    return max(lowest, default=-math.inf), min(highest, default=math.inf)
