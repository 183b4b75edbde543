"""A faster rest is searched while the robot turns: what is performed stays one consistent plan."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from robot.api.endpoints import RobotState
from robot.api.models import StartRequest
from robot.daemon.job_control import JobController
from robot.machine.solve_planner import SolvePlanner, SplitPlan
from robot.motion.schedule import MotionProfile, Schedule
from robot.planner import build_mechanism, plan_composites
from robot.records.runs import RunRecord
from robot.settings import load_profile
from robot.settings.profile import PolicySettings
from robot.text.faults import RobotError
from solver.cost import composite_index
from solver.cube.cube import Cube
from tests.rig.fake_robot import part


@pytest.fixture
def improving(fake: Any) -> Any:
    fake.policy = PolicySettings()
    fake.planner.cuts = [
        SplitPlan(part("R", 600, "middle"), part("U F", 400, "old end"), "in between")
    ]
    return fake


@pytest.fixture
async def controller(improving: Any, controller: JobController) -> JobController:
    """The fake robot's controller, with the policy to improve."""
    controller.machine = improving.machine()
    return controller


async def solved(controller: JobController) -> RunRecord:
    run_id = await controller.start(StartRequest())
    await controller.finished()
    return await controller.run_record(run_id)


async def test_a_faster_rest_is_performed_recorded_and_checked(
    controller: JobController, improving: Any
) -> None:
    improving.planner.better = part("F", 300, "new end")
    record = await solved(controller)
    assert record.outcome == "solved"
    assert (record.moves, record.planned_us, record.executed_us) == ("R F", 900, 900)
    assert record.greedy_us == 1800, "of the moves that were performed"
    # The number of moves that was told on the way is the record's in the end.
    told = [event.text for event in record.events if event.text.startswith("turning")]
    assert told == [
        "turning: 2 moves in 0.0 s",
        f"turning: {record.move_count} moves in 0.0 s, with a faster end",
    ]
    assert [operation["start_us"] for operation in record.operations] == [0, 600]
    assert improving.planner.toured_from[-1] == "new end"


async def test_the_rest_may_be_cut_again(controller: JobController, improving: Any) -> None:
    """What is performed fits together, and the whole of it is recorded."""
    improving.planner.better = part("F", 300, "new end")
    improving.planner.cuts.append(
        SplitPlan(part("F2", 100, "later"), part("D B", 200, "old end"), "in between")
    )
    record = await solved(controller)
    assert (record.moves, record.planned_us, record.executed_us) == ("R F'", 1000, 1000)
    assert improving.planner.split_again[:3] == [False, True, True]
    assert [operation["start_us"] for operation in record.operations] == [0, 600, 700]


async def test_without_one_the_plan_goes_on_as_it_was(
    controller: JobController, improving: Any
) -> None:
    record = await solved(controller)
    assert (record.moves, record.executed_us) == ("R U F", 1000)
    assert improving.planner.toured_from[-1] == "old end"


async def test_a_turn_cut_in_two_stays_one_move(controller: JobController, improving: Any) -> None:
    """As many moves at the end as were told when the robot began to turn."""
    improving.planner.cuts = [
        SplitPlan(part("R D", 600, "middle"), part("D F", 400, "end"), "between")
    ]
    record = await solved(controller)
    assert (record.moves, record.move_count, record.executed_us) == ("R D2 F", 3, 1000)


async def test_a_fault_in_the_head_ends_the_search_too(
    controller: JobController, improving: Any
) -> None:
    jam = RobotError("overload", "jammed", "free it", recoverable=False)
    improving.motion.faults = [None] * 6 + [jam]
    record = await solved(controller)
    assert (record.outcome, record.faults[-1].code) == ("fault", "overload")
    assert controller.state is RobotState.FAULT


def test_a_long_way_round_gets_shorter_on_the_way() -> None:
    profile = load_profile("cubotino")
    mechanism = build_mechanism(profile)
    planner = SolvePlanner(profile, mechanism)
    turns = [composite_index(i % 3, 1 + i % 2, (i * i) % 4) for i in range(14)]
    plan = plan_composites(mechanism, mechanism.start, turns)
    cube = Cube.solved().apply(" ".join(plan.moves)).inverse
    parts = planner.split(cube, plan, again=False)
    assert parts is not None
    assert parts.head.duration_us >= plan.duration_us / 16
    assert parts.cube == cube.apply(" ".join(parts.head.moves))
    enough = threading.Event()
    tail = planner.improve(parts, enough)
    assert tail.duration_us < parts.tail.duration_us
    assert tail.start == parts.head.end
    assert parts.cube.apply(" ".join(tail.moves)).is_solved
    stands = {motion.actuator: motion.end for motion in motions(parts.head.schedule())}
    goes_on = {motion.actuator: motion.start for motion in reversed(motions(tail.schedule()))}
    assert all(goes_on[name] == position for name, position in stands.items())
    enough.set()
    # Searches nothing more: what is found at once, or what there was.
    assert planner.improve(parts, enough).duration_us <= parts.tail.duration_us


def motions(schedule: Schedule) -> list[MotionProfile]:
    """In the order in which they start."""
    return [schedule.profiles[turn.profile] for turn in schedule.turns]


def test_a_short_plan_is_left_alone() -> None:
    profile = load_profile("cubotino")
    planner = SolvePlanner(profile, build_mechanism(profile))
    cube = Cube.solved().apply("R")
    plan = planner.plan(cube, None, threading.Event(), lambda _: None)
    assert planner.split(cube, plan, again=False) is None


def test_thinking_ends_when_it_no_longer_pays() -> None:
    text = load_profile("four-arm")
    patient = text.model_copy(update={"policy": PolicySettings(search_s=30.0)})
    planner = SolvePlanner(patient, build_mechanism(patient))
    cube = Cube.random(np.random.default_rng(3))
    plan = planner.plan(cube, None, threading.Event(), lambda _: None)
    assert plan.search_s < 10.0
