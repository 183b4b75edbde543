"""A simulated robot that was not built as its profile says."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.settings import load_profile
from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper
from robot.twin.cube import scrambled
from robot.twin.grip import least_strength
from robot.twin.misadjustment import (
    GAIN,
    MOTOR_PLAY_DEGREES,
    SPEED,
    STALL,
    STEPS_OF_TURN,
    ZERO_DEGREES,
    Misadjustment,
    StepperTruth,
)
from robot.twin.registry import parts_of, position_errors
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio
from robot.twin.violations import Incidents

SEEDS = st.integers(0, 2**32)
STEPPERS = {
    name: load_profile(name).actuators_of(Stepper)
    for name in ("mindcuber", "four-arm", "six-motor")
}
CUBOTINO = load_profile("cubotino")
SERVOS = CUBOTINO.actuators_of(Servo)
DEGREE_US = 5.0


@settings(max_examples=25)
@given(SEEDS, st.floats(0.01, 1.0))
def test_motors_deviate_within_bounds_and_servos_reach_all_their_positions(seed, scale):
    robot, usual = Misadjustment(seed, scale), Misadjustment(seed)
    for name, servo in SERVOS.items():
        truth = robot.servo(name, servo, DEGREE_US)
        assert abs(truth.zero_us) <= scale * ZERO_DEGREES * DEGREE_US
        assert abs(truth.gain - 1) <= scale * GAIN
        assert abs(truth.speed - 1) <= scale * SPEED
        low, high = servo.limits_us
        for place in servo.positions_us.values():
            assert low <= truth.pulse(place) <= high
            assert truth.shaft(truth.pulse(place)) == pytest.approx(place)
    for steppers in STEPPERS.values():
        for name, stepper in steppers.items():
            built = usual.stepper(name, stepper)
            assert built.microsteps in STEPS_OF_TURN and abs(built.strength - 1) <= STALL
            most = MOTOR_PLAY_DEGREES * (stepper.steps_per_turn or 0) / 360
            assert built.play_steps is not None and 0 <= built.play_steps <= most + 0.5


def test_a_seed_stays_the_same_robot():
    """Pin the numbers: people refer to robots by their seed."""
    robot = Misadjustment(7, 0.5)
    lid = robot.servo("lid", SERVOS["lid"], DEGREE_US)
    found = (lid.zero_us, lid.gain, lid.slack_us, lid.speed)
    assert found == pytest.approx((-20.309486, 0.972169, 1.436647, 0.879580), rel=1e-5)
    lid_fit = (0.225471, 12.083198, 11.528661, 0.775347)
    assert astuple(robot.arm("lid")) == pytest.approx(lid_fit, rel=1e-5)
    assert robot.camera("top").rotated_degrees == pytest.approx(-1.652611, rel=1e-5)
    assert robot.light.gains == pytest.approx((0.995331, 0.993981, 1.016500), rel=1e-5)
    table = robot.stepper("table", STEPPERS["mindcuber"]["table"])
    assert table == StepperTruth(table.strength, True, 2.0, 1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_lid_holds_the_better_the_further_it_is_down_and_presses_in_the_end(seed):
    truth = Misadjustment(seed)
    parts = parts_of(CUBOTINO, truth)
    press, strain = sorted(parts.stops["lid"], key=lambda stop: -stop.at)
    assert (press.kind, press.upwards) == ("pressed-too-hard", True)
    assert press.at > SERVOS["lid"].places["close"]
    assert (strain.kind, strain.upwards) == ("strained", False)
    assert strain.at < SERVOS["lid"].places["flip"]
    assert [stop.upwards for stop in parts.stops["holder"]] == [False, True]
    mechanism = parts.around(scrambled(3, 1), Incidents().report)
    soft_us = truth.arm("lid").softness_degrees * 1000 / 180
    touch = 1500 - least_strength(truth.cube) * soft_us
    assert mechanism.place("lid", touch + 1) == "close"
    assert mechanism.place("lid", touch - 1) is None
    followed = [followed_in_hold(truth, touch + part * (1500 - touch)) for part in (0, 0.3, 0.6, 1)]
    assert followed[0] > 40 and followed == sorted(followed, reverse=True)
    assert followed[-1] == pytest.approx(truth.arm("lid").play_degrees, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "arm", "at", "place"),
    [
        ("cubotone", "lid", 1100, "read"),
        ("cubotone", "lid", 1287, "read"),
        ("cubotone", "flipper", 1800, "low"),
        ("mindcuber", "arm", 600, "rest"),
    ],
)
def test_an_arm_is_open_between_and_beyond_places_that_are_open(name, arm, at, place):
    mechanism = parts_of(load_profile(name)).around(scrambled(3, 1), Incidents().report)
    assert mechanism.place(arm, at) == place


def followed_in_hold(truth: Misadjustment, lid_us: float) -> float:
    """Return degrees by which a cube follows 43 degrees below it, with the lid at a position."""
    mechanism = parts_of(CUBOTINO, truth).around(scrambled(3, 1), Incidents().report)
    mechanism.update({"holder": 0.0, "lid": 1335.0})
    mechanism.update({"holder": 0.0, "lid": lid_us})
    for quarters in np.linspace(0, 0.48, 44):
        mechanism.update({"holder": float(quarters), "lid": lid_us})
    turned = mechanism.pose().whole
    return abs(float(np.degrees(np.arctan2(turned[0, 2], turned[0, 0]))))


def test_the_place_that_holds_is_where_a_quarter_turn_seldom_slips_and_nothing_presses():
    truth = Misadjustment(1)
    lid = truth.servo("lid", SERVOS["lid"], 1000 / 180)
    edge = truth.arm("lid").grip_degrees

    def error(degrees: float) -> float:
        """Return the error of a pulse that closes the lid ``degrees`` beyond its position."""
        pulse = lid.pulse(1500 + degrees * 1000 / 180 + lid.slack_us / 2)
        key = "actuators.lid.positions_us.close"
        return position_errors(CUBOTINO, truth, {key: pulse})[key]

    assert error(-2.0) == pytest.approx(-2.0)
    assert error(0.1) == error(edge - 0.1) == 0
    assert error(edge + 2.0) == pytest.approx(2.0)


@pytest.mark.parametrize("name", ["cubotino", "mindcuber", "two-arm", "four-arm", "six-motor"])
def test_every_kind_of_robot_can_be_built_badly(name):
    profile = load_profile(name)
    robot = SimulatedRobot(profile, scrambled(3, 1), misadjusted=Misadjustment(3))
    as_drawn = SimulatedRobot(profile, scrambled(3, 1))
    assert not robot.violations
    if profile.cameras:
        difference = Studio(robot).shoot().image.astype(int) - Studio(as_drawn).shoot().image
        assert np.abs(difference).mean() > 1
