"""Files are replaced completely or not at all; nothing bad is in force, nothing is lost.

Paths given by people may also be pipes, devices and ``-``: these are written into.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from robot.cli.main import run
from robot.records.storage import (
    StorageError,
    read_regular,
    remove_leftovers,
    reserve_room,
    write_atomically,
    write_given,
)

OLD, NEW = b"old" * 1000, b"new" * 5000
PLAN = ["solve", "--scramble", "R", "--robot", "cubotino", "--time-limit", "0.01"]
LIMIT = 1000


@pytest.mark.parametrize("write", [write_atomically, write_given])
@pytest.mark.parametrize("name", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "free some space"), (errno.EROFS, "read-only")]
)
def test_a_failing_call_leaves_the_old_file(tmp_path, monkeypatch, name, number, remedy, write):
    path = tmp_path / "settings"
    write_atomically(path, OLD)
    fail = Mock(side_effect=OSError(number, os.strerror(number)))
    with monkeypatch.context() as patched:
        patched.setattr(os, name, fail)
        with pytest.raises(StorageError, match=f"settings: cannot be written.*{remedy}"):
            write(path, NEW)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_the_new_name_is_on_the_disk_before_a_save_is_over(tmp_path, monkeypatch):
    """Check that the folder is flushed after the file has its name: a power cut cannot undo it."""
    path, flushed = tmp_path / "calibration.json", []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        named = path.exists() and path.read_bytes() == NEW
        flushed.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), named))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    write_atomically(path, NEW)
    assert flushed == [(False, False), (True, True)]


def test_a_save_is_complete_and_leaves_no_descriptor_open(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:7]))
    before = len(list(Path("/proc/self/fd").iterdir()))
    write_atomically(tmp_path / "f", OLD)
    write_atomically(tmp_path / "secret", OLD, mode=0o600)
    reserve_room(tmp_path / "room", 5_000)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert (tmp_path / "f").read_bytes() == OLD
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert (tmp_path / "room").stat().st_size == 5_000


def test_only_leftovers_of_saves_are_removed(tmp_path):
    for name in (".cubist-a.1.tmp", ".cubist-b.2.tmp", "c.tmp", ".cubist-d"):
        (tmp_path / name).touch()
    assert remove_leftovers(tmp_path) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cubist-d", "c.tmp"]


def test_a_given_file_is_replaced_whole_and_keeps_its_mode_and_its_link(tmp_path):
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


def test_a_pipe_is_written_into_and_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StorageError, match="start its reader first"):
        write_given(pipe, bytes(100_000))
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
        write_given(pipe, NEW)
        assert stream.read() == NEW
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_dash_is_standard_output_which_json_cannot_share(capfd):
    assert run([*PLAN, "--timeline", "-"]) == 0
    out = capfd.readouterr().out
    assert out.startswith("<svg") and out.endswith("</svg>\n")
    for command in (
        [*PLAN, "--timeline", "-"],
        ["runs", "show", "1", "--timeline", "-"],
        ["read", "--colours", "/dev/null", "--explain", "-"],
        ["calibration", "export", "-"],
        ["calibrate", "camera", "--save-to", "-"],
    ):
        assert run([*command, "--json"]) == 2
        out, err = capfd.readouterr()
        assert "both write to standard output" in err
        assert all(json.loads(line)["error"] == "usage" for line in out.splitlines())


NOT_READ: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK),
    "larger than the limit": lambda path: path.write_bytes(bytes(LIMIT + 1)),
}


@pytest.mark.parametrize("kind", NOT_READ)
def test_special_files_are_neither_read_nor_waited_for(tmp_path, kind):
    NOT_READ[kind](tmp_path / "it")
    with pytest.raises(StorageError, match=f"it: .*{kind}"):
        read_regular(tmp_path / "it", LIMIT)


def test_a_regular_file_is_read_up_to_the_limit(tmp_path):
    with pytest.raises(StorageError, match="it: cannot be read"):
        read_regular(tmp_path / "it", LIMIT)
    (tmp_path / "it").write_bytes(bytes(LIMIT))
    assert read_regular(tmp_path / "it", LIMIT) == bytes(LIMIT)
