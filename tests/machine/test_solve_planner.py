"""What a plan is asked for, how a search ends, and what is kept of it."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from robot.machine import solve_planner
from robot.machine.solve_planner import SolvePlanner, SplitPlan
from robot.planner import build_mechanism
from robot.records.latency import Stopwatch
from robot.settings import load_profile
from robot.settings.profile import PolicySettings
from robot.text.faults import Stopped
from solver.cube.cube import Cube
from solver.errors import InvalidRequest, SearchError

CUBOTINO = load_profile("cubotino")
MECHANISM = build_mechanism(CUBOTINO)
SCRAMBLED = Cube.solved().apply("R U F2")


class Scheduled:
    """As much of a plan as the planner needs; it counts its schedules."""

    def __init__(self, duration_us: int, start: str = "here", search_s: float = 0.5) -> None:
        self.duration_us, self.start, self.search_s = duration_us, start, search_s
        self.scheduled = 0
        self.moves: tuple[str, ...] = ("R", "R")

    def schedule(self) -> None:
        self.scheduled += 1


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


@pytest.mark.parametrize(
    ("found", "better"), [(399, True), (400, False), (401, False), (None, False)]
)
def test_only_a_faster_rest_is_taken(
    planner: SolvePlanner,
    asked: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    found: int | None,
    better: bool,
) -> None:
    monkeypatch.setattr(solve_planner, "replace", lambda one, search_s: (one, search_s))
    tail = Scheduled(400, "middle", 0.7)
    parts: Any = SplitPlan(Scheduled(1_500_000), tail, SCRAMBLED)  # type: ignore[arg-type]
    new = SearchError("none") if found is None else Scheduled(found)
    asked.append(new)
    assert planner._improve(parts, threading.Event()) == ((new, 0.7) if better else tail)
    (((cube, mechanism, start), more),) = asked
    assert (cube, mechanism, start) == (SCRAMBLED, MECHANISM, "middle")
    assert (more["time_limit"], more["threads"]) == (1.5, 1)
    assert better is bool(isinstance(new, Scheduled) and new.scheduled)


def test_the_rest_is_searched_after_everything_else(
    planner: SolvePlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def improve(parts: Any, enough: threading.Event) -> Any:
        here = threading.get_native_id()
        return os.getpriority(os.PRIO_PROCESS, here), threading.current_thread().name

    monkeypatch.setattr(planner, "_improve", improve)
    priority, name = planner.improve("parts", threading.Event())  # type: ignore[arg-type]
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert (priority, name) == (max(own, solve_planner.NICENESS), "rest_0")
    assert os.getpriority(os.PRIO_PROCESS, 0) == own

    def refused(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refused)
    solve_planner._stand_back()


def test_a_flag_follows_its_event_and_nobody_waits_for_it() -> None:
    event = threading.Event()
    with solve_planner._mirror(event) as flag:
        assert not flag.is_set()
        assert any(thread.name == "cancel" for thread in threading.enumerate())
        event.set()
        for _ in range(2000):
            if flag.is_set():
                break
            threading.Event().wait(0.005)
        assert flag.is_set()
    assert not any(thread.name == "cancel" for thread in threading.enumerate())
    with solve_planner._mirror(event) as flag:
        assert flag.is_set(), "at once"


def test_a_plan_is_cut_with_both_parts_worked_out(
    planner: SolvePlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, tail, asked = Scheduled(600), Scheduled(400), []

    def where(whole: Any, *, again: bool) -> int | None:
        asked.append((whole, again))
        return None if whole == "short" else 600

    monkeypatch.setattr(solve_planner, "where_to_cut_us", where)
    cuts: list[Any] = [(head, tail), None]
    monkeypatch.setattr(solve_planner, "split_at", lambda whole, at: cuts.pop(0))
    monkeypatch.setattr(solve_planner, "turn_cube", lambda cube, part: (cube, part))
    parts = planner.split(SCRAMBLED, "plan", again=True)  # type: ignore[arg-type]
    assert parts == (head, tail, (SCRAMBLED, head))
    assert (head.scheduled, tail.scheduled) == (1, 1)
    assert planner.split(SCRAMBLED, "plan", again=False) is None  # type: ignore[arg-type]
    assert planner.split(SCRAMBLED, "short", again=False) is None  # type: ignore[arg-type]
    assert asked == [("plan", True), ("plan", False), ("short", False)]


def test_scrambles_and_states_of_people_are_checked(planner: SolvePlanner) -> None:
    assert planner.scramble_cube("R U") == Cube.solved().apply("R U")
    assert not planner.scramble_cube(None).is_solved and not planner.scramble_cube("").is_solved
    with pytest.raises(InvalidRequest, match=r"^moves: "):
        planner.scramble_cube("R Q")
    assert planner.parse_cube(SCRAMBLED.facelets()) == SCRAMBLED
    with pytest.raises(InvalidRequest, match=r"^facelets: "):
        planner.parse_cube("U" * 54)


def test_a_scramble_is_the_way_back_turned_round(
    planner: SolvePlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(planner, "plan", lambda *told: asked.append(told))
    planner.plan_scramble(SCRAMBLED, None, threading.Event(), print)
    ((cube, state, cancel, hear),) = asked
    assert (cube, state, cancel.is_set(), hear) == (SCRAMBLED.inverse, None, False, print)
    assert planner.start_positions == {"holder": "home", "lid": "open"}
