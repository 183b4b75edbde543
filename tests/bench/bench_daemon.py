"""Processor time of starting the commands and the daemon's program, and of a daemon at rest."""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from robot.settings import load_profile
from tests.bench.figures import Emit
from tests.rig.workbench import workbench

STARTS = {
    "cubist-help": ["-m", "robot.cli.main", "--help"],
    "cubist-solve": ["-m", "robot.cli.main", "solve", "--scramble", "R U F", "--json"],
    "cubistd-import": ["-c", "import robot.daemon.main"],
}
REPEATS = 5
ROBOTS = ("cubotino", "six-motor")
REST_S = 30.0
SETTLED_S = 5.0
"""After the start, and the last question of a client's."""


def main(emit: Emit) -> None:
    """Measure each start."""
    for name, arguments in STARTS.items():
        times = [_cpu_s([sys.executable, *arguments]) for _ in range(REPEATS)]
        emit(f"start-{name}", statistics.median(times), "s", REPEATS, {"cpu": True})
    for robot in ROBOTS:
        emit(f"rest-{robot}", asyncio.run(_rest_percent(robot)), "% of a core", 1, {"cpu": True})


def _cpu_s(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def _rest_percent(robot: str) -> float:
    """What ``cubistd`` takes while its robot stands there, connected, and nobody asks anything."""
    with tempfile.TemporaryDirectory(prefix="cubistd-") as folder:
        profile = load_profile(robot)
        async with (
            workbench(profile, Path(folder), speed=1) as bench,
            bench.firmware(),
            bench.daemon() as (child, _),
        ):
            await asyncio.sleep(SETTLED_S)
            before_s, began = _used_s(child.process.pid), time.monotonic()
            await asyncio.sleep(REST_S)
            used_s = _used_s(child.process.pid) - before_s
            return round(100 * used_s / (time.monotonic() - began), 2)


def _used_s(pid: int) -> float:
    """CPU time of a process so far, ended threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
