"""Dated versions of the calibrations of all robots in a state directory.

Each version is a separate file in a folder for each robot. The one with the highest number is in
force::

    calibration/cubotino/000001.json    by a person, 2026-05-03
    calibration/cubotino/000002.json    found by `calibrate auto`, 2026-05-03
    calibration/my-robot/000001.json

A version is written as a whole under a new number; an interrupted save leaves the one before in
force. Earlier releases kept one file for all robots, ``calibration.json``, and the version before
in ``calibration.json.previous``; :meth:`VersionFiles.take_over` moves both here.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from robot.api.calibrations import FORMAT, Maker, Source
from robot.records.documents import check_document
from robot.records.storage import (
    StorageError,
    flush_directory,
    remove_leftovers,
    set_aside,
    write_atomically,
)
from robot.settings import RobotProfile
from robot.settings.base import Name
from robot.settings.profile import for_cube
from solver.files import BadFile, JsonMapping, JsonObject, NoSuchFile, parse_json, read_text

FOLDER = "calibration"
EARLIER_NAME = "calibration.json"
EARLIER_PREVIOUS_NAME = "calibration.json.previous"
MOST_VERSIONS = 50
MOST_BYTES = 8 * 2**20
_NUMBERED = re.compile(r"([0-9]{6,9})\.json")


class KeptValue(Source):
    """A value with its source."""

    value: Any


KeptValues = dict[str, KeptValue]
Size = Annotated[str, Field(pattern="^[0-9]{1,2}$")]


class Version(BaseModel):
    """One version of one robot's calibration.

    ``values``: dotted key of the profile -> value. ``of_size``: values for cubes of another size
    than the profile's. ``restored``: the version that this one is a copy of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = Field(default=FORMAT, ge=1, le=FORMAT)
    robot: Name
    at: datetime
    by: Maker = "person"
    restored: int | None = None
    values: KeptValues = Field(default_factory=dict)
    of_size: dict[Size, KeptValues] = Field(default_factory=dict)

    def upgrade(self, as_written: JsonMapping) -> Version:
        """Return a copy in the present format. ``as_written``: the profile's values that can be
        confirmed. A file of format 1 confirms these as well, if it has any values."""
        if self.format > 1:
            return self.model_copy(update={"format": FORMAT})
        rest = {key: _earlier(value, self.at) for key, value in as_written.items()}
        values = rest | self.values if self.values else {}
        return self.model_copy(update={"format": FORMAT, "values": values})

    def text(self) -> str:
        """Return the content of its file."""
        document = self.model_dump(mode="json", exclude_none=True)
        return json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _earlier(value: object, at: datetime) -> KeptValue:
    return KeptValue(how="earlier", at=at, value=value)


class VersionFiles:
    """The files of all versions in a state directory.

    Files that cannot be read, and files of other robots, are never changed or removed. Methods that
    read a version raise :class:`solver.files.BadFile`, those that write raise
    :class:`robot.records.storage.StorageError`.
    """

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self.folder = state_dir / FOLDER
        self.earlier = state_dir / EARLIER_NAME

    def path(self, robot: str, number: int) -> Path:
        """Return the file of a version, which may not exist."""
        return self.folder / robot / f"{number:06}.json"

    def numbers(self, robot: str) -> list[int]:
        """Return the numbers of a robot's versions, ascending, including unreadable ones."""
        found = (_NUMBERED.fullmatch(name) for name in _names_in(self.folder / robot))
        return sorted(int(one[1]) for one in found if one is not None)

    def robots(self) -> list[str]:
        """Return the names of all robots that have a version, except unreadable folders."""
        found: list[str] = []
        with contextlib.suppress(BadFile):
            for name in sorted(_names_in(self.folder)):
                with contextlib.suppress(BadFile):
                    found += [name] if self.numbers(name) else []
        return found

    def latest(self, robot: str) -> tuple[int, Path] | None:
        """Return number and file of the version in force; None if this robot has no calibration.

        A ``calibration.json`` of an earlier release is the latest. If it cannot be read, it counts
        as this robot's.
        """
        numbers = self.numbers(robot)
        latest = (numbers[-1], self.path(robot, numbers[-1])) if numbers else None
        try:
            is_own = read_version(self.earlier).robot == robot
        except NoSuchFile:
            is_own = False
        except BadFile:
            is_own = True
        return (self._number_of_earlier(robot), self.earlier) if is_own else latest

    def read(self, robot: str, number: int) -> Version:
        """Return one version; 0 is an empty one, of a robot without calibration."""
        if number == 0:
            return Version(robot=robot, at=datetime.now(UTC))
        path = self.path(robot, number)
        found = read_version(path)
        if found.robot != robot:
            raise BadFile(
                f"{path}: is a calibration of {found.robot}, in the folder of {robot}; to use "
                f"another robot's, run `cubist calibration import --from-another {found.robot}`"
            )
        return found

    def write(self, version: Version, number: int) -> None:
        """Write a version, whole or not at all, then drop the oldest beyond
        :data:`MOST_VERSIONS`."""
        folder = self.folder / version.robot
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for above in (self.folder, self.state_dir):
                flush_directory(above)
        except OSError as error:
            raise StorageError(f"{folder}: cannot be created: {error.strerror}") from error
        write_atomically(self.path(version.robot, number), version.text().encode())
        with contextlib.suppress(BadFile, StorageError):  # the old ones only take room
            self._drop_oldest(version.robot)

    def drop(self, robot: str, number: int) -> None:
        """Remove a version; the one before is in force again."""
        path = self.path(robot, number)
        try:
            path.unlink(missing_ok=True)
            flush_directory(path.parent)
        except OSError as error:
            raise StorageError(f"{path}: cannot be removed: {error.strerror}") from error

    def _drop_oldest(self, robot: str) -> None:
        """Drop the oldest versions, but keep the latest of each maker."""
        numbers = self.numbers(robot)
        if len(numbers) <= MOST_VERSIONS:
            return
        latest: dict[Maker, int] = {}
        readable: list[int] = []
        for number in numbers:
            with contextlib.suppress(BadFile):
                latest[self.read(robot, number).by] = number
                readable.append(number)
        spare = [number for number in readable if number not in latest.values()]
        for number in spare[: len(numbers) - MOST_VERSIONS]:
            self.drop(robot, number)

    def settle(self) -> None:
        """Remove the remains of interrupted saves, then :meth:`take_over`.

        Call it only while nothing can be saving: at the start of the program that owns the files.
        """
        for folder in (self.state_dir, *(self.folder / name for name in self.robots())):
            try:
                remove_leftovers(folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StorageError(f"{folder}: cannot be cleared: {error.strerror}") from error
        self.take_over()

    def take_over(self) -> None:
        """Turn the files of an earlier release into versions, if they can be read."""
        # Move the latest first: then it is in force even if this is interrupted.
        with contextlib.suppress(BadFile):
            robot = read_version(self.earlier).robot
            self._move(self.earlier, robot, self._number_of_earlier(robot))
        with contextlib.suppress(BadFile):
            previous = self.state_dir / EARLIER_PREVIOUS_NAME
            robot = read_version(previous).robot
            numbers = self.numbers(robot)
            number = max(numbers, default=2) - 1
            if number > 0 and number not in numbers:
                self._move(previous, robot, number)

    def _number_of_earlier(self, robot: str) -> int:
        """Return the number for ``calibration.json``, leaving one free for the version before."""
        return max(self.numbers(robot), default=0) + 2

    def _move(self, path: Path, robot: str, number: int) -> None:
        target = self.path(robot, number)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            for folder in (self.folder, self.state_dir):
                flush_directory(folder)
            path.rename(target)
            for folder in (target.parent, self.state_dir):
                flush_directory(folder)
        except OSError as error:
            raise StorageError(f"{path}: cannot be moved to {target}: {error.strerror}") from error

    def set_aside_unreadable(self) -> None:
        """Rename an unreadable ``calibration.json``, so that it is no longer used."""
        try:
            read_version(self.earlier)
        except NoSuchFile:
            return
        except BadFile:
            set_aside(self.earlier)


def _names_in(folder: Path) -> list[str]:
    """Return the names in a folder, none if it does not exist; raises :class:`BadFile`."""
    try:
        return [one.name for one in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error


def _unreadable(path: Path, error: OSError) -> BadFile:
    return BadFile(f"{path}: cannot be read: {error.strerror}")


def read_version(path: Path) -> Version:
    """Read a version in any format so far.

    Raises :class:`solver.files.NoSuchFile`, and :class:`solver.files.BadFile` for all else.
    """
    document = parse_json(read_text(path, MOST_BYTES), str(path))
    if not isinstance(document, dict):
        raise BadFile(f"{path}: a calibration must be a JSON object")
    number = document.get("format", FORMAT if "at" in document else 2)
    if isinstance(number, int) and number > FORMAT:
        raise BadFile(
            f"{path}: format {number} is from a newer release of Cubist; this one reads up to "
            f"{FORMAT}"
        )
    if number in (1, 2):
        document = _upgrade(document, _changed_at(path))
    return check_document(document | {"format": number}, Version, str(path))


def _changed_at(path: Path) -> datetime:
    """Return when a file was last changed."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise _unreadable(path, error) from error


def _upgrade(document: JsonObject, at: datetime) -> JsonObject:
    """Convert a document of format 1 or 2, whose values have no sources, to the present format."""
    found: JsonObject = {"at": at, "by": "earlier"} | document
    found["values"] = _with_sources(document.get("values", {}), at)
    if isinstance(of_size := document.get("of_size"), Mapping):
        found["of_size"] = {size: _with_sources(values, at) for size, values in of_size.items()}
    return found


def _with_sources(values: object, at: datetime) -> object:
    if not isinstance(values, Mapping):
        return values  # validation rejects it
    return {key: _earlier(value, at).model_dump() for key, value in values.items()}


@dataclass(frozen=True)
class CubeSizes:
    """The sizes of cube that a robot takes, and the one that it is set up for.

    Some values apply to one size of cube only: the position of a row in the turntable, the place of
    a face in the picture, the colours of its stickers. Others, such as the speed of a motor, apply
    to all. The file has the common values and those for the profile's own cube in ``values``, those
    for other cubes in ``of_size``::

        {"values":  {"actuators.turntable.max_speed_steps_per_s": 2700,   common
                     "cameras.top.views.U.quad": [...]},                  3x3x3, as the profile
         "of_size": {"5": {"cameras.top.views.U.quad": [...]}}}           5x5x5

    ``written``: its profile; ``size``: layers of the cube (default: as in the profile).
    """

    written: RobotProfile
    size: int | None = None
    _changed: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Collect the keys that the profile changes for any size."""
        document = self.written.model_dump(mode="json", exclude_unset=True)
        changes = document.get("other_cubes", {}).values()
        keys = frozenset(key for change in changes for key in _leaves(change))
        object.__setattr__(self, "_changed", keys)

    @property
    def profile(self) -> RobotProfile:
        """The profile for this size; raises ``UnsupportedSize`` and ``BadProfile``."""
        return for_cube(self.written, self.size)

    @property
    def layers(self) -> int:
        """Layers of the cube it is set up for."""
        return self.size or self.written.cube.size

    @property
    def other(self) -> str | None:
        """Return the key in ``of_size`` for the present size; None for the profile's own size."""
        return None if self.layers == self.written.cube.size else str(self.layers)

    def split(self, values: JsonMapping) -> tuple[JsonObject, JsonObject]:
        """Return the values common to all sizes, and those for one size."""
        own = {key: value for key, value in values.items() if self._is_own(key)}
        return {key: value for key, value in values.items() if key not in own}, own

    def _is_own(self, key: str) -> bool:
        room, *rest = key.split(".")
        seen = room == "colours" or (room == "cameras" and rest[-1:] == ["quad"])
        return seen or key in self._changed


def _leaves(document: Mapping[str, object], above: str = "") -> Iterator[str]:
    """Yield the dotted keys of all leaves."""
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"
