"""Cubes of 4 and more layers by reduction, one thread, on fixed cubes.

CUBIST_BENCH_LONG=1 takes 100 cubes of a size instead of 10, CUBIST_BENCH_SIZES=4,5 only those;
CUBIST_BENCH_COUNT=1000 so many, CUBIST_BENCH_LIMIT_S=0.05 no longer than that (or a first answer).
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from solver.cube.facelets import FACES
from solver.cube.sticker_cube import StickerCube
from solver.reduction.search import geometry
from solver.search import solve_many
from solver.solution import Request, Solution
from tests.bench.figures import Emit, chosen, mean, replayed

SEED = 2024
LIMITS_S = {4: 1.0, 5: 5.0, 6: 10.0, 7: 20.0, 11: 20.0, 17: 20.0}


def random_cube(size: int, rng: np.random.Generator) -> StickerCube:
    """The solved cube after ``10 * size**2`` random block turns."""
    count = 10 * size * size
    faces, widths = rng.integers(0, 6, count), rng.integers(1, size, count)
    turns = zip(faces, widths, rng.integers(1, 4, count), strict=True)
    stickers = np.repeat(np.arange(6, dtype=np.uint8), size * size)
    geometry(size).turn(stickers, [(int(f), 1, int(w), int(q)) for f, w, q in turns])
    return StickerCube("".join(FACES[one] for one in stickers), size)


def solved(cube: StickerCube, request: Request) -> tuple[Solution, Solution]:
    """The first answer and the last, which is replayed."""
    heard: list[Solution] = []
    solution = solve_many(cube, replace(request, on_better=heard.append))[0]
    return heard[0], replayed(cube, solution)


def main(emit: Emit) -> None:
    """Mean length in block turns and processor time by size."""
    sizes = chosen("BENCH_SIZES", "4,5,6,7,11,17")
    few = 100 if os.environ.get("CUBIST_BENCH_LONG") else 10
    count = int(chosen("BENCH_COUNT", few))
    for size in map(int, sizes.split(",")):
        limit = float(chosen("BENCH_LIMIT_S", LIMITS_S.get(size, 20.0)))
        request = Request(algorithm="reduction", metric="obtm", time_limit=limit)
        solved(StickerCube.solved(size).apply("R U F"), request)  # makes the tables
        rng = np.random.default_rng(SEED)
        answers = [solved(random_cube(size, rng), request) for _ in range(count)]
        first = [answer[0] for answer in answers]
        found = [answer[1] for answer in answers]
        lengths = [solution.length for solution in found]
        phases = [[len(phase) for phase in solution.phases or ()] for solution in found]
        detail = {
            "min": min(lengths),
            "max": max(lengths),
            "phases": np.mean(phases, axis=0).round(2).tolist(),
            "cpu_s": mean(solution.cpu_s for solution in found),
            "max_cpu_s": max(solution.cpu_s for solution in found),
            "first": mean(solution.length for solution in first),
            "first_cpu_s": mean(solution.cpu_s for solution in first),
            "max_first_cpu_s": max(solution.cpu_s for solution in first),
        }
        emit(f"reduction-{size}", mean(lengths), "block turns", count, detail)
