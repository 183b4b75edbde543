"""Tables on disk: made once, checked always, in a directory of the account's."""

from __future__ import annotations

import logging
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.api import paths
from solver import tables
from solver.errors import SearchError
from solver.files import user_directory
from solver.solution import CancelFlag, Request
from solver.tables import HEADER_SIZE, Bytes

SIZE = 100_003


class Maker:
    """Fills a table with a pattern and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Bytes, progress: Callable[[float], bool]) -> bool:
        self.calls += 1
        data[:] = expected(data.size)
        return progress(1.0)


def expected(size: int = SIZE) -> Bytes:
    return (np.arange(size) % 251).astype(np.uint8)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def load(make: tables.Make, version: int = 1) -> Bytes:
    return tables.load("pattern", version, SIZE, make)


def test_made_once_then_mapped(directory: Path) -> None:
    make = Maker()
    for _ in range(3):
        table = load(make)
        assert np.array_equal(table, expected())
        assert not table.flags.writeable
    assert make.calls == 1
    assert [path.name for path in directory.iterdir()] == ["pattern.v1.table"]


def test_released_pages_are_read_again(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of tables without a file are kept: they would be lost."""
    size = 40 << 20
    table = tables.load("large", 1, size, Maker())
    before_kb = _resident_kb()
    tables.release_pages(table)
    assert _resident_kb() < before_kb - size // 1024 + 5_000
    assert np.array_equal(table, expected(size))
    monkeypatch.setenv("CUBIST_CACHE_DIR", "/proc/nowhere")
    for kept in (load(Maker()), tables.copy_to_huge_pages(table)):
        content = kept.copy()
        tables.release_pages(kept)
        assert np.array_equal(kept, content)


def _resident_kb() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def flip(data: bytearray, place: int) -> None:
    data[place] ^= 0x10


DAMAGES: list[Callable[[bytearray], object]] = [
    *(partial(flip, place=at) for at in (0, 9, 20, HEADER_SIZE, HEADER_SIZE + SIZE // 2, -1)),
    *(lambda data, n=length: data.__delitem__(slice(n, None)) for length in (0, 10, HEADER_SIZE)),
    lambda data: data.pop(),
    lambda data: data.append(0),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_again(
    directory: Path, damage: Callable[[bytearray], object], caplog: pytest.LogCaptureFixture
) -> None:
    make = Maker()
    load(make)
    path = directory / "pattern.v1.table"
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert np.array_equal(load(make), expected())
    assert make.calls == 2
    assert "making it again" in caplog.text


def test_a_newer_version_replaces_older_files_and_leaves_those_of_others(directory: Path) -> None:
    others = {
        "pattern-of-another-kind.v1.table",
        "a.b.tmp",
        "backup.7.tmp.gz",
        "pattern.v1.table.bak",
    }
    directory.mkdir()
    for name in (*others, "pattern.table", "pattern.v1.77.tmp", "nxn-8-htm-1.77.tmp"):
        (directory / name).touch()
    make = Maker()
    load(make, version=1)
    load(make, version=3)
    assert make.calls == 2
    assert {path.name for path in directory.iterdir()} == {*others, "pattern.v3.table"}


def test_a_copy_in_huge_pages_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = expected()
    table.flags.writeable = False
    copy = tables.copy_to_huge_pages(table)
    assert np.array_equal(copy, table)
    assert not copy.flags.writeable
    monkeypatch.setattr(os, "sysconf", lambda _: 100)
    assert tables.copy_to_huge_pages(table) is table


def fill_disk(function: str, _: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, function, full)


def block_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path / "file/cache"))


def remove_home(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no home directory, and nothing that says what to use instead."""

    def unknown(_: int) -> None:
        raise KeyError

    for variable in ("HOME", "CUBIST_CACHE_DIR", "CACHE_DIRECTORY", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.parametrize(
    ("prevent", "warning"),
    [
        (block_directory, "CUBIST_CACHE_DIR"),
        (remove_home, "no home directory: set CUBIST_CACHE_DIR"),
        (partial(fill_disk, "posix_fallocate"), "No space left"),
        (partial(fill_disk, "fsync"), "No space left"),
    ],
)
def test_a_table_that_cannot_be_stored_stays_in_memory(
    prevent: Callable[[Path, pytest.MonkeyPatch], None],
    warning: str,
    directory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    prevent(tmp_path, monkeypatch)
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(load(Maker()), expected())
    assert len(caplog.records) == 1
    assert warning in caplog.text
    assert not list(directory.glob("*.tmp"))


def test_stopping_leaves_nothing_behind(directory: Path) -> None:
    cancel = CancelFlag()
    cancel.set()
    stopped = pytest.raises(SearchError, match="pattern was stopped")
    with stopped, tables.making("patterns", Request(cancel=cancel)):
        load(Maker())
    assert not list(directory.iterdir())
    assert np.array_equal(load(Maker()), expected())


@pytest.mark.parametrize(
    "options", [["--algorithm", "two-phase"], ["--algorithm", "optimal"], ["--robot", "four-arm"]]
)
def test_an_interrupt_while_tables_are_made_leaves_no_file(
    directory: Path, options: list[str]
) -> None:
    """Ctrl-C as soon as the file is begun; nothing of it may be taken for a table later on."""
    command = [sys.executable, "-m", "robot.cli.main", "solve", "--scramble", "R U F"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not list(directory.glob("*.tmp")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (4, b"")
    assert b"Traceback" not in err
    assert list(directory.iterdir()) == []


LOADING = """
from tests.solver.test_tables import Maker, expected
from solver import tables
make, size = Maker(), 20_000_000
assert (tables.load("pattern", 1, size, make) == expected(size)).all()
print("made" * make.calls)
"""


def test_processes_that_need_it_at_once_make_it_once(directory: Path) -> None:
    command = [sys.executable, "-c", LOADING]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert "".join(outputs).count("made") == 1


READING = """
import os, signal, sys
from solver import tables
def make(data, progress):
    data[:] = 7
    return progress(1.0)
table = tables.load("pattern", 1, 100_003, make)
gone = tables.load("gone", 1, 100_003, make)
del gone  # its address may be used again
heard = []
if "in order" in sys.argv:
    signal.signal(signal.SIGQUIT, lambda *_: heard.append("asked to end"))
    tables.end_by_signal(signal.SIGQUIT)
if "another" in sys.argv:
    import mmap
    with open(sys.argv[1], "w+b") as file:
        file.truncate(8192)
        table = mmap.mmap(file.fileno(), 8192, prot=mmap.PROT_READ)
        file.truncate(0)
else:
    os.truncate(sys.argv[1], 4096)
print(int(table[-1]), *heard)
"""


@pytest.mark.parametrize(
    ("mode", "code", "out"),
    [("at once", 3, ""), ("in order", 0, "0 asked to end\n"), ("another", -signal.SIGBUS, "")],
)
def test_a_table_that_is_cut_short_in_use_is_named(
    directory: Path, tmp_path: Path, mode: str, code: int, out: str
) -> None:
    file = tmp_path / "other" if mode == "another" else directory / "pattern.v1.table"
    done = subprocess.run(
        [sys.executable, "-c", READING, str(file), mode],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, out)
    named = f"the table {file} was cut short, or its disk cannot be read, while it was in use"
    assert done.stderr.count(named) == (mode != "another")
    make = Maker()
    load(make)
    assert make.calls == (mode != "another")


# ---- directories --------------------------------------------------------------------------------

ACCOUNT = Path(pwd.getpwuid(os.getuid()).pw_dir)
TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)


def found(**environ: str) -> Path:
    return user_directory("XDG_CACHE_HOME", ".cache", "CUBIST_CACHE_DIR", environ)


@pytest.mark.parametrize("home", ["", ".", "here", "~"])
def test_the_environment_counts_if_it_names_a_folder(home: str) -> None:
    assert found(HOME="/h") == Path("/h/.cache")
    assert found(HOME="/h", XDG_CACHE_HOME="/x") == Path("/x")
    assert found(HOME=home) == ACCOUNT / ".cache"
    assert found(HOME="/h", XDG_CACHE_HOME=home) == Path("/h/.cache")


@given(TEXTS, TEXTS)
def test_nothing_is_ever_written_where_a_command_is_run(home: str, cache: str) -> None:
    assert found(HOME=home, XDG_CACHE_HOME=cache).is_absolute()


def test_tables_records_and_sockets_follow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("CUBIST_CACHE_DIR", "CACHE_DIRECTORY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(paths, "SYSTEM_STATE", tmp_path / "none")
    monkeypatch.setattr(paths, "SYSTEM_RUNTIME", tmp_path / "none")
    monkeypatch.setenv("HOME", "")
    for variable, value, expected_directory in (
        ("XDG_CACHE_HOME", "", ACCOUNT / ".cache/cubist"),
        ("XDG_CACHE_HOME", "/x", Path("/x/cubist")),
        ("CACHE_DIRECTORY", "/var/cache/cubist:/other", Path("/var/cache/cubist")),
        ("CUBIST_CACHE_DIR", "/mine", Path("/mine")),
    ):
        monkeypatch.setenv(variable, value)
        assert tables.cache_directory() == expected_directory
    empty = {"HOME": "", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"}
    assert paths.state_directory(empty) == ACCOUNT / ".local/state/cubist"
    assert paths.runtime_directory(empty) == Path(f"/tmp/cubist-{os.getuid()}/cubist")
