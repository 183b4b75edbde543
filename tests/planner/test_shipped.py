"""Every robot that ships: its figures, and a scan and a solve on the pins of the simulated robot.

``figures.json`` has a line for each robot and size of cube; changes of a graph or a profile show
there. ``python -m tests.planner.test_shipped`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot.mechanism.compile.cost_model import compile_mechanism, cost_model
from robot.mechanism.graph import Mechanism
from robot.planner import build_mechanism, plan_scan, plan_solve
from robot.planner.survey import random_cube
from robot.settings import list_profiles, load_profile
from robot.settings.profile import for_cube, sizes_of
from robot.twin.cube import scrambled
from solver.cost import IMPOSSIBLE
from solver.cube.cube import from_facelets
from tests.rig.pins import PinDriver
from tests.rig.stickers import replay

FIGURES = Path(__file__).with_name("figures.json")
USUAL = {("cubotino-uno", 3), ("two-arm", 3), ("six-motor", 3)}
"""The robots of ``make test``; ``make test-long`` takes all."""


def robots() -> Iterator[tuple[str, int]]:
    for name in list_profiles():
        yield from ((str(name), size) for size in sizes_of(load_profile(name)))


CASES = [
    pytest.param(*case, marks=[] if case in USUAL else [pytest.mark.long]) for case in robots()
]
each_robot = pytest.mark.parametrize(("name", "size"), CASES)


@cache
def built(name: str, size: int) -> Mechanism:
    return build_mechanism(for_cube(load_profile(name), size))


def figures(mechanism: Mechanism) -> dict[str, Any]:
    """Sizes of a graph, and sums of microseconds over its transitions, tour and single turns."""
    first = cost_model(mechanism, mechanism.start).first.min(axis=1)
    looking = mechanism.looking
    return {
        "configurations": len(looking.configurations),
        "transitions": len(looking.transitions),
        "classes": compile_mechanism(mechanism).states,
        "steps_us": sum(step.duration_us for step in looking.transitions),
        "scan_us": plan_scan(mechanism).duration_us,
        "turns_us": int(first[first != IMPOSSIBLE].astype(np.int64).sum()),
    }


@each_robot
def test_its_figures_are_as_written(name: str, size: int) -> None:
    assert figures(built(name, size)) == json.loads(FIGURES.read_text())[f"{name} {size}"]


@each_robot
def test_it_sees_every_face_and_solves(name: str, size: int) -> None:
    mechanism, body = built(name, size), scrambled(size, 4)
    cube = from_facelets(body.facelets(), size)
    pins = PinDriver(mechanism.profile, body)
    scan = plan_scan(mechanism)
    shown: set[int] = set()
    for step in scan.steps:
        pins.play(step.plan.schedule())
        for look in step.looks:
            assert pins.robot.body.face_at(look.site) == look.face
            shown |= look.shown_facelets(size)
    assert shown == set(range(6 * size * size))
    plan = plan_solve(cube, mechanism, scan.end, time_limit=0.3)
    pins.play(plan.schedule())
    assert pins.robot.solved
    assert pins.robot.violations == []
    assert plan.schedule().duration_us == plan.duration_us


@each_robot
def test_its_operations_solve_the_cube(name: str, size: int) -> None:
    cube = random_cube(size, np.random.default_rng(size))
    plan = plan_solve(cube, built(name, size), time_limit=0.3)
    assert replay(plan, cube.facelets(), size).is_solved
    ends = [operation.end_us for operation in plan.operations]
    starts = [operation.start_us for operation in plan.operations]
    assert max(ends) == plan.duration_us and starts == sorted(starts)


def main() -> None:
    rows = [f'"{name} {size}": {json.dumps(figures(built(name, size)))}' for name, size in robots()]
    FIGURES.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
