"""Steppers find their direction, the steps of a turn, and the play behind them.

Cameras at a cube's corner find its faces, and the angle of a turned one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robot.api.calibrations import Calibration
from robot.calibration.auto.cube_pose import faces_in_view
from robot.calibration.auto.direct import DirectFinder, Unrolled
from robot.calibration.auto.finder import finder_for
from robot.calibration.auto.motors import (
    HARDER,
    MICROSTEPS,
    SLOWER,
    check_motors,
    common_speeds,
    fit_to_board,
    wiring_finding,
    wiring_of,
)
from robot.calibration.auto.rotations import Rotation
from robot.calibration.auto.stepwise_move import StepwiseMove
from robot.calibration.steps.camera import take_picture
from robot.calibration.trials.stepper_trials import BOARD_RATE, STEPPING
from robot.calibration.values import apply
from robot.settings import load_profile
from robot.settings.base import Site
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError
from robot.twin.cube import CubeBody, Pose, scrambled
from robot.twin.misadjustment import Misadjustment, parse_misadjustment
from robot.twin.render import Optics, Painter, StudioLight, moved_camera, place_camera
from robot.twin.render import site_corners as true_corners
from solver.files import JsonObject
from tests.calibration.conftest import calibrating
from tests.calibration.found import wrong_motors
from vision.locate.face import FaceGrid, HintedSearch

MINDCUBER = load_profile("mindcuber")
TABLE = MINDCUBER.actuators_of(Stepper)["table"]
PROFILE = load_profile("six-motor")
CAMERA = PROFILE.cameras[0]
SITES: tuple[Site, ...] = ("U", "R", "F")
Image = NDArray[np.uint8]
STRAIGHT = place_camera(CAMERA)
PAINTER = Painter(STRAIGHT, 2.0)
"""Painter shared by the tests: its first picture takes ten times as long as any other."""


@given(
    factor=st.sampled_from(MICROSTEPS),
    sign=st.sampled_from((1, -1)),
    off=st.floats(0.95, 1.05),
    inverted=st.booleans(),
)
@settings(max_examples=20)
def test_a_motor_is_known_by_its_steps_to_the_degree(factor, sign, off, inverted):
    motor = TABLE.model_copy(update={"invert_direction": inverted})
    found = wiring_of(motor, "table", sign * off * factor * 1600 / 360, 3.4)
    assert found.turn_steps == 1600 * factor
    assert found.inverted is (inverted != (sign < 0))
    assert found.play_steps == 3
    finding = wiring_finding("table", motor, found, {})
    assert ("tighten" in finding.slower) == (360 * 3 / found.turn_steps > 0.5)
    calibrated = apply(MINDCUBER, Calibration(robot="mindcuber", values=dict(finding.values)))
    table = calibrated.actuators_of(Stepper)["table"]
    assert table.steps_per_turn == 1600 * factor


@pytest.mark.parametrize("off", [0.75, 0.919, 1.081, 1.25, 64])
def test_a_turn_that_no_switch_makes_is_not_guessed(off):
    why = f"table makes {1600 * off:.0f} steps per turn, which no microstep setting gives from 1600"
    with pytest.raises(CalibrationError, match=why):
        wiring_of(TABLE, "table", off * 1600 / 360, 0)


def test_motors_are_as_fast_among_each_other_as_they_were_meant_to_be():
    four_arm = load_profile("four-arm")
    turns = {"right": 3200, "left": 1600, "front": 800}
    found = {f"actuators.{name}.steps_per_turn": steps for name, steps in turns.items()}
    (finding,) = common_speeds(four_arm, found)
    values = found | dict(finding.values)
    calibrated = apply(four_arm, Calibration(robot="four-arm", values=values))
    for name, steps in turns.items():
        motor = calibrated.actuators_of(Stepper)[name]
        assert motor.max_speed_steps_per_s == 5 * steps
        assert motor.start_speed_steps_per_s == steps / 8
        assert motor.max_acceleration_steps_per_s2 == 100 * steps
        assert motor.held is not None and motor.held.max_speed_steps_per_s == 2.5 * steps
    assert list(common_speeds(four_arm, {"actuators.left.steps_per_turn": 1600})) == []


def finer_steps(factor: int) -> JsonObject:
    """Return calibrated values of a six-motor robot whose drivers make finer steps."""
    found = {f"actuators.{name}.steps_per_turn": 800 * factor for name in PROFILE.actuators}
    return found | dict(next(common_speeds(PROFILE, found)).values)


def test_finer_steps_cost_no_speed_where_the_board_makes_them():
    """Check against the real firmware: two motors at a time make 32,000 steps/s each."""
    with robot("six-motor", "1:0.01") as (run, session):
        session.try_out(finer_steps(2))
        assert list(fit_to_board(session, {})) == [], "24,000 steps/s"
        session.try_out(finer := finer_steps(4))
        (finding,) = fit_to_board(session, finer)
        assert "set the drivers' microstep switches" in finding.slower
        session.try_out(finer | dict(finding.values))
        assert session.perform(BOARD_RATE).share == 1.0
        fitted = session.calibrated.actuators_of(Stepper)
        assert run.robot.violations == []
    speeds = {one.max_speed_steps_per_s for one in fitted.values()}
    assert len(speeds) == 1
    assert 0.9 * 32_000 < speeds.pop() <= 32_000


def robot(name: str, misadjusted: str) -> AbstractContextManager[Any]:
    truth = parse_misadjustment(misadjusted)
    return calibrating(load_profile(name), seed=truth.seed, misadjusted=truth)


@pytest.mark.parametrize(
    ("name", "seed", "motor"),
    [
        pytest.param("mindcuber", "3", "table", marks=pytest.mark.long),
        ("four-arm", "1", "right"),
        ("six-motor", "1", "up"),
    ],
)
def test_a_motor_is_found_by_the_cube_that_it_turns(name, seed, motor):
    values: JsonObject = {}
    with robot(name, seed) as (run, session):
        suitable = finder_for(run.profile)
        assert suitable is not None
        for finding in suitable(session).find():
            values |= finding.values
            if finding.stage == "motor":
                break
        assert run.robot.violations == []
    assert wrong_motors(run.profile, parse_misadjustment(seed), values) == {}
    usual = run.profile.actuators_of(Stepper)[motor]
    found = [values[f"actuators.{motor}.{key}"] for key in ("steps_per_turn", "invert_direction")]
    assert found != [usual.steps_per_turn, usual.invert_direction]


def test_a_motor_that_does_not_turn_is_named():
    with robot("six-motor", "2") as (run, session):
        run.robot.jam("up")
        with pytest.raises(CalibrationError, match="up does not turn the cube"):
            list(DirectFinder(session).find())


class ScriptedMotor(Rotation):
    """A motor with play whose driver makes ``factor`` of the expected step."""

    sweep, step_us, step_degrees = 6.0, 0, 2.0

    def __init__(self, factor: float, play: float) -> None:
        actuator = StepwiseMove(None, "table", TABLE)
        super().__init__(actuator, {})
        self.factor, self.play, self.load, self.widest = factor, play, 0.0, 0.0
        actuator.wake = lambda first=None: None
        actuator.go = self.turned_to

    def turned_to(self, place: float) -> None:
        self.actuator.at = round(place)
        rotor = place * self.factor * 360 / 1600
        self.load = min(max(self.load, rotor - self.play), rotor + self.play)
        self.widest = max(self.widest, abs(self.load))

    def angle(self) -> float:
        return self.load

    def expect(self, degrees: float) -> None: ...

    def shift_zero(self, degrees: float) -> None: ...


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.0, -1.0, 2.0, -2.0])
@pytest.mark.parametrize("play", [0.0, 1.5, 3.0])
def test_a_motor_shows_its_steps_without_turning_far(factor, play):
    """Check the range of motion for any step size: the face stays in view, layers nearly square."""
    motor = ScriptedMotor(factor, play)
    line = motor.find_line()
    assert line.degrees_per_us == pytest.approx(factor * 360 / 1600, rel=0.04)
    assert line.slack_us * abs(line.degrees_per_us) == pytest.approx(2 * play, abs=0.5)
    assert motor.widest < 8.6, "one step further than the sweep"


class Loses:
    """A session whose motors lose steps above a fraction of their speed.

    The camera sees a whole turn after ``turn`` of one.
    """

    def __init__(self, good: float, turn: float = 1.0) -> None:
        self.calibrated = self.profile = PROFILE
        self.good, self.turn = good, turn
        self.asked: list[tuple[float, float]] = []

    def perform(self, trial: Any, **asked: Any) -> Any:
        motor = self.profile.actuators_of(Stepper)[asked["actuator"]]
        if trial is STEPPING:
            turn = motor.steps_per_turn
            return SimpleNamespace(turn_steps=turn, found_steps=round(self.turn * turn))
        part = asked["speed_steps_per_s"] / motor.max_speed_steps_per_s
        self.asked.append((part, asked["acceleration_steps_per_s2"]))
        lost = part > self.good + 1e-9
        return SimpleNamespace(lost=lost, square=True, seen_by="camera")


@pytest.mark.parametrize(("good", "tried"), [(1.0, 1), (SLOWER, 2), (0.5, 8)])
def test_a_motor_that_loses_steps_is_tried_slower(good, tried):
    session: Any = Loses(good)
    motor = session.profile.actuators_of(Stepper)["up"]
    list(check_motors(session))
    speeds, accelerations = zip(*session.asked[: tried + 1], strict=True)
    parts = [SLOWER**number for number in range(tried)] + [1.0]  # the last is the next motor's
    assert speeds == pytest.approx(parts)
    hardest = HARDER * motor.max_acceleration_steps_per_s2
    assert accelerations[:-1] == pytest.approx([hardest * part for part in parts[:-1]])


def test_all_motors_are_as_slow_as_the_worst_with_a_margin():
    halves = check_motors(Loses(1.0, turn=0.5))
    assert all(one.values == {} for one in halves), "a cube may look the same after half a turn"
    session: Any = Loses(1.0)
    session.perform = lambda *_, **__: SimpleNamespace(turn_steps=1600, found_steps=None, lost=None)
    assert all(one.uncertain and not one.values for one in check_motors(session)), "nothing sees it"
    motors = PROFILE.actuators_of(Stepper)
    assert [one.values for one in check_motors(Loses(1.0))] == [{}] * 2 * len(motors)
    *_, last = check_motors(Loses(SLOWER))
    for name, motor in motors.items():
        speed = last.values[f"actuators.{name}.max_speed_steps_per_s"]
        assert speed == round(motor.max_speed_steps_per_s * SLOWER)
        start = last.values[f"actuators.{name}.start_speed_steps_per_s"]
        assert start == round(motor.start_speed_steps_per_s * SLOWER)
    assert "steps were lost (up, right" in last.slower


def picture(optics: Optics, body: CubeBody | None, *layers: tuple[str, float]) -> Image:
    """Return a camera's picture. ``layers``: sites of turned layers and their degrees."""
    twists = tuple((site, degrees / 90) for site, degrees in layers)
    one = PAINTER if optics is STRAIGHT else Painter(optics, 2.0)
    return one.paint(body, Pose(np.eye(3), twists), StudioLight())


@pytest.mark.parametrize("seed", [None, 1, 4])
def test_faces_are_found_that_are_each_seen_too_much_from_the_side(seed):
    truth = None if seed is None else Misadjustment(seed).camera(CAMERA.name)
    optics = STRAIGHT if truth is None else moved_camera(STRAIGHT, truth)
    found = faces_in_view(CAMERA, picture(optics, scrambled(3, 1)), 3)
    for view in CAMERA.views:
        assert np.abs(found[view.site] - optics.project(true_corners(view.site))).max() < 8


@pytest.mark.parametrize("seed", [17, pytest.param(18, marks=pytest.mark.long)])
def test_two_faces_tell_where_a_third_is_that_is_too_dark_to_be_found(seed):
    truth, camera = Misadjustment(seed), PROFILE.cameras[1]
    optics = moved_camera(place_camera(camera), truth.camera(camera.name))
    with calibrating(PROFILE, seed=seed, misadjusted=truth) as (_, session):
        _, image = take_picture(session, camera.name)
    left = FaceGrid.from_corners(optics.project(true_corners("L")), 3)
    assert HintedSearch(image).near(left) is None
    found = faces_in_view(camera, image, 3)
    for site, corners in found.items():
        assert np.abs(corners - optics.project(true_corners(site))).max() < 0.15 * left.pitch


@given(st.sampled_from(SITES), st.floats(-35, 35), st.integers(1, 99))
@settings(max_examples=6, deadline=None)
def test_a_turned_layer_shows_by_how_much(site, degrees, seed):
    optics, body = STRAIGHT, scrambled(3, seed)
    corners = optics.project(true_corners(site))
    first = Unrolled.from_picture(picture(optics, body), corners)
    turned = Unrolled.from_picture(picture(optics, body, (site, degrees)), corners)
    found, agreement = turned.turned_from(first, 0.8 * degrees)
    assert found == pytest.approx(degrees, abs=0.3)
    assert agreement > 0.8
