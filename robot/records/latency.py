"""Latencies of a robot apart from its motion: from a picture to the first pulse of a plan.

Each stage is timed where it happens, by the one :class:`Stopwatch` that the parts of a machine
share. The record of a job gets its measurements.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

STAGES = {
    "capture": "a camera's picture, until it is in memory",
    "locate": "the positions of the stickers in it",
    "measure": "their colours",
    "decide": "the cube with these colours",
    "search": "its solution",
    "retrace": "the solution as timed operations",
    "start": "from the plan to the link: records, threads, where it may be cut",
    "upload": "from the link to the first pulse: checks, messages, the board's start",
}
"""Every stage, in the order of a solve, with its description."""

Samples = Mapping[str, Sequence[float]]
"""Durations in seconds by stage."""


class Stopwatch:
    """The durations of stages in seconds, added by any thread."""

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
        """Add the duration of the block, unless it raises."""
        begun = self._clock()
        yield
        self.add(stage, self._clock() - begun)

    def begin(self, stage: str) -> None:
        """Begin a stage that :meth:`end` ends elsewhere."""
        with self._lock:
            self._begun[stage] = self._clock()

    def end(self, stage: str) -> None:
        """End a stage; do nothing if it had not begun."""
        with self._lock:
            begun = self._begun.pop(stage, None)
        if begun is not None:
            self.add(stage, self._clock() - begun)

    def take(self) -> dict[str, list[float]]:
        """Return the durations added since the last call, in the order of a solve."""
        with self._lock:
            found, self._samples, self._begun = self._samples, {}, {}
        return {stage: found[stage] for stage in STAGES if stage in found}


def percentile(samples: Sequence[float], part: float) -> float:
    """Return the smallest sample that at least this ``part`` (0..1) of all do not exceed.

    Raises ``ValueError`` without samples.
    """
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]
