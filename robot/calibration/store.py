"""What was calibrated on one's own robot: values that replace those of its profile.

A calibration is a flat map from dotted keys of the profile to numbers, so that it can be read,
compared and edited: ``actuators.lid.positions_us.open: 1510``. It is kept in the state directory,
replaced atomically, the version before it beside it.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from robot.calibration.sizes import CubeSizes
from robot.documents import JsonMapping, JsonObject, read_document
from robot.machine.first_contact import confirmable
from robot.records.storage import (
    StorageError,
    previous_of,
    remove_leftovers,
    restore_previous,
    write_atomically,
)
from robot.settings import RobotProfile
from robot.settings.checks import check_profile
from robot.settings.complaints import complaints_of
from robot.settings.document import ProfileDocument, dotted
from robot.settings.other_cubes import sizes_of
from solver.errors import CubistError
from solver.files import BadFile, NoSuchFile, read_file

FILE_NAME = "calibration.json"
UNDER_WAY = "calibrating"
"""A file that is there while motors may stand askew for calibration."""
LARGEST_BYTES = 1024 * 1024
"""Of the file: a robot's calibration has a few thousand."""
FORMAT = 2
"""Files of format 1 hold what differs from the profile: the robot was driven by the rest of it, so
that counts as confirmed, too. From format 2 on only what is there is confirmed."""
_log = logging.getLogger(__name__)

ROOMS = ("actuators", "cameras", "colours", "policy")
"""Sections of a profile that calibration may change: what the robot is made of stays."""


class BadCalibration(CubistError, ValueError):
    """Values that do not fit the robot's profile; the text names key and reason."""


class Calibration(BaseModel):
    """The values of one robot. ``values``: dotted key of the profile -> number or numbers.

    ``size``: layers of the cube that they are for; None where nobody has asked a robot yet.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = Field(default=FORMAT, ge=1, le=FORMAT)
    robot: str
    size: int | None = None
    values: JsonObject = Field(default_factory=dict)

    def changed(self, values: JsonMapping) -> Calibration:
        """The same with some values set; None removes one, back to the profile's."""
        merged = self.values | dict(values)
        kept = {key: value for key, value in merged.items() if value is not None}
        return self.model_copy(update={"values": kept})

    def upgraded(self, profile: RobotProfile) -> Calibration:
        """The same in the present format."""
        if self.format == FORMAT:
            return self
        values = confirmable(profile) | self.values if self.values else {}
        return self.model_copy(update={"format": FORMAT, "values": values})


class _Kept(BaseModel):
    """The file: ``of_size`` has what belongs to cubes of another size than the profile's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = Field(default=FORMAT, ge=1, le=FORMAT)
    robot: str
    values: JsonObject = Field(default_factory=dict)
    of_size: dict[str, JsonObject] = Field(default_factory=dict)

    def upgraded(self, profile: RobotProfile) -> _Kept:
        """The same in the present format; ``profile`` as it is written."""
        if self.format == FORMAT:
            return self
        values = confirmable(profile) | self.values if self.values else {}
        return self.model_copy(update={"format": FORMAT, "values": values})

    def at(self, sizes: CubeSizes) -> Calibration:
        """What counts for the cube that the robot is set up for."""
        values = self.values
        if sizes.other is not None:
            values = sizes.split(values)[0] | self.of_size.get(sizes.other, {})
        return Calibration(robot=self.robot, size=sizes.layers, values=values)

    def with_those(self, sizes: CubeSizes, values: JsonObject) -> _Kept:
        """The same with these for the cube that the robot is set up for; other cubes' stay."""
        if sizes.other is None:
            return self.model_copy(update={"values": values})
        common, own = sizes.split(values)
        of_size = {**self.of_size, sizes.other: own}
        kept = {size: theirs for size, theirs in of_size.items() if theirs}
        common |= sizes.split(self.values)[1]
        return self.model_copy(update={"values": common, "of_size": kept})


class CalibrationStore:
    """The calibration in a state directory.

    ``sizes``: the cube that the robot is set up for, where that is not the one of its profile.
    """

    def __init__(self, state_dir: Path, sizes: CubeSizes | None = None) -> None:
        self.path = state_dir / FILE_NAME
        self._sizes = sizes
        self._told_unused: list[str] = []

    def load(self, profile: RobotProfile) -> Calibration:
        """What is kept for this robot; empty for another. Raises :class:`BadCalibration`.

        Values for cubes that the robot does not take stay in the file, and the log says so.
        """
        sizes = self._sizes or CubeSizes(profile)
        kept = self._read(self.path, profile.name)
        self._tell_unused(kept, sizes.written)
        return kept.upgraded(sizes.written).at(sizes)

    def _tell_unused(self, kept: _Kept, profile: RobotProfile) -> None:
        unused = sorted(kept.of_size.keys() - {str(size) for size in sizes_of(profile)})
        if unused and unused != self._told_unused:
            _log.warning(
                "%s: of_size has values for %s, but %s takes cubes of %s layers: they are kept and "
                "not used; remove them there, or add the size to other_cubes in the profile",
                self.path,
                ", ".join(unused),
                profile.name,
                ", ".join(map(str, sizes_of(profile))),
            )
        self._told_unused = unused

    def previous(self, profile: RobotProfile) -> Calibration:
        """The version before the last save."""
        sizes = self._sizes or CubeSizes(profile)
        return self._read(previous_of(self.path), profile.name).upgraded(sizes.written).at(sizes)

    def save(self, calibration: Calibration, *, keep_previous: bool = True) -> None:
        """Replace it, durably; raises :class:`robot.records.storage.StorageError`, and
        :class:`BadCalibration` where the present one cannot be read.

        What belongs to cubes of other sizes stays. The first one replaces an empty one, so that it
        can be undone as well. Without ``keep_previous`` the version to go back to stays the one
        that it was.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{self.path.parent}: cannot be made: {error.strerror}") from error
        before = self._read(self.path, calibration.robot)
        if not self.path.exists():
            self._write(before)
        if self._sizes is None:
            after = before.model_copy(update=calibration.model_dump(exclude={"size"}))
        else:
            before = before.upgraded(self._sizes.written)
            after = before.with_those(self._sizes, calibration.values)
        self._write(after, keep_previous=keep_previous)

    def _write(self, kept: _Kept, *, keep_previous: bool = True) -> None:
        document = kept.model_dump()
        if not kept.of_size:
            del document["of_size"]
        text = json.dumps(document, indent=1, sort_keys=True) + "\n"
        write_atomically(self.path, text.encode(), keep_previous=keep_previous)

    def clear_leftovers(self) -> None:
        """Remove what a save that was cut off has left; at the start of the daemon."""
        remove_leftovers(self.path.parent)

    def note_under_way(self, by: str = "calibration") -> None:
        """Motors may stand askew from now on; after a power cut somebody should know.

        ``by``: what broke off if it does. Only the first is noted.
        """
        if self._under_way.exists():
            return
        with contextlib.suppress(OSError):  # a full disk is no reason to stop here
            self._under_way.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._under_way, by.encode())

    @property
    def broken_off(self) -> str | None:
        """Return what :meth:`note_under_way` has noted, while nobody has been told."""
        try:
            return read_file(self._under_way, LARGEST_BYTES).decode(errors="replace")
        except NoSuchFile:
            return None
        except BadFile:
            return ""  # something was noted

    def note_over(self) -> bool:
        """They do not, or whoever has to know does; whether it was noted that they may."""
        with contextlib.suppress(OSError):
            self._under_way.unlink()
            return True
        return False

    @property
    def _under_way(self) -> Path:
        return self.path.with_name(UNDER_WAY)

    @property
    def has_previous(self) -> bool:
        """Whether there is a version to go back to."""
        return previous_of(self.path).exists()

    def restore(self) -> None:
        """Exchange the present version with the one before, for all sizes of cube."""
        restore_previous(self.path)

    def _read(self, path: Path, robot: str) -> _Kept:
        try:
            found = read_document(path, _Kept, LARGEST_BYTES)
        except NoSuchFile:
            return _Kept(robot=robot)
        except BadFile as error:
            raise BadCalibration(
                f"{error}. `cubist calibration restore` brings back the "
                f"version before; where cubistd does not start, `sudo mv {previous_of(self.path)} "
                f"{self.path}` does."
            ) from error
        return found if found.robot == robot else _Kept(robot=robot)


def apply(profile: RobotProfile, calibration: Calibration) -> RobotProfile:
    """The profile with calibrated values in place; raises :class:`BadCalibration`."""
    document = profile.model_dump(mode="json")
    for key, value in calibration.values.items():
        _place(document, key, value)
    source = ProfileDocument("the calibration", document, {})
    try:
        calibrated = RobotProfile.model_validate(document)
    except ValidationError as error:
        first, *_ = complaints_of(error, source, RobotProfile)
        raise BadCalibration(f"{first.key}: {first.text}") from error
    findings = check_profile(calibrated)
    if findings:
        path, text = findings[0]
        raise BadCalibration(f"{dotted(path)}: {text}")
    return calibrated


def differences(
    profile: RobotProfile, calibration: Calibration
) -> Iterator[tuple[str, object, object]]:
    """``(key, the profile's value, the calibrated one)`` for every value that is not the same."""
    document = profile.model_dump(mode="json")
    for key, value in sorted(calibration.values.items()):
        before: Any = document
        for step in _path(document, key):
            before = before[step]
        if before != value:
            yield key, before, value


def _place(document: JsonObject, key: str, value: object) -> None:
    parent: Any = document
    *way, last = _path(document, key)
    for step in way:
        parent = parent[step]
    parent[last] = value


def _path(document: JsonObject, key: str) -> list[str | int]:
    """The way to a key: lists are entered by number or by name."""
    parts = key.split(".")
    if parts[0] not in ROOMS:
        raise BadCalibration(f"{key}: only {', '.join(ROOMS)} can be calibrated")
    path: list[str | int] = []
    value: Any = document
    for part in parts:
        path.append(_step(value, part, key))
        value = value[path[-1]]
    return path


def _step(document: object, part: str, key: str) -> str | int:
    if isinstance(document, dict) and part in document:
        return part
    if isinstance(document, list):
        names = [_name_of(item) for item in document]
        if part in names:
            return names.index(part)
    raise BadCalibration(f"{key}: the profile has no {part} there")


def _name_of(item: object) -> str | None:
    """What tells members of a list apart: a camera's name, a view's site."""
    return item.get("name", item.get("site")) if isinstance(item, dict) else None
