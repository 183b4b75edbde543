"""Durations of plans for random cubes, their distance from the fastest, and planning times."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from robot.mechanism.compile.cost_model import compile_mechanism
from robot.mechanism.graph import State
from robot.mechanism.registry import build_mechanism
from robot.planner import cost_model, plan_scan, plan_solve
from robot.planner.block_turns import block_turns
from robot.planner.solve import ALGORITHM, METRIC, plan_composites
from robot.planner.survey import random_cube
from robot.settings import list_profiles, load_profile
from robot.settings.profile import RobotProfile, for_cube
from solver import _native
from solver.cost import composite_index
from solver.cube.cube import Cube
from solver.cube.notation import parse_moves
from solver.cube.orientation import Orientation
from solver.cube.pocket import PocketCube
from solver.reduction import phased
from solver.search import solve
from solver.solution import Request
from tests.bench.figures import chosen, emit, mean, replayed, robot, seconds, several, timed, whole

SOLVED = ("reference/a", "reference/b", "reference/c", "reference/d", "cubotino")
CUBES = 20
POCKET_CUBES = 20_000
SEARCH_S = 1.0


def measure_planner() -> None:
    """Emit mean plan durations after one second of search, then processor times."""
    for name in SOLVED:
        _emit_plans(name)
    for name in (*list_profiles(), *list_profiles(reference=True)):
        _emit_compiling(name)
    _emit_retracing()
    for name in ("both-ways", "one-way"):
        _emit_soltvvo(name)


def _emit_plans(name: str) -> None:
    mechanism = build_mechanism(load_profile(name))
    rng = np.random.default_rng(20)
    plans = [plan_solve(Cube.random(rng), mechanism, time_limit=SEARCH_S) for _ in range(CUBES)]
    took = [plan.duration_us / 1e6 for plan in plans]
    detail = {"search_s": SEARCH_S, "threads": 1, "worst": max(took), "best": min(took)}
    emit(f"plan-{name.replace('/', '-')}", round(mean(took), 4), "s of robot time", CUBES, detail)


def _emit_compiling(name: str) -> None:
    profile = load_profile(name)
    mechanism, built_s = timed(build_mechanism, profile)
    tables, compiled_s = timed(compile_mechanism, mechanism)
    spent = built_s + compiled_s + timed(tables.cost_model, mechanism.start)[1]
    detail = {"classes": tables.states, "configurations": len(mechanism.configurations)}
    if profile.cameras:
        scan, planned_s = timed(plan_scan, mechanism)
        detail |= {"scan_us": scan.duration_us, "scan_plan_ms": round(planned_s * 1e3)}
    emit(f"compile-{name.replace('/', '-')}", round(spent, 3), "s CPU", 1, detail)


def _emit_retracing() -> None:
    """Emit the cost of converting 20 turns to the operations of a four-gripper robot."""
    mechanism = build_mechanism(load_profile("four-arm"))
    compile_mechanism(mechanism)
    rng = np.random.default_rng(1)
    paths = [
        [composite_index(i % 3, int(rng.integers(1, 4)), 0) for i in range(20)]
        for _ in range(CUBES)
    ]
    _, spent = timed(lambda: [plan_composites(mechanism, mechanism.start, path) for path in paths])
    emit("retrace", round(spent * 1e3 / CUBES, 2), "ms CPU a plan", CUBES)


def _emit_soltvvo(name: str) -> None:
    """Emit fastest solutions in the units of its authors, from the better of its two starts.

    Their program turns arms ``one-way``, counter-clockwise, and does not count the first grip.
    """
    mechanism = build_mechanism(load_profile("reference/soltvvo"))
    if name == "one-way":
        steps = mechanism.transitions
        kept = (s for s in steps if not s.rotation and all(q != 1 for _, q in s.turns))
        mechanism = replace(mechanism, transitions=tuple(kept))
    tables = compile_mechanism(mechanism)
    starts = (Orientation(0), Orientation(0).rotated("x", 1))
    held = [State(mechanism.start.configuration, orientation) for orientation in starts]
    models = [tables.cost_model(state) for state in held]
    costs = models[0].turns.next, models[0].turns.final
    data = np.zeros(_native.pocket_steps_size(models[0].turns.states), np.uint8)
    _, made = timed(_native.make_pocket_steps, *costs, data, 1, lambda done: True)
    solver = _native.PocketSteps(*costs, data)
    rng = np.random.default_rng(20)
    cubes = [PocketCube.random(rng).states for _ in range(POCKET_CUBES)]
    found, spent = timed(
        lambda: [[solver.solve(c, m.first).cost or 0 for m in models] for c in cubes]
    )
    units = np.array(found) / 100_000 - 1
    detail = {
        "one_start": round(float(units[:, 0].mean()), 3),
        "worst": float(units.max()),
        "plan_us_cpu": round(1e6 * spent / units.size, 1),
        "table_bytes": data.size,
        "table_s_cpu": round(made, 1),
    }
    fastest = round(float(units.min(axis=1).mean()), 3)
    emit(f"soltvvo-{name}", fastest, "units", POCKET_CUBES, detail)


LIMIT_S = 1800.0


def measure_proof() -> None:
    """Emit the excess of plans over proven fastest ones, for cubes few turns from solved.

    ``CUBIST_ROBOTS``, ``_TURNS``, ``_CUBES`` select.
    """
    count = chosen("CUBES", 10, whole)
    all_turns = chosen("TURNS", "4 5 6 7 8", several(whole))
    for profile in chosen("ROBOTS", " ".join(SOLVED), several(robot)):
        mechanism = build_mechanism(load_profile(profile))
        cost = cost_model(mechanism, mechanism.start)
        for turns in all_turns:
            rng = np.random.default_rng(turns)
            pairs = []
            for cube in (_away(rng, turns) for _ in range(count)):
                found = solve(cube, cost=cost, time_limit=1.0)
                best = solve(cube, algorithm="optimal", cost=cost, time_limit=LIMIT_S, threads=2)
                if best.extra["proven"]:
                    pairs.append((found, best))
            excess = [100 * ((one.cost_us or 0) / (best.cost_us or 1) - 1) for one, best in pairs]
            detail = {
                "slower": sum(value > 0 for value in excess),
                "at_most": round(max(excess), 2),
                "cpu_s": round(mean(best.cpu_s for _, best in pairs), 2),
                "cpu_s_at_most": round(max(best.cpu_s for _, best in pairs), 1),
            }
            name = f"proof-{profile.replace('/', '-')}-{turns}"
            emit(name, round(mean(excess), 3), "% slower than proven", len(pairs), detail)


def _away(rng: np.random.Generator, turns: int) -> Cube:
    """Return a random cube that needs exactly ``turns`` turns."""
    while True:
        faces = rng.integers(6, size=turns)
        if any(a % 3 == b % 3 for a, b in pairwise(faces)):
            continue
        moves = ("URFDLB"[face] + ("", "2", "'")[rng.integers(3)] for face in faces)
        cube = Cube.from_moves(" ".join(moves))
        if solve(cube, algorithm="optimal").length == turns:
            return cube


CRANE_S = {4: 1.0, 5: 5.0, 6: 10.0, 7: 20.0}


def measure_crane() -> None:
    """Emit mean seconds of motion for large cubes on ``crane``, one thread: fast plans compared
    with the shortest solutions performed as fast as possible.

    ``CUBIST_BENCH_SIZES`` (4,5): sizes; ``CUBIST_BENCH_CUBES`` (10): number of cubes of each;
    ``CUBIST_BENCH_SECONDS``: search time per cube.
    """
    count = chosen("BENCH_CUBES", 10, whole)
    for profile in chosen("BENCH_SIZES", "4,5", several(_crane)):
        size = profile.cube.size
        limit_s = chosen("BENCH_SECONDS", CRANE_S[size], seconds)
        crane = build_mechanism(profile)
        turns = block_turns(crane).start(crane.start)
        phased.load(size, Request())
        rng = np.random.default_rng(size)
        shortest, fastest, runs = [], [], []
        for cube in (random_cube(size, rng) for _ in range(count)):
            found = solve(cube, algorithm=ALGORITHM[size], metric=METRIC[size], time_limit=limit_s)
            moves = parse_moves(" ".join(found.moves))
            shortest.append(turns.time_us(moves) / 1e6)
            runs.append(sum(a.axis != b.axis for a, b in pairwise(moves)) + 1)
            plan = plan_solve(cube, crane, time_limit=limit_s)
            replayed(cube, plan)
            fastest.append(plan.duration_us / 1e6)
        detail = {"size": size, "search_s": limit_s, "axis_runs": mean(runs)}
        emit("crane-shortest", mean(shortest), "s", count, detail)
        emit("crane-fastest", mean(fastest), "s", count, detail)


def _crane(size: str) -> RobotProfile:
    return for_cube(load_profile("crane"), whole(size, least=4))
