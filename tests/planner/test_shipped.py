"""Every robot that ships: scan and solve, performed on the pins of the simulated robot."""

import numpy as np
import pytest

from robot.planner import build_mechanism, plan_scan, plan_solve
from robot.planner.survey import random_cube
from robot.settings import list_profiles, load_profile
from robot.settings.other_cubes import for_cube, sizes_of
from robot.twin.cube import scrambled
from solver.cube.cube import from_facelets

LONGEST_S = {
    "crane": {2: 26.0, 3: 47.0, 4: 115.0, 5: 200.0, 6: 360.0, 7: 560.0},
    "cubotino": 82.5,
    "cubotino-micro": 82.0,
    "cubotino-pocket": 60.0,
    "cubotino-uno": 80.0,
    "cubotone": 45.0,
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

LONG_SIZES = (4, 5, 6, 7)
"""Of the robots that take several: their motion takes minutes to simulate."""


def robots():
    for name in list_profiles():
        for size in sizes_of(load_profile(name)):
            marks = [pytest.mark.long] * (size in LONG_SIZES)
            yield pytest.param((name, size), id=f"{name}-{size}", marks=marks)


@pytest.fixture(scope="module", params=robots())
def profile(request):
    name, size = request.param
    return for_cube(load_profile(name), size)


@pytest.fixture(scope="module")
def mechanism(profile):
    """Built, and compiled, once for all tests of a robot."""
    return build_mechanism(profile)


def longest_s(profile):
    found = LONGEST_S[profile.name]
    return found[profile.cube.size] if isinstance(found, dict) else found


def test_it_sees_every_face_and_solves(profile, mechanism, pin_hand):
    size = profile.cube.size
    body = scrambled(size, 4)
    cube = from_facelets(body.facelets(), size)
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
    assert plan.duration_us < longest_s(profile) * 1e6
    hand.play(plan.schedule())
    assert hand.robot.solved
    assert hand.robot.violations == []
    assert plan.schedule().duration_us == plan.duration_us


def test_its_operations_solve_the_cube(profile, mechanism, replayed):
    size = profile.cube.size
    cube = random_cube(size, np.random.default_rng(size))
    plan = plan_solve(cube, mechanism, time_limit=0.3)
    assert replayed(plan, cube.facelets(), size).solved
    ends = [operation.end_us for operation in plan.operations]
    starts = [operation.start_us for operation in plan.operations]
    assert max(ends) == plan.duration_us and starts == sorted(starts)
