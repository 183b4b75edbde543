"""The demo's folder: gone at the end, and a killed demo's folder gone at the next start."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from robot.simulate.processes import LOCK_NAME, PREFIX, remove_abandoned, workspace


def test_folder_is_removed_whatever_happens(tmp_path: Path) -> None:
    def use() -> None:
        with workspace(tmp_path) as folder:
            (folder / "run").mkdir()
            (folder / "run" / "file").write_text("x")
            raise RuntimeError("something broke")

    with pytest.raises(RuntimeError, match="broke"):
        use()
    assert list(tmp_path.iterdir()) == []


def test_two_demos_do_not_disturb_each_other(tmp_path: Path) -> None:
    with workspace(tmp_path) as first, workspace(tmp_path) as second:
        assert first != second
        assert first.is_dir()


def test_folder_of_a_killed_demo_is_removed(tmp_path: Path) -> None:
    killed = tmp_path / f"{PREFIX}killed"
    killed.mkdir()
    (killed / LOCK_NAME).touch()
    (killed / "link").symlink_to("/dev/pts/none")
    with workspace(tmp_path):
        assert not killed.exists()


def test_what_is_not_known_to_be_abandoned_stays(tmp_path: Path) -> None:
    young = tmp_path / f"{PREFIX}young"
    young.mkdir()
    other = tmp_path / "unrelated"
    other.mkdir()
    (other / LOCK_NAME).touch()
    used = tmp_path / f"{PREFIX}used"
    used.mkdir()
    lock = os.open(used / LOCK_NAME, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_abandoned(tmp_path) == []
    finally:
        os.close(lock)
    assert young.is_dir()
    assert other.is_dir()
    assert remove_abandoned(tmp_path) == [used]


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    for _ in range(3):
        with workspace(tmp_path) as first, workspace(tmp_path) as second:
            assert first != second and remove_abandoned(tmp_path) == []
        assert list(tmp_path.iterdir()) == []
    assert count() == before
