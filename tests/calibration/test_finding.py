"""Robots that were not built as drawn calibrate themselves, all of it in simulated time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.calibration.auto.calibration import AutomaticCalibration
from robot.calibration.auto.fitting import SweepPoint, fit_line
from robot.calibration.auto.grippers import WIDER_PART, GripperFinder
from robot.calibration.auto.layered_flipper import FlatPlace, LayeredFlipperFinder, fit_heights
from robot.calibration.auto.lifter import LifterFinder
from robot.calibration.auto.proof import PROVING
from robot.machine.confirmed_range import confirmable
from robot.settings import load_profile
from robot.settings.actuators import Servo
from robot.settings.profile import for_cube
from robot.twin.cube import CubeBody, scrambled
from robot.twin.misadjustment import parse_misadjustment
from robot.twin.registry import position_errors
from robot.twin.studio import OddScene
from solver.cube.cube import Cube
from solver.files import JsonObject
from tests.calibration.found import LEAST_WIDER, MOST_WIDER, SEARCH_S, Outcome, calibrated
from tests.rig.profiles import changed
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun

OPEN = ("right-jaw.positions_us.open", "down-jaw.positions_us.open")
"""Not seen by the camera: as far from ``closed`` as in the profile."""


@given(
    slope=st.floats(0.05, 0.5) | st.floats(-0.5, -0.05),
    zero=st.floats(1300, 1700),
    slack=st.floats(0, 20),
    noise=st.floats(0, 0.05),
    seed=st.integers(0, 99),
)
def test_a_line_with_slack_is_found_from_both_directions(slope, zero, slack, noise, seed):
    random = np.random.default_rng(seed)
    points = [
        SweepPoint(
            pulse,
            slope * (pulse - zero - side * slack / 2) + noise * random.standard_normal(),
            side > 0,
        )
        for side in (1, -1)
        for pulse in range(1100, 1900, 40)
    ]
    line = fit_line(points)
    assert line is not None
    off_us = 4 * noise / abs(slope) + 1e-6
    assert line.degrees_per_us == pytest.approx(slope, abs=4 * noise / 400 + 1e-9)
    assert line.pulse(0.0) == pytest.approx(zero, abs=off_us)
    assert line.slack_us == pytest.approx(slack, abs=2 * off_us)
    assert line.pulse(30.0, True) - line.pulse(30.0, False) == pytest.approx(line.slack_us)
    assert line.with_zero_at(10.0).pulse(0.0) == pytest.approx(line.pulse(10.0))


def test_raised_faces_tell_where_the_cube_was_reached_and_where_a_level_one_is():
    height, foot, begins = 7.0, np.array([0.3, -0.8]), 40

    def seen(steps: int) -> FlatPlace:
        scale = height / (height - (steps - begins) / 570)
        return FlatPlace(foot * (1 - scale), scale)

    askew = FlatPlace(np.array([0.0, 0.1]), 1.0)
    line = fit_heights(askew, {steps: seen(steps) for steps in range(200, 1200, 200)})
    assert line.begins == pytest.approx(begins, abs=0.1)
    assert line.level == pytest.approx(np.zeros(2), abs=0.001)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "size", "finder", "positions"),
    [("cubotone", 3, LifterFinder, 5), ("crane", 5, LayeredFlipperFinder, 4)],
)
def test_parts_that_a_sensor_homes_and_parts_that_servos_move_are_found(
    name, size, finder, positions
):
    profile, truth = for_cube(load_profile(name), size), parse_misadjustment("2")
    values: JsonObject = {}
    with SimulatedRun(profile, scrambled(size, 2), misadjusted=truth) as run:
        session = SimulatedCalibration(run)
        with session.maintenance():
            for finding in finder(session).find():
                values |= finding.values
        assert run.robot.violations == []
    assert set(confirmable(profile)) <= set(values)
    off = position_errors(profile, truth, values)
    assert len(off) == positions
    assert max(abs(degrees) for degrees in off.values()) < 3.0


def test_a_robot_that_was_not_built_as_drawn_calibrates_itself():
    outcome = calibrated("cubotino", "7")
    assert (outcome.why_not, outcome.violations, outcome.kept_before_the_end) == ("", [], {})
    assert len(outcome.off_degrees) == 6
    assert max(abs(off) for off in outcome.off_degrees.values()) < 2.0
    assert len(outcome.travel_parts) == 3
    assert all(1.0 <= part <= 1.1 for part in outcome.travel_parts)
    assert outcome.document["took_s"] < 480
    # The profile's times of the lid and the table against those that were found, on average.
    before, after = (outcome.document[key] for key in ("planned_before_s", "planned_s"))
    assert after != before
    assert 0.6 < after / before < 1.6


def test_a_proof_of_a_solved_cube_scrambles_it_and_is_planned_by_what_is_kept_too():
    profile = changed("cubotino", {"policy.search_s": SEARCH_S})
    with SimulatedRun(profile, CubeBody(Cube.solved().facelets())) as run:
        session = SimulatedCalibration(run)
        servos = run.profile.actuators_of(Servo)
        longer = {
            f"actuators.{name}.travel": [
                row.model_dump(mode="json") | {"ms": 2 * row.ms} for row in servo.travel
            ]
            for name, servo in servos.items()
        }
        with session.maintenance():
            session.try_out({**confirmable(run.profile), **longer})
            proof = session.perform(PROVING)
        assert run.robot.violations == []
    assert proof.solved and proof.facelets != Cube.solved().facelets()
    assert proof.planned_us > proof.planned_before_us, "what is tried out is slower"
    assert proof.executed_us == pytest.approx(proof.planned_us, rel=0.01)


def test_without_a_cube_in_view_nothing_moves():
    with SimulatedRun(load_profile("cubotino"), scrambled(3, 1)) as run:
        session = SimulatedCalibration(run)
        for camera in session.cameras.values():
            camera.studio.disturbances.odd = OddScene.NO_CUBE
        measurement = AutomaticCalibration(session)
        with session.maintenance():
            assert list(measurement.measure()) == []
        assert set(session.trials) == {"picture"}
    assert "put a scrambled cube in" in measurement.document["because"]
    assert (measurement.is_found, measurement.values) == (False, {})
    assert session.calibration.values == {}


@pytest.mark.long
def test_two_grippers_find_all_their_positions():
    values: JsonObject = {}
    uncertain: JsonObject = {}
    clear: list[float] = []
    firm: list[float] = []
    profile, truth = load_profile("two-arm"), parse_misadjustment("3")
    with SimulatedRun(profile, scrambled(3, 3), misadjusted=truth) as run:
        session = SimulatedCalibration(run)
        with session.maintenance():
            for finding in GripperFinder(session).find():
                values |= finding.values
                uncertain |= finding.uncertain
                if at_us := finding.evidence.get("clear_at_us"):
                    clear.append(at_us)
                if at_us := finding.evidence.get("firm_from_us"):
                    firm.append(at_us)
        assert run.robot.violations == []
    assert set(confirmable(profile)) <= set(values)
    assert "cameras.top.views.U.quad" in values
    document = {"values": values, "uncertain": uncertain, "solved": 0, "took_s": 0.0}
    outcome = Outcome.of(profile, truth, document, [], {})
    seen = {key: off for key, off in outcome.off_degrees.items() if not key.endswith(OPEN)}
    assert len(seen) == 8
    # A tenth of the way less open they were clear of the turning cube already.
    for jaws, at_us, firm_us in zip(("right-jaw", "down-jaw"), clear, firm, strict=True):
        opened, closed = (
            values[f"actuators.{jaws}.positions_us.{place}"] for place in ("open", "closed")
        )
        assert at_us == pytest.approx(0.9 * opened + 0.1 * closed, abs=1.0)
        # A servo may turn less for a pulse than the profile has it.
        places = profile.actuators[jaws].places
        drawn = places["open"] - places["closed"]
        assert opened - firm_us == pytest.approx((1 + WIDER_PART) * drawn, abs=1.0)
    assert max(abs(off) for off in seen.values()) < 1.5
    for key, off in outcome.off_degrees.items():
        assert abs(off) <= outcome.uncertain_degrees[key]
    for degrees in outcome.wider_degrees.values():
        assert LEAST_WIDER <= degrees <= MOST_WIDER
