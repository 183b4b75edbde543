"""Processor time of starting the commands and the daemon's program."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

Emit = Callable[[str, float, str, int, dict[str, Any]], None]

STARTS = {
    "cubist-help": ["-m", "robot.cli.main", "--help"],
    "cubist-solve": ["-m", "robot.cli.main", "solve", "--scramble", "R U F", "--json"],
    "cubistd-import": ["-c", "import robot.daemon.main"],
}
REPEATS = 5


def main(emit: Emit) -> None:
    """Measure each start."""
    for name, arguments in STARTS.items():
        times = [_cpu_s([sys.executable, *arguments]) for _ in range(REPEATS)]
        emit(f"start-{name}", statistics.median(times), "s", REPEATS, {"cpu": True})


def _cpu_s(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
