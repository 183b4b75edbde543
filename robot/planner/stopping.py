"""When to stop searching and start turning.

The best plan gets faster roughly by the same amount each time the search has run e times as long,
``a`` seconds: after ``t`` seconds the next second is expected to save ``a / t``. Searching on costs
as much as it saves when ``t = a``. ``a`` is learnt from the improvements seen so far; before there
are any it is taken from experience as a part of the plan's duration.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from solver.solution import CancelFlag

USUAL_GAIN = 0.015
"""Part of a plan's duration saved by searching e times as long, as measured (1.2 to 2.9 %)."""
USUAL_WEIGHT = 2.0
"""How many e-foldings of own experience the usual gain counts for."""
EARLIEST_S = 0.02
"""Improvements before this time say little about later ones."""


class StoppingRule:
    """Follows a search's improvements and says until when searching on is worth it. Seconds."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None
        self._latest: tuple[float, float] | None = None

    def better(self, elapsed_s: float, duration_s: float) -> None:
        """A plan of that duration was found after so long a search."""
        seen = (max(elapsed_s, EARLIEST_S), duration_s)
        if self._first is None or elapsed_s < EARLIEST_S:
            self._first = seen
        self._latest = seen

    def gain_s(self, elapsed_s: float) -> float:
        """Seconds that searching e times as long is expected to save."""
        if self._first is None or self._latest is None:
            return math.inf
        usual = USUAL_GAIN * self._latest[1]
        folds = math.log(max(elapsed_s, self._first[0]) / self._first[0])
        saved = self._first[1] - self._latest[1]
        return (usual * USUAL_WEIGHT + saved) / (USUAL_WEIGHT + folds)

    def worth_it(self, elapsed_s: float) -> bool:
        """Whether the next moment of searching is expected to save more than it takes."""
        return elapsed_s < self.gain_s(elapsed_s)


class Watch:
    """Sets a cancel flag when a search, running on another thread, stops being worth it.

    Use as a context manager around the search and pass ``better`` on as its ``on_better``.
    """

    PERIOD_S = 0.01
    _start: float

    def __init__(self, cancel: CancelFlag, clock: Callable[[], float] = time.monotonic) -> None:
        self._cancel, self._clock = cancel, clock
        self._rule, self._lock = StoppingRule(), threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="search watch", daemon=True)

    def __enter__(self) -> Self:
        self._start = self._clock()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def better(self, duration_us: int) -> None:
        """A plan of that many microseconds was found."""
        with self._lock:
            self._rule.better(self._clock() - self._start, duration_us / 1e6)

    def _watch(self) -> None:
        while not self._over.wait(self.PERIOD_S):
            with self._lock:
                worth_it = self._rule.worth_it(self._clock() - self._start)
            if not worth_it:
                self._cancel.set()
                return
