"""Cutting a plan, searching its rest again, and the rule to stop searching."""

import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from robot.machine import solve_planner
from robot.machine.solve_planner import SolvePlanner
from robot.planner import (
    StoppingRule,
    Watch,
    build_mechanism,
    plan_composites,
    plan_solve,
    split_at,
    turn_cube,
    where_to_cut_us,
)
from robot.planner.survey import random_cube
from robot.settings import load_profile
from robot.settings.profile import for_cube
from solver.cost import composite_index
from solver.cube.cube import Cube
from solver.errors import SearchError
from solver.solution import CancelFlag
from tests.rig.stickers import replay


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


@pytest.mark.parametrize(("robot", "size", "watched"), [("cubotino", 3, 1), ("crane", 4, 0)])
def test_the_search_for_a_large_cube_has_all_its_time(robot, size, watched, monkeypatch):
    """Check that the rule is not used: the first answer comes long before the good ones."""
    watches: list[Watch] = []

    def find_nothing(*_, **__):
        raise SearchError("nothing found")

    class Seen(Watch):
        def __init__(self, cancel: CancelFlag) -> None:
            super().__init__(cancel)
            watches.append(self)

    monkeypatch.setattr(solve_planner, "Watch", Seen)
    monkeypatch.setattr(solve_planner, "plan_solve", find_nothing)
    profile = for_cube(load_profile(robot), size)
    cube = random_cube(size, np.random.default_rng(1))
    with pytest.raises(SearchError):
        SolvePlanner(profile, build_mechanism(profile)).plan(cube, None, threading.Event(), print)
    assert len(watches) == watched


def test_the_watch_cancels_a_search_that_no_longer_pays():
    now = iter(np.arange(0, 1000, 0.5))
    cancel = CancelFlag()
    with Watch(cancel, clock=lambda: float(next(now))) as watch:
        watch.better(1_000_000)
        until = time.monotonic() + 10
        while not cancel.is_set() and time.monotonic() < until:
            time.sleep(0.01)
    assert cancel.is_set()
