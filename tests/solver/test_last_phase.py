"""How long the 3x3x3 of which reductions is looked at, and what is asked for it.

The kernel is stood in for; ``test_reduction_threads.py`` has looks on several threads.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from solver import two_phase
from solver.cube.cube import Cube
from solver.cube.notation import Move, parse_moves
from solver.reduction import last_phase
from solver.reduction.last_phase import Fastest, Finish, Reduction, Shortest, _Probes
from solver.solution import CancelFlag
from tests.solver.stand_ins import FakeClock, FakeCosts, request


class Goal:
    """Notes the looks; a reduction's 3x3x3 costs what is said, or is not solved."""

    def __init__(self, *worth: int | None) -> None:
        rng = np.random.default_rng(1)
        self.reductions = [Reduction(((Move("R"),),), Cube.random(rng)) for _ in worth]
        self._worth = dict(zip((one.cube for one in self.reductions), worth, strict=True))
        self.looks: list[tuple[int | None, float, int, int | None]] = []

    def last_phase(
        self, reduction: Reduction, asked: Any, seconds: float, threads: int, below: int | None
    ) -> Finish | None:
        worth = self._worth[reduction.cube]
        self.looks.append((worth, round(seconds, 6), threads, below))
        return None if worth is None else Finish((Move("U"),), worth)


def looks(goal: Any, clock: FakeClock | None = None, **asked: Any) -> _Probes:
    return _Probes(request(**({"time_limit": 1000.0} | asked)), goal, clock or FakeClock())  # type: ignore[arg-type] # as far as it is used


def test_how_many_reductions_are_looked_at_in_the_time_left() -> None:
    clock = FakeClock()
    with looks(Goal(), clock, time_limit=10.0, threads=2) as two:
        assert two.most(0.01) == int(2 * 0.4 * 10 / 0.013)
        clock.now_s = 8.0
        assert two.most(0.01) == int(2 * 0.4 * 6 / 0.013)
        assert two.most(100.0) == 1
        clock.now_s = 50.0
        assert two.most(0.01) == 1


def test_it_goes_on_while_there_is_time_or_nothing_was_found() -> None:
    clock, cancel = FakeClock(), CancelFlag()
    one = looks(Goal(5), clock, time_limit=1.0, cancel=cancel)
    clock.now_s = 2.0
    assert one.may_go_on()
    one._least = 5
    assert not one.may_go_on()
    clock.now_s = 0.989
    assert one.may_go_on()
    clock.now_s = 0.991
    assert not one.may_go_on()
    clock.now_s = 0.0
    cancel.set()
    assert not one.may_go_on()


def test_every_round_is_four_times_as_long_for_a_quarter_of_the_reductions() -> None:
    goal = Goal(*range(100, 140))
    found = list(looks(goal).rounds(goal.reductions))
    seconds = [look[1] for look in goal.looks]
    assert seconds == [0.01] * 40 + [0.04] * 10 + [0.16] * 2 + [0.64, 2.56]
    worth = [look[0] for look in goal.looks]
    assert worth == [*range(100, 140), *range(100, 110), 100, 101, 100, 100]
    assert [cost for _, cost in found] == worth
    assert found[0][0] == ((Move("R"),), (Move("U"),))
    assert [look[3] for look in goal.looks] == [None] + [102] * 53


def test_a_reduction_that_stands_alone_is_looked_at_three_times() -> None:
    goal = Goal(7)
    assert len(list(looks(goal, threads=1).rounds(goal.reductions))) == 3
    assert [look[1] for look in goal.looks] == [0.01, 0.04, 0.16]


def test_what_was_not_solved_gets_longer_looks_while_nothing_was() -> None:
    goal = Goal(*[None] * 8)
    assert list(looks(goal).rounds(goal.reductions)) == []
    assert [look[1] for look in goal.looks] == [0.01] * 8 + [0.04] * 2 + [0.16, 0.64, 2.56]
    goal = Goal(None, 9, 8, None, 7, None, None, None)
    found = list(looks(goal).rounds(goal.reductions))
    assert [cost for _, cost in found] == [9, 8, 7, 7, 8, 7, 7, 7]


def test_no_look_is_longer_than_the_time_left() -> None:
    clock = FakeClock()
    goal = Goal(5, 6)
    one = looks(goal, clock, time_limit=0.05)
    clock.now_s = 0.045
    found = one.rounds(goal.reductions)
    next(found)
    assert goal.looks == [(5, 0.01, 1, None)], "but the first is whole"
    clock.now_s = 0.02
    goal.looks.clear()
    assert list(found) and [look[1] for look in goal.looks] == [0.01, *[0.03] * 4]
    goal = Goal(5, 6)
    found = looks(goal, clock, time_limit=0.05).rounds(goal.reductions)
    next(found)
    clock.now_s = 0.05
    assert list(found) == [], "it is over"


@pytest.mark.parametrize(("threads", "each"), [(1, 1), (2, 1), (5, 2), (8, 4)])
def test_threads_are_shared_among_few_reductions(threads: int, each: int) -> None:
    goal = Goal(5, 6)
    with looks(goal, threads=threads) as several:
        found = list(several.rounds(goal.reductions))
    assert [cost for _, cost in found[:2]] == [5, 6]
    assert {look[2] for look in goal.looks if look[1] == 0.01} == {each}
    assert {look[2] for look in goal.looks if look[1] > 0.01} == {threads}


def test_further_reductions_are_taken_while_there_is_time() -> None:
    goal = Goal(*range(10))
    clock = FakeClock()
    asked = request(time_limit=0.1)
    found = last_phase.solved(asked, goal, iter(goal.reductions), clock)  # type: ignore[arg-type] # as far as it is used
    costs = [cost for _, cost in found]
    # Three at a time: 0.4 * 0.1 / 0.013.
    assert costs == [0, 1, 2, 0, 0, 0, 0, 3, 4, 5, 3, 3, 3, 3, 6, 7, 8, 6, 6, 6, 6, 9, 9, 9]
    goal = Goal(*range(10))
    found = last_phase.solved(asked, goal, iter(goal.reductions), clock)  # type: ignore[arg-type] # as far as it is used
    next(found)
    clock.now_s = 0.2
    assert list(found) == []


class Kernel:
    """The 3x3x3's search; notes what it is asked."""

    def __init__(self, *texts: str) -> None:
        self.asked: dict[str, Any] = {}
        self._texts = texts

    def solve(self, states: Any, **options: Any) -> Any:
        self.asked = {"states": states, **options}
        found = [SimpleNamespace(composites=text, cost=7) for text in self._texts]
        return SimpleNamespace(solutions=found)


@pytest.mark.parametrize("below", [None, 25, 21, 20, 19])
def test_the_fastest_end_costs_less_than_what_is_asked(
    below: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel("U D")
    start = SimpleNamespace(metric="qtm", model="model", models="models")
    models: list[Any] = []
    monkeypatch.setattr(two_phase, "ready_from", lambda model: models.append(model) or start)
    monkeypatch.setattr(two_phase, "kernel", lambda metric: kernel if metric == "qtm" else None)
    monkeypatch.setattr(last_phase, "moves_of", str.split)
    reduction = Reduction((parse_moves("R U"),), Cube.solved())
    cancel = CancelFlag()
    goal = Fastest(FakeCosts())  # type: ignore[arg-type] # as far as it is used
    finish = goal.last_phase(reduction, request(cancel=cancel), 0.5, 2, below)
    if below is not None and below <= 20:
        assert finish is None and not models
        return
    assert finish == Finish(parse_moves("U D"), 27)
    assert models == ["model after 2"]
    asked = kernel.asked
    assert asked["below"] == (0xFFFFFFFF if below is None else below - 20)
    assert (asked["time_limit"], asked["threads"], asked["cancel"]) == (0.5, 2, cancel)
    assert (asked["directions"], asked["solutions"]) == (6, 1)
    assert (asked["model"], asked["models"]) == ("model", "models")
    monkeypatch.setattr(two_phase, "kernel", lambda metric: Kernel())
    assert goal.last_phase(reduction, request(), 0.5, 2, None) is None


def test_the_shortest_end_is_counted_with_the_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel("U D2")
    monkeypatch.setattr(two_phase, "kernel", lambda metric: kernel if metric == "htm" else None)
    monkeypatch.setattr(last_phase, "moves_of", str.split)
    reduction = Reduction((parse_moves("R 2U"), parse_moves("F")), Cube.solved())
    assert reduction.moves == parse_moves("R 2U F")
    goal = Shortest(replace(request(), metric="qtm"), 4)
    assert goal.last_phase(reduction, request(), 0.5, 2, 3) == Finish(parse_moves("U D2"), 6)
    assert (kernel.asked["time_limit"], kernel.asked["threads"]) == (0.5, 2)
    assert (kernel.asked["directions"], kernel.asked["solutions"]) == (6, 1)
    monkeypatch.setattr(two_phase, "kernel", lambda metric: Kernel())
    assert goal.last_phase(reduction, request(), 0.5, 2) is None
