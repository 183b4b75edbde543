"""The searches other than two-phase, on fixed cubes, in CPU time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from solver import _native, optimal, thistlethwaite
from solver import pocket as pocket_search
from solver.cube.cube import Cube
from solver.cube.pocket import PocketCube
from solver.learning import batch as learning
from solver.search import solve, solve_many
from solver.solution import Request, Solution
from tests.bench.figures import Emit, chosen, mean, replayed

SEED = 2024
CONTEST = Path(__file__).parents[3] / "shared/data/cubes/rokicki_contest_100.sing"


def cpu_s(work: Callable[[], object]) -> float:
    """Processor seconds of a call."""
    before = time.process_time()
    work()
    return time.process_time() - before


def pocket(emit: Emit) -> None:
    """Complete tables of the 2x2x2, and the three textbook searches."""
    rng = np.random.default_rng(SEED)
    states = [PocketCube.random(rng).states for _ in range(2000)]
    for metric in ("htm", "qtm"):
        pocket_search.distances.cache_clear()
        made = cpu_s(lambda metric=metric: pocket_search.distances(metric))
        table = pocket_search.distances(metric)
        spent = cpu_s(lambda table=table: [table.solve(one) for one in states])
        emit(f"pocket-exact-{metric}", 1e6 * spent / len(states), "us", len(states), {})
        emit(f"pocket-exact-{metric}-table", made, "s", 1, {"bytes": table.bytes})
    cubes = [PocketCube.random(rng) for _ in range(10)]
    for name in ("bfs", "bfs-pruned", "ida-star"):
        found = [solve(cube, algorithm=name) for cube in cubes]
        detail = {key: mean(s.extra[key] for s in found) for key in ("nodes", "memory_bytes")}
        emit(f"pocket-{name}", 1e3 * mean(s.cpu_s for s in found), "ms", len(cubes), detail)


def phases(emit: Emit) -> None:
    """Thistlethwaite on the contest's positions, or on random ones where those are absent."""
    made = cpu_s(thistlethwaite.kernel)
    emit("thistlethwaite-tables", 1e3 * made, "ms", 1, {"bytes": thistlethwaite.kernel().bytes})
    rng = np.random.default_rng(SEED)
    cubes = [Cube.random(rng) for _ in range(100)]
    if CONTEST.exists():
        lines = filter(str.strip, CONTEST.read_text().splitlines())
        contest = [solve(Cube.from_singmaster(line), algorithm="thistlethwaite") for line in lines]
        report(emit, "thistlethwaite-contest", contest)
        report(emit, "thistlethwaite-contest-last-46", contest[-46:])
    report(emit, "thistlethwaite-random", [solve(c, algorithm="thistlethwaite") for c in cubes])


def report(emit: Emit, name: str, found: list[Solution]) -> None:
    """Mean length, with the longest and the time."""
    detail = {
        "max": max(solution.length for solution in found),
        "cpu_ms": 1e3 * mean(solution.cpu_s for solution in found),
    }
    emit(name, mean(solution.length for solution in found), "turns", len(found), detail)


def proofs(emit: Emit) -> None:
    """Optimal solutions of scrambles of 14 turns.

    With CUBIST_BENCH_LONG=default or large also of random cubes, those that CUBIST_BENCH_CUBES
    names (``0:10``), and what it takes to prove that eight of them have no solution of 15 turns,
    four of them none of 16.
    """
    rng = np.random.default_rng(SEED)
    names = [face + suffix for face in "URFDLB" for suffix in ("", "2", "'")]
    scrambles = [Cube.from_moves(" ".join(rng.choice(names, 14))) for _ in range(5)]
    optimal.kernel(Request())
    found = [solve(cube, algorithm="optimal", time_limit=600) for cube in scrambles]
    emit("optimal-14-turns", mean(s.cpu_s for s in found), "s", len(found), {})
    tables = os.environ.get("CUBIST_BENCH_LONG")
    if tables:
        rng = np.random.default_rng(777)
        cubes = [Cube.random(rng) for _ in range(40)]
        refutations(emit, cubes[:8], tables, 15)
        refutations(emit, cubes[1:5], tables, 16)
        first, last = map(int, chosen("BENCH_CUBES", "0:10").split(":"))
        if first < last:
            random_cubes(emit, cubes[first:last], tables)


def refutations(emit: Emit, cubes: list[Cube], tables: str, turns: int) -> None:
    """Processor time and nodes to prove that no solution has so many turns, on one thread."""
    table = optimal.kernel(Request(tables=tables))
    limits = _native.OptimalOptions(0, turns, 3600.0, 1, None)
    nodes = 0

    def refute() -> None:
        nonlocal nodes
        nodes = sum(table.solve("htm", c.states, limits, None).nodes for c in cubes)

    spent = cpu_s(refute) / len(cubes)
    detail = {"nodes": nodes / len(cubes)}
    emit(f"optimal-no-{turns}-turns-{tables}", spent, "s", len(cubes), detail)


def random_cubes(emit: Emit, cubes: list[Cube], tables: str) -> None:
    """Random cubes with ``default`` or ``large`` tables on two threads."""
    asked = Request(algorithm="optimal", tables=tables, threads=2, time_limit=3600.0)
    found = [replayed(cube, solve_many(cube, asked)[0]) for cube in cubes]
    detail = {
        "cpu_s": mean(s.cpu_s for s in found),
        "turns": mean(s.length for s in found),
        "max_s": max(s.search_s for s in found),
        "each": [[s.length, round(s.cpu_s, 1), s.extra["nodes"]] for s in found],
    }
    emit(f"optimal-random-{tables}", mean(s.search_s for s in found), "s", len(found), detail)


def batches(emit: Emit) -> None:
    """Batched moves for learning."""
    rng = np.random.default_rng(SEED)
    states = learning.reset(100_000)
    actions = rng.integers(0, 12, len(states))
    spent = cpu_s(lambda: [learning.move(states, actions) for _ in range(20)])
    emit("learning-moves", 20e-6 * len(states) / spent, "million/s", 20 * len(states), {})


def main(emit: Emit) -> None:
    """Everything but the hours of optimal solving; see :func:`proofs`."""
    pocket(emit)
    phases(emit)
    proofs(emit)
    batches(emit)
