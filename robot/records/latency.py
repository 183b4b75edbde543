"""Waits of a robot beside its own motion: from a picture to the first pulse of a plan.

Each stage is timed where it happens, by the one :class:`Stopwatch` that the rooms of a machine
share; the record of a job takes what it measured.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

STAGES = {
    "capture": "a camera's picture, until it is in memory",
    "locate": "the stickers' places in it",
    "measure": "their colours",
    "decide": "the cube that these colours are",
    "search": "its solution",
    "retrace": "the solution as timed operations",
    "start": "from the plan to the link: records, threads, where it may be cut",
    "upload": "from the link to the first pulse: checks, messages, the board's start",
}
"""Every stage in the order of a solve, and what it is."""

Samples = Mapping[str, Sequence[float]]
"""Seconds, each time, for every stage that there was."""


class Stopwatch:
    """Collects how long stages took, in seconds; from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._samples: dict[str, list[float]] = {}
        self._begun: dict[str, float] = {}

    def add(self, stage: str, seconds: float) -> None:
        """Add the seconds that a stage took."""
        with self._lock:
            self._samples.setdefault(stage, []).append(round(max(seconds, 0.0), 6))

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Note how long the block takes, unless it raises."""
        begun = self._clock()
        yield
        self.add(stage, self._clock() - begun)

    def begin(self, stage: str) -> None:
        """A stage begins that ends in another room."""
        with self._lock:
            self._begun[stage] = self._clock()

    def end(self, stage: str) -> None:
        """End a wait; do nothing if it had not begun."""
        with self._lock:
            begun = self._begun.pop(stage, None)
        if begun is not None:
            self.add(stage, self._clock() - begun)

    def take(self) -> dict[str, list[float]]:
        """Return the waits since the last call, in the order of a solve."""
        with self._lock:
            found, self._samples, self._begun = self._samples, {}, {}
        return {stage: found[stage] for stage in STAGES if stage in found}


def percentile(samples: Sequence[float], part: float) -> float:
    """The smallest sample that at least this ``part`` (0..1) of all do not exceed.

    Raises ``ValueError`` without samples.
    """
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]
