"""Calibration and run records when any system call of their saving is the last one.

As a program, ``python test_power_cut.py WHAT FOLDER`` saves in processes killed just before their
n-th system call, for n = 1, 2, ... After each kill it acts like the next start and prints the
findings as JSON lines. The last line comes from the process that was not killed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from robot.calibration.store import CalibrationStore
from robot.records.runs import RunStore
from robot.settings import load_profile
from robot.text.outcomes import Outcome
from tests.rig.profiles import kept

CALLS = "open write fsync close link rename replace unlink mkdir rmdir scandir".split()  # noqa: SIM905
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
PHOTO = bytes(20_000)
EARLIER = (1, 2, 3)
"""Values saved completely before."""


def save_calibration(folder: Path, value: int) -> None:
    CalibrationStore(folder).save(kept("cubotino", {"policy.search_s": value}))


def versions_in(folder: Path) -> dict[str, Any]:
    """Return the next daemon's findings: the values in force and those of the version before."""
    profile, store = load_profile("cubotino"), CalibrationStore(folder)
    store.settle()
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    now = store.load(profile).values
    if store.has_versions(profile):
        store.restore(profile)
    return {"now": now, "before": store.load(profile).values, "files": files}


def take_over(folder: Path, value: int) -> None:
    """Leave two files as an earlier release does; this one keeps the next version."""
    if value < 4:
        file = folder / "calibration.json"
        if file.exists():
            file.replace(folder / "calibration.json.previous")
        document = {"robot": "cubotino", "values": {"policy.search_s": value}}
        file.write_text(json.dumps(document))
        return
    save_calibration(folder, value)


def runs_of(folder: Path) -> RunStore:
    return RunStore(folder / "runs", limit_bytes=50_000)


def save_run(folder: Path, value: int) -> None:
    """Record a whole job: begun, photographed, ended. An older record has to be deleted."""
    store = runs_of(folder)
    writer = store.begin("solve", "cubotino", NOW)
    writer.save_photo("scanning-U.jpg", PHOTO)
    writer.record.moves = "R" * value
    writer.record.outcome = Outcome.SOLVED
    writer.finish()
    store.prune()


def look_at_runs(folder: Path) -> Any:
    store = runs_of(folder)
    store.recover()
    records = {run_id: store.load(run_id) for run_id in store.ids()}
    return {
        "outcomes": {run_id: record.outcome for run_id, record in records.items()},
        "moves": {run_id: record.moves for run_id, record in records.items()},
        "photos": sum(len(list(store.directory.glob(f"{run_id}/*.jpg"))) for run_id in records),
        "leftovers": [str(path) for path in store.directory.rglob(".*")],
    }


def _counted(last: int, made: list[int], real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        made[0] += 1
        if made[0] == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)

    return call


def killed_at(last: int, save: Callable[[Path, int], None], folder: Path) -> bool:
    """Save in a child process; return whether it was killed."""
    child = os.fork()
    if child == 0:
        made = [0]
        for name in CALLS:
            setattr(os, name, _counted(last, made, getattr(os, name)))
        save(folder, 4)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main(what: str, folder: Path) -> None:
    save, look = {
        "calibration": (save_calibration, versions_in),
        "earlier": (take_over, versions_in),
        "run": (save_run, look_at_runs),
    }[what]
    killed, call = True, 0
    while killed:
        call += 1
        place = folder / str(call)
        place.mkdir()
        for value in EARLIER:
            save(place, value)
        killed = killed_at(call, save, place)
        sys.stdout.write(json.dumps({"killed": killed, **look(place)}) + "\n")
        shutil.rmtree(place)


VERSIONS = [f"calibration/cubotino/{number:06}.json" for number in (1, 2, 3, 4)]


def looks(what: str, folder: Path) -> list[dict[str, Any]]:
    """Return the next start's findings after each kill; the last is of a complete save."""
    command = [sys.executable, __file__, what, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


OLD, NEW = {"policy.search_s": 3}, {"policy.search_s": 4}


def test_a_calibration_is_the_old_or_the_new_one_and_the_one_before_is_kept(tmp_path):
    found = looks("calibration", tmp_path)
    assert len(found) > 10
    for look in found:
        assert look["now"] in (OLD, NEW)
        assert look["before"] in ({"policy.search_s": 2}, OLD)
        assert look["files"][:3] == VERSIONS[:3]
        assert len(look["files"]) == (4 if look["now"] == NEW else 3), "no leftovers"
    assert (found[0]["now"], found[-1]["now"], found[-1]["before"]) == (OLD, NEW, OLD)


@pytest.mark.long
def test_files_of_an_earlier_release_are_taken_over_and_never_lost(tmp_path):
    found = looks("earlier", tmp_path)
    assert len(found) > 10
    for look in found:
        assert look["now"] in (OLD, NEW)
        assert look["before"] == ({"policy.search_s": 2} if look["now"] == OLD else OLD)
        assert look["files"] == VERSIONS[: 3 if look["now"] == NEW else 2]
    assert (found[0]["now"], found[-1]["now"]) == (OLD, NEW)


def test_run_records_are_whole_and_what_was_begun_is_closed(tmp_path):
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


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
