"""Large cubes on a robot: fast plans against the shortest solutions, performed as fast as possible.

``CUBIST_BENCH_SIZES`` (4,5) and ``CUBIST_BENCH_CUBES`` (10) say of which cubes and how many,
``CUBIST_BENCH_SECONDS`` how long each is searched.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from robot.planner import build_mechanism, plan_solve
from robot.planner.block_turns import block_turns
from robot.planner.solve import ALGORITHM, METRIC
from robot.planner.survey import random_cube
from robot.settings import load_profile
from robot.settings.profile import for_cube
from solver.cube.notation import parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.reduction import phased
from solver.search import solve
from solver.solution import Request
from tests.bench.figures import Emit, chosen, mean

SECONDS = {4: 1.0, 5: 5.0, 6: 10.0, 7: 20.0}


def main(emit: Emit) -> None:
    """Mean seconds of motion on ``crane``, one thread."""
    sizes = [int(size) for size in chosen("BENCH_SIZES", "4,5").split(",")]
    count = int(chosen("BENCH_CUBES", "10"))
    for size in sizes:
        _measure(size, count, emit)


def _measure(size: int, count: int, emit: Emit) -> None:
    crane = build_mechanism(for_cube(load_profile("crane"), size))
    turns = block_turns(crane).start(crane.start)
    phased.load(size, Request())
    seconds = float(chosen("BENCH_SECONDS", SECONDS[size]))
    rng = np.random.default_rng(size)
    shortest, fastest, runs = [], [], []
    for _ in range(count):
        cube = random_cube(size, rng)
        assert isinstance(cube, StickerCube)
        found = solve(cube, algorithm=ALGORITHM[size], metric=METRIC[size], time_limit=seconds)
        moves = parse_moves(" ".join(found.moves))
        shortest.append(turns.time_us(moves) / 1e6)
        runs.append(sum(a.axis != b.axis for a, b in pairwise(moves)) + 1)
        plan = plan_solve(cube, crane, time_limit=seconds)
        assert cube.apply(" ".join(plan.moves)).is_solved
        fastest.append(plan.duration_us / 1e6)
    detail = {"size": size, "search_s": seconds, "axis_runs": mean(runs)}
    emit("crane-shortest", mean(shortest), "s", count, detail)
    emit("crane-fastest", mean(fastest), "s", count, detail)
