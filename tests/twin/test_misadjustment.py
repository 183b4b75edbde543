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
from robot.twin.misadjustment import (
    GAIN,
    MICROSTEPS,
    MOTOR_PLAY_DEGREES,
    SPEED,
    STALL,
    ZERO_DEGREES,
    Misadjustment,
    StepperTruth,
    parse_misadjustment,
)
from robot.twin.registry import parts_of
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio
from robot.twin.violations import Incidents
from solver.errors import InvalidRequest

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
def test_motors_deviate_within_bounds_and_servos_reach_all_their_positions(
    seed: int, scale: float
) -> None:
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
            assert built.microsteps in MICROSTEPS and abs(built.strength - 1) <= STALL
            most = MOTOR_PLAY_DEGREES * (stepper.steps_per_turn or 0) / 360
            assert built.play_steps is not None and 0 <= built.play_steps <= most + 0.5


@settings(max_examples=25)
@given(SEEDS)
def test_a_seed_is_always_the_same_robot_and_parts_draw_for_themselves(seed: int) -> None:
    first, again = Misadjustment(seed), Misadjustment(seed)
    assert first.camera("top") == again.camera("top") != Misadjustment(seed + 1).camera("top")
    lid = again.servo("lid", SERVOS["lid"], DEGREE_US)
    assert lid == first.servo("lid", SERVOS["lid"], DEGREE_US)
    assert lid != first.servo("holder", SERVOS["lid"], DEGREE_US)


def test_a_seed_stays_the_same_robot() -> None:
    """People tell each other of robots by their seed."""
    robot = Misadjustment(7, 0.5)
    lid = robot.servo("lid", SERVOS["lid"], DEGREE_US)
    found = (lid.zero_us, lid.gain, lid.slack_us, lid.speed)
    assert found == pytest.approx((-20.309486, 0.972169, 1.436647, 0.879580), rel=1e-5)
    assert astuple(robot.arm("lid")) == pytest.approx((0.225471, 12.083198, 11.528661), rel=1e-5)
    assert robot.camera("top").rotated_degrees == pytest.approx(-1.652611, rel=1e-5)
    assert robot.light.gains == pytest.approx((0.995331, 0.993981, 1.016500), rel=1e-5)
    table = robot.stepper("table", STEPPERS["mindcuber"]["table"])
    assert table == StepperTruth(table.strength, True, 2.0, 1)


def test_a_servo_that_no_horn_fits_is_refused() -> None:
    narrow = SERVOS["lid"].model_copy(update={"limits_us": (1400, 1500)})
    with pytest.raises(InvalidRequest, match=r"^lid: no horn lets it reach its .* 1400\.\.1500$"):
        Misadjustment(1).servo("lid", narrow, DEGREE_US)
    assert Misadjustment(1, 1.01).servo("lid", narrow, DEGREE_US).middle_us == 1450.0


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1.5", "7:x", "7:0", "7:-1", "7:5.1", f"{2**63}", "7:nan"]
)
def test_what_is_no_seed_is_refused(text: str) -> None:
    assert parse_misadjustment("7:").scale == 1.0
    with pytest.raises(InvalidRequest, match="write SEED or SEED:SCALE") as caught:
        parse_misadjustment(text)
    assert str(caught.value).startswith(f"--misadjust {text}: ")


def test_a_lid_that_presses_on_the_cube_has_a_stop_and_holds_from_a_margin_on() -> None:
    parts = parts_of(CUBOTINO, Misadjustment(1))
    press, strain = sorted(parts.stops["lid"], key=lambda stop: -stop.at)
    assert (press.kind, press.upwards) == ("pressed-too-hard", True)
    assert press.at > SERVOS["lid"].places["close"]
    assert (strain.kind, strain.upwards) == ("strained", False)
    assert strain.at < SERVOS["lid"].places["flip"]
    assert [stop.upwards for stop in parts.stops["holder"]] == [False, True]
    mechanism = parts.around(scrambled(3, 1), Incidents().report)
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
