"""Dated versions of a robot's profile that its owner has kept, and the one in force.

A version is the owner's text, byte for byte, so comments and the order of keys stay. The file that
the service's settings name is version 0 and is never changed. Each version is a separate file, in a
folder named after that file::

    profiles/cubotino/000001_20260503T101500Z.yaml    kept on 2026-05-03
    profiles/cubotino/000002_20260504T090000Z.file    version 0 is in force again

The one with the highest number is in force from the next start of the daemon.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from robot.planner import build_mechanism
from robot.records.storage import (
    NOT_STORED,
    StorageError,
    flush_directory,
    remove_leftovers,
    write_atomically,
)
from robot.settings import (
    BadProfile,
    Complaint,
    RobotProfile,
    load_profile,
    parse_profile,
    profile_file,
)
from robot.settings.loader import MAX_BYTES
from robot.settings.profile import for_cube
from solver.errors import InvalidRequest
from solver.files import BadFile, read_text

FOLDER = "profiles"
MOST_VERSIONS = 100
ORIGINAL = 0
"""The number of the file that the service's settings name."""

_NAME = re.compile(r"([0-9]{6})_([0-9]{8}T[0-9]{6}Z)\.(yaml|file)")
_DATE = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class ProfileVersion:
    """A version of a profile. ``at``: when it was kept, None for the original.

    ``is_original``: it restores the original file.
    """

    number: int
    at: datetime | None
    path: Path
    is_original: bool = False


class ProfileVersions:
    """The versions of one robot's profile in a state directory.

    ``given`` is the name or path in the service's settings. ``size``: layers of the cube, for a
    robot that takes several. Methods that write raise :class:`StorageError`.
    """

    def __init__(
        self,
        state_dir: Path,
        given: str,
        size: int | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.original = profile_file(given)
        self._given = given
        self._size = size
        self._now = now
        self._folder = state_dir / FOLDER / self.original.stem

    def list(self) -> list[ProfileVersion]:
        """Return the original and all versions kept, the oldest first."""
        found = [ProfileVersion(ORIGINAL, None, self.original, is_original=True)]
        with contextlib.suppress(OSError):
            for path in sorted(self._folder.iterdir()):
                if (name := _NAME.fullmatch(path.name)) is not None:
                    at = datetime.strptime(name[2], _DATE).replace(tzinfo=UTC)
                    found.append(ProfileVersion(int(name[1]), at, path, name[3] == "file"))
        return found

    @property
    def latest(self) -> ProfileVersion:
        """Return the version in force from the next start."""
        return self.list()[-1]

    def text(self, number: int) -> str:
        """Return a version's text; raises :class:`StorageError` if it cannot be read."""
        version = next((one for one in self.list() if one.number == number), None)
        if version is None:
            raise StorageError(f"there is no version {number} of this profile", code=NOT_STORED)
        path = self.original if version.is_original else version.path
        try:
            return read_text(path, MAX_BYTES)
        except BadFile as error:
            raise StorageError(str(error)) from error

    def load(self) -> RobotProfile:
        """Return the profile in force; raises :class:`BadProfile` with all its faults."""
        version = self.latest
        return load_profile(self._given if version.is_original else version.path)

    def load_original(self) -> RobotProfile:
        """Return the profile of the original file; raises :class:`BadProfile`."""
        return load_profile(self._given)

    def check(self, text: str) -> RobotProfile:
        """Return the profile that ``text`` describes; raises :class:`BadProfile`.

        Anything that could prevent the daemon from starting with it is a fault.
        """
        file = self.original.name
        if len(text.encode(errors="replace")) > MAX_BYTES:
            raise BadProfile([Complaint(file, 0, "", f"more than {MAX_BYTES // 1024} KB")])
        profile = parse_profile(text, file)
        if (name := self._find_name()) not in {None, profile.name}:
            why = f"must stay {name}: runs and calibration belong to this name"
            raise BadProfile([profile.complaint(("name",), why)])
        try:
            profile.require_drivable()
            build_mechanism(for_cube(profile, self._size))
        except InvalidRequest as error:
            raise BadProfile([Complaint(file, 0, "", str(error))]) from error
        return profile

    def _find_name(self) -> str | None:
        """Return the robot's name; None if the profile in force is unusable."""
        try:
            return self.load().name
        except BadProfile:
            return None

    def keep(self, text: str) -> ProfileVersion:
        """Keep a text as a new version; raises :class:`BadProfile` if the profile has faults."""
        self.check(text)
        return self._write(text.encode(), "yaml")

    def restore(self, number: int) -> ProfileVersion:
        """Keep an old version as a new one; raises :class:`BadProfile` if it has faults."""
        text = self.text(number)
        version = next(one for one in self.list() if one.number == number)
        return self._write(b"", "file") if version.is_original else self.keep(text)

    def settle(self) -> None:
        """Remove the remains of interrupted saves. Call it at the daemon's start only."""
        with contextlib.suppress(OSError):
            remove_leftovers(self._folder)

    def _write(self, data: bytes, suffix: str) -> ProfileVersion:
        number = self.latest.number + 1
        at = self._now().astimezone(UTC).replace(microsecond=0)
        path = self._folder / f"{number:06}_{at.strftime(_DATE)}.{suffix}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for above in (self._folder.parent, self._folder.parent.parent):
                flush_directory(above)
        except OSError as error:
            raise StorageError(f"{self._folder}: cannot be created: {error.strerror}") from error
        write_atomically(path, data)
        with contextlib.suppress(OSError):
            for old in self.list()[1:-MOST_VERSIONS]:
                old.path.unlink(missing_ok=True)
        return ProfileVersion(number, at, path, suffix == "file")
