"""Two-phase on fixed cubes: lengths by time, first solutions, tables, and peers if present."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from solver import _native, optimal, two_phase
from solver.cube.cube import Cube
from solver.cube.metrics import METRICS
from solver.search import solve
from solver.tables import cache_directory
from tests.bench.figures import emit, mean, most_resident_mib, replayed, run_python, timed

CUBES = 100
PEER_CUBES = 50
FIRST_LIMIT = {"htm": 21, "qtm": 28, "axial": 19, "axial-qtm": 24}
MAKE_TABLES = (
    "import time; from solver import two_phase; t = time.process_time();"
    "two_phase.kernel('htm'); print(time.process_time() - t)"
)
SOLVE_ONE = (
    "from solver.cube.cube import Cube; from solver.search import solve;"
    "solve(Cube.random(__import__('numpy').random.default_rng(1)), time_limit=0.1)"
)


def measure_solver() -> None:
    """Emit every figure of docs/benchmarks/solver.md except those for making tables."""
    with tempfile.TemporaryDirectory() as folder:
        made, loaded = (float(run_python(MAKE_TABLES, CUBIST_CACHE_DIR=folder)) for _ in range(2))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    emit("tables htm made", made, "s", 1, {"threads": os.cpu_count()})
    emit("tables htm loaded", loaded * 1e3, "ms", 1)
    emit("tables htm size", size / 1e6, "MB", 1)
    for metric in METRICS:
        two_phase.kernel(metric)
        _emit_first_solutions(metric)
        for limit in (0.01, 0.1):
            _emit_lengths(metric, limit)
    emit("memory of a default solve", most_resident_mib(SOLVE_ONE), "MiB", 1)
    _emit_peers()


def _cubes(count: int) -> list[Cube]:
    """Return the same random cubes every time."""
    rng = np.random.default_rng(31)
    return [Cube.random(rng) for _ in range(count)]


def _emit_lengths(metric: str, limit: float) -> None:
    """Emit the mean length after ``limit`` seconds of one thread."""
    found = [replayed(cube, solve(cube, metric=metric, time_limit=limit)) for cube in _cubes(CUBES)]
    detail = {"cpu_s": round(mean(s.cpu_s for s in found), 4)}
    name = f"two-phase {metric} {limit:g} s"
    emit(name, mean(s.length for s in found), "moves", CUBES, detail)


def _emit_first_solutions(metric: str) -> None:
    """Emit the processor time to a solution no longer than FIRST_LIMIT."""
    limit = FIRST_LIMIT[metric]
    times = [solve(c, metric=metric, target=limit, time_limit=10).cpu_s for c in _cubes(CUBES)]
    detail = {"p90_ms": round(float(np.quantile(times, 0.9)) * 1e3, 3)}
    emit(f"two-phase {metric} first <= {limit}", float(np.median(times)) * 1e3, "ms", CUBES, detail)


Peer = Callable[[str], int]
"""Function that maps facelets to the number of half-turn moves found."""

ASK_S = 0.1
"""Elapsed time that RubikTwoPhase gets per cube."""


def _emit_peers() -> None:
    """Emit for each peer its mean length, and ours in the same processor time.

    ``pip install '.[bench]'`` installs them.
    """
    cubes = _cubes(PEER_CUBES)
    for name, load in (("kociemba", _kociemba), ("RubikTwoPhase", _rubik_two_phase)):
        try:
            peer = load()
        except ImportError as reason:
            print(f"[bench] {name} skipped: {reason}", file=sys.stderr)
            continue
        peer(cubes[0].facelets())  # tables are loaded
        lengths, spent = timed(list, (peer(cube.facelets()) for cube in cubes))
        ours = [solve(cube, time_limit=spent / len(cubes)) for cube in cubes]
        detail = {
            "cpu_ms": round(spent / len(cubes) * 1e3, 3),
            "cubist_moves": mean(solution.length for solution in ours),
            "cubist_cpu_ms": round(mean(solution.cpu_s for solution in ours) * 1e3, 3),
        }
        emit(f"peer {name}", mean(lengths), "moves", len(cubes), detail)


def _kociemba() -> Peer:
    module = importlib.import_module("kociemba")
    return lambda facelets: len(module.solve(facelets).split())


def _rubik_two_phase() -> Peer:
    """Return the peer. Raise ImportError without its tables, which take half an hour to make."""
    definitions: Any = importlib.import_module("twophase.defs")
    folder = cache_directory() / "RubikTwoPhase"
    if not (folder / definitions.FOLDER / "phase2_cornsliceprun").exists():
        raise ImportError(
            f"no tables: mkdir -p {folder} && cd {folder} && "
            "python -c 'import twophase.solver' makes them once (half an hour)"
        )
    definitions.FOLDER = str(folder / definitions.FOLDER)
    with contextlib.redirect_stdout(sys.stderr):  # it reports each table
        solver = importlib.import_module("twophase.solver")
    return lambda facelets: _count(solver.solve(facelets, 0, ASK_S))


def _count(answer: str) -> int:
    """Return the number of moves of ``R1 U2 F3 (3f)``. Raise ValueError for a message."""
    found = re.search(r"\((\d+)f\)", answer)
    if found is None:
        raise ValueError(f"RubikTwoPhase answered {answer!r}")
    return int(found[1])


THREADS = 2


def measure_tables() -> None:
    """Emit the processor time to make, in memory, every table that a first solve waits for."""
    for metric in METRICS:
        _emit_making(f"phase1-{metric}", _native.phase1_size(metric), _native.make_phase1, metric)
        _emit_making(f"phase2-{metric}", _native.phase2_size(metric), _native.make_phase2, metric)
    for metric in METRICS[:2]:
        shape = _native.OptimalShape(optimal.KINDS["default"], optimal.FAR["default"][metric])
        size = _native.optimal_size(shape)
        _emit_making(f"optimal-{metric}", size, _native.make_optimal, metric, shape)


def _emit_making(name: str, size: int, make: Callable[..., bool], *arguments: Any) -> None:
    """Emit one table; ``first_thread``: time of the thread that also does the undivided work. On
    two idle processors this is the elapsed time for the table.
    """
    data = np.zeros(size, np.uint8)
    clock, all_threads, first = time.perf_counter(), time.process_time(), time.thread_time()
    assert make(*arguments, data, THREADS, lambda _: True)
    detail = {
        "first_thread_s": round(time.thread_time() - first, 2),
        "clock_s": round(time.perf_counter() - clock, 2),
        "threads": THREADS,
        "bytes": size,
    }
    emit(f"making {name}", round(time.process_time() - all_threads, 2), "s", 1, detail)
