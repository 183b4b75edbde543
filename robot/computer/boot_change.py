"""Cubist's own lines in a Raspberry Pi's config.txt: added, and taken away again.

They stand together between two marks at the end of the file. All else in it stays as it is, byte
for byte, with its own line ends; removing the lines gives back the file that was there before.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robot.computer.boot_config import Need, needs
from robot.records.storage import remove_leftovers, write_atomically
from robot.settings import RobotProfile
from solver.errors import CubistError
from solver.files import read_file

LIMIT = 1 << 20
"""Bytes; the firmware of a Pi reads far less."""
BACKUP_SUFFIX = ".before-cubist"

# No line is longer than 80 characters: older firmware does not read on.
BEGIN = b"# Cubist: begin (sudo cubist doctor --unfix removes this)"
BEGIN_JOINED = b"# Cubist: begin, below a line without end (sudo cubist doctor --unfix)"
END = b"# Cubist: end."


class ChangedMeanwhile(CubistError, RuntimeError):
    """Somebody else wrote to config.txt between the look at it and the change."""

    code = "changed-meanwhile"


@dataclass(frozen=True)
class BootChange:
    """What config.txt holds and what it should; ``left`` needs a person."""

    path: Path
    before: bytes
    after: bytes
    left: Sequence[Need] = ()

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where there is none."""
        old, new = (_shown(data) for data in (self.before, self.after))
        name = str(self.path)
        return "".join(difflib.unified_diff(old, new, name, name))

    @property
    def backup(self) -> Path:
        """The file as it was before the first of our lines."""
        return self.path.with_name(self.path.name + BACKUP_SUFFIX)

    def write(self) -> None:
        """Replace the file as a whole; raises :class:`ChangedMeanwhile` and ``StorageError``.

        The backup is a copy: the file system of a Pi's boot partition has no links.
        """
        if read_file(self.path, LIMIT) != self.before:
            raise ChangedMeanwhile(f"{self.path}: somebody else changed it meanwhile. Try again.")
        remove_leftovers(self.path.parent)
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if without_lines(self.before) == self.before:
            write_atomically(self.backup, self.before, mode=mode)
        write_atomically(self.path, self.after, mode=mode)
        if self.backup.exists() and read_file(self.backup, LIMIT) == self.after:
            self.backup.unlink()


def plan_fix(path: Path, profile: RobotProfile, model: str) -> BootChange:
    """The change that gives a robot what it needs, and takes away what it needs no more.

    Raises ``BadFile`` where the file cannot be read.
    """
    path = Path(os.path.realpath(path))
    before = read_file(path, LIMIT)
    theirs = without_lines(before)
    found = needs(profile, theirs, model)
    lines = [need.line for need in found if need.line]
    left = [need for need in found if not need.line]
    # Our lines may have been there, and lines below them undo what they do: then they move.
    holds = lines == _lines_in(before) and needs(profile, before, model) == left
    return BootChange(path, before, before if holds else with_lines(theirs, lines), left)


def plan_undo(path: Path) -> BootChange:
    """The change that takes our lines away; raises ``BadFile`` where the file cannot be read."""
    path = Path(os.path.realpath(path))
    before = read_file(path, LIMIT)
    return BootChange(path, before, without_lines(before))


def with_lines(data: bytes, lines: Sequence[str]) -> bytes:
    """``data``, which has none of our lines, and those that set something up at its end.

    They are for every model (``[all]``). A ``dtoverlay`` without a name comes first: switches of
    the board would else be taken for parameters of the last overlay.
    """
    if not lines:
        return data
    joined = bool(data) and not data.endswith(b"\n")
    end = b"\r\n" if 2 * data.count(b"\r\n") > data.count(b"\n") else b"\n"
    ours = [b"[all]", b"dtoverlay=", *(line.encode() for line in lines)]
    block = [BEGIN_JOINED if joined else BEGIN, *ours, END]
    return data + (end if joined else b"") + b"".join(line + end for line in block)


def without_lines(data: bytes) -> bytes:
    """``data`` without our lines, wherever they are by now."""
    while (place := _place(lines := data.splitlines(keepends=True))) is not None:
        first, last = place
        above, below = b"".join(lines[:first]), b"".join(lines[last + 1 :])
        end = b"\r\n" if lines[first].endswith(b"\r\n") else b"\n"
        if not below and lines[first].rstrip(b"\r\n") == BEGIN_JOINED:
            above = above.removesuffix(end)
        # What somebody wrote below our lines was written for every model.
        filters = [line.strip() for line in lines[:first] if line.strip().startswith(b"[")]
        keep_all = below.strip() and filters and filters[-1].lower() != b"[all]"
        data = above + (b"[all]" + end if keep_all else b"") + below
    return data


def _lines_in(data: bytes) -> list[str]:
    """Our lines, without the marks and what is the same in all of them."""
    lines = data.splitlines()
    place = _place(lines)
    if place is None:
        return []
    ours = [line.decode("latin-1") for line in lines[place[0] + 1 : place[1]]]
    return [line for line in ours if line not in {"[all]", "dtoverlay="}]


def _place(lines: Sequence[bytes]) -> tuple[int, int] | None:
    """Numbers of the first pair of marks with none between them."""
    begin: int | None = None
    for number, line in enumerate(lines):
        text = line.rstrip(b"\r\n")
        if text in {BEGIN, BEGIN_JOINED}:
            begin = number
        elif text == END:
            if begin is not None:
                return begin, number
            begin = None
    return None


def _shown(data: bytes) -> list[str]:
    """Lines for people; the end of each is a plain one."""
    text = data.decode("utf-8", "backslashreplace").removesuffix("\n")
    return [line.removesuffix("\r") + "\n" for line in text.split("\n")]
