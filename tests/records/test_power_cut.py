"""Calibration and run records, whichever system call of their saving is the last one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

VERSIONS = [f"calibration/cubotino/{number:06}.json" for number in (1, 2, 3, 4)]
HERE = Path(__file__).resolve().parent

FULL_OR_READ_ONLY = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from robot.calibration.store import CalibrationStore
from robot.records.runs import RunStore
from robot.records.storage import StorageError
from robot.settings import load_profile
from tests.rig.state_folder import kept

folder = Path(sys.argv[1])
calibration, runs = CalibrationStore(folder), RunStore(folder / "runs", reserve_bytes=0)
now = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
told = []

def attempt(action):
    try:
        action()
        told.append("done")
    except StorageError as error:
        told.append(str(error))

def long_calibration():
    values = {"policy.search_s": list(range(100_000))}
    calibration.save(kept("cubotino", values))

def run():
    writer = runs.begin("solve", "cubotino", now)
    writer.save_photo("a.jpg", bytes(300_000))

if "first" in sys.argv:
    calibration.save(kept("cubotino", {"policy.search_s": 1}))
    runs.begin("solve", "cubotino", now)
attempt(long_calibration)
attempt(run)
values = calibration.load(load_profile("cubotino")).values
print(json.dumps({"told": told, "values": values, "runs": runs.ids(), "first": runs.load("1").id}))
"""


def looks(what: str, folder: Path) -> list[dict[str, Any]]:
    """Return what the next start finds after each kill; the last one is of a whole save."""
    command = [sys.executable, str(HERE / "killed_at_a_call.py"), what, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_calibration_is_the_old_or_the_new_one_and_the_one_before_is_kept(tmp_path: Path) -> None:
    found = looks("calibration", tmp_path)
    assert len(found) > 10
    old, new = {"policy.search_s": 3}, {"policy.search_s": 4}
    for look in found:
        assert look["now"] in (old, new)
        assert look["before"] in ({"policy.search_s": 2}, old)
        assert look["files"][:3] == VERSIONS[:3]
        assert len(look["files"]) == (4 if look["now"] == new else 3), "no leftovers"
    assert (found[0]["now"], found[-1]["now"], found[-1]["before"]) == (old, new, old)


@pytest.mark.long
def test_files_of_an_earlier_release_are_taken_over_and_never_lost(tmp_path: Path) -> None:
    found = looks("earlier", tmp_path)
    assert len(found) > 10
    old, new = {"policy.search_s": 3}, {"policy.search_s": 4}
    for look in found:
        assert look["now"] in (old, new)
        assert look["before"] == ({"policy.search_s": 2} if look["now"] == old else old)
        assert look["files"] == VERSIONS[: 3 if look["now"] == new else 2]
    assert (found[0]["now"], found[-1]["now"]) == (old, new)


@pytest.mark.long
@pytest.mark.parametrize(("what", "old"), [("first", 0), ("found", 3)])
def test_what_a_robot_found_is_in_force_as_a_whole_or_not_at_all(
    what: str, old: int, tmp_path: Path
) -> None:
    found = looks(what, tmp_path)
    assert len(found) > 10
    new, earlier = 4, max(0, old - 1)
    for look in found:
        now, before = set(look["now"]), set(look["before"])
        assert now in ({old}, {new})
        assert before in ({earlier}, {old})
    assert set(found[0]["now"]) == {old}
    assert (set(found[-1]["now"]), set(found[-1]["before"])) == ({new}, {old})


@pytest.mark.long
def test_a_robot_that_adjusts_itself_keeps_what_a_person_kept(tmp_path: Path) -> None:
    found = looks("adjustment", tmp_path)
    assert len(found) > 10
    home = "actuators.holder.positions_us.home"
    for look in found:
        assert look["now"] in ({home: 1503}, {home: 1504})
        assert look["before"] == {home: 1502}
        assert look["drift"]
    assert (found[0]["now"], found[-1]["now"]) == ({home: 1503}, {home: 1504})
    assert found[-1]["files"] == [*VERSIONS[:3], "drift.json"], "corrections are one version"


def test_run_records_are_whole_and_what_was_begun_is_closed(tmp_path: Path) -> None:
    found = looks("run", tmp_path)
    assert len(found) > 25
    for look in found:
        outcomes, moves = look["outcomes"], look["moves"]
        assert (outcomes["000003"], moves["000003"]) == ("solved", "RRR")
        assert outcomes.get("000004", "solved") in ("solved", "interrupted")
        assert {outcomes[run_id] for run_id in outcomes if run_id != "000004"} == {"solved"}
        assert look["leftovers"] == []
    assert set(found[0]["outcomes"]) == {"000002", "000003"}
    assert found[-1]["outcomes"] == {"000003": "solved", "000004": "solved"}
    assert found[-1]["photos"] == 2


def on_a_small_disk(tmp_path: Path, last: str) -> dict[str, Any]:
    """On a file system of 256 kB that is there only for this; ``last`` is done to it in between."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root may mount a small disk")
    (tmp_path / "disk").mkdir()
    (tmp_path / "program").write_text(FULL_OR_READ_ONLY)
    script = f"""set -e; mount -t tmpfs -o size=256k none "$0/disk"
        "$1" "$0/program" "$0/disk" first >"$0/first"; {last}; "$1" "$0/program" "$0/disk" """
    command = ["unshare", "--mount", "bash", "-c", script, str(tmp_path), sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.stderr.startswith(("unshare:", "mount:")):
        pytest.skip(f"mounts are not allowed here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("change", "complaint"),
    [("true", "the disk is full"), ('mount -o remount,ro "$0/disk"', "read-only")],
)
def test_a_disk_that_takes_nothing_is_named_and_keeps_what_it_has(
    tmp_path: Path, change: str, complaint: str
) -> None:
    found = on_a_small_disk(tmp_path, change)
    assert found["values"] == {"policy.search_s": 1}
    assert found["first"] == "000001"
    assert all(complaint in text.lower() for text in found["told"])
