"""Two-phase on fixed cubes: lengths by time, first solutions, tables, and peers if present."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from runpy import run_path

import numpy as np

from solver import two_phase
from solver.cube.cube import Cube
from solver.cube.notation import METRICS
from solver.search import solve
from tests.bench.figures import Emit, mean, replayed

CUBES = 100
PEER_CUBES = 50
FIRST_LIMIT = {"htm": 21, "qtm": 28, "axial": 19, "axial-qtm": 24}


def main(emit: Emit) -> None:
    """Emit every figure of docs/benchmarks/solver.md."""
    tables(emit)
    for metric in METRICS:
        first_solution(emit, metric)
        for limit in (0.01, 0.1):
            lengths(emit, metric, limit)
    memory(emit)
    peers(emit)


def cubes(count: int) -> list[Cube]:
    """The same random cubes every time."""
    rng = np.random.default_rng(31)
    return [Cube.random(rng) for _ in range(count)]


def lengths(emit: Emit, metric: str, limit: float) -> None:
    """Mean length after ``limit`` seconds of one thread."""
    two_phase.kernel(metric)
    found = [replayed(cube, solve(cube, metric=metric, time_limit=limit)) for cube in cubes(CUBES)]
    detail = {"cpu_s": round(mean(s.cpu_s for s in found), 4)}
    name = f"two-phase {metric} {limit:g} s"
    emit(name, mean(s.length for s in found), "moves", CUBES, detail)


def first_solution(emit: Emit, metric: str) -> None:
    """Processor time to a solution no longer than FIRST_LIMIT."""
    two_phase.kernel(metric)
    limit = FIRST_LIMIT[metric]
    times = [solve(c, metric=metric, target=limit, time_limit=10).cpu_s for c in cubes(CUBES)]
    detail = {"p90_ms": round(float(np.quantile(times, 0.9)) * 1e3, 3)}
    emit(f"two-phase {metric} first <= {limit}", float(np.median(times)) * 1e3, "ms", CUBES, detail)


def tables(emit: Emit) -> None:
    """Processor time of making and loading the default tables, in processes of their own."""
    code = (
        "import time; from solver import two_phase; t = time.process_time();"
        "two_phase.kernel('htm'); print(time.process_time() - t)"
    )
    with tempfile.TemporaryDirectory() as directory:
        environment = os.environ | {"CUBIST_CACHE_DIR": directory}
        made, loaded = (
            float(subprocess.check_output([sys.executable, "-c", code], env=environment))
            for _ in range(2)
        )
        size = sum(path.stat().st_size for path in Path(directory).iterdir())
    emit("tables htm made", made, "s", 1, {"threads": os.cpu_count()})
    emit("tables htm loaded", loaded * 1e3, "ms", 1)
    emit("tables htm size", size / 1e6, "MB", 1)


def memory(emit: Emit) -> None:
    """Most resident memory of a process that does one default solve.

    Not by getrusage: what that tells of a new process includes the one it was forked from.
    """
    code = (
        "from pathlib import Path;"
        "from solver.cube.cube import Cube; from solver.search import solve;"
        "solve(Cube.random(__import__('numpy').random.default_rng(1)), time_limit=0.1);"
        "print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
    )
    kilobytes = int(subprocess.check_output([sys.executable, "-c", code]))
    emit("memory of a default solve", kilobytes / 1024, "MiB", 1)


def peers(emit: Emit) -> None:
    """The pip packages on the same cubes, where they are installed."""
    path = Path(__file__).with_name("peers.py")
    run_path(str(path))["compare"](emit, cubes(PEER_CUBES))
