"""How soon robots solve with five seconds of search on two threads: for an idle computer."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot.mechanism.registry import build_mechanism
from robot.planner import plan_solve
from robot.settings import load_profile
from solver.cube.cube import Cube

Emit = Callable[[str, float, str, int, Mapping[str, Any]], None]

SOLVED = ("reference/a", "reference/b", "reference/c", "reference/d", "cubotino")
CUBES = 12
SEARCH_S = 5.0
THREADS = 2


def main(emit: Emit) -> None:
    """Emit mean plan durations; the first of the cubes that ``bench_planner`` solves."""
    for name in SOLVED:
        mechanism = build_mechanism(load_profile(name))
        rng = np.random.default_rng(20)
        plans = [
            plan_solve(Cube.random(rng), mechanism, time_limit=SEARCH_S, threads=THREADS)
            for _ in range(CUBES)
        ]
        mean_s = statistics.mean(plan.duration_us / 1e6 for plan in plans)
        detail = {"search_s": SEARCH_S, "threads": THREADS}
        emit(
            f"plan-5s-{name.replace('/', '-')}", round(mean_s, 4), "s of robot time", CUBES, detail
        )
