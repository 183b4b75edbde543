"""Files and JSON, read within bounds or rejected with a reason.

A name may lead anywhere: to a pipe nobody writes to, to a device that never ends, to a file of
gigabytes. This module opens only ordinary files, and reads at most a given number of bytes. JSON
has bounds of its own, as a short text can hold numbers of thousands of digits. The same bounds
apply to data from other processes; :mod:`robot.records.documents` adds models to them.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pwd
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TextIO

from solver.errors import CubistError, ExitCode, InvalidRequest, printable, shortened

JsonObject = dict[str, Any]
"""A JSON object; its keys are listed where it is created."""

JsonMapping = Mapping[str, Any]
"""A JSON object that is only read."""

STANDARD_INPUT = "-"

LONGEST_NUMBER = 30
"""Maximum digits of a number in JSON; nothing we measure or count has more than half as many."""

DEEPEST = 32
"""Maximum depth of nested lists and objects in JSON."""


class BadFile(CubistError, ValueError):
    """A file that cannot be read or has the wrong content; the text begins with its name."""

    code = "bad-file"
    exit_code = ExitCode.USAGE


class NoSuchFile(BadFile):
    """There is no file of that name."""


def read_file(path: Path, limit: int) -> bytes:
    """Return all bytes of an ordinary file.

    Raises :class:`NoSuchFile`, and :class:`BadFile` for other kinds and above ``limit`` bytes.
    """
    with os.fdopen(open_file(path), "rb") as file:
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise _unreadable(path, error) from error
    if len(data) > limit:
        raise BadFile(f"{path}: larger than the limit of {_size(limit)}")
    return data


def open_file(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """Open an ordinary file, and nothing else, and return its descriptor.

    ``flags`` and ``mode`` are those of ``os.open``. Raises :class:`NoSuchFile`, and
    :class:`BadFile` for other kinds of file and if the system refuses.
    """
    try:
        with contextlib.suppress(FileNotFoundError):  # os.open reports it, or creates the file
            _refuse_other_than_files(path, path.stat().st_mode)
        # Without O_NONBLOCK, this would wait for a pipe that was put there meanwhile.
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(f"{shortened(str(path))!r}: is not a valid file name") from error
    try:
        _refuse_other_than_files(path, os.fstat(descriptor).st_mode)
    except BadFile:
        os.close(descriptor)
        raise
    return descriptor


def _unreadable(path: Path, error: OSError) -> BadFile:
    kind = NoSuchFile if isinstance(error, FileNotFoundError) else BadFile
    return kind(f"{path}: cannot be read: {error.strerror or error}")


def read_text(source: Path | str, limit: int) -> str:
    """Return the UTF-8 text of a file, or of standard input for ``-``; raises :class:`BadFile`."""
    if source == STANDARD_INPUT:
        return _read_stream(sys.stdin, limit)
    return decode_text(read_file(Path(source), limit), source)


def decode_text(data: bytes, source: Path | str) -> str:
    """Return ``data`` of ``source`` as UTF-8 text; raises :class:`BadFile`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"byte {error.start + 1}"
        raise BadFile(f"{source}: not UTF-8 text: {place} cannot be read as text") from error


def read_lines(stream: TextIO, limit: int) -> Iterator[str]:
    """Yield lines without their ends, cut to ``limit + 1`` characters if longer than ``limit``.

    The caller has to reject such a line; the rest of it is skipped.
    """
    while line := stream.readline(limit + 1):
        cut = len(line) > limit and not line.endswith("\n")
        yield line.rstrip("\n")
        while cut and (more := stream.readline(limit + 1)):
            cut = not more.endswith("\n")


def parse_json(text: str, source: str) -> object:
    """Return the only JSON value in ``text``; else raise :class:`BadFile`, naming ``source``."""
    documents = parse_json_values(text, source)
    first = next(documents, None)
    if next(documents, None) is not None:
        raise BadFile(f"{source}: more than one JSON value; keep the first")
    return first


def parse_object(data: bytes | str, source: str) -> dict[str, Any]:
    """Return the only JSON object in ``data``; else raise :class:`BadFile`, naming ``source``."""
    text = decode_text(data, source) if isinstance(data, bytes) else data
    found = parse_json(text, source)
    if not isinstance(found, dict):
        raise BadFile(f"{source}: not a JSON object")
    return found


def parse_json_values(text: str, source: str) -> Iterator[object]:
    """Yield the JSON values in ``text``, one after the other, regardless of lines.

    Raises :class:`BadFile`, naming ``source``, for text that is not JSON, for numbers of more than
    :data:`LONGEST_NUMBER` digits or too large to be finite, and for values nested more than
    :data:`DEEPEST` levels.

    Strings lose their control characters here, so that the content of a document cannot control
    the terminal that shows it.
    """
    suspicious = _SUSPICIOUS.search(text) is not None
    place = _skip_blanks(text, 0)
    if place == len(text):
        raise BadFile(f"{source}: empty; JSON is expected")
    while place < len(text):
        try:
            value, end = _DECODER.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise BadFile(f"{source}:{error.lineno}: not JSON: {error.msg}") from error
        except BadFile as error:
            raise BadFile(f"{source}: {error}") from error
        except RecursionError:
            raise _too_deep(source) from None
        _refuse_deep(value, source)
        yield _printable(value) if suspicious else value
        place = _skip_blanks(text, end)


_SUSPICIOUS = re.compile(r"\\[ubfr]|[^\x09\x0a\x0d\x20-\x7e]")
"""Escapes, and all but printable ASCII: a JSON text without any has no control characters."""


def _printable(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_printable(one) for one in value]
    if isinstance(value, dict):
        return {printable(key): _printable(one) for key, one in value.items()}
    return value


def _number(kind: type[int | float]) -> Callable[[str], int | float]:
    def parse(digits: str) -> int | float:
        if len(digits) > LONGEST_NUMBER:
            raise BadFile(f"the number {shortened(digits)} is too long")
        number = kind(digits)
        if not math.isfinite(number):
            raise BadFile(f"the number {digits} is too large")
        return number

    return parse


def _refuse_constant(name: str) -> NoReturn:
    raise BadFile(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(
    parse_int=_number(int), parse_float=_number(float), parse_constant=_refuse_constant
)


def _skip_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _refuse_deep(value: object, source: str) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [below for part in level for below in _parts(part)]
        if not level:
            return
    raise _too_deep(source)


def _parts(value: object) -> list[object]:
    """Return the lists and objects directly within a value."""
    inside = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return [part for part in inside if isinstance(part, list | dict)]


def _too_deep(source: str) -> BadFile:
    return BadFile(f"{source}: nested more than {DEEPEST} levels deep")


def _read_stream(stream: TextIO, limit: int) -> str:
    try:
        text = stream.read(limit + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"standard input cannot be read: {error}") from error
    if len(text) > limit:
        raise BadFile(f"standard input holds more than the limit of {_size(limit)}")
    return text


def _refuse_other_than_files(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}
    kind = next((name for is_kind, name in kinds.items() if is_kind(mode)), "a device")
    raise BadFile(f"{path}: cannot be read: it is {kind}, not an ordinary file")


def _size(limit: int) -> str:
    return f"{limit >> 20} MB" if limit >= 1 << 20 else f"{limit >> 10} kB"


def user_directory(
    variable: str, below_home: str, instead: str, environ: Mapping[str, str] = os.environ
) -> Path:
    """Return the folder in the XDG ``variable``, else ``below_home`` in the home directory.

    As the XDG standard demands, a relative path is ignored: it would name another folder wherever a
    command is run. Without a home directory, InvalidRequest asks to set the variable ``instead``.
    """
    named = environ.get(variable, "")
    return Path(named) if Path(named).is_absolute() else _home(instead, environ) / below_home


def _home(instead: str, environ: Mapping[str, str]) -> Path:
    """Return ``HOME`` if it is absolute, else the home directory of the account."""
    candidates = [environ.get("HOME", "")]
    with contextlib.suppress(KeyError):
        candidates.append(pwd.getpwuid(os.getuid()).pw_dir)
    found = next((Path(home) for home in candidates if Path(home).is_absolute()), None)
    if found is None:
        raise InvalidRequest(f"this account has no home directory: set {instead} to a directory")
    return found
