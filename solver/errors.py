"""Errors a person can act on; those Cubist raises on purpose derive from :class:`CubistError`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


class CubistError(Exception):
    """Root of Cubist's errors. ``str(error)`` says what is wrong, where, and what to do."""


class BadNotation(CubistError, ValueError):
    """A text that is neither a cube state nor a move sequence in any notation we read."""


class IllegalCube(CubistError, ValueError):
    """A cube that no sequence of turns can reach.

    ``reason`` is one sentence that names the piece (``edge UR is flipped``); ``detail`` holds the
    same facts for programs, with a ``kind`` of ``count``, ``centre``, ``impossible-piece``,
    ``duplicate-piece``, ``twist``, ``flip``, ``parity``, ``scheme`` or ``mirrored-scheme``.
    """

    def __init__(self, reason: str, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = dict(detail or {})


class SearchFailed(CubistError, RuntimeError):
    """A search ended without any solution: deadline, cancellation or limit reached first.

    ``cpu_s``: what it took of the processors. ``cut_by_clock``: the computer was so busy that the
    clock ended it before it had its time.
    """

    cpu_s = 0.0
    cut_by_clock = False


def root_sentence(error: BaseException) -> str:
    """Return what the innermost of chained errors says, as a clause to end a message with.

    Libraries wrap the system's words ("Device or resource busy") in their own ("did not complete"),
    with ``from`` or by raising an error of the same kind. Another that they were handling then, a
    KeyError for one, is part of their way to find out.
    """
    while (inner := error.__cause__ or _same_kind(error.__context__, error)) is not None:
        error = inner
    match error.args:
        case (int(), str(told)):  # OSError and termios.error: a number, and what it means
            pass
        case _:
            told = str(error)
    told = " ".join(told.split()).rstrip(".!")
    if told[:1] == told[-1:] == "'" and not isinstance(error, KeyError):  # as lgpio quotes its own
        return told.strip("'")
    return told if told and not isinstance(error, KeyError) else f"{type(error).__name__} {told}"


def _same_kind(inner: BaseException | None, error: BaseException) -> BaseException | None:
    of_system = isinstance(inner, OSError) and isinstance(error, OSError)
    return inner if of_system or type(inner) is type(error) else None


_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that steer a terminal, reverse the direction of writing, or cannot be encoded."""


def printable(text: str) -> str:
    """Return ``text`` for a terminal: control characters but tab and newline become U+FFFD."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Return ``text`` for a line of a log or a status: printable, every gap in it one blank."""
    return printable(" ".join(text.split()))


def shortened(text: str, most: int = 40) -> str:
    """Return ``text`` to quote in a message: if it is long, its beginning and its length."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
