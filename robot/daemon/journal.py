"""Logging that the journal understands: a level prefix under systemd, plain lines elsewhere.

And the words of it that take more than a line of code to find.
"""

from __future__ import annotations

import logging
import os
import sys

from robot.faults import advised
from robot.runs import RunRecord

_PRIORITIES = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}


class JournalFormatter(logging.Formatter):
    """``<6>text``: sd-daemon(3)'s prefixes; every line of a traceback gets its own."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's lines, each with the record's priority."""
        priority = _PRIORITIES.get(record.levelno, 5)
        return "\n".join(f"<{priority}>{line}" for line in super().format(record).splitlines())


def configure_logging(level: str) -> None:
    """Log to standard error, for the journal when that is where it goes."""
    handler = logging.StreamHandler(sys.stderr)
    if os.environ.get("JOURNAL_STREAM"):
        handler.setFormatter(JournalFormatter("%(message)s"))
    else:
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
        )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def ending(record: RunRecord) -> str:
    """How a job ended: ``stopped after 3.2 s: stopped by a person``."""
    text = f"{record.outcome} after {record.duration_s:.1f} s"
    return f"{text}: {record.reason}" if record.reason else text


def complaint(error: Exception) -> str:
    """An error and its remedy, which most errors name themselves."""
    text, remedy = str(error), str(getattr(error, "remedy", ""))
    return text if remedy in text else advised(text, remedy)
