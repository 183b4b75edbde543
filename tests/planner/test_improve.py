"""Times of a plan's moves, cuts to search its rest again, and the rule to stop searching."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.planner import (
    Plan,
    StoppingRule,
    Watch,
    build_mechanism,
    greedy_us,
    move_ends_us,
    plan_composites,
    plan_solve,
    split_at,
    turn_cube,
    where_to_cut_us,
)
from robot.planner.plan import moves_made
from robot.planner.survey import random_cube
from robot.settings import load_profile
from robot.settings.profile import for_cube
from solver.cost import AXES, composite_index, merge_moves
from solver.cube.cube import Cube
from solver.cube.notation import parse_moves
from solver.solution import CancelFlag
from tests.rig.stickers import replay


def timed(*operations: dict[str, Any]) -> list[dict[str, Any]]:
    """Return operations that take 100 us each and begin every 110 us."""
    return [
        {"start_us": 110 * number, "duration_us": 100} | operation
        for number, operation in enumerate(operations)
    ]


def turn(site: str, quarters: int = 1, **more: Any) -> dict[str, Any]:
    return {"op": "turn", "site": site, "quarter_turns": quarters} | more


LID = {"op": "lid"}
OVER = {"op": "rotate", "axis": "x", "quarter_turns": 1}


@pytest.mark.parametrize(
    ("operations", "moves", "ends"),
    [
        ([turn("R"), turn("R"), LID, turn("U")], "R2 U", [210, 430]),
        ([turn("D"), turn("U"), turn("D"), turn("R")], "U D2 R", [210, 320, 430]),
        ([turn("U"), OVER, turn("U", -1)], "U F'", [100, 320]),
        ([turn("R", layers=2), LID], "Rw", [100]),
        # Two turns that form one wide move only together share the moves evenly.
        ([turn("R"), turn("L"), turn("U"), turn("D")], "Rw Uw", [210, 430]),
        ([turn("R")], "R U F", [100, 100, 100]),
        ([LID], "R", [100]),
        ([], "", []),
    ],
)
def test_a_move_is_done_when_its_last_turn_ends(operations, moves, ends):
    assert move_ends_us(timed(*operations), "UF", moves.split()) == ends


@given(turns=st.lists(st.tuples(st.sampled_from("URFDLB"), st.sampled_from([1, 2, -1]))))
def test_each_merged_move_has_one_end_and_they_come_in_order(turns):
    operations = timed(*(turn(*each) for each in turns))
    quarters = {1: "", 2: "2", -1: "'"}
    moves = merge_moves(site + quarters[way] for site, way in turns)
    ends = move_ends_us(operations, "UF", moves)
    assert len(ends) == len(moves) and ends == sorted(ends)


def one_by_one(plan: Plan) -> list[Plan]:
    """Return a separate plan for each move, from the end of the one before."""
    state, plans = plan.start, []
    for move in parse_moves(" ".join(plan.moves)):
        quarters = [move.quarters if face == move.face else 0 for face in AXES[move.axis]]
        found = plan_composites(plan.mechanism, state, [composite_index(move.axis, *quarters)])
        plans.append(found)
        state = found.end
    return plans


def random_plan(robot: str, seed: int) -> Plan:
    mechanism = build_mechanism(load_profile(robot))
    cube = random_cube(mechanism.size, np.random.default_rng(seed))
    return plan_solve(cube, mechanism, time_limit=0.1)


@pytest.mark.parametrize("robot", ["cubotino", "four-arm", "crane"])
def test_greedy_time_is_the_sum_of_a_plan_for_each_move(robot):
    plan = random_plan(robot, 1)
    found = greedy_us(plan.mechanism, plan.start, plan.moves)
    parts = one_by_one(plan)
    last_us = plan.mechanism.configurations[parts[-1].end.configuration].residual_motion_us
    assert found == last_us + sum(step.duration_us for part in parts for step in part.transitions)
    assert found >= plan.duration_us, "a plan is never slower than its moves one at a time"


def test_moves_of_a_2x2x2_are_timed_one_by_one():
    """Time each move alone: such plans cannot be joined, but the time of each is known.

    Turning one layer of a 2x2x2 turns the other back, and the whole cube with it.
    """
    plan = random_plan("two-arm-2x2x2", 1)
    found = greedy_us(plan.mechanism, plan.start, plan.moves)
    assert plan.duration_us <= found < 2 * plan.duration_us
    first = plan.moves[:1]
    (alone,) = one_by_one(replace(plan, moves=first))
    assert greedy_us(plan.mechanism, plan.start, first) == alone.duration_us
    # A part of a plan that was cut names the layers that the robot turns, D instead of U.
    performed = moves_made(plan.mechanism, plan.start, plan.transitions)
    assert set("DLB") & set("".join(performed))
    assert greedy_us(plan.mechanism, plan.start, performed) == found


@pytest.fixture(scope="module")
def planned():
    """Return a cube, and a plan that solves it by a long detour."""
    mechanism = build_mechanism(load_profile("cubotino-uno"))
    turns = [(i % 3, 1 + i % 2, (i * i) % 4) for i in range(28)]
    plan = plan_composites(mechanism, mechanism.start, [composite_index(*turn) for turn in turns])
    return Cube.solved().apply(" ".join(plan.moves)).inverse, plan


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_plan_is_cut_and_a_better_tail_fits_the_head(planned, share):
    cube, plan = planned
    cut_us = int(share * plan.duration_us)
    head, tail = split_at(plan, cut_us)
    assert head.duration_us >= cut_us
    assert (
        len(head.transitions) == 1 or head.duration_us - head.transitions[-1].duration_us < cut_us
    )
    assert head.duration_us + tail.duration_us == plan.duration_us
    assert head.end == tail.start and tail.end == plan.end
    assert head.transitions + tail.transitions == plan.transitions
    middle = turn_cube(cube, head)
    assert middle == cube.apply(" ".join(head.moves))
    assert replay(tail, middle.facelets()).is_solved
    better = plan_solve(middle, plan.mechanism, tail.start, time_limit=0.1)
    assert head.end == better.start
    assert replay(better, middle.facelets()).is_solved
    # The last turns cannot be improved.
    assert (better.duration_us < tail.duration_us) == (share < 0.5)
    assert split_at(plan, plan.duration_us) is None


def lasting(seconds, search_s, planned):
    """Return a plan of that many seconds, found in a search of ``search_s``."""
    _, plan = planned
    steps = plan.transitions[:1]
    slow = replace(steps[0], duration_us=round(seconds * 1e6))
    return replace(plan, transitions=(slow,), end=plan.start, search_s=search_s)


def test_a_plan_is_cut_where_its_rest_is_worth_searching(planned):
    assert where_to_cut_us(lasting(64, 0.3, planned)) == 4_000_000
    assert where_to_cut_us(lasting(8, 2.0, planned)) is None, "thought about long enough"
    assert where_to_cut_us(lasting(0.8, 0.02, planned)) is None, "the cut costs more"
    assert where_to_cut_us(lasting(64, 0.3, planned), again=True) is None, "a small cube's rest"
    proven = replace(lasting(64, 0.3, planned), lower_bound_us=64_000_000)
    assert where_to_cut_us(proven) is None
    crane = build_mechanism(for_cube(load_profile("crane"), 4))
    long = replace(lasting(84, 3.0, planned), mechanism=crane)
    assert where_to_cut_us(long) == where_to_cut_us(long, again=True) == 12_000_000
    assert where_to_cut_us(replace(long, search_s=1000.0)) is None, "thought about long enough"
    assert where_to_cut_us(replace(lasting(10, 3.0, planned), mechanism=crane)) is None


def test_the_expected_gain_is_learnt_from_improvements():
    """Expect 1.5 % of the plan each time the search has run e times as long.

    The prior counts like two such times. Improvements found at once only mark the search's start.
    """
    rule = StoppingRule()
    rule.better(0.1, 80.0)
    assert rule.gain_s(0.05) == rule.gain_s(0.1) == pytest.approx(0.015 * 80)
    assert rule.gain_s(0.1 * math.e) == pytest.approx(2 * 0.015 * 80 / 3)
    rule.better(0.2, 76.0)
    assert rule.gain_s(0.1 * math.e) == pytest.approx((2 * 0.015 * 76 + 4) / 3)
    early = StoppingRule()
    early.better(0.001, 90.0)
    early.better(0.01, 80.0)
    assert early.gain_s(0.02) == pytest.approx(0.015 * 80)


def test_the_watch_cancels_a_search_that_no_longer_pays():
    now = iter(np.arange(0, 1000, 0.5))
    cancel = CancelFlag()
    with Watch(cancel, clock=lambda: float(next(now))) as watch:
        watch.better(1_000_000)
        until = time.monotonic() + 10
        while not cancel.is_set() and time.monotonic() < until:
            time.sleep(0.01)
    assert cancel.is_set()
