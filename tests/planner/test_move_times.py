"""Times of a plan's moves: their ends, and their durations when planned one at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.planner import (
    Plan,
    build_mechanism,
    greedy_us,
    move_ends_us,
    plan_composites,
    plan_solve,
)
from robot.planner.plan import moves_made
from robot.planner.survey import random_cube
from robot.settings import load_profile
from solver.cost import AXES, composite_index, merge_moves
from solver.cube.notation import parse_moves


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
