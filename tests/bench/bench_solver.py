"""Two-phase on fixed cubes: lengths by time, first solutions, tables, and peers if present."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from solver import two_phase
from solver.cube.cube import Cube
from solver.cube.notation import METRICS
from solver.search import solve
from solver.tables import cache_directory
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
    peers(emit, cubes(PEER_CUBES))


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


Peer = Callable[[str], int]
"""From facelets to the number of half-turn moves found."""

ASK_S = 0.1
"""What RubikTwoPhase is given for a cube, by the clock."""

_log = logging.getLogger(__name__)


def peers(emit: Emit, cubes: Sequence[Cube]) -> None:
    """For each peer its mean length, and ours in the processor time that it took."""
    for name, load in (("kociemba", _kociemba), ("RubikTwoPhase", _rubik_two_phase)):
        try:
            peer = load()
        except ImportError:
            _log.warning("%s is not installed, skipped: pip install '.[bench]'", name)
            continue
        if peer is not None:
            _side_by_side(emit, name, peer, cubes)


def _side_by_side(emit: Emit, name: str, peer: Peer, cubes: Sequence[Cube]) -> None:
    peer(cubes[0].facelets())  # tables are loaded
    started = time.process_time()
    lengths = [peer(cube.facelets()) for cube in cubes]
    cpu_s = (time.process_time() - started) / len(cubes)
    ours = [solve(cube, time_limit=cpu_s) for cube in cubes]
    detail = {
        "cpu_ms": round(cpu_s * 1e3, 3),
        "cubist_moves": mean(solution.length for solution in ours),
        "cubist_cpu_ms": round(mean(solution.cpu_s for solution in ours) * 1e3, 3),
    }
    emit(f"peer {name}", mean(lengths), "moves", len(cubes), detail)


def _kociemba() -> Peer:
    module = importlib.import_module("kociemba")
    return lambda facelets: len(module.solve(facelets).split())


def _rubik_two_phase() -> Peer | None:
    """None where its tables are missing: it makes them in half an hour or more."""
    definitions: Any = importlib.import_module("twophase.defs")
    folder = cache_directory() / "RubikTwoPhase"
    last_table = folder / definitions.FOLDER / "phase2_cornsliceprun"
    if not last_table.exists():
        _log.warning(
            "RubikTwoPhase has no tables, skipped: mkdir -p %s && cd %s && "
            "python -c 'import twophase.solver' makes them once (half an hour)",
            folder,
            folder,
        )
        return None
    definitions.FOLDER = str(folder / definitions.FOLDER)
    with contextlib.redirect_stdout(sys.stderr):  # it tells of each table
        solver = importlib.import_module("twophase.solver")
    return lambda facelets: _count(solver.solve(facelets, 0, ASK_S))


def _count(answer: str) -> int:
    """Of ``R1 U2 F3 (3f)``; ValueError for one of its messages."""
    found = re.search(r"\((\d+)f\)", answer)
    if found is None:
        raise ValueError(f"RubikTwoPhase answered {answer!r}")
    return int(found[1])
