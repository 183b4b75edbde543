"""Requests for plans, ends of a search, and the results it keeps."""

from __future__ import annotations

import os
import threading
from unittest.mock import Mock

import numpy as np
import pytest

from robot.machine import solve_planner
from robot.machine.solve_planner import SolvePlanner
from robot.planner import build_mechanism, plan_composites
from robot.planner.survey import random_cube
from robot.settings import load_profile
from robot.settings.profile import PolicySettings, for_cube
from robot.text.faults import Stopped
from solver.cost import composite_index
from solver.cube.cube import Cube
from solver.errors import InvalidRequest, SearchError
from solver.solution import CancelFlag
from tests.rig.stickers import replay

CUBOTINO = load_profile("cubotino")
MECHANISM = build_mechanism(CUBOTINO)
SCRAMBLED = Cube.solved().apply("R U F2")


@pytest.fixture
def planner() -> SolvePlanner:
    policy = PolicySettings(search_s=2.5, search_threads=1)
    return SolvePlanner(CUBOTINO.model_copy(update={"policy": policy}), MECHANISM)


@pytest.mark.parametrize(
    ("robot", "size", "stopped", "raised", "watches"),
    [
        ("cubotino", 3, True, Stopped, 1),
        ("cubotino", 3, False, SearchError, 1),
        # The first answer for a large cube comes long before the good ones.
        ("crane", 4, False, SearchError, 0),
    ],
)
def test_a_search_without_an_answer_fails_unless_it_was_stopped(
    robot, size, stopped, raised, watches, monkeypatch
):
    flags: list[CancelFlag] = []

    def search(*_: object, cancel: CancelFlag, **__: object) -> None:
        flags.append(cancel)
        priority = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        assert priority == solve_planner.NICENESS
        raise SearchError("nothing found")

    monkeypatch.setattr(solve_planner, "plan_solve", search)
    monkeypatch.setattr(solve_planner, "Watch", watch := Mock(wraps=solve_planner.Watch))
    profile = for_cube(load_profile(robot), size)
    planner = SolvePlanner(profile, build_mechanism(profile))
    cancel = threading.Event()
    if stopped:
        cancel.set()
    with pytest.raises(raised):
        planner.plan(random_cube(size, np.random.default_rng(1)), None, cancel, print)
    assert flags[0].is_set() is stopped
    assert watch.call_count == watches


def test_scrambles_and_states_of_people_are_checked(planner):
    assert planner.scramble_cube("R U") == Cube.solved().apply("R U")
    assert not planner.scramble_cube(None).is_solved and not planner.scramble_cube("").is_solved
    with pytest.raises(InvalidRequest, match=r"^moves: "):
        planner.scramble_cube("R Q")
    assert planner.parse_cube(SCRAMBLED.facelets()) == SCRAMBLED
    with pytest.raises(InvalidRequest, match=r"^facelets: "):
        planner.parse_cube("U" * 54)


def test_a_long_way_round_gets_shorter_on_the_way_and_what_is_short_stays(planner):
    turns = [composite_index(i % 3, 1 + i % 2, (i * i) % 4) for i in range(14)]
    whole = plan_composites(MECHANISM, MECHANISM.start, turns)
    cube = Cube.solved().apply(" ".join(whole.moves)).inverse
    parts = planner.split(cube, whole, again=False)
    assert parts is not None and parts.cube == cube.apply(" ".join(parts.head.moves))
    assert parts.head.duration_us >= whole.duration_us / 16
    for seconds in (1, 4, 16):  # longer if other programs use the processors
        enough = threading.Event()
        threading.Timer(seconds, enough.set).start()
        tail = planner.improve(parts, enough)
        if tail.duration_us < parts.tail.duration_us:
            break
    assert tail.duration_us < parts.tail.duration_us
    for rest in (tail, planner.improve(parts, enough)):  # the second search ends before it begins
        assert rest.start == parts.head.end and rest.duration_us <= parts.tail.duration_us
        assert replay(rest, parts.cube.facelets()).is_solved
    assert planner.split(cube, tail, again=True) is None
    cube = Cube.solved().apply("R")
    short = planner.plan(cube, None, threading.Event(), print)
    assert planner.split(cube, short, again=False) is None


def test_a_search_ends_when_it_no_longer_pays():
    profile = load_profile("four-arm")
    patient = profile.model_copy(update={"policy": PolicySettings(search_s=30.0)})
    planner = SolvePlanner(patient, build_mechanism(patient))
    plan = planner.plan(Cube.random(np.random.default_rng(3)), None, threading.Event(), print)
    assert plan.search_s < 10.0
