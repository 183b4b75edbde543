"""The time given to the 3x3x3 of each reduction, and the solutions the kernel finds in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from solver.cube.cube import Cube
from solver.cube.notation import Move, parse_moves
from solver.reduction.last_phase import Fastest, Finish, Reduction, Shortest, solve_reductions
from solver.solution import Request
from tests.rig.timed_turns import six_motors


class FakeClock:
    """Processor time that stands still."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def cpu_s(self) -> float:
        return self.now_s


class FakeCosts:
    """A robot on which every turn before the 3x3x3 takes 10 us."""

    def after(self, moves: Any) -> tuple[int, Any]:
        return 10 * len(tuple(moves)), six_motors()


def request(**more: Any) -> Request:
    return Request(algorithm="reduction", metric="obtm", **more)


class Goal:
    """Records the looks; the 3x3x3 of each reduction costs its worth, or is not solved."""

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


def costs_found(goal: Goal, now_s: float = 0.0, **asked: Any) -> list[int]:
    """Return the costs of the solutions, in the order in which they are found."""
    wanted = request(**({"time_limit": 1000.0} | asked))
    found = solve_reductions(wanted, goal, iter(goal.reductions), FakeClock(now_s))  # type: ignore[arg-type]
    return [cost for _, cost in found]


def test_every_round_is_four_times_as_long_for_a_quarter_of_the_reductions() -> None:
    goal = Goal(*range(100, 140))
    found = costs_found(goal)
    seconds = [look[1] for look in goal.looks]
    assert seconds == [0.01] * 40 + [0.04] * 10 + [0.16] * 2 + [0.64, 2.56]
    worth = [look[0] for look in goal.looks]
    assert found == worth == [*range(100, 140), *range(100, 110), 100, 101, 100, 100]
    assert [look[3] for look in goal.looks] == [None] + [102] * 53


def test_reductions_without_a_solution_get_longer_looks() -> None:
    goal = Goal(*[None] * 8)
    assert costs_found(goal) == []
    assert [look[1] for look in goal.looks] == [0.01] * 8 + [0.04] * 2 + [0.16, 0.64, 2.56]
    assert costs_found(Goal(None, 9, 8, None, 7, None, None, None)) == [9, 8, 7, 7, 8, 7, 7, 7]


@pytest.mark.parametrize(("threads", "each"), [(1, 1), (2, 1), (5, 2), (8, 4)])
def test_threads_are_shared_among_few_reductions(threads: int, each: int) -> None:
    goal = Goal(5, 6)
    assert costs_found(goal, threads=threads)[:2] == [5, 6]
    assert {look[2] for look in goal.looks if look[1] == 0.01} == {each}
    assert {look[2] for look in goal.looks if look[1] > 0.01} == {threads}


def test_further_reductions_are_taken_while_there_is_time() -> None:
    found = costs_found(Goal(*range(10)), time_limit=0.1)
    # Three at a time: 0.4 * 0.1 / 0.013.
    assert found == [0, 1, 2, 0, 0, 0, 0, 3, 4, 5, 3, 3, 3, 3, 6, 7, 8, 6, 6, 6, 6, 9, 9, 9]
    assert costs_found(Goal(*range(10)), 0.2, time_limit=0.1) == [0], "there is always one"


def test_the_shortest_end_is_counted_with_the_reduction() -> None:
    reduction = Reduction((parse_moves("R 2U"), parse_moves("F")), Cube.from_moves("U D2"))
    goal = Shortest(Request(algorithm="reduction", metric="qtm"), 4)
    finish = goal.last_phase(reduction, request(), 0.1, 1)
    assert finish == Finish(parse_moves("U' D2"), 3 + 3)


def test_the_fastest_end_costs_less_than_the_limit() -> None:
    reduction = Reduction((parse_moves("R U"),), Cube.from_moves("U D2"))
    goal = Fastest(FakeCosts())  # type: ignore[arg-type]
    fastest = Finish(parse_moves("U' D2"), 20 + 32_000)
    for below in (None, 20 + 32_001):
        assert goal.last_phase(reduction, request(), 0.1, 1, below) == fastest
    for below in (20 + 32_000, 21, 20, 19):
        assert goal.last_phase(reduction, request(), 0.1, 1, below) is None
