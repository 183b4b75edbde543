"""Centres with a picture: a 3x3x3 whose facelets are nine stickers each, all of them different."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import numpy as np
import pytest

from robot.machine import solve_planner
from robot.planner import build_mechanism, plan_solve
from robot.settings import load_profile
from solver.cube.centres import CentreTurns, count_turns, name_turns, turn_upright
from solver.cube.cube import Cube
from solver.cube.metrics import METRICS, length
from solver.cube.notation import parse_moves
from solver.errors import InvalidRequest
from solver.search import solve_many
from solver.solution import Request
from tests.rig.stickers import replay_moves
from tests.rig.timed_turns import cost_model_of

PICTURES = "".join(chr(0x100 + number) for number in range(6 * 9 * 9))


def turn_pictures(moves: str) -> str:
    """Return the stickers after moves of outer layers, each three layers of a 9x9x9."""
    wide = " ".join(f"3{move[0]}w{move[1:]}" for move in moves.split())
    return replay_moves(PICTURES, wide, 9).facelets


def scramble_with_centres(seed: int, count: int = 60) -> tuple[str, Cube, CentreTurns]:
    """Return random turns, the cube after them, and the turns that its centres need."""
    rng = np.random.default_rng(seed)
    turns = ["URFDLB"[rng.integers(6)] + ("", "2", "'")[rng.integers(3)] for _ in range(count)]
    scramble = " ".join(turns)
    cube = Cube.from_moves(scramble)
    return scramble, cube, turn_upright(cube, count_turns(parse_moves(scramble)))


def check_upright(seed: int, seconds: float, metric: str = "htm", count: int = 60) -> int:
    scramble, cube, wanted = scramble_with_centres(seed, count)
    [found] = solve_many(cube, Request(metric=metric, time_limit=seconds, centres=wanted))
    assert turn_pictures(f"{scramble} {' '.join(found.moves)}") == PICTURES
    assert found.lower_bound <= found.length
    return found.length


def test_centres_come_back_upright():
    assert check_upright(1, 0.2) <= 26
    assert turn_pictures("U R L U2 R' L' U R L U2 R' L'") != PICTURES  # solved but for its centres


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_random_cubes(seed):
    assert check_upright(seed, 0.5) <= 28


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_an_answer_however_short_the_time(metric):
    for seed in range(3):
        check_upright(seed, 1e-6, metric)


@pytest.mark.parametrize("robot", [None, "cubotino", "six-motor"])
@pytest.mark.parametrize("metric", METRICS)
def test_centres_alone_are_turned_however_short_the_time(metric, robot):
    better = []
    for wanted in ((3, 3, 2, 2, 1, 1), (0, 3, 1, 1, 0, 3), (1, 1, 1, 1, 1, 1)):
        request = Request(metric=metric, time_limit=0.0, centres=wanted, on_better=better.append)
        if robot:
            request = replace(request, cost=cost_model_of(robot))
        [found] = solve_many(Cube.solved(), request)
        moves = parse_moves(" ".join(found.moves))
        assert count_turns(moves) == wanted and Cube.solved().apply(moves).is_solved
        assert (better[-1].moves, better[-1].cost_us) == (found.moves, found.cost_us)
        assert found.length == length(moves, metric) and not found.optimal


def test_a_few_turns_are_taken_back_by_as_few():
    for seed in range(20):
        assert check_upright(seed, 0.2, count=5) <= 5


@pytest.mark.parametrize("robot", ["cubotino", "six-motor"])
def test_a_robot_s_plan_leaves_the_centres_upright(robot):
    mechanism = build_mechanism(load_profile(robot))
    for seed, count in ((1, 60), (2, 12)):
        scramble, cube, wanted = scramble_with_centres(seed, count)
        plan = plan_solve(cube, mechanism, time_limit=0.2, centres=wanted)
        assert turn_pictures(f"{scramble} {' '.join(plan.moves)}") == PICTURES


def test_a_rest_that_is_improved_while_turning_leaves_them_upright(monkeypatch):
    monkeypatch.setattr(solve_planner, "where_to_cut_us", lambda plan, **_: plan.duration_us // 2)
    profile = load_profile("six-motor")
    planner = solve_planner.SolvePlanner(profile, build_mechanism(profile))
    scramble, cube, _ = scramble_with_centres(3)
    aim = planner.read_aim("superflip", centres=True, centres_turned=scramble)
    plan = planner.plan(cube, None, Event(), lambda _: None, aim)
    parts = planner.split(cube, plan, again=False)
    tail = planner.improve(parts, Event(), aim.subtract_moves(parts.head.moves))
    for rest in (parts.tail, tail):
        moves = " ".join([*parts.head.moves, *rest.moves])
        assert aim.subtract_moves(moves.split()).is_reached(cube.apply(moves))
        shown = turn_pictures(f"{scramble} {moves}")
        centres = [shown[81 * face + 40 + around] for face in range(6) for around in (-9, 1)]
        assert centres == [PICTURES[81 * face + 40 + n] for face in range(6) for n in (-9, 1)]


def test_turned_centres_are_named_and_the_impossible_is_refused():
    moves = parse_moves("U R L U2 R' L' U R L U2 R' L'")
    assert Cube.from_moves(moves).is_solved
    assert name_turns(count_turns(moves)) == {"U": 2}
    assert name_turns(count_turns(parse_moves("M D' y B"))) == {"R": 1, "F": -1}
    with pytest.raises(InvalidRequest, match="--centres-turned"):
        turn_upright(Cube.from_moves("R"), (0,) * 6)
    with pytest.raises(InvalidRequest, match="--centres-turned"):
        solve_many(Cube.from_moves("R"), Request(centres=(0,) * 6))
    with pytest.raises(InvalidRequest, match="optimal has no option centres"):
        solve_many(Cube.from_moves("R"), Request(algorithm="optimal", centres=(0, 3, 0, 0, 0, 0)))
