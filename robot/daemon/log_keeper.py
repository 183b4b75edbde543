"""The latest lines of the daemon's log, for people without access to the journal.

They are stored in the runtime directory, which systemd keeps in memory: this does not wear out the
SD card, and the lines survive a restart or a crash of the daemon.
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from datetime import UTC, datetime
from pathlib import Path

from robot.api.endpoints import LOG_LEVELS
from robot.api.management import LogLine
from solver.errors import shortened
from solver.files import BadFile, parse_object, read_text

FILE_NAME = "cubistd.log"
MOST_LINES = 1000
LONGEST_LINE = 4000
MOST_BYTES = 1024 * 1024
"""Size of the file in bytes above which it is reduced to the latest lines."""


class LogKeeper(logging.Handler):
    """Keeps the latest lines in memory and in a file of the runtime directory."""

    def __init__(self, runtime_dir: Path) -> None:
        super().__init__()
        self._path = runtime_dir / FILE_NAME
        self._lines: deque[LogLine] = deque(self._read(), maxlen=MOST_LINES)
        self._written = 0
        self._rewrite()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record. A full disk or a bad argument never disturbs the daemon."""
        with contextlib.suppress(Exception):
            line = LogLine(
                number=self.latest + 1,
                time=datetime.fromtimestamp(record.created, UTC),
                level=_level_of(record.levelno),
                source=record.name,
                text=shortened(self.format(record), LONGEST_LINE),
            )
            self._lines.append(line)
            self._append(line)

    @property
    def latest(self) -> int:
        """Return the number of the newest line; 0 if there is none."""
        return self._lines[-1].number if self._lines else 0

    def lines(self, level: str, after: int, count: int) -> list[LogLine]:
        """Return the latest ``count`` lines of at least ``level``, numbered above ``after``."""
        wanted = LOG_LEVELS[LOG_LEVELS.index(level) :] if level in LOG_LEVELS else LOG_LEVELS
        self.acquire()  # other threads may log meanwhile
        try:
            lines = list(self._lines)
        finally:
            self.release()
        return [one for one in lines if one.number > after and one.level in wanted][-count:]

    def _append(self, line: LogLine) -> None:
        data = line.model_dump_json() + "\n"
        self._written += len(data)
        if self._written > MOST_BYTES:
            self._rewrite()
            return
        with self._path.open("a", encoding="utf-8") as file:
            file.write(data)

    def _rewrite(self) -> None:
        text = "".join(one.model_dump_json() + "\n" for one in self._lines)
        self._written = len(text)
        with contextlib.suppress(OSError):
            self._path.write_text(text, encoding="utf-8")
            self._path.chmod(0o640)

    def _read(self) -> list[LogLine]:
        """Return the lines that an earlier daemon left, except truncated ones."""
        found: list[LogLine] = []
        with contextlib.suppress(BadFile):
            for text in read_text(self._path, 4 * MOST_BYTES).splitlines()[-MOST_LINES:]:
                with contextlib.suppress(ValueError):
                    found.append(LogLine.model_validate(parse_object(text, FILE_NAME)))
        return found


def _level_of(number: int) -> str:
    return next((name for name in reversed(LOG_LEVELS) if number >= _NUMBERS[name]), "debug")


_NUMBERS = {name: getattr(logging, name.upper()) for name in LOG_LEVELS}
