"""Other people's solvers on our cubes, where their pip packages are installed (extra ``bench``)."""

from __future__ import annotations

import contextlib
import importlib
import logging
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from solver.cube.cube import Cube
from solver.search import solve
from solver.tables import cache_directory
from tests.bench.figures import Emit, mean

Peer = Callable[[str], int]
"""From facelets to the number of half-turn moves found."""

ASK_S = 0.1
"""What RubikTwoPhase is given for a cube, by the clock."""

_log = logging.getLogger(__name__)


def compare(emit: Emit, cubes: Sequence[Cube]) -> None:
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
