"""State files are read only where they are ordinary files of a sensible size."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from robot.calibration.drift import DriftStore
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration
from robot.records.storage import StorageError, read_regular
from robot.settings import load_profile

CUBOTINO = load_profile("cubotino")
LIMIT = 1000


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
def test_nothing_else_is_waited_for_or_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    NOT_READ[kind](path)
    with pytest.raises(StorageError, match=f"{path}: .*{kind}"):
        read_regular(path, LIMIT)
    calibrations, drifts = CalibrationStore(tmp_path), DriftStore(tmp_path)
    earlier, version = calibrations.files.earlier, calibrations.files.path("cubotino", 1)
    version.parent.mkdir(parents=True)
    for place in (earlier, version, drifts.path):
        NOT_READ[kind](place)
    with pytest.raises(BadCalibration, match=kind):
        calibrations.load(CUBOTINO)
    with pytest.raises(BadCalibration, match=kind):
        calibrations.restore(CUBOTINO, 1)
    today = date(2026, 5, 1)
    assert all(one.since == today for one in drifts.load(CUBOTINO, today).positions)


def test_an_ordinary_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="it: cannot be read"):
        read_regular(tmp_path / "it", LIMIT)
    (tmp_path / "it").write_bytes(bytes(LIMIT))
    assert read_regular(tmp_path / "it", LIMIT) == bytes(LIMIT)
    with pytest.raises(StorageError, match="larger than the limit"):
        read_regular(tmp_path / "it", LIMIT - 1)
