"""A file is replaced whole or not at all, and only ordinary files of a sensible size are read.

Paths that a person names may also be pipes, devices and ``-``: these are written into.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from robot.calibration.drift import DriftStore
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration
from robot.cli.main import run
from robot.records.storage import (
    StorageError,
    read_regular,
    remove_leftovers,
    reserve_room,
    write_atomically,
    write_given,
)
from robot.settings import load_profile

OLD, NEW = b"old" * 1000, b"new" * 5000
PLAN = ["solve", "--scramble", "R", "--robot", "cubotino", "--time-limit", "0.01"]
LIMIT = 1000


@pytest.mark.parametrize("name", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "free some space"), (errno.EROFS, "read-only")]
)
def test_a_failing_system_call_leaves_the_old_contents_and_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int, remedy: str
) -> None:
    path = tmp_path / "settings"
    write_atomically(path, OLD)

    def fail(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, name, fail)
        with pytest.raises(StorageError, match=f"settings: cannot be written.*{remedy}"):
            write_atomically(path, NEW)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


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


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:7]))
    write_atomically(tmp_path / "f", NEW)
    assert (tmp_path / "f").read_bytes() == NEW


def test_a_save_applies_its_mode_and_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    write_atomically(tmp_path / "f", OLD)
    write_atomically(tmp_path / "secret", OLD, mode=0o600)
    reserve_room(tmp_path / "room", 5_000)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert (tmp_path / "room").stat().st_size == 5_000


def test_only_leftovers_of_saves_are_removed(tmp_path: Path) -> None:
    for name in (".cubist-a.1.tmp", ".cubist-b.2.tmp", "c.tmp", ".cubist-d"):
        (tmp_path / name).touch()
    assert remove_leftovers(tmp_path) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cubist-d", "c.tmp"]


def test_a_given_file_is_replaced_whole_and_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    file, link = tmp_path / "plan.svg", tmp_path / "link.svg"
    link.symlink_to(file)
    write_given(link, OLD)
    file.chmod(0o600)
    before = file.stat().st_ino
    write_given(link, NEW)
    assert link.is_symlink() and file.read_bytes() == NEW
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_ino != before
    assert sorted(tmp_path.iterdir()) == [link, file]


def test_a_device_and_a_file_among_devices_stay_and_are_written_into() -> None:
    """Nothing else may be made there: /dev may be a folder that only the system changes."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        for path in (Path(file.name), Path("/dev/null")):
            before = path.stat()
            write_given(path, NEW)
            assert (path.stat().st_ino, path.stat().st_rdev) == (before.st_ino, before.st_rdev)
        assert Path(file.name).read_bytes() == NEW


def test_a_pipe_is_written_into_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StorageError, match="start its reader first"):
        write_given(pipe, bytes(100_000))
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
        write_given(pipe, NEW)
        assert stream.read() == NEW
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_no_place_to_write_to(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="Name a file in it"):
        write_given(tmp_path, NEW)
    with pytest.raises(StorageError, match="Create the directory first"):
        write_atomically(tmp_path / "none" / "f", NEW)
    assert list(tmp_path.iterdir()) == []


def test_a_dash_is_standard_output_which_json_cannot_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    scan = tmp_path / "scan.json"
    scan.write_text(json.dumps({"rgb": [[1, 2, 3]] * 54}))
    monkeypatch.chdir(tmp_path)
    assert run([*PLAN, "--timeline", "-"]) == 0
    out = capfd.readouterr().out
    assert out.startswith("<svg") and out.endswith("</svg>\n")
    for command in (
        [*PLAN, "--timeline", "-"],
        ["runs", "show", "1", "--timeline", "-"],
        ["read", "--colours", str(scan), "--explain", "-"],
        ["calibration", "export", "-"],
        ["calibrate", "camera", "--save-to", "-"],
    ):
        assert run([*command, "--json"]) == 2
        out, err = capfd.readouterr()
        assert out == "" and "both write to standard output" in err
    assert list(tmp_path.iterdir()) == [scan]


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


NOT_READ: dict[str, Callable[[Path], None]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK),
    "larger than the limit": make_huge,
}


@pytest.mark.parametrize("kind", NOT_READ)
def test_what_is_no_ordinary_file_is_neither_read_nor_waited_for(tmp_path: Path, kind: str) -> None:
    path, cubotino, today = tmp_path / "it", load_profile("cubotino"), date(2026, 5, 1)
    calibrations, drifts = CalibrationStore(tmp_path), DriftStore(tmp_path)
    version = calibrations.files.path("cubotino", 1)
    version.parent.mkdir(parents=True)
    for place in (path, calibrations.files.earlier, version, drifts.path):
        NOT_READ[kind](place)
    with pytest.raises(StorageError, match=f"{path}: .*{kind}"):
        read_regular(path, LIMIT)
    with pytest.raises(BadCalibration, match=kind):
        calibrations.load(cubotino)
    with pytest.raises(BadCalibration, match=kind):
        calibrations.restore(cubotino, 1)
    assert all(one.since == today for one in drifts.load(cubotino, today).positions)


def test_an_ordinary_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="it: cannot be read"):
        read_regular(tmp_path / "it", LIMIT)
    (tmp_path / "it").write_bytes(bytes(LIMIT))
    assert read_regular(tmp_path / "it", LIMIT) == bytes(LIMIT)
    with pytest.raises(StorageError, match="larger than the limit"):
        read_regular(tmp_path / "it", LIMIT - 1)
