"""The whole robot in simulated time: it solves, injects faults, and reports those it could not."""

from __future__ import annotations

import pytest

from robot.calibration.steps.home import HOMING
from robot.machine.confirmed_range import confirmable
from robot.settings import load_profile
from robot.twin.cube import scrambled
from tests.rig.fault_campaign import assert_solved, simulated_run, unplug
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun, TimedFault

NEVER_S = 1e6


def test_a_run_is_the_same_every_time() -> None:
    times = []
    for _ in range(2):
        with simulated_run("six-motor") as run:
            assert_solved(run.solve())
            times.append(run.loop.time())
    assert times[0] == times[1]


def test_a_fault_that_never_happens_fails_the_test() -> None:
    with (
        pytest.raises(AssertionError, match="never happened"),
        simulated_run("six-motor", TimedFault(unplug, after_s=NEVER_S)) as run,
    ):
        run.solve()


def test_values_that_are_tried_out_are_forgotten_with_maintenance() -> None:
    profile = load_profile("cubotino")
    lid = "actuators.lid.positions_us.open"
    with SimulatedRun(profile, scrambled(3, 1)) as run:
        session = SimulatedCalibration(run)
        session.keep(confirmable(profile))
        with session.maintenance():
            session.try_out({lid: 1345})
            session.perform(HOMING)
            assert session.calibrated.actuators["lid"].places["open"] == 1345
        assert session.calibrated.actuators["lid"].places["open"] == 1335
        assert run.robot.violations == []
