"""Requests for plans, ends of a search, and the results it keeps."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from robot.machine import solve_planner
from robot.machine.solve_planner import SolvePlanner
from robot.planner import build_mechanism, plan_composites
from robot.settings import load_profile
from robot.settings.profile import PolicySettings
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


@pytest.mark.parametrize(("stopped", "raised"), [(True, Stopped), (False, SearchError)])
def test_a_search_that_was_stopped_is_no_failure(planner, stopped, raised, monkeypatch):
    flags: list[CancelFlag] = []
    priorities = []

    def search(*_: object, cancel: CancelFlag, **__: object) -> None:
        flags.append(cancel)
        priorities.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        raise SearchError("nothing found")

    monkeypatch.setattr(solve_planner, "plan_solve", search)
    cancel = threading.Event()
    if stopped:
        cancel.set()
    with pytest.raises(raised):
        planner.plan(SCRAMBLED, None, cancel, print)
    assert flags[0].is_set() is stopped
    assert priorities == [solve_planner.NICENESS]


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
