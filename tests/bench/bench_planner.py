"""How soon robots solve random cubes, and how long compiling and planning take."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from robot.mechanism.compile.cost_model import compile_mechanism
from robot.mechanism.graph import State
from robot.mechanism.registry import build_mechanism
from robot.planner import plan_scan, plan_solve
from robot.planner.solve import plan_composites
from robot.settings import list_profiles, load_profile
from solver import _native
from solver.cost import composite_index
from solver.cube.cube import Cube
from solver.cube.orientation import Orientation
from solver.cube.pocket import PocketCube
from tests.bench.figures import Emit, mean

SOLVED = ("reference/a", "reference/b", "reference/c", "reference/d", "cubotino")
CUBES = 20
POCKET_CUBES = 20_000
SEARCH_S = 1.0


def main(emit: Emit) -> None:
    """Emit mean plan durations at one second of search, then processor times."""
    for name in SOLVED:
        emit(f"plan-{name.replace('/', '-')}", *_mean_plan(name))
    for name in (*list_profiles(), *list_profiles(reference=True)):
        emit(f"compile-{name.replace('/', '-')}", *_compile(name))
    emit("retrace", *_retrace())
    for name in ("both-ways", "one-way"):
        emit(f"soltvvo-{name}", *_soltvvo(one_way=name == "one-way"))


def _mean_plan(name: str) -> tuple[float, str, int, Mapping[str, Any]]:
    mechanism = build_mechanism(load_profile(name))
    rng = np.random.default_rng(20)
    durations = []
    for _ in range(CUBES):
        plan = plan_solve(Cube.random(rng), mechanism, time_limit=SEARCH_S)
        durations.append(plan.duration_us / 1e6)
    detail = {"search_s": SEARCH_S, "threads": 1, "worst": max(durations), "best": min(durations)}
    return round(mean(durations), 4), "s of robot time", CUBES, detail


def _compile(name: str) -> tuple[float, str, int, Mapping[str, Any]]:
    profile = load_profile(name)
    started = time.process_time()
    mechanism = build_mechanism(profile)
    tables = compile_mechanism(mechanism)
    tables.cost_model(mechanism.start)
    spent = time.process_time() - started
    detail = {"classes": tables.states, "configurations": len(mechanism.configurations)}
    if profile.cameras:
        compile_mechanism(mechanism)
        started = time.process_time()
        scan = plan_scan(mechanism)
        detail |= {"scan_us": scan.duration_us}
        detail["scan_plan_ms"] = round((time.process_time() - started) * 1e3)
    return round(spent, 3), "s CPU", 1, detail


def _retrace() -> tuple[float, str, int, Mapping[str, Any]]:
    """From 20 turns to the operations of a four-gripper robot."""
    mechanism = build_mechanism(load_profile("four-arm"))
    compile_mechanism(mechanism)
    rng = np.random.default_rng(1)
    started = time.process_time()
    for _ in range(CUBES):
        turns = [composite_index(i % 3, int(rng.integers(1, 4)), 0) for i in range(20)]
        plan_composites(mechanism, mechanism.start, turns)
    return round((time.process_time() - started) * 1e3 / CUBES, 2), "ms CPU a plan", CUBES, {}


def _soltvvo(one_way: bool) -> tuple[float, str, int, Mapping[str, Any]]:
    """Fastest solutions in its authors' units, from the faster of the two ways it starts.

    Their program turns arms ``one_way``, counter-clockwise, and does not count the first grip.
    """
    mechanism = build_mechanism(load_profile("reference/soltvvo"))
    if one_way:
        steps = mechanism.transitions
        kept = (s for s in steps if not s.rotation and all(q != 1 for _, q in s.turns))
        mechanism = replace(mechanism, transitions=tuple(kept))
    tables = compile_mechanism(mechanism)
    starts = (Orientation(0), Orientation(0).rotated("x", 1))
    held = [State(mechanism.start.configuration, orientation) for orientation in starts]
    models = [tables.cost_model(state) for state in held]
    costs = models[0].turns.next, models[0].turns.final
    data = np.zeros(_native.pocket_steps_size(models[0].turns.states), np.uint8)
    started = time.process_time()
    _native.make_pocket_steps(*costs, data, 1, lambda done: True)
    made = time.process_time() - started
    solver = _native.PocketSteps(*costs, data)
    rng = np.random.default_rng(20)
    cubes = [PocketCube.random(rng).states for _ in range(POCKET_CUBES)]
    started = time.process_time()
    found = [[solver.solve(cube, model.first).cost or 0 for model in models] for cube in cubes]
    spent = time.process_time() - started
    units = np.array(found) / 100_000 - 1
    detail = {
        "one_start": round(float(units[:, 0].mean()), 3),
        "worst": float(units.max()),
        "plan_us_cpu": round(1e6 * spent / units.size, 1),
        "table_bytes": data.size,
        "table_s_cpu": round(made, 1),
    }
    return round(float(units.min(axis=1).mean()), 3), "units", POCKET_CUBES, detail
