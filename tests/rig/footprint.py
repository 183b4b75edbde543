"""Memory of a daemon over many solves and of `cubist solve -`, at rest and at its peak."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot.records.latency import STAGES
from robot.settings import RobotProfile
from robot.simulate.progress import DaemonFollower
from robot.text.outcomes import Outcome
from solver.cube.cube import Cube
from tests.rig.profiles import changed
from tests.rig.workbench import Bench, workbench

SAMPLE_EVERY_S = 0.005


@dataclass(frozen=True)
class Footprint:
    """Kilobytes of a process's own memory, and counts of its other open resources."""

    anonymous_kb: int
    files: int
    threads: int


def footprint(process: int) -> Footprint:
    return Footprint(
        _read(process, "smaps_rollup", "Anonymous"),
        len(list(Path(f"/proc/{process}/fd").iterdir())),
        _read(process, "status", "Threads"),
    )


def _read(process: int, file: str, name: str) -> int:
    lines = Path(f"/proc/{process}/{file}").read_text().splitlines()
    [value] = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(value)


@contextlib.contextmanager
def watch_anonymous(process: int) -> Iterator[list[int]]:
    """Yield a list with the peak of anonymous memory, for which the kernel keeps no maximum."""
    peak_kb, is_over = [0], threading.Event()

    def watch() -> None:
        with contextlib.suppress(OSError, ValueError):  # it ended; its parent reports that
            while not is_over.wait(SAMPLE_EVERY_S):
                peak_kb[0] = max(peak_kb[0], _read(process, "status", "RssAnon"))

    thread = threading.Thread(target=watch, name="anonymous-peak")
    thread.start()
    try:
        yield peak_kb
    finally:
        is_over.set()
        thread.join()


SPEED = float(os.environ.get("CUBIST_SPEED", "30"))
"""Simulation speed. Use less if the computer is busy."""

ATTEMPTS = 4
LARGE = [1920, 1080]

SETTLED = 5
"""Solves after which everything is imported, and all tables and threads exist."""


@dataclass(frozen=True)
class Footprints:
    """Footprints of a daemon.

    ``start``: of the daemon at rest; ``after``: at rest after each solve; the worst of all.
    ``settled_after`` that many solves.
    """

    start: Footprint
    after: Sequence[Footprint]
    anonymous_peak_kb: int
    resident_peak_kb: int
    settled_after: int

    @property
    def settled(self) -> Sequence[Footprint]:
        """The footprints at rest once everything is imported."""
        return self.after[self.settled_after - 1 :]

    @property
    def growth_kb(self) -> int:
        """Growth from the settled daemon to its later maximum at rest."""
        first, *later = [one.anonymous_kb for one in self.settled]
        return max(later, default=first) - first


def seen_by_large_cameras(name: str) -> RobotProfile:
    """Return a shipped profile; the CUBOTino's camera has 1920x1080, where its views hold too."""
    return changed(name, {"cameras.0.resolution": LARGE} if name == "cubotino" else {})


async def footprints_of(
    profile: RobotProfile, folder: Path, count: int, settled: int = SETTLED
) -> Footprints:
    """Solve ``count`` different cubes with one daemon; every one must end as expected."""
    async with (
        workbench(profile, folder, speed=SPEED) as bench,
        bench.firmware(),
        bench.daemon() as (child, view),
    ):
        process = child.process.pid
        start, after = footprint(process), []
        with watch_anonymous(process) as peak_kb:
            for seed in range(count):
                await solve(bench, view, seed)
                after.append(footprint(process))
        resident_kb = _read(process, "status", "VmHWM")
        return Footprints(start, after, peak_kb[0], resident_kb, settled)


async def solve(bench: Bench, view: DaemonFollower, seed: int) -> None:
    """Solve another cube, confirmed by the simulated robot.

    On an overloaded computer the link may be given up in the middle of a turn. That takes memory as
    well, and another attempt.
    """
    for _ in range(ATTEMPTS):
        record = await bench.cycle(view, seed)
        if record.outcome is Outcome.SOLVED:
            break
    assert set(record.latency_s) == set(STAGES), record.latency_s
    ended = (record.outcome, bench.robot.solved, bench.robot.violations)
    assert ended == (Outcome.SOLVED, True, []), (ended, record.reason)


def anonymous_kb(count: int, options: Sequence[str]) -> Iterator[int]:
    """Yield the command's anonymous memory after each of ``count`` random cubes, all solved."""
    rng = np.random.default_rng(7)
    command = [sys.executable, "-m", "robot.cli.main", "solve", "-", "--json", *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for _ in range(count):
            print(Cube.random(rng).facelets(), file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            assert "moves" in answer, answer
            yield footprint(process.pid).anonymous_kb
        process.stdin.close()
        assert process.wait() == 0
