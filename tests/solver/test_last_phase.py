"""The time given to the 3x3x3 of each reduction, and what is asked of the kernel for it."""

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
from solver.reduction.last_phase import Fastest, Finish, Reduction, Shortest, solve_reductions
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


def costs_found(goal: Goal, clock: FakeClock | None = None, **asked: Any) -> list[int]:
    """Return the costs of the solutions, in the order in which they are found."""
    wanted = request(**({"time_limit": 1000.0} | asked))
    reductions = iter(goal.reductions)
    found = solve_reductions(wanted, goal, reductions, clock or FakeClock())  # type: ignore[arg-type]
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
    late = FakeClock()
    late.now_s = 0.2
    assert costs_found(Goal(*range(10)), late, time_limit=0.1) == [0], "there is always one"


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
    goal = Fastest(FakeCosts())  # type: ignore[arg-type]
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
