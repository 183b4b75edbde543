"""How far a long search or the making of its tables is, told on standard error.

On a terminal one line is written over, beneath one that says in full which tables are made and
where they are kept; elsewhere there is that line, and another one when they are there.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from solver.solution import Progress

EVERY_S = 0.1
BAR = 20
"""Characters of a bar."""

WORTH_A_LINE_S = 0.5
"""Tables that are made sooner than this are not worth a line that stays."""


class ProgressLine:
    """Shows what is reported; use as a context manager. The line appears with the first report."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._shown_at: float | None = None
        self._making_since: float | None = None
        self._told = False

    def __enter__(self) -> Self:
        """Nothing yet."""
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
        is_terminal = self._stream.isatty()
        if progress.making:
            self._tell(progress, is_terminal)
        if is_terminal:
            self._show(progress)

    def _show(self, progress: Progress) -> None:
        now = self._clock()
        recent = self._shown_at is not None and now - self._shown_at < EVERY_S
        if recent and progress.done != 1.0:
            return
        self._shown_at = now
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r\x1b[K{_cut(text_of(progress), width)}")
        self._stream.flush()

    def _tell(self, progress: Progress, is_terminal: bool) -> None:
        now = self._clock()
        if self._making_since is None:
            self._making_since = now
        spent_s = now - self._making_since
        if progress.done == 1.0:
            if self._told and not is_terminal:
                self._say(f"{progress.text}: done in {spent_s:.1f} s")
            self._making_since, self._told = None, False
        elif not self._told and spent_s >= WORTH_A_LINE_S:
            self._told = True
            left = "" if progress.remaining_s is None else f", about {_duration(progress)} left"
            self._say(f"\r\x1b[K{progress.text}" if is_terminal else f"{progress.text}{left}")

    def _say(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()


def text_of(progress: Progress) -> str:
    """``[#####...............]  25 %, 3 s left: making the pruning tables ...``, or
    ``depth 15, 1.2 G nodes, 30 M/s``.
    """
    if progress.making:
        return _bar(progress)
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


def _bar(progress: Progress) -> str:
    if progress.done is None:
        return progress.text
    full = int(BAR * progress.done)
    left = "" if progress.remaining_s is None else f", {_duration(progress)} left"
    bar = "#" * full + "." * (BAR - full)
    return f"[{bar}] {100 * progress.done:3.0f} %{left}: {progress.text}"


def _duration(progress: Progress) -> str:
    seconds = progress.remaining_s or 0.0
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def _short(number: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{number:.0f}"
