"""CPU times of the searches other than two-phase, on fixed cubes."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial

import numpy as np

from solver import _native, optimal, thistlethwaite
from solver import pocket as pocket_search
from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.pocket import PocketCube
from solver.cube.sticker_cube import StickerCube
from solver.errors import InvalidRequest
from solver.learning import batch as learning
from solver.reduction.search import geometry
from solver.search import solve, solve_many
from solver.solution import Request, Solution
from tests.bench.figures import ROOT, chosen, emit, mean, replayed, seconds, several, timed, whole

SEED = 2024
CONTEST = ROOT.parent / "shared/data/cubes/rokicki_contest_100.sing"
PROOF_CUBES = 40


def measure_algorithms() -> None:
    """Emit all figures of these searches, and optimal solutions of scrambles of 14 turns.

    With CUBIST_BENCH_LONG=default, medium or large also emit random cubes, selected by
    CUBIST_BENCH_CUBES (``0:10``), and the cost of proofs that eight of them have no solution of 15
    turns and four of them none of 16.
    """
    tables = chosen("BENCH_LONG", "", _tables)
    selected = chosen("BENCH_CUBES", "0:10", _slice)
    _emit_pocket()
    _emit_thistlethwaite()
    _emit_short_scrambles()
    if tables:
        rng = np.random.default_rng(777)
        cubes = [Cube.random(rng) for _ in range(PROOF_CUBES)]
        _emit_refutations(cubes[:8], tables, 15)
        _emit_refutations(cubes[1:5], tables, 16)
        if cubes[selected]:
            _emit_random_cubes(cubes[selected], tables)
    _emit_learning()


def _tables(text: str) -> str:
    if text not in ("", *optimal.KINDS):
        raise InvalidRequest(f"tables are {', '.join(optimal.KINDS)}, not {text}")
    return text


def _slice(text: str) -> slice:
    first, last = text.split(":")
    return slice(whole(first, least=0), whole(last, least=0))


def _emit_pocket() -> None:
    """Emit the complete tables of the 2x2x2 and the three textbook searches."""
    rng = np.random.default_rng(SEED)
    states = [PocketCube.random(rng).states for _ in range(2000)]
    for metric in ("htm", "qtm"):
        pocket_search.distances.cache_clear()
        table, made = timed(pocket_search.distances, metric)
        _, spent = timed(list, map(table.solve, states))
        emit(f"pocket-exact-{metric}", 1e6 * spent / len(states), "us", len(states))
        emit(f"pocket-exact-{metric}-table", made, "s", 1, {"bytes": table.bytes})
    cubes = [PocketCube.random(rng) for _ in range(10)]
    for name in ("bfs", "bfs-pruned", "ida-star"):
        found = [solve(cube, algorithm=name) for cube in cubes]
        detail = {key: mean(s.extra[key] for s in found) for key in ("nodes", "memory_bytes")}
        emit(f"pocket-{name}", 1e3 * mean(s.cpu_s for s in found), "ms", len(cubes), detail)


def _emit_thistlethwaite() -> None:
    """Emit lengths for random positions, and for the contest's if they are beside the checkout."""
    kernel, made = timed(thistlethwaite.kernel)
    emit("thistlethwaite-tables", 1e3 * made, "ms", 1, {"bytes": kernel.bytes})
    rng = np.random.default_rng(SEED)
    lines = filter(str.strip, CONTEST.read_text().splitlines() if CONTEST.exists() else ())
    contest = [Cube.from_singmaster(line) for line in lines]
    sets = {"random": [Cube.random(rng) for _ in range(100)]}
    if contest:
        sets = {"contest": contest, "contest-last-46": contest[-46:], **sets}
    for name, cubes in sets.items():
        found = [solve(cube, algorithm="thistlethwaite") for cube in cubes]
        lengths = [solution.length for solution in found]
        detail = {"max": max(lengths), "cpu_ms": 1e3 * mean(solution.cpu_s for solution in found)}
        emit(f"thistlethwaite-{name}", mean(lengths), "turns", len(found), detail)


def _emit_short_scrambles() -> None:
    rng = np.random.default_rng(SEED)
    names = [face + suffix for face in "URFDLB" for suffix in ("", "2", "'")]
    scrambles = [Cube.from_moves(" ".join(rng.choice(names, 14))) for _ in range(5)]
    optimal.kernel(Request())
    found = [solve(cube, algorithm="optimal", time_limit=600) for cube in scrambles]
    emit("optimal-14-turns", mean(s.cpu_s for s in found), "s", len(found))


def _emit_refutations(cubes: list[Cube], tables: str, turns: int) -> None:
    """Emit the cost of a proof that no solution has ``turns`` turns, on one thread."""
    table = optimal.kernel(Request(tables=tables))
    limits = _native.OptimalOptions(0, turns, 3600.0, 1, None)
    nodes, spent = timed(
        lambda: sum(table.solve("htm", c.states, limits, None).nodes for c in cubes)
    )
    name = f"optimal-no-{turns}-turns-{tables}"
    emit(name, spent / len(cubes), "s", len(cubes), {"nodes": nodes / len(cubes)})


def _emit_random_cubes(cubes: list[Cube], tables: str) -> None:
    asked = Request(algorithm="optimal", tables=tables, threads=2, time_limit=3600.0)
    found = [replayed(cube, solve_many(cube, asked)[0]) for cube in cubes]
    detail = {
        "cpu_s": mean(s.cpu_s for s in found),
        "turns": mean(s.length for s in found),
        "max_s": max(s.search_s for s in found),
        "each": [[s.length, round(s.cpu_s, 1), s.extra["nodes"]] for s in found],
    }
    emit(f"optimal-random-{tables}", mean(s.search_s for s in found), "s", len(found), detail)


def _emit_learning() -> None:
    rng = np.random.default_rng(SEED)
    states = learning.reset(100_000)
    actions = rng.integers(0, 12, len(states))
    _, spent = timed(lambda: [learning.move(states, actions) for _ in range(20)])
    emit("learning-moves", 20e-6 * len(states) / spent, "million/s", 20 * len(states))


LIMITS_S = {4: 1.0, 5: 5.0, 6: 10.0, 7: 20.0, 11: 20.0, 17: 20.0}


def measure_nxn() -> None:
    """Emit mean length in block turns and processor time of reduction by size, on one thread.

    CUBIST_BENCH_LONG=1: 100 cubes of a size instead of 10; CUBIST_BENCH_SIZES=4,5: only these
    sizes; CUBIST_BENCH_COUNT=1000: number of cubes; CUBIST_BENCH_LIMIT_S=0.05: time limit (except
    for a first answer).
    """
    few = 100 if os.environ.get("CUBIST_BENCH_LONG") else 10
    count = chosen("BENCH_COUNT", few, whole)
    for size in chosen("BENCH_SIZES", "4,5,6,7,11,17", several(partial(whole, least=4))):
        limit = chosen("BENCH_LIMIT_S", LIMITS_S.get(size, 20.0), seconds)
        request = Request(algorithm="reduction", metric="obtm", time_limit=limit)
        _reduced(StickerCube.solved(size).apply("R U F"), request)  # makes the tables
        rng = np.random.default_rng(SEED)
        answers = [_reduced(_turned_at_random(size, rng), request) for _ in range(count)]
        first, found = zip(*answers, strict=True)
        lengths = [solution.length for solution in found]
        phases = [[len(phase) for phase in solution.phases or ()] for solution in found]
        cpu_s, first_cpu_s = ([one.cpu_s for one in some] for some in (found, first))
        detail = {
            "min": min(lengths),
            "max": max(lengths),
            "phases": np.mean(phases, axis=0).round(2).tolist(),
            "cpu_s": mean(cpu_s),
            "max_cpu_s": max(cpu_s),
            "first": mean(solution.length for solution in first),
            "first_cpu_s": mean(first_cpu_s),
            "max_first_cpu_s": max(first_cpu_s),
        }
        emit(f"reduction-{size}", mean(lengths), "block turns", count, detail)


def _turned_at_random(size: int, rng: np.random.Generator) -> StickerCube:
    """Return the solved cube after ``10 * size**2`` random block turns."""
    count = 10 * size * size
    faces, widths = rng.integers(0, 6, count), rng.integers(1, size, count)
    turns = zip(faces, widths, rng.integers(1, 4, count), strict=True)
    stickers = np.repeat(np.arange(6, dtype=np.uint8), size * size)
    geometry(size).turn(stickers, [(int(f), 1, int(w), int(q)) for f, w, q in turns])
    return StickerCube("".join(FACES[one] for one in stickers), size)


def _reduced(cube: StickerCube, request: Request) -> tuple[Solution, Solution]:
    """Return the first answer and the last, which is checked."""
    heard: list[Solution] = []
    solution = solve_many(cube, replace(request, on_better=heard.append))[0]
    return heard[0], replayed(cube, solution)
