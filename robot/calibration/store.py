"""Values calibrated on one's own robot, which replace those of its profile.

A calibration is a flat map from dotted keys of the profile to numbers, so that it can be read,
compared and edited: ``actuators.lid.positions_us.open: 1510``. Each value has its source, and
whether somebody has confirmed it on this robot. Dated versions are kept in the state directory, see
:mod:`robot.calibration.versions`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from robot.api.calibrations import FORMAT, Calibration, Maker, Source, VersionSummary
from robot.calibration.values import BadCalibration, apply, changes, ignored_keys
from robot.calibration.versions import (
    CubeSizes,
    KeptValue,
    KeptValues,
    Version,
    VersionFiles,
    read_version,
)
from robot.machine.confirmed_range import confirmable
from robot.records.storage import write_atomically
from robot.settings import RobotProfile
from robot.settings.profile import sizes_of
from solver.files import BadFile, JsonObject, NoSuchFile, read_file

UNDER_WAY = "calibrating"
"""A file that exists while motors may be misaligned because of calibration."""
LARGEST_NOTE = 64 * 1024
_log = logging.getLogger(__name__)


class CalibrationStore:
    """The calibrations in a state directory.

    ``sizes``: the cube that the robot is set up for, if it differs from the profile's. ``now``:
    returns the present time.
    """

    def __init__(
        self,
        state_dir: Path,
        sizes: CubeSizes | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.files = VersionFiles(state_dir)
        self.now = now
        self._sizes = sizes
        self.may_have_note = True
        """False once the note of misaligned motors is known to be gone."""
        self._told_unused: list[str] = []
        self._told_ignored: list[str] = []

    def load(self, profile: RobotProfile) -> Calibration:
        """Return the calibration in force for this robot; empty if it has none.

        Values for cubes that the robot does not take stay in the file, with a warning in the log.
        Raises :class:`BadCalibration`.
        """
        sizes = self._sizes or CubeSizes(profile)
        number, found = self._load_latest(profile.name)
        if found is None:
            return Calibration(robot=profile.name, size=sizes.layers)
        self._tell_unused(number, found, sizes.written)
        calibration = _calibration_of(sizes, number, found)
        self._tell_ignored(profile, calibration)
        return calibration

    def versions(self, profile: RobotProfile) -> list[VersionSummary]:
        """List all versions of this robot, the oldest first; raises :class:`BadCalibration` if
        they cannot be listed."""
        sizes = self._sizes or CubeSizes(profile)
        in_force = self._latest(profile.name)
        with contextlib.suppress(BadCalibration):
            return list(self._summaries(sizes, self.load(profile).values, in_force))
        return list(self._summaries(sizes, None, in_force))

    def _summaries(
        self, sizes: CubeSizes, now: JsonObject | None, in_force: tuple[int, Path] | None
    ) -> Iterator[VersionSummary]:
        robot = sizes.written.name
        before: JsonObject = {}
        for number in self._numbers(robot):
            counts = in_force is not None and number == in_force[0]
            try:
                version = self.files.read(robot, number)
            except BadFile as error:
                yield VersionSummary(version=number, in_force=counts, why=str(error))
                continue
            values = _calibration_of(sizes, number, version).values
            yield VersionSummary(
                version=number,
                at=version.at,
                by=version.by,
                restored=version.restored,
                in_force=counts,
                values=len(values),
                changed=len(changes(before, values)),
                differing=None if now is None else len(changes(now, values)),
            )
            before = values

    def save(
        self, calibration: Calibration, by: Maker = "person", into: int | None = None
    ) -> Calibration:
        """Keep a calibration as a new version, or as version ``into``; return it as kept.

        Values for cubes of other sizes stay. Raises :class:`BadCalibration` if the present version
        cannot be read, and :class:`robot.records.storage.StorageError`.
        """
        self.files.take_over()
        _, present = self._load_latest(calibration.robot)
        before = present or self.files.read(calibration.robot, 0)
        if self._sizes is not None:
            before = before.upgrade(confirmable(self._sizes.written))
        after = _with_those(before, self._sizes, _kept_values(calibration))
        number = self._next(calibration.robot) if into is None else into
        after = after.model_copy(update={"at": self.now(), "by": by, "restored": None})
        self.files.write(after, number)
        return calibration.model_copy(update={"version": number, "at": after.at, "by": by})

    def restore(self, profile: RobotProfile, number: int | None = None) -> int:
        """Restore a version, for all sizes of cube, as a new one; return the new number.

        ``number`` is by default the version before the one in force. Unreadable files stay on the
        disk, but are no longer used. Raises :class:`BadCalibration` and
        :class:`robot.records.storage.StorageError`.
        """
        self.files.take_over()
        chosen = self.version_before(profile) if number is None else number
        version = self._version(profile.name, chosen).upgrade(confirmable(profile))
        apply(profile, _calibration_of(self._sizes or CubeSizes(profile), chosen, version))
        made = self._next(profile.name)
        update = {"at": self.now(), "by": "restore", "restored": chosen}
        self.files.write(version.model_copy(update=update), made)
        self.files.set_aside_unreadable()
        return made

    def version_before(self, profile: RobotProfile) -> int:
        """Return the number of the version before the one in force; 0: nothing is calibrated."""
        in_force = self._latest(profile.name)
        numbers = self._numbers(profile.name)
        return max((one for one in numbers if in_force and one < in_force[0]), default=0)

    def has_versions(self, profile: RobotProfile) -> bool:
        """Return whether this robot has a calibration."""
        return self._latest(profile.name) is not None

    def path_of(self, robot: str) -> Path:
        """Return the file in force for a robot, else the folder of all calibrations."""
        with contextlib.suppress(BadFile):
            if (found := self.files.latest(robot)) is not None:
                return found[1]
        return self.files.folder

    def others(self, robot: str) -> dict[str, datetime]:
        """Return the time of the last calibration of each other robot, by name."""
        found: dict[str, datetime] = {}
        for name in {*self.files.robots(), *self._earlier_robot()} - {robot}:
            with contextlib.suppress(BadCalibration):
                _, version = self._load_latest(name)
                if version is not None and version.values:
                    found[name] = version.at
        return dict(sorted(found.items()))

    def values_of_another(self, robot: str) -> JsonObject:
        """Return the values in force for another robot; raises :class:`BadCalibration`."""
        _, version = self._load_latest(robot)
        if version is None:
            known = ", ".join([*self.files.robots(), *self._earlier_robot()]) or "none"
            raise BadCalibration(
                f"there is no calibration of {robot} in {self.files.folder}; calibrated robots: "
                f"{known}"
            )
        return {key: one.value for key, one in version.values.items()}

    def settle(self) -> None:
        """Remove the remains of interrupted saves, and take over files of earlier releases.

        Call it at the start of the daemon only. Raises
        :class:`robot.records.storage.StorageError`.
        """
        self.files.settle()

    def note_under_way(self, by: str = "calibration") -> None:
        """Note on the disk that motors may be misaligned, for people after a power cut.

        ``by``: the activity that the power cut would interrupt. Only the first is noted.
        """
        self.may_have_note = True
        with contextlib.suppress(OSError):  # a full disk is no reason to stop here
            if self._note_path.exists():
                return
            self._note_path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._note_path, by.encode())

    @property
    def broken_off(self) -> str | None:
        """Return the text that :meth:`note_under_way` noted; None if there is no note."""
        try:
            return read_file(self._note_path, LARGEST_NOTE).decode(errors="replace")
        except NoSuchFile:
            return None
        except BadFile:
            return ""  # something was noted

    def note_over(self) -> bool:
        """Remove the note that motors may be misaligned. Return whether there was one."""
        try:
            self._note_path.unlink()
        except FileNotFoundError:
            self.may_have_note = False
            return False
        except OSError:
            return False
        self.may_have_note = False
        return True

    @property
    def _note_path(self) -> Path:
        return self.files.state_dir / UNDER_WAY

    def _earlier_robot(self) -> list[str]:
        with contextlib.suppress(BadFile):
            return [read_version(self.files.earlier).robot]
        return []

    def _load_latest(self, robot: str) -> tuple[int, Version | None]:
        found = self._latest(robot)
        if found is None:
            return 0, None
        number, path = found
        try:
            if path == self.files.earlier:
                return number, read_version(path)
            return number, self.files.read(robot, number)
        except BadFile as error:
            before = [one for one in self._numbers(robot) if one < number]
            back = f"version {before[-1]}" if before else "the profile's own values"
            raise BadCalibration(
                f"{error}. `cubist calibration restore` goes back to {back}; this file is kept."
            ) from error

    def _version(self, robot: str, number: int) -> Version:
        numbers = self._numbers(robot)
        if number != 0 and number not in numbers:
            known = f"it has {numbers[0]} to {numbers[-1]}" if numbers else "it has none"
            raise BadCalibration(f"{robot} has no version {number} of its calibration; {known}")
        try:
            return self.files.read(robot, number)
        except BadFile as error:
            raise BadCalibration(f"version {number} cannot be restored: {error}") from error

    def _next(self, robot: str) -> int:
        return max(self._numbers(robot), default=0) + 1

    def _numbers(self, robot: str) -> list[int]:
        with _name_folder_errors():
            return self.files.numbers(robot)

    def _latest(self, robot: str) -> tuple[int, Path] | None:
        with _name_folder_errors():
            return self.files.latest(robot)

    def _tell_unused(self, number: int, kept: Version, profile: RobotProfile) -> None:
        unused = sorted(kept.of_size.keys() - {str(size) for size in sizes_of(profile)})
        if unused and unused != self._told_unused:
            _log.warning(
                "%s: of_size has values for %s, but %s takes cubes of %s layers: they are kept "
                "but not used; remove them there, or add the size to other_cubes in the profile",
                self.files.path(profile.name, number),
                ", ".join(unused),
                profile.name,
                ", ".join(map(str, sizes_of(profile))),
            )
        self._told_unused = unused

    def _tell_ignored(self, profile: RobotProfile, found: Calibration) -> None:
        unused = ignored_keys(profile, found.values)
        if unused and unused != self._told_ignored:
            _log.warning(
                "the calibration of %s has %s: values that protect the robot come only from its "
                "profile, so these are kept but not used. Change the profile if the robot is "
                "built for them",
                profile.name,
                ", ".join(unused),
            )
        self._told_ignored = unused


def _kept_values(calibration: Calibration) -> KeptValues:
    """Return each value with its source, as in a file."""
    at = calibration.at or datetime.now(UTC)
    unknown = Source(how="import", at=at, confirmed=False)
    return {
        key: KeptValue(value=value, **calibration.sources.get(key, unknown).model_dump())
        for key, value in calibration.values.items()
    }


@contextlib.contextmanager
def _name_folder_errors() -> Iterator[None]:
    """Raise :class:`BadCalibration` for a folder that cannot be read."""
    try:
        yield
    except BadFile as error:
        raise BadCalibration(str(error)) from error


class Revision:
    """The one version that a calibration session writes, however often it keeps values."""

    def __init__(self, store: CalibrationStore) -> None:
        self._store = store
        self._number: int | None = None
        self._by: Maker = "person"
        self._before: list[Calibration] = []

    def keep(self, before: Calibration, after: Calibration, by: Maker) -> Calibration:
        """Keep ``after`` in place of ``before``; return it as kept. Raises the errors of
        :meth:`CalibrationStore.save`."""
        made = by if not self._before or by == self._by else "person"
        kept = self._store.save(after, made, self._number)
        self._number, self._by = kept.version, made
        self._before.append(before)
        return kept

    def undo(self) -> Calibration | None:
        """Undo the last :meth:`keep`; return the calibration then in force, None without one."""
        if not self._before or self._number is None:
            return None
        before = self._before[-1]
        if len(self._before) == 1:
            self._store.files.drop(before.robot, self._number)
            self._number = None
        else:
            before = self._store.save(before, self._by, self._number)
        self._before.pop()
        return before


def _calibration_of(sizes: CubeSizes, number: int, version: Version) -> Calibration:
    """Return a version's calibration for the cube that the robot is set up for."""
    version = version.upgrade(confirmable(sizes.written))
    kept = version.values
    if sizes.other is not None:
        kept = sizes.split(kept)[0] | version.of_size.get(sizes.other, {})
    sources = {key: one.model_dump(exclude={"value"}) for key, one in kept.items()}
    return Calibration(
        robot=version.robot,
        size=sizes.layers,
        version=number,
        at=version.at,
        by=version.by,
        values={key: one.value for key, one in kept.items()},
        sources={key: Source.model_validate(one) for key, one in sources.items()},
    )


def _with_those(version: Version, sizes: CubeSizes | None, values: KeptValues) -> Version:
    """Return a copy with these values for the robot's present cube; other cubes keep theirs."""
    if sizes is None or sizes.other is None:
        return version.model_copy(update={"format": FORMAT, "values": values})
    common, own = sizes.split(values)
    of_size = {**version.of_size, sizes.other: own}
    kept = {size: theirs for size, theirs in of_size.items() if theirs}
    common |= sizes.split(version.values)[1]
    return version.model_copy(update={"format": FORMAT, "values": common, "of_size": kept})
