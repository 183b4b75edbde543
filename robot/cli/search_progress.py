"""How far a long search or the making of its tables is: a line on the terminal, else nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from solver.solution import Progress

EVERY_S = 0.1


class ProgressLine:
    """One line of standard error that is written over; silent where that is no terminal."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._shown_at: float | None = None

    def __enter__(self) -> Self:
        """The line appears with the first report."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wipe the line."""
        if self._shown_at is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def report(self, progress: Progress) -> None:
        """Show a report, unless the last one was just now."""
        now = self._clock()
        recent = self._shown_at is not None and now - self._shown_at < EVERY_S
        if recent or not self._stream.isatty():
            return
        self._shown_at = now
        self._stream.write(f"\r\x1b[K{text_of(progress)}")
        self._stream.flush()


def text_of(progress: Progress) -> str:
    """``tables 42 %``, or ``depth 15, 1.2 G nodes, 30 M/s``."""
    parts = [progress.text]
    if progress.done is not None:
        parts[0] += f" {progress.done:.0%}"
    if progress.depth is not None:
        parts.append(f"depth {progress.depth}")
    if progress.nodes is not None:
        parts.append(f"{_short(progress.nodes)} nodes")
    if progress.rate is not None:
        parts.append(f"{_short(progress.rate)}/s")
    return ", ".join(parts)


def _short(number: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{number:.0f}"
