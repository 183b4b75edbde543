"""Errors a person can act on; those Cubist raises on purpose derive from :class:`CubistError`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, ClassVar, Self


class ExitCode(IntEnum):
    """The exit code of a command; scripts rely on these."""

    DONE = 0
    NO = 1
    USAGE = 2
    FAILED = 3
    STOPPED = 4


NESTED = frozenset({"what", "remedy"})
"""Parameters of a :class:`Coded` text that are codes of other texts."""


class Coded(str):
    """An English text that also has its ``code`` and ``parameters``, for translations."""

    __slots__ = ("code", "parameters")
    code: str
    parameters: dict[str, str]

    ENGLISH: ClassVar[Mapping[str, str]]
    """Texts by code, with the parameters in braces."""

    @classmethod
    def of(cls, code: str, english: str | None = None, **parameters: object) -> Self:
        """Return the text with this code.

        ``english`` says more than the table, or says it better.
        """
        values = {name: str(value) for name, value in parameters.items()}
        made = cls(cls.ENGLISH[code].format_map(values) if english is None else english)
        made.code, made.parameters = code, values
        return made

    @classmethod
    def nest(cls, code: str, **parameters: object) -> Self:
        """Return a text that contains others, ``what`` and ``remedy``, by their codes."""
        inner = {name: parameters[name] for name in NESTED & parameters.keys()}
        texts = {name: cls.ENGLISH[str(own)].format_map(parameters) for name, own in inner.items()}
        return cls.of(code, cls.ENGLISH[code].format_map(parameters | texts), **parameters)


class CubistError(Exception):
    """Root of Cubist's errors. ``str(error)`` says what is wrong, where, and what to do.

    ``cause``: what is wrong, the whole text if no ``remedy`` is given. ``code``: the stable name
    of the error, in records and on the control socket. ``detail``: where, as an actuator or a port.
    """

    code: str = "error"
    exit_code: ExitCode | None = ExitCode.FAILED
    """The exit code of a command that ends by such an error. None: that of the outcome to which
    the error's ``code`` leads (:mod:`robot.text.faults`)."""

    def __init__(
        self, cause: str = "", remedy: str = "", *, code: str = "", detail: str = ""
    ) -> None:
        super().__init__(advise(cause, remedy))
        self.cause, self.remedy, self.detail = cause, remedy, detail
        if code:
            self.code = code


def advise(cause: str, remedy: str) -> str:
    """Return what happened, and what to do about it if anything can be done."""
    return f"{cause.rstrip('.')}. What to do: {remedy.rstrip('.')}." if remedy else cause


class InvalidRequest(CubistError, ValueError):
    """A request for something that does not exist or has no meaning; nothing moved."""

    code = "invalid-request"
    exit_code = ExitCode.USAGE


class BadNotation(CubistError, ValueError):
    """A text that is neither a cube state nor a move sequence in any notation we read."""

    code = "bad-notation"
    exit_code = ExitCode.USAGE


class IllegalCube(CubistError, ValueError):
    """A cube that no sequence of turns can reach.

    ``reason`` is one sentence that names the piece (``edge UR is flipped``), unless others could as
    well be the wrong one; ``facts`` holds the same facts for programs, with a ``kind`` of
    ``count``, ``centre``, ``impossible-piece``, ``duplicate-piece``, ``twist``, ``flip``,
    ``parity``, ``scheme`` or ``mirrored-scheme``.
    """

    code = "illegal-cube"
    exit_code = ExitCode.NO

    def __init__(self, reason: str, facts: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.facts = dict(facts or {})


class SearchError(CubistError, RuntimeError):
    """A search ended without any solution: deadline, cancellation or limit reached first.

    ``cpu_s``: processor time it used. ``cut_by_clock``: the computer was so busy that the clock
    ended the search before it had used its time.
    """

    code = "search-failed"
    exit_code = None
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
