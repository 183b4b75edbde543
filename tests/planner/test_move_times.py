"""When each move of a plan is done, whatever the robot does for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.daemon.live import LiveBoard
from robot.planner import build_mechanism, move_ends_us, plan_solve
from robot.settings import load_profile
from solver.cost import merge_moves
from solver.cube.cube import Cube

SCRAMBLED = Cube.solved().apply("R U2 F' L D B2 R2 D2 L2 F2")


def timed(*operations: dict[str, Any]) -> list[dict[str, Any]]:
    """Operations that take 100 us each and begin 110 us after each other."""
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
        # Two turns that only together are one wide move share the moves evenly.
        ([turn("R"), turn("L"), turn("U"), turn("D")], "Rw Uw", [210, 430]),
        ([turn("R")], "R U F", [100, 100, 100]),
        ([LID], "R", [100]),
        ([], "", []),
    ],
)
def test_a_move_is_done_when_its_last_turn_ends(
    operations: list[dict[str, Any]], moves: str, ends: list[int]
) -> None:
    assert move_ends_us(timed(*operations), "UF", moves.split()) == ends


@given(turns=st.lists(st.tuples(st.sampled_from("URFDLB"), st.sampled_from([1, 2, -1]))))
def test_each_merged_move_has_one_end_and_they_come_in_order(turns: list[tuple[str, int]]) -> None:
    operations = timed(*(turn(*each) for each in turns))
    quarters = {1: "", 2: "2", -1: "'"}
    moves = merge_moves(site + quarters[way] for site, way in turns)
    ends = move_ends_us(operations, "UF", moves)
    assert len(ends) == len(moves) and ends == sorted(ends)


@pytest.mark.parametrize("profile", ["cubotino", "two-arm", "six-motor"])
def test_whoever_watches_counts_the_moves_that_the_plan_has(profile: str) -> None:
    """A robot may make a half turn by two quarters: that is one move for everybody."""
    plan = plan_solve(SCRAMBLED, build_mechanism(load_profile(profile)), time_limit=0.1)
    board = LiveBoard(lambda event, text, **more: None)
    board.forget_cube(3)
    board.move("turn", [plan])
    motion = board.view.motion
    assert motion is not None
    assert motion.moves.split() == list(merge_moves(plan.moves))
    assert len(motion.move_ends_us) == len(motion.moves.split())
