"""Run records survive crashes, are listed newest first, and are pruned by size."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from robot.records.runs import Recovery, RunStore, is_run_number
from robot.records.storage import StorageError
from robot.text.outcomes import Outcome

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
TURN = {"op": "turn", "site": "R", "quarter_turns": 1, "start_us": 0, "duration_us": 1}


class FullDisk:
    """A disk of ``capacity`` bytes. Files below ``folder`` and ``others`` use some of them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.capacity = 2**40
        self.others = 0
        write, allocate = os.write, os.posix_fallocate

        def limited_write(descriptor: int, data: bytes) -> int:
            self.need(len(data))
            return write(descriptor, data)

        def limited_allocate(descriptor: int, offset: int, size: int) -> None:
            self.need(size)
            allocate(descriptor, offset, size)

        monkeypatch.setattr(os, "write", limited_write)
        monkeypatch.setattr(os, "posix_fallocate", limited_allocate)
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=self.free))

    @property
    def free(self) -> int:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return self.capacity - self.others - sum(path.stat().st_size for path in files)

    def need(self, size: int) -> None:
        if size > self.free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill(self) -> None:
        self.others += self.free


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(tmp_path, monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


def finish(store: RunStore, photo: bytes = b"") -> str:
    writer = store.begin("solve", "cubotino", NOW)
    if photo:
        writer.save_photo("scanning-U.jpg", photo)
    writer.record.outcome = Outcome.SOLVED
    writer.finish()
    return writer.record.id


def test_a_record_comes_back_whole_and_a_list_leaves_out_what_is_long(store):
    finish(store)
    writer = store.begin("solve", "cubotino", NOW)
    writer.save_photo("scanning-U.jpg", b"picture")
    writer.record.operations, writer.record.moves = [TURN], "R U R'"
    writer.record.latency_s = {"search": [0.5]}
    writer.save()
    assert store.load("2") == writer.record and writer.record.move_count == 3
    listed, earlier = store.latest(2).runs
    assert (earlier.id, listed.id, listed.moves) == ("000001", "000002", "R U R'")
    assert (listed.photos, listed.operations) == ([], [])
    short = writer.record.shortened()
    assert (short.photos, short.latency_s) == (["scanning-U.jpg"], {})
    assert [record.id for record in store.latest(1).runs] == ["000002"]


def test_only_files_that_the_record_names_are_handed_out(store):
    number = finish(store, b"picture")
    assert store.file(number, "scanning-U.jpg") == ("image/jpeg", b"picture")
    media, text = store.file("1", "run.json")
    assert (media, json.loads(text)["id"]) == ("application/json", number)
    (store.directory / number / "scanning-F.jpg").write_bytes(b"left behind")
    for name in ("scanning-F.jpg", "notes.txt", "../000001/run.json"):
        with pytest.raises(StorageError, match="run 1: no file"):
            store.file(number, name)
    (store.directory / number / "scanning-U.jpg").unlink()
    with pytest.raises(StorageError, match=r"U\.jpg: cannot be read: No such file"):
        store.file(number, "scanning-U.jpg")


@pytest.mark.parametrize(
    ("number", "complaint"),
    [("2", "run 2: no such run")] + [(n, "not a run number") for n in ("1x", "", "../../etc", "²")],
)
def test_a_run_that_does_not_exist_is_refused(store, number, complaint):
    finish(store)
    with pytest.raises(StorageError, match=complaint):
        store.load(number)
    assert is_run_number(number) == (number == "2")


def test_an_open_record_is_closed_after_a_crash_and_leftovers_go(store, disk):
    """Recover on a full disk, too; the folder of a run without any record is removed."""
    finish(store)
    (store.directory / "000001" / ".cubist-run.json.77.tmp").touch()
    crashed = store.begin("solve", "cubotino", NOW)
    for number in ("000008", "000009"):
        (store.directory / number).mkdir()
    (store.directory / "000009" / ".cubist-run.json.77.tmp").write_bytes(b"{half")
    disk.fill()
    leftover = store.directory_of(crashed.record.id) / ".cubist-run.json.77.tmp"
    leftover.write_bytes(b"{half")
    assert store.recover().closed == [crashed.record.id]
    assert store.load(crashed.record.id).outcome == "interrupted"
    assert not leftover.exists()
    assert store.recover() == Recovery() and store.ids()[-1] == crashed.record.id


def write_record(store: RunStore, run_id: str, **changes: object) -> None:
    path = store.directory_of(run_id) / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


SPOILT: dict[str, Callable[[RunStore, str], object]] = {
    "solved-by-friend": lambda store, run: write_record(store, run, outcome="solved-by-friend"),
    "twist": lambda store, run: write_record(store, run, kind="twist"),
    "link: ": lambda store, run: write_record(store, run, link=None),
    "JSON is expected": lambda store, run: (store.directory_of(run) / "run.json").write_bytes(b""),
    "is missing": lambda store, run: (store.directory_of(run) / "run.json").unlink(),
    "larger than": lambda store, run: os.truncate(store.directory_of(run) / "run.json", 2**27),
    "Input/output error": lambda _store, _run: None,
}
"""Reasons why a run is named unreadable, with functions that spoil its record."""


def contents(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*")}


@pytest.mark.parametrize("reason", SPOILT)
def test_an_unreadable_run_survives_ten_starts_and_is_named(store, reason, monkeypatch, caplog):
    finish(store)
    bad = finish(store, b"picture")
    finish(store)
    folder = store.directory_of(bad)
    (folder / ".cubist-scan-F.jpg.7.tmp").write_bytes(b"perhaps of use")
    SPOILT[reason](store, bad)
    if reason == "Input/output error":
        opened = os.open

        def fail(path: object, *arguments: object, **named: object) -> int:
            if path == folder / "run.json":
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return opened(path, *arguments, **named)

        monkeypatch.setattr(os, "open", fail)
    before = contents(folder)
    for _ in range(10):
        caplog.clear()
        found = RunStore(store.directory).recover()
        assert [run.id for run in found.unreadable] == [bad]
        assert len(caplog.messages) == 1 and reason in caplog.text
    assert contents(folder) == before
    assert finish(store) == "000004"
    listed = store.latest(9)
    assert [run.id for run in listed.runs] == ["000004", "000003", "000001"]
    assert [run.id for run in listed.unreadable] == [bad]
    assert reason in listed.unreadable[0].reason
    assert not listed.unreadable[0].reason.count("\n")


def test_old_records_are_removed_down_to_the_limit_but_the_newest_stays(store):
    store.reserve_bytes = 0
    assert store.ids() == [] and store.prune() == [] and store.latest(3).runs == []
    numbers = [finish(store, bytes(5_000)) for _ in range(4)]
    folders = [store.directory / number for number in numbers]
    store.limit_bytes = sum(path.stat().st_size for folder in folders for path in folder.iterdir())
    assert store.prune() == []
    store.limit_bytes -= 1
    assert store.prune() == ["000001"]
    store.limit_bytes = 12_500
    assert store.recover().closed == [] and store.ids() == ["000003", "000004"]
    store.limit_bytes, store.reserve_bytes = 2**40, 2**63  # more free room than any disk has
    assert store.prune() == ["000003"] and store.prune() == []


def test_room_is_never_made_by_removing_what_cannot_be_read(store, caplog):
    numbers = [finish(store, bytes(10_000)) for _ in range(5)]
    for run_id in (numbers[0], numbers[4]):
        write_record(store, run_id, outcome="later")
    store.limit_bytes = 35_000
    assert store.prune() == numbers[1:3]
    assert not caplog.messages
    store.limit_bytes = 1
    assert store.prune() == []
    assert store.ids() == [numbers[0], numbers[3], numbers[4]], "the newest known one stays, too"
    assert "2 run(s) cannot be read and stay as they are: 5, 1" in caplog.text


def test_old_records_make_room_for_a_new_one_which_else_leaves_nothing(store, disk):
    numbers = [finish(store, bytes(300_000)) for _ in range(3)]
    store.reserve_bytes = 300_000
    disk.fill()
    assert store.begin("solve", "cubotino", NOW).record.id == "000004"
    kept = store.ids()
    assert len(kept) < 4 and kept[-1] == "000004"
    store.reserve_bytes = 0
    disk.fill()
    with pytest.raises(StorageError):
        store.begin("solve", "cubotino", NOW)
    assert store.ids() == kept and numbers[0] not in kept
