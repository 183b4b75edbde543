"""What a plan is asked for, how a search ends, and what is kept of it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from robot.machine import solve_planner
from robot.machine.solve_planner import SolvePlanner
from robot.planner import build_mechanism
from robot.records.latency import Stopwatch
from robot.settings import load_profile
from robot.settings.profile import PolicySettings
from robot.text.faults import Stopped
from solver.cube.cube import Cube
from solver.errors import InvalidRequest, SearchError
from tests.rig.stickers import replay

CUBOTINO = load_profile("cubotino")
MECHANISM = build_mechanism(CUBOTINO)
SCRAMBLED = Cube.solved().apply("R U F2")


@pytest.fixture
def watch() -> Stopwatch:
    return Stopwatch()


@pytest.fixture
def planner(watch: Stopwatch) -> SolvePlanner:
    policy = PolicySettings(search_s=2.5, search_threads=1)
    profile = CUBOTINO.model_copy(update={"policy": policy})
    return SolvePlanner(profile, MECHANISM, watch)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the search was asked, as ``(arguments, keywords)``; it finds what is put into it."""
    asked: list[Any] = []

    def search(*told: Any, **more: Any) -> Any:
        found = asked.pop(0)
        asked.append((told, more))
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(solve_planner, "plan_solve", search)
    return asked


def plan(planner: SolvePlanner, cancel: threading.Event | None = None) -> Any:
    return planner.plan(SCRAMBLED, None, cancel or threading.Event(), print)


@pytest.mark.parametrize(("stopped", "raised"), [(True, Stopped), (False, SearchError)])
def test_a_search_that_was_stopped_is_no_failure(
    planner: SolvePlanner, asked: list[Any], stopped: bool, raised: type[Exception]
) -> None:
    cancel = threading.Event()
    asked.append(SearchError("nothing found"))
    if stopped:
        cancel.set()
    with pytest.raises(raised):
        plan(planner, cancel)
    assert asked[0][1]["cancel"].is_set() is stopped


def test_scrambles_and_states_of_people_are_checked(planner: SolvePlanner) -> None:
    assert planner.scramble_cube("R U") == Cube.solved().apply("R U")
    assert not planner.scramble_cube(None).is_solved and not planner.scramble_cube("").is_solved
    with pytest.raises(InvalidRequest, match=r"^moves: "):
        planner.scramble_cube("R Q")
    assert planner.parse_cube(SCRAMBLED.facelets()) == SCRAMBLED
    with pytest.raises(InvalidRequest, match=r"^facelets: "):
        planner.parse_cube("U" * 54)


def test_the_rest_of_a_plan_is_searched_again_and_is_never_slower(watch: Stopwatch) -> None:
    policy = PolicySettings(search_s=0.05, search_threads=1)
    planner = SolvePlanner(CUBOTINO.model_copy(update={"policy": policy}), MECHANISM, watch)
    cube = Cube.random(np.random.default_rng(3))
    parts = planner.split(cube, planner.plan(cube, None, threading.Event(), print), again=False)
    assert parts is not None and parts.cube == cube.apply(" ".join(parts.head.moves))
    enough = threading.Event()
    threading.Timer(0.2, enough.set).start()
    for _ in ("while it is searched", "before it begins"):
        rest = planner.improve(parts, enough)
        assert rest.start == parts.head.end and rest.duration_us <= parts.tail.duration_us
        assert replay(rest, parts.cube.facelets()).is_solved
    assert planner.split(cube, rest, again=True) is None, "a small cube's rest is left as it is"
