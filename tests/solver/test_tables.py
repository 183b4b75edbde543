"""Tables on disk: made once, checked always, never wrong and never in the way."""

from __future__ import annotations

import logging
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from solver import tables
from solver.errors import SearchError
from solver.solution import CancelFlag, Request
from solver.tables import HEADER_SIZE, Bytes

SIZE = 100_003


class Maker:
    """Fills a table with a pattern and counts how often it was asked to."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Bytes, progress: Callable[[float], bool]) -> bool:
        self.calls += 1
        data[:] = expected()
        return progress(1.0)


def expected() -> Bytes:
    return (np.arange(SIZE) % 251).astype(np.uint8)


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


def test_pages_that_were_left_are_read_again(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is in no file nothing is let go of: it would be gone."""
    size = 40 << 20
    table = tables.load("large", 1, size, _twos)
    before_kb = _resident_kb()
    tables.release_pages(table)
    assert _resident_kb() < before_kb - size // 1024 + 5_000
    assert int(table.min()) == int(table.max()) == 2
    monkeypatch.setenv("CUBIST_CACHE_DIR", "/proc/nowhere")
    for kept in (load(Maker()), tables.copy_to_huge_pages(table)):
        content = kept.copy()
        tables.release_pages(kept)
        assert np.array_equal(kept, content)


def _twos(data: Bytes, progress: Callable[[float], bool]) -> bool:
    data[:] = 2
    return progress(1.0)


def _resident_kb() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


@pytest.mark.parametrize("place", [0, 9, 20, HEADER_SIZE, HEADER_SIZE + SIZE // 2, -1])
def test_a_damaged_byte_is_found(
    directory: Path, place: int, caplog: pytest.LogCaptureFixture
) -> None:
    make = Maker()
    load(make)
    path = directory / "pattern.v1.table"
    damaged = bytearray(path.read_bytes())
    damaged[place] ^= 0x10
    path.write_bytes(damaged)
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(load(make), expected())
    assert make.calls == 2
    assert "making it again" in caplog.text
    load(make)
    assert make.calls == 2


@pytest.mark.parametrize(
    "length", [0, 10, HEADER_SIZE, HEADER_SIZE + SIZE - 1, HEADER_SIZE + SIZE + 1]
)
def test_a_truncated_or_longer_file_is_made_anew(directory: Path, length: int) -> None:
    make = Maker()
    load(make)
    os.truncate(directory / "pattern.v1.table", length)
    assert np.array_equal(load(make), expected())
    assert make.calls == 2


def test_a_newer_version_is_made_in_place_of_older_ones(directory: Path) -> None:
    make = Maker()
    directory.mkdir()
    for other in ("pattern.table", "pattern-of-another-kind.v1.table"):
        (directory / other).touch()
    load(make, version=1)
    load(make, version=3)
    assert make.calls == 2
    kept = {path.name for path in directory.iterdir()}
    assert kept == {"pattern.v3.table", "pattern-of-another-kind.v1.table"}


def test_a_copy_in_huge_pages_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = expected()
    table.flags.writeable = False
    copy = tables.copy_to_huge_pages(table)
    assert np.array_equal(copy, table)
    assert not copy.flags.writeable
    monkeypatch.setattr(os, "sysconf", lambda _: 100)
    assert tables.copy_to_huge_pages(table) is table


def test_an_unusable_directory_keeps_the_table_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(blocked / "cache"))
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(load(Maker()), expected())
    assert len(caplog.records) == 1
    assert "CUBIST_CACHE_DIR" in caplog.text


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account without a home directory, and nothing that says what to use instead."""

    def unknown(_: int) -> None:
        raise KeyError

    for variable in ("HOME", "CUBIST_CACHE_DIR", "CACHE_DIRECTORY", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.usefixtures("homeless")
def test_an_account_without_home_keeps_the_table_in_memory(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(load(Maker()), expected())
    assert "no home directory: set CUBIST_CACHE_DIR" in caplog.text


@pytest.mark.parametrize("function", ["posix_fallocate", "fsync"])
def test_a_full_disk_keeps_the_table_in_memory(
    directory: Path,
    function: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, function, full)
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(load(Maker()), expected())
    assert "No space left" in caplog.text
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


_LOADING = """
import sys
import numpy as np
from solver import tables

def make(data, progress):
    print("made", flush=True)
    data[:] = np.arange(data.size) % 251
    return True

table = tables.load("pattern", 1, int(sys.argv[1]), make)
assert np.array_equal(table, np.arange(table.size) % 251)
"""


def test_processes_that_need_it_at_once_make_it_once(directory: Path) -> None:
    command = [sys.executable, "-c", _LOADING, str(20_000_000)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert "".join(outputs).count("made") == 1


def test_cache_directory_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CUBIST_CACHE_DIR", raising=False)
    monkeypatch.delenv("CACHE_DIRECTORY", raising=False)
    assert tables.cache_directory() == tmp_path / "cubist"
    monkeypatch.setenv("CACHE_DIRECTORY", "/var/cache/cubist:/other")
    assert tables.cache_directory() == Path("/var/cache/cubist")
    monkeypatch.setenv("CUBIST_CACHE_DIR", "/mine")
    assert tables.cache_directory() == Path("/mine")


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


def test_files_of_others_in_the_cache_stay(directory: Path) -> None:
    directory.mkdir()
    ours = ["pattern.v1.77.tmp", "nxn-8-htm-1.77.tmp"]
    others = ["letter.tmp", "a.b.tmp", "backup.7.tmp.gz", "pattern.v1.table.bak"]
    for name in (*ours, *others):
        (directory / name).touch()
    load(Maker())
    assert {path.name for path in directory.iterdir()} == {*others, "pattern.v1.table"}
