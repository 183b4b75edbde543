"""A crane with cubes of several sizes: whole demos, and interruptions at any moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.settings import RobotProfile, load_profile
from robot.settings.profile import for_cube, sizes_of
from robot.twin.cube import scrambled
from tests.rig.fault_campaign import assert_solved, reset, unplug
from tests.rig.simulated_run import SimulatedRun, TimedFault

StartDemo = Callable[..., Any]
Solved = Callable[[Any], dict[str, Any]]
CRANE = load_profile("crane")
SIZE = 2
"""Whose motion is the shortest to simulate; the parts do the same with all others."""
MOMENTS_S = [round(0.37 * number, 2) for number in range(1, 25)]


def at_first(moments: list[float], everyday: int) -> list[Any]:
    return [
        pytest.param(moment, marks=[pytest.mark.long] * (number >= everyday))
        for number, moment in enumerate(moments)
    ]


@pytest.mark.parametrize(
    ("size", "seed"),
    [
        pytest.param(size, seed, marks=[pytest.mark.long] * ((size, seed) not in {(2, 1), (4, 1)}))
        for size in sizes_of(CRANE)
        for seed in range(1, 6)
    ],
)
def test_it_takes_cubes_of_every_size(
    start_demo: StartDemo, solved: Solved, size: int, seed: int
) -> None:
    options = ("--robot", "crane", "--size", str(size), "--seed", str(seed), "--speed", "20")
    document = solved(start_demo(*options))
    assert len(document["facelets"]) == 6 * size * size
    assert document["executed_us"] == document["planned_us"]
    assert not any("again from there" in text for text in document["recoveries"])


def test_a_size_that_no_robot_of_the_kind_takes_is_refused(start_demo: StartDemo) -> None:
    code, document, log = start_demo("--robot", "cubotino", "--size", "4").finish()
    assert (code, document) == (2, None)
    assert "cubotino takes cubes of 3 layers, not of 4" in log and "Traceback" not in log


@pytest.fixture(scope="module")
def crane() -> RobotProfile:
    return for_cube(CRANE, SIZE)


@pytest.mark.parametrize("after_s", at_first(MOMENTS_S, 1))
def test_it_goes_on_after_the_board_was_unplugged(crane: RobotProfile, after_s: float) -> None:
    fault = TimedFault(unplug, RobotState.TURNING, after_s)
    with SimulatedRun(crane, scrambled(SIZE, 1), faults=[fault]) as r:
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == ["link-lost"]


@pytest.mark.parametrize("after_s", at_first(MOMENTS_S, 2))
def test_a_reset_board_never_lets_go_of_half_turned_layers(
    crane: RobotProfile, after_s: float
) -> None:
    """Nothing tells where the turntable stands: where that matters a person is asked."""
    fault = TimedFault(reset, RobotState.TURNING, after_s)
    with SimulatedRun(crane, scrambled(SIZE, 1), faults=[fault]) as r:
        verdict = r.solve()
        assert verdict.violations == () and verdict.faults == ["reset"]
        if not verdict.solved:
            assert verdict.state is RobotState.FAULT
            assert "turntable" in verdict.record.faults[-1].cause
            r.robot.set_square()
            assert_solved(r.solve())
