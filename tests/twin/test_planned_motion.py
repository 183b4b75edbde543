"""What the planner plans, performed by the simulated robot: two models that share no code agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from robot.planner import build_mechanism, plan_scan, plan_solve
from robot.settings import RobotProfile
from robot.twin.cube import CubeBody, scrambled
from solver.cube.cube import Cube, parse_state

if TYPE_CHECKING:
    from conftest import ScheduleHand


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_scan_and_solution_do_what_they_say(
    cubotino: RobotProfile,
    make_schedule_hand: Callable[[CubeBody], ScheduleHand],
    seed: int,
) -> None:
    body = scrambled(3, seed)
    cube = parse_state(body.facelets())
    assert isinstance(cube, Cube)
    hand = make_schedule_hand(body)
    mechanism = build_mechanism(cubotino)
    scan = plan_scan(mechanism)
    seen = set()
    for step in scan.steps:
        if step.moves:
            hand.play(step.plan.schedule())
        seen |= {body.face_at(look.site) == look.face and look.face for look in step.looks}
        assert not hand.robot.moving
    assert seen == set("URFDLB")
    plan = plan_solve(cube, mechanism, scan.end, time_limit=0.05)
    hand.play(plan.schedule())
    assert hand.robot.solved
    assert not hand.robot.violations
