"""Saves in processes killed just before their n-th system call, for n = 1, 2, ...

``python killed_at_a_call.py WHAT FOLDER``: after each kill it does what the next start does, and
prints, as JSON lines, what is there then. The last line is of the process that was not killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from robot.calibration.drift import DriftRecord, DriftStore
from robot.calibration.store import CalibrationStore
from robot.calibration.values import apply
from robot.daemon.maintenance import Maintenance
from robot.machine.confirmed_range import ConfirmedRange, confirmable
from robot.records.runs import RunStore
from robot.settings import load_profile
from robot.text.outcomes import Outcome
from solver.files import JsonObject
from tests.rig.state_folder import kept

CALLS = "open write fsync close link rename replace unlink mkdir rmdir scandir".split()  # noqa: SIM905
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
PHOTO = bytes(20_000)
EARLIER = (1, 2, 3)
"""What was saved before, in whole."""


def save_calibration(folder: Path, value: int) -> None:
    CalibrationStore(folder).save(kept("cubotino", {"policy.search_s": value}))


def versions_in(folder: Path) -> dict[str, Any]:
    """What the next daemon finds: the values in force and those of the version before."""
    profile, store = load_profile("cubotino"), CalibrationStore(folder)
    store.settle()
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    now = store.load(profile).values
    if store.has_versions(profile):
        store.restore(profile)
    return {"now": now, "before": store.load(profile).values, "files": files}


def keep_found(folder: Path, value: int) -> None:
    """All that the robot found is kept at once, as the daemon does it at the end."""
    profile = load_profile("cubotino")
    daemon: Any = SimpleNamespace(
        check_estop=lambda: None,
        condition=SimpleNamespace(check_emergency=lambda: None),
        enter_maintenance=lambda *_: None,
    )
    maintenance = Maintenance(
        daemon, profile, CalibrationStore(folder), ConfirmedRange({}), lambda _: daemon
    )
    maintenance.enter()
    found = {key: place + value for key, place in confirmable(profile).items()}
    asyncio.run(maintenance.save(found, "auto"))


def look_at_found(folder: Path) -> Any:
    """What the next daemon drives the robot by, and what it goes back to: microseconds of pulse
    that each position is further than drawn."""
    profile, found = load_profile("cubotino"), versions_in(folder)

    def further(values: JsonObject) -> list[int]:
        places = confirmable(apply(profile, kept(profile.name, values)))
        return [places[key] - place for key, place in confirmable(profile).items()]

    return {key: further(found[key]) for key in ("now", "before")}


def adjust(folder: Path, value: int) -> None:
    """A person keeps a calibration; from the third on the robot corrects it by itself."""
    profile = load_profile("cubotino")
    store, home = CalibrationStore(folder), "actuators.holder.positions_us.home"
    present = store.load(profile)
    after = kept(profile.name, {home: 1500 + value})
    store.save(
        after,
        "person" if value < 3 else "drift",
        present.version if present.by == "drift" else None,
    )
    DriftStore(folder).save(DriftRecord.begin(apply(profile, after), NOW.date()))


def look_at_adjustment(folder: Path) -> Any:
    profile = load_profile("cubotino")
    calibrated = apply(profile, CalibrationStore(folder).load(profile))
    record = DriftStore(folder).load(calibrated, NOW.date())
    return {**versions_in(folder), "drift": record.is_of(calibrated)}


def take_over(folder: Path, value: int) -> None:
    """An earlier release has left its two files; this one keeps the next version."""
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
    """A whole job: begun, photographed, ended; an older record has to go."""
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
        "leftovers": [str(path) for path in store.directory.glob("*/.*")],
    }


def _counted(last: int, made: list[int], real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        made[0] += 1
        if made[0] == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)

    return call


def killed_at(last: int, save: Callable[[Path, int], None], folder: Path) -> bool:
    """Save in a child of ours; whether it was killed."""
    child = os.fork()
    if child == 0:
        made = [0]
        for name in CALLS:
            setattr(os, name, _counted(last, made, getattr(os, name)))
        save(folder, 4)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main(what: str, folder: Path) -> None:
    save, look, earlier = {
        "calibration": (save_calibration, versions_in, EARLIER),
        "earlier": (take_over, versions_in, EARLIER),
        "first": (keep_found, look_at_found, ()),
        "found": (keep_found, look_at_found, EARLIER),
        "adjustment": (adjust, look_at_adjustment, EARLIER),
        "run": (save_run, look_at_runs, EARLIER),
    }[what]
    killed, call = True, 0
    while killed:
        call += 1
        place = folder / str(call)
        place.mkdir()
        for value in earlier:
            save(place, value)
        killed = killed_at(call, save, place)
        sys.stdout.write(json.dumps({"killed": killed, **look(place)}) + "\n")
        shutil.rmtree(place)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
