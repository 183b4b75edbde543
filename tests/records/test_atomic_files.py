"""A file is replaced whole or not at all, whichever system call is the last one."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from robot.records.storage import (
    StorageError,
    remove_leftovers,
    reserve_room,
    write_atomically,
)

OLD, NEW = b"old" * 1000, b"new" * 5000

KILLED_AT_A_CALL = """
import os, signal, sys
from pathlib import Path
path, last = Path(sys.argv[1]), int(sys.argv[2])
import robot.records.storage as storage
made = 0
def counted(real):
    def call(*arguments, **named):
        global made
        made += 1
        if made == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    return call
for name in ("open", "write", "fsync", "close", "link", "rename", "replace", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
storage.write_atomically(path, b"new" * 5000)
"""


def save_killed_at(path: Path, call: int) -> bool:
    """Save in a process that is killed just before its n-th system call; whether it was."""
    command = [sys.executable, "-c", KILLED_AT_A_CALL, str(path), str(call)]
    code = subprocess.run(command, check=False).returncode
    assert code in (0, -9)
    return code == -9


def test_a_save_killed_at_any_system_call_leaves_old_or_new_contents(tmp_path: Path) -> None:
    found = set()
    call = 1
    while True:
        path = tmp_path / f"{call}" / "calibration.json"
        path.parent.mkdir()
        path.write_bytes(OLD)
        killed = save_killed_at(path, call)
        found.add(path.read_bytes())
        if not killed:
            break
        remove_leftovers(path.parent)
        assert {entry.name for entry in path.parent.iterdir()} == {path.name}
        call += 1
    assert call > 6
    assert found == {OLD, NEW}


@pytest.mark.parametrize("name", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_failing_system_call_leaves_the_old_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    path = tmp_path / "settings"
    write_atomically(path, OLD)

    def fail(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(StorageError, match="settings: cannot be written"):
        write_atomically(path, NEW)
    monkeypatch.undo()
    assert path.read_bytes() == OLD
    assert [entry.name for entry in tmp_path.iterdir()] == ["settings"]


def test_the_new_name_is_on_the_disk_before_a_save_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is flushed after the file has its name: a power cut cannot undo it."""
    path, flushed = tmp_path / "calibration.json", []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        named = path.exists() and path.read_bytes() == NEW
        flushed.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), named))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    write_atomically(path, NEW)
    assert flushed == [(False, False), (True, True)]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:7]))
    write_atomically(tmp_path / "f", NEW)
    assert (tmp_path / "f").read_bytes() == NEW


def test_full_disk_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match=r"written: No space left on device\. .*free some space"):
        write_atomically(tmp_path / "f", NEW)


def test_missing_directory_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="Create the directory first"):
        write_atomically(tmp_path / "none" / "f", OLD)


def test_mode_is_applied(tmp_path: Path) -> None:
    write_atomically(tmp_path / "secret", OLD, mode=0o600)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_no_descriptor_is_left_open_and_files_can_be_read_by_all(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        write_atomically(tmp_path / "f", OLD)
        reserve_room(tmp_path / "room", 5_000)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644
    assert (tmp_path / "room").stat().st_size == 5_000


def test_leftovers_of_saves_are_counted_and_nothing_else_is_removed(tmp_path: Path) -> None:
    for name in (".cubist-a.1.tmp", ".cubist-b.2.tmp", "c.tmp", ".cubist-d"):
        (tmp_path / name).touch()
    assert remove_leftovers(tmp_path) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cubist-d", "c.tmp"]
