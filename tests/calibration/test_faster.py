"""Times that get shorter while cubes are still solved, and never too short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.api.calibrations import Calibration
from robot.calibration.auto.calibration import STEP, AutomaticCalibration, shorten_times, steps_to
from robot.calibration.values import apply
from robot.settings import RobotProfile, load_profile
from robot.settings.actuators import Servo
from robot.twin.cube import scrambled
from robot.twin.misadjustment import parse_misadjustment
from tests.calibration.found import Outcome
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun

CUBOTINO = load_profile("cubotino")
QUICKER = 1.25
SLOWEST = {"holder": 500 / 0.7, "lid": 450 / 0.6}
"""Microseconds of pulse a second at which the profile's times are just enough."""


@given(st.floats(0.01, 0.5))
def test_steps_end_with_what_was_asked_for(part: float) -> None:
    steps = list(steps_to(part))
    assert steps[-1] == part
    gaps = [after - before for before, after in zip([0.0, *steps], steps, strict=False)]
    assert all(0 < gap <= STEP + 1e-9 for gap in gaps)


@given(st.floats(0.0, 0.5))
def test_filmed_times_stay_and_all_others_get_shorter(part: float) -> None:
    values = shorten_times(CUBOTINO, {"holder"}, part)
    made = apply(CUBOTINO, Calibration(robot="cubotino", values=values)).actuators_of(Servo)
    before = CUBOTINO.actuators_of(Servo)
    for after, was in zip(made["holder"].travel, before["holder"].travel, strict=True):
        assert after.ms == was.ms
        assert after.held_ms is not None and was.held_ms is not None
        assert was.ms <= after.held_ms <= was.held_ms
    for after, was in zip(made["lid"].travel, before["lid"].travel, strict=True):
        assert after.ms == pytest.approx(was.ms * (1 - part), abs=0.1)
    assert made["lid"].settle_ms["close"] == pytest.approx(200 * (1 - part), abs=0.1)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_robot_that_is_quicker_than_its_profile_plans_shorter_and_is_never_too_short() -> None:
    document = CUBOTINO.model_dump(mode="json")
    for name, speed in SLOWEST.items():
        document["simulation"]["actuators"][name]["max_speed_us_per_s"] = QUICKER * speed
    profile = RobotProfile.model_validate(document)
    truth = parse_misadjustment("3:0.1")
    with SimulatedRun(profile, scrambled(3, 3), misadjusted=truth) as run:
        session = SimulatedCalibration(run)
        measurement = AutomaticCalibration(session, faster=0.18)
        with session.maintenance():
            for _ in measurement.measure():
                pass
        document = measurement.document
        outcome = Outcome.of(profile, truth, document, run.robot.violations, {})
    assert outcome.because == ""
    assert outcome.violations == []
    assert len(outcome.travel_parts) == 6
    assert min(outcome.travel_parts) >= 1.0
    assert outcome.planned_s is not None
    before, after = outcome.planned_s
    assert after <= 0.85 * before
