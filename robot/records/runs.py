"""Run records: the events of each job, with photographs, readable after any crash.

``<state>/runs/000123/run.json`` and the pictures beside it. A record is rewritten atomically during
the job, so after a crash it is complete up to that moment.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from robot.records.documents import read_document
from robot.records.run_record import JobKind, RunList, RunRecord, UnreadableRun
from robot.records.storage import (
    NOT_STORED,
    StorageError,
    flush_directory,
    is_leftover,
    read_regular,
    remove_leftovers,
    reserve_room,
    write_atomically,
)
from robot.text.outcomes import OUTCOMES, Outcome
from solver.errors import shortened
from solver.files import BadFile, NoSuchFile, parse_object

RECORD_NAME = "run.json"
EXPLANATION_NAME = "reading.png"
"""The picture that explains the reading of the cube."""

TIME_LAPSE_NAME = "time-lapse.webp"
"""The animation of the whole run."""

MEDIA_TYPES = {
    ".json": "application/json",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
"""Media types of a run's files."""

RESERVE_NAME = "outcome.reserve"
RESERVE_BYTES = 64 * 1024
"""Room kept free for the end of a run; a short record has a few thousand bytes."""

LARGEST_RECORD_BYTES = 64 * 1024 * 1024
LARGEST_FILE_BYTES = 256 * 1024 * 1024

NUMBER_PATTERN = "[0-9]{1,18}"
"""A run's number as people may write it."""

_RUN_NUMBER = re.compile(NUMBER_PATTERN)
_REMOVED_PREFIX = ".removed-"
"""Prefix of a run's folder during its removal, so that a part of it does not count as a run."""

_log = logging.getLogger("cubistd")


@dataclass
class Recovery:
    """The numbers of the records that a start closed, and the runs that it could not read.

    ``is_certain``: no other job can have been interrupted. False if the newest record or the whole
    folder cannot be read.
    """

    closed: list[str] = field(default_factory=list)
    unreadable: list[UnreadableRun] = field(default_factory=list)
    is_certain: bool = True


class RunWriter:
    """The record of the running job. Not for use by two threads at once.

    Without a ``directory`` nothing is kept; :func:`unrecorded` returns this if the disk fails.
    """

    def __init__(self, directory: Path | None, record: RunRecord) -> None:
        self.directory = directory
        self.record = record

    def save(self) -> None:
        """Write the present record. Raises :class:`StorageError`."""
        if self.directory is not None:
            text = self.record.model_dump_json(indent=1)
            write_atomically(self.directory / RECORD_NAME, text.encode())

    def reserve(self) -> None:
        """Reserve the room that :meth:`finish` needs, while there is some; raises StorageError."""
        if self.directory is not None:
            reserve_room(self.directory / RESERVE_NAME, RESERVE_BYTES)

    def finish(self) -> None:
        """Write the record of a finished job, or at least its outcome if the disk is full.

        This uses the room reserved at the start. Raises :class:`StorageError` if even the short
        record does not fit.
        """
        if self.directory is None:
            return
        with contextlib.suppress(OSError):
            (self.directory / RESERVE_NAME).unlink(missing_ok=True)
        try:
            self.save()
        except StorageError as error:
            self.record.warnings.append(f"plan and reading are not kept: {error}")
            RunWriter(self.directory, self.record.shortened()).save()

    def save_photo(self, name: str, encoded: bytes) -> None:
        """Keep an encoded picture under a file name like ``scan-F.jpg``."""
        if self.directory is not None:
            write_atomically(self.directory / name, encoded)
            self.record.photos.append(name)


class RunStore:
    """All records of a robot.

    ``limit_bytes``: largest size that :meth:`prune` allows; ``reserve_bytes``: room that it keeps
    free on the disk.
    """

    def __init__(
        self,
        directory: Path,
        limit_bytes: int = 512 * 1024 * 1024,
        reserve_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self.directory = directory
        self.limit_bytes = limit_bytes
        self.reserve_bytes = reserve_bytes

    def begin(self, kind: JobKind, robot: str, now: datetime) -> RunWriter:
        """Start the record of a job, under the next free number. Raises :class:`StorageError`.

        Old records are removed first, if it needs their room.
        """
        made = None
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self.prune()
            directory = self.directory / f"{self._next_number():06d}"
            directory.mkdir()
            made = directory
            flush_directory(self.directory)
            record = RunRecord(id=directory.name, kind=kind, robot=robot, started_at=now)
            writer = RunWriter(directory, record)
            writer.save()
            writer.reserve()
        except OSError as error:
            if made is not None:
                shutil.rmtree(made, ignore_errors=True)
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"{self.directory}: no run record can be kept: {error}") from error
        return writer

    def ids(self) -> list[str]:
        """Return the numbers of all runs, oldest first. Raises :class:`StorageError`."""
        try:
            names = [path.name for path in self.directory.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(f"{self.directory}: cannot be read: {error.strerror}") from error
        return sorted(filter(_is_folder_name, names), key=int)

    def load(self, run_id: str) -> RunRecord:
        """Return the record with this number, leading zeros optional.

        Raises :class:`StorageError`, with the code ``NOT_STORED`` if there is no such run.
        """
        path = self.directory_of(run_id) / RECORD_NAME
        try:
            return read_document(path, RunRecord, LARGEST_RECORD_BYTES)
        except NoSuchFile as error:
            if path.parent.exists():
                raise StorageError(f"{path}: is missing") from None
            raise StorageError(
                f"run {run_id}: no such run; `cubist runs` lists them", code=NOT_STORED
            ) from error
        except BadFile as error:
            raise StorageError(str(error)) from error

    def file(self, run_id: str, name: str) -> tuple[str, bytes]:
        """Return the media type and the bytes of a run's file: the record, or one it names.

        Raises :class:`StorageError`, with the code ``NOT_STORED`` if there is no such file.
        """
        media = MEDIA_TYPES.get(Path(name).suffix)
        if media is None or name not in (RECORD_NAME, *self.load(run_id).photos):
            missing = f"run {int(run_id)}: no file {shortened(name)!r}; the record names them"
            raise StorageError(missing, code=NOT_STORED)
        return media, read_regular(self.directory_of(run_id) / name, LARGEST_FILE_BYTES)

    def photo(self, run_id: str, name: str) -> bytes:
        """Return a picture that the record of a run names, even if only in memory so far."""
        return read_regular(self.directory_of(run_id) / name, LARGEST_FILE_BYTES)

    def directory_of(self, run_id: str) -> Path:
        """Return the folder of a run; raises :class:`StorageError` unless the id is a number."""
        if not is_run_number(run_id):
            told = shortened(run_id)
            raise StorageError(f"run {told!r}: not a run number; `cubist runs` lists them")
        return self.directory / f"{int(run_id):06d}"

    def latest(self, count: int) -> RunList:
        """Return the last ``count`` readable records, and the unreadable runs since the oldest.

        Newest first. Raises :class:`StorageError` if the folder itself cannot be read.
        """
        found = RunList(runs=[])
        for run_id in reversed(self.ids()):
            if len(found.runs) == count:
                break
            record = self._load_or_explain(run_id)
            if isinstance(record, RunRecord):
                found.runs.append(record.summary())
            else:
                found.unreadable.append(record)
        return found

    def readable(self) -> Iterator[RunRecord]:
        """Yield all records that can be read, without their long parts, oldest first.

        Raises :class:`StorageError` if the folder itself cannot be read.
        """
        for run_id in self.ids():
            record = self._load_or_explain(run_id)
            if isinstance(record, RunRecord):
                yield record.summary()

    def recover(self) -> Recovery:
        """Remove half-written files and close open records after a crash.

        A run that cannot be read stays unchanged, and the log names it. If the disk is too full to
        close a record, it stays open until the next start.
        """
        try:
            ids = self.ids()
        except StorageError as error:
            _log.warning("run records cannot be read: %s", error)
            return Recovery(is_certain=False)
        self._finish_removals()
        self.prune()
        found = Recovery()
        for run_id in ids:
            directory = self.directory_of(run_id)
            if not directory.exists() or _remove_if_empty(directory):
                continue
            record = self._load_or_explain(run_id)
            found.is_certain = isinstance(record, RunRecord)
            if isinstance(record, UnreadableRun):
                found.unreadable.append(record)
                continue
            with contextlib.suppress(OSError):
                remove_leftovers(directory)
            if record.outcome is None:
                with contextlib.suppress(OSError, BadFile):
                    _close(directory)
                found.closed.append(run_id)
        if found.unreadable:
            _log.warning("%s", _describe_unreadable(found.unreadable))
        return found

    def prune(self) -> list[str]:
        """Remove the oldest records until the rest fit; return their numbers.

        The newest readable run always stays, and so does every run that cannot be read. Unreadable
        runs count towards the limit; if they prevent meeting it, a warning is logged.
        """
        try:
            sizes = {run_id: _size(self.directory_of(run_id)) for run_id in self.ids()}
            excess = self._excess(sum(sizes.values()))
        except OSError as error:
            _log.warning("old runs cannot be removed: %s", error)
            return []
        removed: list[str] = []
        unreadable: list[UnreadableRun] = []
        newest = self._newest_readable(sizes) if excess > 0 else None
        for run_id, size in sizes.items():
            if excess <= 0:
                break
            if run_id == newest:
                continue
            record = self._load_or_explain(run_id)
            if isinstance(record, UnreadableRun):
                unreadable.append(record)
            elif self._remove(run_id):
                excess -= size
                removed.append(run_id)
        if excess > 0 and unreadable:
            _log.warning("old runs take too much room; %s", _describe_unreadable(unreadable))
        return removed

    def _excess(self, total: int) -> int:
        """Return the bytes by which records exceed the limit or the room on the disk."""
        if not total:
            return 0
        lacking = self.reserve_bytes - shutil.disk_usage(self.directory).free
        return max(total - self.limit_bytes, lacking)

    def _newest_readable(self, ids: Iterable[str]) -> str | None:
        runs = map(self._load_or_explain, sorted(ids, key=int, reverse=True))
        return next((run.id for run in runs if isinstance(run, RunRecord)), None)

    def _remove(self, run_id: str) -> bool:
        """Remove a run's folder in one step, so that no part is found, even after a power cut."""
        directory = self.directory_of(run_id)
        going = directory.with_name(_REMOVED_PREFIX + directory.name)
        try:
            directory.rename(going)
        except OSError:
            return False
        shutil.rmtree(going, ignore_errors=True)
        return True

    def _finish_removals(self) -> None:
        for going in self.directory.glob(f"{_REMOVED_PREFIX}*"):
            shutil.rmtree(going, ignore_errors=True)

    def _next_number(self) -> int:
        ids = self.ids()
        return int(ids[-1]) + 1 if ids else 1

    def _load_or_explain(self, run_id: str) -> RunRecord | UnreadableRun:
        try:
            return self.load(run_id)
        except StorageError as error:
            return UnreadableRun(id=run_id, reason=str(error))


def _is_folder_name(name: str) -> bool:
    return is_run_number(name) and name == f"{int(name):06d}"


def _remove_if_empty(directory: Path) -> bool:
    """Remove the folder of a run that was interrupted before it had a record."""
    with contextlib.suppress(OSError):
        if all(is_leftover(path.name) for path in directory.iterdir()):
            remove_leftovers(directory)
            directory.rmdir()
            return True
    return False


def _close(directory: Path) -> None:
    """Mark the job of an open record as interrupted.

    Everything else in the file stays, even keys that only a newer version knows.
    """
    path = directory / RECORD_NAME
    document = parse_object(read_regular(path, LARGEST_RECORD_BYTES), str(path))
    outcome = Outcome.INTERRUPTED
    document |= {"outcome": outcome, "reason": OUTCOMES[outcome].about}
    (directory / RESERVE_NAME).unlink(missing_ok=True)
    write_atomically(directory / RECORD_NAME, json.dumps(document, indent=1).encode())


def _describe_unreadable(unreadable: list[UnreadableRun]) -> str:
    """Return a line for the log: the unreadable runs, and the reason for the newest of them."""
    numbers = shortened(", ".join(str(int(run.id)) for run in reversed(unreadable)))
    return (
        f"{len(unreadable)} run(s) cannot be read and stay as they are: {numbers}. "
        f"{unreadable[-1].reason}"
    )


def unrecorded(kind: JobKind, robot: str, now: datetime) -> RunWriter:
    """Return a record that is only in memory, number 0."""
    return RunWriter(None, RunRecord(id="000000", kind=kind, robot=robot, started_at=now))


def is_run_number(text: str) -> bool:
    """Return whether a text is a run's number: digits, leading zeros allowed."""
    return _RUN_NUMBER.fullmatch(text) is not None


def utc_now() -> datetime:
    """Return the present time, for records."""
    return datetime.now(UTC)


def _size(directory: Path) -> int:
    """Return the bytes of a record's files. Those of a running job come and go meanwhile."""
    total = 0
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            with contextlib.suppress(OSError):
                status = path.lstat()
                if path.name != RESERVE_NAME and stat.S_ISREG(status.st_mode):
                    total += status.st_size
    return total
