"""A robot that finds out about itself: fits, what the face says, all of it in simulated time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.calibration.auto import calibration as flow
from robot.calibration.auto.calibration import AutomaticCalibration
from robot.calibration.auto.film import PROVING
from robot.calibration.auto.finder import FilmedServo, Finding
from robot.calibration.auto.fitting import SweepPoint, fit_line
from robot.calibration.step import STEPS, Row, Session
from robot.machine.confirmed_range import confirmable
from robot.settings import load_profile
from robot.settings.actuators import Servo
from robot.twin.cube import scrambled
from robot.twin.misadjustment import parse_misadjustment
from robot.twin.registry import degree_us, parts_of
from robot.twin.studio import OddScene
from tests.calibration.found import calibrated
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun

KEY = "actuators.lid.positions_us.open"


@given(
    slope=st.floats(0.05, 0.5) | st.floats(-0.5, -0.05),
    zero=st.floats(1300, 1700),
    slack=st.floats(0, 20),
    noise=st.floats(0, 0.05),
    seed=st.integers(0, 99),
)
def test_a_line_with_slack_is_found_from_both_directions(
    slope: float, zero: float, slack: float, noise: float, seed: int
) -> None:
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


def test_a_servo_that_turns_nothing_has_no_line() -> None:
    still = [SweepPoint(pulse, 3.0, up) for up in (True, False) for pulse in range(1100, 1900, 40)]
    assert fit_line(still) is None
    assert fit_line(still[:3]) is None


@pytest.mark.parametrize(
    ("name", "can"),
    [
        ("cubotino", True),
        ("cubotino-uno", True),
        ("mindcuber", True),
        ("two-arm", True),
        ("four-arm", True),
        ("otvinta", False),
        ("six-motor", True),
    ],
)
def test_the_step_is_there_for_robots_that_it_can_calibrate(name: str, can: bool) -> None:
    assert STEPS["auto"].is_needed(load_profile(name)) is can


def test_a_robot_that_was_not_built_as_drawn_calibrates_itself() -> None:
    outcome = calibrated("cubotino", "7")
    assert outcome.because == ""
    assert outcome.solved == 2
    assert outcome.violations == []
    assert outcome.kept_before_the_end == {}
    assert len(outcome.off_degrees) == 6
    assert max(abs(off) for off in outcome.off_degrees.values()) < 2.0
    assert len(outcome.travel_parts) == 3
    assert all(1.0 <= part <= 1.1 for part in outcome.travel_parts)
    assert outcome.took_s < 360
    assert outcome.planned_s is not None
    before, after = outcome.planned_s
    # The profile's times of the lid and the table against those that were found, on average.
    assert after != before
    assert 0.6 < after / before < 1.6


@contextmanager
def robot(misadjusted: str = "7") -> Iterator[tuple[SimulatedRun, SimulatedCalibration]]:
    with SimulatedRun(
        load_profile("cubotino"), scrambled(3, 1), misadjusted=parse_misadjustment(misadjusted)
    ) as run:
        yield run, SimulatedCalibration(run)


def test_a_proof_is_planned_by_what_is_kept_too() -> None:
    with SimulatedRun(load_profile("cubotino"), scrambled(3, 1)) as run:
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
            # It is known to be solved now: it is scrambled without a look.
            assert session.perform(PROVING, solved=True).solved
    assert proof.solved
    assert 1.4 < proof.planned_us / proof.planned_before_us <= 2.0


def failed(session: SimulatedCalibration) -> str:
    measurement = AutomaticCalibration(session)
    with session.maintenance():
        for _ in measurement.measure():
            pass
    assert not measurement.is_found
    assert measurement.values == {}
    assert measurement.document["calibrated"] is False
    assert session.calibration.values == {}
    because: str = measurement.document["because"]
    assert because in measurement.text
    return because


def test_without_a_cube_in_view_nothing_moves() -> None:
    with robot() as (_, session):
        for camera in session.cameras.values():
            camera.studio.disturbances.odd = OddScene.NO_CUBE
        assert "put a scrambled cube in" in failed(session)
        assert set(session.trials) == {"picture"}


def test_a_blurred_picture_is_blamed_for_a_face_that_is_lost() -> None:
    """Not what turns the cube, nor something in front of the camera."""
    with robot() as (_, session):
        for camera in session.cameras.values():
            camera.lens = lambda image: np.asarray(cv2.GaussianBlur(image, (0, 0), 3.0), np.uint8)
        because = failed(session)
    assert "the picture is blurred: focus the camera" in because
    assert "hold the cube" not in because


@pytest.mark.parametrize(
    ("jammed", "why"),
    [
        ("holder", "the cube does not turn with holder"),
        pytest.param("lid", "lid went 300 us", marks=pytest.mark.long),
    ],
)
def test_a_servo_that_does_not_move_is_named(jammed: str, why: str) -> None:
    with robot() as (run, session):
        run.robot.jam(jammed)
        assert why in failed(session)


def test_a_camera_that_shows_the_face_cut_off_when_it_turns_is_named() -> None:
    with robot("11:2") as (_, session):
        assert "too near to the border of the picture" in failed(session)


PLACE_FOR_SEVEN = [[0.26892, 0.11743], [0.69297, 0.17039], [0.69132, 0.7253], [0.21242, 0.67956]]
"""Where the camera of robot 7 has the face."""


class KnowingFinder:
    """Finds a position at once; the camera sees nothing move."""

    seen_moving: Mapping[str, FilmedServo] = {}
    watch = None

    def __init__(self, session: Session) -> None:
        del session

    def find(self) -> Iterator[Finding]:
        yield Finding("lid", "there", {KEY: 1340}, {KEY: 2.0})


def test_broken_off_it_leaves_what_was_kept_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "finder_for", lambda _: KnowingFinder)
    before = {KEY: 1330}
    with robot() as (_, session):
        session.keep(before)
        with session.maintenance():
            script = AutomaticCalibration(session).measure()
            shown = [next(script), next(script)]
            assert all(isinstance(row, Row) and row.document for row in shown)
            assert session.calibration.values == {KEY: 1340}
            assert session.stored.values == before
            script.close()
            assert session.calibration.values == before


@pytest.mark.parametrize(
    ("only", "keys"),
    [
        ("lid", {f"actuators.lid.positions_us.{place}" for place in ("open", "close", "flip")}),
        ("times", {"actuators.holder.travel"}),
        ("colours", {"colours"}),
    ],
)
@pytest.mark.long
def test_one_stage_is_found_anew_and_the_rest_is_kept(only: str, keys: set[str]) -> None:
    profile, truth = load_profile("cubotino"), parse_misadjustment("7")
    per_degree = degree_us(profile, parts_of(profile).rotations)
    true = {
        f"actuators.{name}.positions_us.{place}": round(
            truth.servo(name, servo, per_degree).pulse(pulse)
        )
        for name, servo in profile.actuators_of(Servo).items()
        for place, pulse in servo.positions_us.items()
    }
    with robot("7") as (run, session):
        kept: dict[str, Any] = true | {"cameras.top.views.U.quad": PLACE_FOR_SEVEN}
        if only == "lid":
            kept["actuators.lid.positions_us.close"] += 40
        session.keep(kept)
        measurement = AutomaticCalibration(session, only=only)
        with session.maintenance():
            for _ in measurement.measure():
                pass
            assert session.stored.values == kept
        assert measurement.document.get("because", "") == ""
        assert set(measurement.values) == keys
        assert run.robot.violations == []
        for key, value in measurement.values.items():
            if key in true:
                assert value == pytest.approx(true[key], abs=2 * per_degree)
