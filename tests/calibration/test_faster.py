"""Times that get shorter while cubes are still solved, and never too short."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.api.calibrations import Calibration
from robot.api.client import RequestError
from robot.calibration.auto.calibration import STEP, AutomaticCalibration, shortened, steps_to
from robot.calibration.auto.finding import CalibrationError, Finding
from robot.calibration.trials.proof import PROVING, Proof
from robot.calibration.trials.trial import Trial
from robot.calibration.values import apply
from robot.settings import RobotProfile, load_profile
from robot.settings.actuators import Servo
from robot.text.faults import RobotError
from robot.twin.cube import scrambled
from robot.twin.misadjustment import parse_misadjustment
from solver.errors import CubistError
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
    values = shortened(CUBOTINO, {"holder"}, part)
    made = apply(CUBOTINO, Calibration(robot="cubotino", values=values)).actuators_of(Servo)
    before = CUBOTINO.actuators_of(Servo)
    for after, was in zip(made["holder"].travel, before["holder"].travel, strict=True):
        assert after.ms == was.ms
        assert after.held_ms is not None and was.held_ms is not None
        assert was.ms <= after.held_ms <= was.held_ms
    for after, was in zip(made["lid"].travel, before["lid"].travel, strict=True):
        assert after.ms == pytest.approx(was.ms * (1 - part), abs=0.1)
    assert made["lid"].settle_ms["close"] == pytest.approx(200 * (1 - part), abs=0.1)


class ProvingSession(SimulatedCalibration):
    """Its robot solves cubes as long as the lid has ``enough_ms`` from open to close."""

    enough_ms = 0.0
    fault: CubistError | None = None
    """What a robot that is too quick stops with, rather than leave the cube unsolved."""

    def perform(self, trial: Trial[Any, Any], **asked: object) -> Any:
        assert trial is PROVING
        (row, *_) = apply(self.profile, self.calibration).actuators_of(Servo)["lid"].travel
        solved = row.ms >= self.enough_ms
        if self.fault is not None and not solved:
            raise self.fault
        return Proof(
            solved=solved,
            facelets="",
            moves="",
            planned_us=round(row.ms * 1e3),
            planned_before_us=300_000,
            executed_us=0,
        )


SLIPPED = "cube-slipped"
FAILURES = [
    None,
    RobotError(SLIPPED),
    RequestError(503, "robot", "the cube has slipped", SLIPPED),
]
"""Of a robot whose times are too short; the last as the daemon's answer."""


def shorten(enough_ms: float, fault: CubistError | None) -> Finding:
    """What a robot finds whose lid needs ``enough_ms`` of the profile's 300."""
    with SimulatedRun(CUBOTINO, scrambled(3, 1)) as run:
        session = ProvingSession(run)
        session.enough_ms = enough_ms
        session.fault = fault
        return AutomaticCalibration(session, faster=0.2)._shortened({"holder"})


@pytest.mark.parametrize("fault", FAILURES, ids=["unsolved", "fault", "answer"])
@pytest.mark.parametrize(
    ("enough_ms", "percent"), [(0.0, 20.0), (250.0, 10.0), (290.0, 0.0), (262.0, 5.0)]
)
def test_after_a_failure_it_goes_back_by_two_steps(
    enough_ms: float, percent: float, fault: CubistError | None
) -> None:
    finding = shorten(enough_ms, fault)
    assert finding.evidence["percent"] == percent
    assert bool(finding.values) is (percent > 0)


@pytest.mark.parametrize("fault", FAILURES, ids=["unsolved", "fault", "answer"])
def test_a_robot_that_solves_no_more_even_with_its_own_times_says_what_to_do(
    fault: CubistError | None,
) -> None:
    with pytest.raises(CalibrationError, match="put it in again"):
        shorten(310.0, fault)


@pytest.mark.parametrize("code", ["calibration-stopped", "emergency-stop", ""])
def test_a_stop_is_no_failure_of_shorter_times(code: str) -> None:
    with pytest.raises(RequestError, match="stopped"):
        shorten(250.0, RequestError(503, "robot", "stopped", code))


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
