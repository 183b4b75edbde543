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
from robot.twin.cube import CubeBody, scrambled
from robot.twin.misadjustment import (
    GAIN,
    MICROSTEPS,
    MOTOR_PLAY_DEGREES,
    SPEED,
    STALL,
    ZERO_DEGREES,
    Misadjustment,
    ServoTruth,
    StepperTruth,
    parse_misadjustment,
)
from robot.twin.registry import Stop, parts_of
from robot.twin.servo import ServoMotor
from robot.twin.simulated import SimulatedRobot
from robot.twin.stepper import Rotor, StepMotor
from robot.twin.studio import Studio
from robot.twin.violations import Incidents
from solver.errors import InvalidRequest

SEEDS = st.integers(0, 2**32)
STEPPERS = {
    name: load_profile(name).actuators_of(Stepper)
    for name in ("mindcuber", "four-arm", "six-motor")
}
PERIOD_US = 20_000.0
SOLVED = "".join(face * 9 for face in "URFDLB")


def drive(servo: ServoMotor, incidents: Incidents, pulse_us: float, seconds: float) -> None:
    """Send it pulses of this width for so long."""
    for _ in range(round(seconds * 1e6 / PERIOD_US)):
        start = incidents.time_us
        servo.pulse_edge(start, True)
        servo.pulse_edge(start + pulse_us, False)
        incidents.time_us = start + PERIOD_US
        servo.advance(start, incidents.time_us)


def servo_of(incidents: Incidents, truth: ServoTruth, *stops: Stop) -> ServoMotor:
    return ServoMotor("lid", 1500.0, (900, 2100), 5000.0, incidents.report, truth, stops)


@settings(max_examples=25)
@given(SEEDS, st.floats(0.01, 1.0))
def test_a_servo_deviates_within_bounds_and_reaches_all_its_positions(
    seed: int, scale: float
) -> None:
    robot = Misadjustment(seed, scale)
    for name, servo in load_profile("cubotino").actuators_of(Servo).items():
        truth = robot.servo(name, servo, 5.0)
        assert abs(truth.zero_us) <= scale * ZERO_DEGREES * 5.0
        assert abs(truth.gain - 1) <= scale * GAIN
        assert abs(truth.speed - 1) <= scale * SPEED
        for place in servo.positions_us.values():
            low, high = servo.limits_us
            assert low <= truth.pulse(place) <= high
            assert truth.shaft(truth.pulse(place)) == pytest.approx(place)


@settings(max_examples=25)
@given(SEEDS)
def test_a_seed_is_always_the_same_robot_and_parts_draw_for_themselves(seed: int) -> None:
    first, again = Misadjustment(seed), Misadjustment(seed)
    servo = load_profile("cubotino").actuators_of(Servo)["lid"]
    assert first.camera("top") == again.camera("top")
    assert again.servo("lid", servo, 5.0) == first.servo("lid", servo, 5.0)
    assert first.servo("lid", servo, 5.0) != first.servo("holder", servo, 5.0)
    assert first.camera("top") != Misadjustment(seed + 1).camera("top")


def test_a_seed_stays_the_same_robot() -> None:
    """People tell each other of robots by their seed."""
    robot = Misadjustment(7, 0.5)
    lid = robot.servo("lid", load_profile("cubotino").actuators_of(Servo)["lid"], 5.0)
    found = (lid.zero_us, lid.gain, lid.slack_us, lid.speed)
    assert found == pytest.approx((-20.309486, 0.972169, 1.436647, 0.879580), rel=1e-5)
    assert astuple(robot.arm("lid")) == pytest.approx((0.225471, 12.083198, 11.528661), rel=1e-5)
    assert robot.camera("top").rotated_degrees == pytest.approx(-1.652611, rel=1e-5)
    assert robot.light.gains == pytest.approx((0.995331, 0.993981, 1.016500), rel=1e-5)
    table = robot.stepper("table", STEPPERS["mindcuber"]["table"])
    assert table == StepperTruth(table.strength, True, 2.0, 1)


def test_a_servo_that_no_horn_fits_is_refused() -> None:
    servo = load_profile("cubotino").actuators_of(Servo)["lid"]
    narrow = servo.model_copy(update={"limits_us": (1400, 1500)})
    with pytest.raises(InvalidRequest) as caught:
        Misadjustment(1).servo("lid", narrow, 5.0)
    assert str(caught.value) == "lid: no horn lets it reach its positions within 1400..1500"
    assert Misadjustment(1, 1.01).servo("lid", narrow, 5.0).middle_us == 1450.0


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "7:", "1.5", "7:x", "7:0", "7:-1", "7:5.1", f"{2**63}", "7:nan"]
)
def test_what_is_no_seed_is_refused(text: str) -> None:
    if text == "7:":
        assert parse_misadjustment(text).scale == 1.0
        return
    with pytest.raises(InvalidRequest) as caught:
        parse_misadjustment(text)
    assert str(caught.value) == (
        f"--misadjust {text}: write SEED or SEED:SCALE, a whole number from 0 and a number "
        "up to 5, such as 7 or 7:0.5"
    )


def test_a_servo_stops_short_by_half_its_slack_on_either_side() -> None:
    incidents = Incidents()
    servo = servo_of(incidents, ServoTruth(zero_us=30.0, gain=1.1, slack_us=8.0))
    drive(servo, incidents, 1600, 0.5)
    assert servo.position == pytest.approx(1500 + 110 + 30 - 4)
    assert not servo.moving
    drive(servo, incidents, 1603, 0.5)
    assert servo.position == pytest.approx(1500 + 110 + 30 - 4 + 3.3)
    drive(servo, incidents, 1600, 0.5)
    assert servo.position == pytest.approx(1500 + 110 + 30 - 4 + 3.3)
    drive(servo, incidents, 1590, 0.5)
    assert servo.position == pytest.approx(1500 + 99 + 30 + 4)


def test_a_servo_that_pushes_for_over_a_second_is_reported_once() -> None:
    incidents = Incidents()
    stop = Stop(1600.0, True, "strained", "pushes")
    servo = servo_of(incidents, ServoTruth(slack_us=4.0), stop)
    drive(servo, incidents, 1700, 0.9)
    assert servo.position == 1600.0
    assert not servo.moving
    drive(servo, incidents, 1550, 0.3)
    drive(servo, incidents, 1700, 0.9)
    assert incidents.violations == []
    drive(servo, incidents, 1700, 3.0)
    assert [(one.kind, one.text) for one in incidents.violations] == [("strained", "lid pushes")]
    drive(servo, incidents, 1601, 3.0)  # within its dead band: it does not push
    assert len(incidents.violations) == 1


def test_a_lid_that_presses_on_the_cube_has_a_stop_and_holds_from_a_margin_on() -> None:
    profile = load_profile("cubotino")
    parts = parts_of(profile, Misadjustment(1))
    (press, strain), table = sorted(parts.stops["lid"], key=lambda stop: -stop.at), parts.stops
    assert (press.kind, press.upwards) == ("pressed-too-hard", True)
    assert press.at > profile.actuators["lid"].places["close"]
    assert (strain.kind, strain.upwards) == ("strained", False)
    assert strain.at < profile.actuators["lid"].places["flip"]
    assert [stop.upwards for stop in table["holder"]] == [False, True]
    mechanism = parts.around(CubeBody(SOLVED), Incidents().report)
    margin = 3 * 1000 / 180
    assert mechanism.place("lid", 1500 - margin + 1) == "close"
    assert mechanism.place("lid", 1500 - margin - 1) is None


@pytest.mark.parametrize("name", ["cubotino", "mindcuber", "two-arm", "four-arm", "six-motor"])
def test_every_kind_of_robot_can_be_built_badly(name: str) -> None:
    profile = load_profile(name)
    robot = SimulatedRobot(profile, scrambled(3, 1), misadjusted=Misadjustment(3))
    as_drawn = SimulatedRobot(profile, scrambled(3, 1))
    assert not robot.violations
    if profile.cameras:
        difference = Studio(robot).shoot().image.astype(int) - Studio(as_drawn).shoot().image
        assert np.abs(difference).mean() > 1


@given(SEEDS, st.sampled_from(["mindcuber", "four-arm", "six-motor"]))
@settings(max_examples=20)
def test_a_stepper_deviates_by_its_wires_its_switches_and_its_play(seed: int, name: str) -> None:
    for motor, stepper in STEPPERS[name].items():
        truth = Misadjustment(seed).stepper(motor, stepper)
        assert truth == Misadjustment(seed).stepper(motor, stepper)
        assert truth.microsteps in MICROSTEPS
        most = MOTOR_PLAY_DEGREES * (stepper.steps_per_turn or 0) / 360
        assert truth.play_steps is not None
        assert 0 <= truth.play_steps <= most + 0.5
        assert abs(truth.strength - 1) <= STALL


def test_a_reversed_stepper_with_coarser_steps_goes_twice_as_far_backwards() -> None:
    incidents = Incidents()
    rotor = Rotor(1e5, 1e7)
    motor = StepMotor("table", 0, rotor, incidents.report, inverted=True, step=2.0, play=3)
    motor.enable_edge(False)
    motor.direction_edge(True)
    for number in range(10):
        motor.step_edge(1e4 * number, True)
        motor.step_edge(1e4 * number + 5, False)
    assert motor.position == -20 + 3
    assert incidents.violations == []
