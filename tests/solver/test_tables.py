"""Tables on disk: made once, always checked, in a directory of the account, and with progress."""

from __future__ import annotations

import logging
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.planner import build_mechanism, cost_model
from robot.settings import load_profile
from solver import optimal, pocket, tables, thistlethwaite, two_phase
from solver.cube.cube import Cube
from solver.cube.pocket import PocketCube
from solver.errors import SearchError
from solver.files import user_directory
from solver.nxn.database import load as load_database
from solver.search import make_ready, solve_many
from solver.solution import CancelFlag, Progress, Request
from solver.tables import HEADER_SIZE, Bytes, Making

SIZE = 100_003

Report = Callable[[float], bool]


class Maker:
    """A maker that fills a table with a pattern and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Bytes, progress: Report) -> bool:
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


def test_made_once_then_mapped_and_replaced_by_a_newer_version(directory):
    """Delete older files of the same table, and keep those of others."""
    others = {"pattern-of-another.v1.table", "a.b.tmp", "backup.7.tmp.gz", "pattern.v1.table.bak"}
    directory.mkdir()
    for name in (*others, "pattern.table", "pattern.v1.77.tmp", "nxn-8-htm-1.77.tmp"):
        (directory / name).touch()
    for version in (1, 3):
        make = Maker()
        for _ in range(3):
            table = load(make, version)
            assert np.array_equal(table, expected())
            assert not table.flags.writeable
        assert make.calls == 1
        kept = {*others, f"pattern.v{version}.table"}
        assert {path.name for path in directory.iterdir()} == kept


def test_released_pages_are_read_again(directory, monkeypatch):
    """Keep pages of tables without a file: they would be lost."""
    size = 12 << 20
    table = tables.load("large", 1, size, Maker())
    before_kb = _resident_kb()
    tables.release_pages(table)
    assert _resident_kb() < before_kb - size // 1024 + 4_000
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
def test_a_damaged_file_is_made_again(directory, damage, caplog):
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


def fill_disk(function: str, _: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, function, full)


def block_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path / "file/cache"))


def remove_home(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the home directory and every variable that names another one."""

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
    prevent, warning, directory, tmp_path, monkeypatch, caplog
):
    prevent(tmp_path, monkeypatch)
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(load(Maker()), expected())
    assert len(caplog.records) == 1
    assert warning in caplog.text
    assert not list(directory.glob("*.tmp"))


def test_an_interrupt_while_tables_are_made_leaves_no_file(directory):
    """Press Ctrl-C as soon as the file exists; no later run may take it for a table."""
    command = [sys.executable, "-m", "robot.cli.main", "solve", "--scramble", "R U F"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not list(directory.glob("*.tmp")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (4, b"")
    assert b"Traceback" not in err
    assert list(directory.iterdir()) == []


MAKING = """
import os, signal, sys
from solver import tables
def make(data, progress):
    print("made")
    data[:] = 7
    return progress(1.0)
"""
LOADING = """
assert (tables.load("pattern", 1, 20_000_000, make) == 7).all()
"""


def test_processes_that_need_it_at_once_make_it_once(directory):
    command = [sys.executable, "-c", MAKING + LOADING]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 3
    assert "".join(outputs) == "made\n"


READING = """
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
    [("at once", 3, ""), ("in order", 0, "0 asked to end"), ("another", -signal.SIGBUS, "")],
)
def test_a_table_that_is_cut_short_in_use_is_named(directory, tmp_path, mode, code, out):
    file = tmp_path / "other" if mode == "another" else directory / "pattern.v1.table"
    done = subprocess.run(
        [sys.executable, "-c", MAKING + READING, str(file), mode],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.replace("made\n", "").strip()) == (code, out)
    named = f"the table {file} was cut short, or its disk cannot be read, while it was in use"
    assert done.stderr.count(named) == (mode != "another")
    make = Maker()
    load(make)
    assert make.calls == (mode != "another")


# ---- progress -----------------------------------------------------------------------------------


@pytest.fixture
def new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unload everything. The kernel's makers only report four steps and fill nothing."""

    def make(*arguments: object) -> bool:
        report: Report = arguments[-1]
        return all(map(report, (0.0, 0.25, 0.5, 1.0)))

    for name in ("make_phase1", "make_phase2", "make_optimal", "make_pocket_steps"):
        monkeypatch.setattr(f"solver._native.{name}", make)
    for module in (two_phase, optimal):
        monkeypatch.setattr(module, "kernels", {})
    caches = (thistlethwaite.kernel, pocket.distances, pocket.kernel)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def load_for_robot(name: str, request: Request) -> None:
    mechanism = build_mechanism(load_profile(name))
    request = replace(request, cost=cost_model(mechanism, mechanism.start))
    make_ready(mechanism.size, request)


def load_by_search(algorithm: str, cube: Cube | PocketCube, request: Request) -> None:
    solve_many(cube.apply("R U F"), replace(request, algorithm=algorithm))


LOADERS: dict[str, Callable[[Request], object]] = {
    "the pruning tables of two-phase in htm (52 MB)": partial(load_for_robot, "cubotino"),
    "the pruning table of optimal in htm (41 MB)": optimal.kernel,
    "the tables of the 2x2x2 for soltvvo": partial(load_for_robot, "soltvvo"),
    "the database of cubes of size 4 in htm": lambda asked: load_database(
        4, replace(asked, depth=2)
    ),
    "the four tables of": partial(load_by_search, "thistlethwaite", Cube.solved()),
    "the distances of all 2x2x2": partial(load_by_search, "exact", PocketCube.solved()),
}
IN_MEMORY = {"the four tables of", "the distances of all 2x2x2"}


@pytest.mark.usefixtures("new_process")
@pytest.mark.parametrize("what", LOADERS)
def test_tables_place_and_share_are_reported_once(what, directory):
    """Check also that a cancelled request stops the maker and leaves no file."""
    flag = CancelFlag()
    flag.set()
    with pytest.raises(SearchError, match="stopped"):
        LOADERS[what](Request(cancel=flag))
    assert not list(directory.glob("*"))
    heard: list[Progress] = []
    for _ in range(2):
        asked = Request(progress=lambda report: heard.append(report) if report.making else None)
        LOADERS[what](asked)
    assert {one.text for one in heard} == {heard[0].text}
    assert heard[0].text.startswith(f"making {what}")
    assert heard[0].text.endswith(" in memory" if what in IN_MEMORY else f" in {directory}")
    done = [one.done for one in heard]
    assert (done[0], done[-1], done.count(1.0)) == (0.0, 1.0, 1)
    assert done == sorted(done)
    assert any(0.0 < one < 1.0 for one in done)


def test_the_remaining_time_is_estimated():
    heard: list[Progress] = []
    now = [100.0]
    making = Making("it", Request(progress=heard.append), (3.0, 1.0), clock=lambda: now[0])
    for table, done, at_s in ((0, 0.0, 100), (0, 0.5, 103), (0, 1.0, 106), (1, 0.5, 107)):
        now[0] = at_s
        making.begin_table(table)
        assert making.report(done)
    making.finish()
    assert [one.done for one in heard] == [0.0, 0.375, 0.75, 0.875, 1.0]
    assert [one.remaining_s for one in heard] == [None, 5.0, 2.0, 1.0, 0.0]


# ---- directories --------------------------------------------------------------------------------

ACCOUNT = Path(pwd.getpwuid(os.getuid()).pw_dir)
TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)
PATHS = TEXTS | TEXTS.map("/".__add__)


def test_only_systemd_s_folders_are_a_list(monkeypatch):
    monkeypatch.setenv("CACHE_DIRECTORY", "/var/cache/a:/var/cache/b")
    monkeypatch.setenv("CUBIST_CACHE_DIR", "/tmp/a:b")
    assert tables.cache_directory() == Path("/tmp/a:b")
    monkeypatch.delenv("CUBIST_CACHE_DIR")
    assert tables.cache_directory() == Path("/var/cache/a")


@given(PATHS, PATHS)
def test_the_environment_counts_if_it_names_a_folder(home, cache):
    """Check also that nothing is ever written to the current directory."""
    environ = {"HOME": home, "XDG_CACHE_HOME": cache}
    found = user_directory("XDG_CACHE_HOME", ".cache", "CUBIST_CACHE_DIR", environ)
    expected_home = Path(home) if home.startswith("/") else ACCOUNT
    assert found == (Path(cache) if cache.startswith("/") else expected_home / ".cache")
