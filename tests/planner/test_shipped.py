"""Every robot that ships: its figures, and a scan and a solve on the simulated robot's pins.

``figures.json`` has a line for each robot and size of cube, which shows changes of a graph or a
profile. ``python -m tests.planner.test_shipped`` writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot.cli.main import run
from robot.mechanism.compile.cost_model import compile_mechanism, cost_model
from robot.mechanism.graph import Mechanism
from robot.planner import build_mechanism, plan_scan, plan_solve
from robot.settings import list_profiles, load_profile, profile_path
from robot.settings.profile import for_cube, sizes_of
from robot.twin.cube import scrambled
from solver import two_phase
from solver.cost import IMPOSSIBLE
from solver.cube.cube import from_facelets
from solver.tables import cache_directory
from tests.rig.pins import PinDriver
from tests.rig.stickers import replay

FIGURES = Path(__file__).with_name("figures.json")
USUAL = {("cubotino-uno", 3), ("two-arm", 3), ("six-motor", 3), ("six-motor-record", 3)}
"""The robots of ``make test``; ``make test-long`` takes all."""


def robots() -> Iterator[tuple[str, int]]:
    for name in list_profiles():
        yield from ((str(name), size) for size in sizes_of(load_profile(name)))


CASES = [
    pytest.param(*case, marks=[] if case in USUAL else [pytest.mark.long]) for case in robots()
]
each_robot = pytest.mark.parametrize(("name", "size"), CASES)
BLIND = ("reference/c", 3)
"""A robot without a camera, the only one whose grippers let go while others turn."""


@cache
def built(name: str, size: int) -> Mechanism:
    return build_mechanism(for_cube(load_profile(name), size))


def figures(mechanism: Mechanism) -> dict[str, Any]:
    """Return a graph's sizes, and sums of microseconds over transitions, tour and single turns."""
    first = cost_model(mechanism, mechanism.start).first.min(axis=1)
    looking = mechanism.looking
    return {
        "configurations": len(looking.configurations),
        "transitions": len(looking.transitions),
        "classes": compile_mechanism(mechanism).states,
        "steps_us": sum(step.duration_us for step in looking.transitions),
        "scan_us": plan_scan(mechanism).duration_us if mechanism.profile.cameras else 0,
        "turns_us": int(first[first != IMPOSSIBLE].astype(np.int64).sum()),
    }


def test_every_robot_has_figures():
    told = set(json.loads(FIGURES.read_text()))
    wanted = {f"{name} {size}" for name, size in [*robots(), BLIND]}
    assert told == wanted, "run python -m tests.planner.test_shipped"


@pytest.mark.parametrize(("name", "size"), [*CASES, BLIND])
def test_figures_of_a_robot_equal_the_documented_ones(name, size):
    assert figures(built(name, size)) == json.loads(FIGURES.read_text())[f"{name} {size}"]


@each_robot
def test_each_robot_sees_every_face_and_solves(name, size):
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
    assert replay(plan, cube.facelets(), size).is_solved
    pins.play(plan.schedule())
    assert pins.robot.solved
    assert pins.robot.violations == []
    ends = [operation.end_us for operation in plan.operations]
    starts = [operation.start_us for operation in plan.operations]
    assert max(ends) == plan.duration_us == plan.schedule().duration_us
    assert starts == sorted(starts)


# ---- what `cubist robot` says of them -----------------------------------------------------------


def test_check_tells_sizes_scan_and_mean(capsys):
    command = ["robot", "check", "six-motor", "--cubes", "2", "--time-limit", "0.1", "--json"]
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["kind"], found["size"]) == ("six-motor", "direct", 3)
    assert found["graph"]["classes"] == found["graph"]["configurations"] == 1
    assert found["scan"] == {"stops": 1, "looks": 6, "duration_us": 200_000}
    solves = found["solves"]
    assert solves["cubes"] == 2
    assert solves["best_us"] <= solves["mean_us"] <= solves["worst_us"] < 1_500_000
    tables = found["tables"]
    assert tables["metric"] == "axial-qtm"
    two_phase.kernel("axial-qtm")
    files = cache_directory().glob(f"phase?-axial-qtm.v{two_phase.TABLE_VERSION}.table")
    assert tables["disk_bytes"] == sum(path.stat().st_size for path in files)


def test_list_and_compare_put_robots_side_by_side(capsys):
    compared = ["reference/c", "reference/d"]
    assert run(["robot", "compare", *compared, "--cubes", "1", "--time-limit", "0.1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(any(name.replace("/", "-") in line for line in lines) for name in compared)
    assert run(["robot", "check", "reference/c", "--cubes", "1", "--time-limit", "0.1"]) == 0
    times = re.findall(r"(\d+\.\d{3}) s on.*\((\S+) to (\S+) s\)", capsys.readouterr().out)
    assert len(times) == 1 and len(set(times[0])) == 1, "one cube is all of them"
    assert run(["robot", "list", "--json"]) == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    sizes = {robot["name"]: (robot["size"], robot["sizes"]) for robot in listed}
    assert sizes["reference/d"] == (3, [3])
    assert sizes["two-arm-2x2x2"] == (2, [2])
    assert sizes["crane"] == (3, [2, 3, 4, 5, 6, 7])


@pytest.mark.parametrize(
    ("old", "new", "code", "text"),
    [
        ("held_settle_ms", "held_settle_s", 2, "held_settle_s"),
        ("when: {lid: [open]}", "when: {lid: []}", 1, "no camera ever sees the faces U, R, F, D,"),
    ],
)
def test_a_robot_that_cannot_be_or_see_is_refused(old, new, code, text, tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text(profile_path("cubotino-uno").read_text().replace(old, new))
    assert run(["robot", "check", str(path), "--cubes", "0"]) == code
    assert text in capsys.readouterr().out


def main() -> None:
    rows = [
        f'"{name} {size}": {json.dumps(figures(built(name, size)))}'
        for name, size in [*robots(), BLIND]
    ]
    FIGURES.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
