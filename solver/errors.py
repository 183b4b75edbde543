"""Errors a person can act on; all raised on purpose derive from :class:`CubistError`."""

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

        ``english`` replaces the table's text by a more specific one.
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

    ``cause``: what is wrong, the whole text if no ``remedy`` is given. ``code``: the stable name of
    the error, in records and on the control socket. ``detail``: where, such as an actuator or port.
    """

    code: str = "error"
    exit_code: ExitCode | None = ExitCode.FAILED
    """The exit code of a command that ends with such an error. None: the exit code of the outcome
    for the error's ``code`` (:mod:`robot.text.faults`)."""

    def __init__(
        self, cause: str = "", remedy: str = "", *, code: str = "", detail: str = ""
    ) -> None:
        super().__init__(advise(cause, remedy))
        self.cause, self.remedy, self.detail = cause, remedy, detail
        if code:
            self.code = code


def advise(cause: str, remedy: str) -> str:
    """Return a message with the cause, and with the remedy if there is one."""
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

    ``reason`` is one sentence that names the piece (``edge UR is flipped``), unless another could
    equally be the wrong one. ``facts`` holds the same facts for programs, with a ``kind`` of
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
    """A search ended without any solution, because of a deadline, a cancellation or a limit.

    ``cpu_s``: processor time it used. ``cut_by_clock``: the computer was so busy that the clock
    ended the search before it had used its processor time.
    """

    code = "search-failed"
    exit_code = None
    cpu_s = 0.0
    cut_by_clock = False


def root_sentence(error: BaseException) -> str:
    """Return the text of the innermost of chained errors, as a clause to end a message with.

    Libraries wrap the system's text ("Device or resource busy") in their own ("did not complete"),
    with ``from`` or by raising an error of the same kind. An error of another kind that they were
    handling, such as a KeyError, is an internal step and not the cause.
    """
    while (inner := error.__cause__ or _same_kind(error.__context__, error)) is not None:
        error = inner
    match error.args:
        case (int(), str(told)):  # OSError and termios.error: a number, and what it means
            pass
        case _:
            told = str(error)
    told = " ".join(told.split()).rstrip(".!")
    if told[:1] == told[-1:] == "'" and not isinstance(error, KeyError):  # lgpio quotes its texts
        return told.strip("'")
    return told if told and not isinstance(error, KeyError) else f"{type(error).__name__} {told}"


def _same_kind(inner: BaseException | None, error: BaseException) -> BaseException | None:
    of_system = isinstance(inner, OSError) and isinstance(error, OSError)
    return inner if of_system or type(inner) is type(error) else None


_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that control a terminal, reverse the direction of writing, or cannot be encoded."""


def printable(text: str) -> str:
    """Return ``text`` for a terminal: control characters except tab and newline become U+FFFD."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Return ``text`` for one line of a log or status: printable, with single blanks as gaps."""
    return printable(" ".join(text.split()))


def shortened(text: str, most: int = 40) -> str:
    """Return ``text`` to quote in a message: if it is long, its beginning and its length."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
