"""Every robot that ships: scan and solve, performed on the pins of the simulated robot."""

import numpy as np
import pytest

from robot.planner import build_mechanism, plan_scan, plan_solve
from robot.settings import list_profiles, load_profile
from robot.twin.cube import scrambled
from solver.cube.cube import Cube
from solver.cube.pocket import PocketCube

SIZES = {2: PocketCube, 3: Cube}
LONGEST_S = {
    "cubotino": 82.5,
    "cubotino-micro": 82.0,
    "cubotino-pocket": 60.0,
    "cubotino-uno": 80.0,
    "five-motor": 1.1,
    "four-arm": 9.5,
    "mindcuber": 58.0,
    "otvinta": 27.0,
    "rubpyx": 31.0,
    "six-motor": 1.0,
    "six-motor-cnc": 1.6,
    "six-motor-record": 0.13,
    "soltvvo": 6.5,
    "two-arm": 41.0,
    "two-arm-2x2x2": 11.5,
    "v-arms": 44.5,
}
"""Of motion for the cube scanned here: a tenth more than what 0.01 s of search finds."""


@pytest.fixture(scope="module", params=list_profiles())
def profile(request):
    return load_profile(request.param)


def test_it_sees_every_face_and_solves(profile, pin_hand):
    size = profile.cube.size
    body = scrambled(size, 4)
    cube = SIZES[size].from_facelets(body.facelets())
    mechanism = build_mechanism(profile)
    hand = pin_hand(profile, body)
    scan = plan_scan(mechanism)
    shown = set()
    for step in scan.steps:
        hand.play(step.plan.schedule())
        for look in step.looks:
            assert hand.robot.body.face_at(look.site) == look.face
            shown |= look.shown(size)
    assert shown == set(range(6 * size * size))
    plan = plan_solve(cube, mechanism, scan.end, time_limit=0.3)
    assert plan.duration_us < LONGEST_S[profile.name] * 1e6
    hand.play(plan.schedule())
    assert hand.robot.solved
    assert hand.robot.violations == []
    assert plan.schedule().duration_us == plan.duration_us


def test_its_operations_solve_the_cube(profile, replayed):
    size = profile.cube.size
    mechanism = build_mechanism(profile)
    cube = SIZES[size].random(np.random.default_rng(size))
    plan = plan_solve(cube, mechanism, time_limit=0.3)
    assert replayed(plan, cube.facelets(), size).solved
    ends = [operation.end_us for operation in plan.operations]
    starts = [operation.start_us for operation in plan.operations]
    assert max(ends) == plan.duration_us and starts == sorted(starts)
