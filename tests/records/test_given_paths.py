"""Paths that people name for what is written: files are replaced, whatever else is written into."""

import json
import os
import stat
import tempfile
from pathlib import Path

import pytest

from robot.cli.main import run
from robot.records.storage import StorageError, write_given

PLAN = ["solve", "--scramble", "R", "--robot", "cubotino", "--time-limit", "0.01"]


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "plan.svg"
    write_given(file, b"old")
    file.chmod(0o600)
    before = file.stat().st_ino
    write_given(file, b"new")
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_ino != before
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_among_the_devices_is_written_into() -> None:
    """Nothing else may be made there: /dev may be a folder that only the system changes."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        before = Path(file.name).stat().st_ino
        write_given(Path(file.name), b"new")
        assert Path(file.name).read_bytes() == b"new"
        assert Path(file.name).stat().st_ino == before


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    file, link = tmp_path / "plan.svg", tmp_path / "link.svg"
    file.write_bytes(b"old")
    link.symlink_to(file)
    write_given(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_a_link_to_nothing_makes_the_file(tmp_path: Path) -> None:
    link = tmp_path / "link.svg"
    link.symlink_to(tmp_path / "plan.svg")
    write_given(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "plan.svg").read_bytes() == b"new"


def test_a_device_stays_a_device() -> None:
    before = Path("/dev/null").stat()
    write_given(Path("/dev/null"), b"gone")
    after = Path("/dev/null").stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices")
def test_a_device_outside_dev_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError as error:
        pytest.skip(f"no devices here: {error}")
    assert run([*PLAN, "--timeline", str(device)]) == 0
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StorageError, match="start its reader first"):
        write_given(pipe, b"x" * 100_000)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reader, "rb") as stream:
        write_given(pipe, b"x" * 10_000)
        assert stream.read() == b"x" * 10_000
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="Name a file in it"):
        write_given(tmp_path, b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_dash_is_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*PLAN, "--timeline", "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert out.startswith(b"<svg")
    assert out.endswith(b"</svg>\n")
    assert b"R" in err
    assert list(tmp_path.iterdir()) == []


def test_a_dash_and_json_cannot_share_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scan = tmp_path / "scan.json"
    scan.write_text(json.dumps({"rgb": [[1, 2, 3]] * 54}))
    for command in (
        [*PLAN, "--timeline", "-"],
        ["runs", "show", "1", "--timeline", "-"],
        ["read", "--colours", str(scan), "--explain", "-"],
        ["calibration", "export", "-"],
        ["calibrate", "camera", "--save-to", "-"],
    ):
        assert run([*command, "--json"]) == 2
        said = capsys.readouterr()
        assert "both write to standard output" in said.err
        assert said.out == ""
