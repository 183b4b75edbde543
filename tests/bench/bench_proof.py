"""How far plans are above the fastest there are: cubes few turns from solved, with proof."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from robot.mechanism.registry import build_mechanism
from robot.planner import cost_model
from robot.settings import load_profile
from solver.cost import CostModel
from solver.cube.cube import Cube
from solver.search import solve
from solver.solution import Solution
from tests.bench.figures import Emit, chosen, mean

ROBOTS = "reference/a reference/b reference/c reference/d cubotino"
TURNS = "4 5 6 7 8"
CUBES = 10
LIMIT_S = 1800.0


def main(emit: Emit) -> None:
    """For each robot and number of turns; ``CUBIST_ROBOTS``, ``_TURNS``, ``_CUBES`` choose."""
    count = int(chosen("CUBES", CUBES))
    for robot in chosen("ROBOTS", ROBOTS).split():
        mechanism = build_mechanism(load_profile(robot))
        cost = cost_model(mechanism, mechanism.start)
        for turns in map(int, chosen("TURNS", TURNS).split()):
            rng = np.random.default_rng(turns)
            pairs = [_compared(_away(rng, turns), cost) for _ in range(count)]
            emit(f"proof-{robot.replace('/', '-')}-{turns}", *_excess(pairs))


def _excess(
    pairs: list[tuple[Solution, Solution]],
) -> tuple[float, str, int, Mapping[str, Any]]:
    known = [pair for pair in pairs if pair[1].extra["proven"]]
    excess = [100 * ((found.cost_us or 0) / (best.cost_us or 1) - 1) for found, best in known]
    detail = {
        "slower": sum(value > 0 for value in excess),
        "at_most": round(max(excess), 2),
        "cpu_s": round(mean(best.cpu_s for _, best in known), 2),
        "cpu_s_at_most": round(max(best.cpu_s for _, best in known), 1),
    }
    return round(mean(excess), 3), "% slower than proven", len(known), detail


def _compared(cube: Cube, cost: CostModel) -> tuple[Solution, Solution]:
    """What is found in a second, and the fastest."""
    found = solve(cube, cost=cost, time_limit=1.0)
    return found, solve(cube, algorithm="optimal", cost=cost, time_limit=LIMIT_S, threads=2)


def _away(rng: np.random.Generator, turns: int) -> Cube:
    """A cube that no fewer turns solve."""
    while True:
        faces = rng.integers(6, size=turns)
        if any(a % 3 == b % 3 for a, b in pairwise(faces)):
            continue
        moves = ("URFDLB"[face] + ("", "2", "'")[rng.integers(3)] for face in faces)
        cube = Cube.from_moves(" ".join(moves))
        if solve(cube, algorithm="optimal").length == turns:
            return cube
