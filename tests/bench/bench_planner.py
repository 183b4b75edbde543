"""How soon robots solve random cubes, and how long compiling and planning take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot.mechanism.build import build_mechanism
from robot.mechanism.classes import compile_mechanism
from robot.planner import plan_scan, plan_solve
from robot.planner.solving import compiled, plan_composites
from robot.settings import list_profiles, load_profile
from solver.cost import composite_index
from solver.cube import Cube

Emit = Callable[[str, float, str, int, Mapping[str, Any]], None]

SOLVED = ("reference/a", "reference/b", "reference/c", "reference/d", "cubotino")
CUBES = 20
SEARCH_S = 1.0


def main(emit: Emit) -> None:
    """Emit mean plan durations at one second of search, then processor times."""
    for name in SOLVED:
        emit(f"plan-{name.replace('/', '-')}", *_mean_plan(name))
    for name in (*list_profiles(), *list_profiles(reference=True)):
        emit(f"compile-{name.replace('/', '-')}", *_compile(name))
    emit("retrace", *_retrace())


def _mean_plan(name: str) -> tuple[float, str, int, Mapping[str, Any]]:
    mechanism = build_mechanism(load_profile(name))
    rng = np.random.default_rng(20)
    durations = []
    for _ in range(CUBES):
        plan = plan_solve(Cube.random(rng), mechanism, time_limit=SEARCH_S)
        durations.append(plan.duration_us / 1e6)
    detail = {"search_s": SEARCH_S, "threads": 1, "worst": max(durations), "best": min(durations)}
    return round(statistics.mean(durations), 4), "s of robot time", CUBES, detail


def _compile(name: str) -> tuple[float, str, int, Mapping[str, Any]]:
    profile = load_profile(name)
    started = time.process_time()
    mechanism = build_mechanism(profile)
    tables = compile_mechanism(mechanism)
    tables.cost_model(mechanism.start)
    spent = time.process_time() - started
    detail = {"classes": tables.states, "configurations": len(mechanism.configurations)}
    if profile.cameras:
        compiled(mechanism)
        started = time.process_time()
        scan = plan_scan(mechanism)
        detail |= {"scan_us": scan.duration_us}
        detail["scan_plan_ms"] = round((time.process_time() - started) * 1e3)
    return round(spent, 3), "s CPU", 1, detail


def _retrace() -> tuple[float, str, int, Mapping[str, Any]]:
    """From 20 turns to the operations of a four-gripper robot."""
    mechanism = build_mechanism(load_profile("four-arm"))
    compiled(mechanism)
    rng = np.random.default_rng(1)
    started = time.process_time()
    for _ in range(CUBES):
        turns = [composite_index(i % 3, int(rng.integers(1, 4)), 0) for i in range(20)]
        plan_composites(mechanism, mechanism.start, turns)
    return round((time.process_time() - started) * 1e3 / CUBES, 2), "ms CPU a plan", CUBES, {}
