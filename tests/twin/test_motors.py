"""Servos and steppers as physical things: motions they follow and motions they cannot."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.motion.stepper import StepperLimits, stepper_move
from robot.twin.misadjustment import ServoTruth
from robot.twin.registry import Stop
from robot.twin.servo import ServoMotor
from robot.twin.stepper import Rotor, StepMotor, StepperEndStop
from robot.twin.tmc2209 import Tmc2209
from robot.twin.violations import Incidents
from tests.rig.boards import rises_of

FRAME_US = 20_000.0


@pytest.fixture
def incidents() -> Incidents:
    return Incidents()


@pytest.fixture
def stepper(incidents: Incidents) -> StepMotor:
    return StepMotor("arm", 0, Rotor(4_000.0, 20_000.0), incidents.report)


def kinds(incidents: Incidents) -> list[str]:
    return [violation.kind for violation in incidents.violations]


def servo_of(
    incidents: Incidents, *stops: Stop, speed: float = 5000.0, **truth: float
) -> ServoMotor:
    built = ServoTruth(**truth)
    return ServoMotor("lid", 1500.0, (900, 2100), speed, incidents.report, built, stops)


def drive(servo: ServoMotor, incidents: Incidents, pulse_us: float, seconds: float) -> None:
    """Send the servo pulses of this width for this time."""
    for _ in range(round(seconds * 1e6 / FRAME_US)):
        start = incidents.time_us
        servo.pulse_edge(start, True)
        servo.pulse_edge(start + pulse_us, False)
        incidents.time_us = start + FRAME_US
        servo.advance(start, incidents.time_us)


def test_a_servo_moves_at_its_own_speed_and_goes_limp_without_pulses(incidents):
    servo = servo_of(incidents, speed=1000.0)
    drive(servo, incidents, 2000, 0.1)
    assert (servo.position, servo.moving) == (pytest.approx(1600), True)
    drive(servo, incidents, 1550, 0.1)
    assert (servo.position, servo.moving) == (pytest.approx(1550), False)
    drive(servo, incidents, 2000, 0.02)
    held = servo.position
    servo.advance(incidents.time_us + 200_000, incidents.time_us + 900_000)
    assert (servo.position, servo.moving) == (held, False)


@pytest.mark.parametrize(("width", "kind"), [(150.0, "bad-pulse"), (2600.0, "past-limits")])
def test_wrong_pulses_are_reported(incidents, width, kind):
    """Check also that a reset during a pulse is no pulse."""
    servo = servo_of(incidents)
    servo.pulse_edge(0, True)
    servo.reset()
    servo.pulse_edge(100, False)
    assert servo.target is None and not kinds(incidents)
    drive(servo, incidents, width, 0.02)
    assert kinds(incidents) == [kind]


def test_a_servo_stops_short_by_half_its_slack_on_either_side(incidents):
    servo = servo_of(incidents, zero_us=30.0, gain=1.1, slack_us=8.0)
    for pulse_us, off_us in ((1600, 110 - 4), (1603, 110 - 0.7), (1600, 110 - 0.7), (1590, 99 + 4)):
        drive(servo, incidents, pulse_us, 0.5)
        assert servo.position == pytest.approx(1530 + off_us)
        assert not servo.moving


def test_a_servo_creeps_the_last_of_its_way_and_is_slow_while_others_move(incidents):
    servo = servo_of(incidents, speed=1000.0, creep_us=20.0, sag=0.1)
    servo.share_supply(3)
    drive(servo, incidents, 1600, 0.1)
    assert servo.position == pytest.approx(1570), "three others take 30 % of its speed"
    servo.share_supply(0)
    drive(servo, incidents, 1600, 0.06)
    assert 1580 < servo.position < 1590 and servo.moving
    drive(servo, incidents, 1600, 1.0)
    assert (servo.position, servo.moving) == (1600.0, False)


@given(st.floats(0.1, 20.0), st.floats(1000.0, 2000.0))
def test_a_servo_that_creeps_arrives_whatever_the_rounding(creep_us, pulse_us):
    incidents = Incidents()
    servo = servo_of(incidents, creep_us=creep_us)
    drive(servo, incidents, pulse_us, 1.5)
    assert (servo.position, servo.moving) == (servo.target, False)


def test_a_servo_that_pushes_for_over_a_second_is_reported_once(incidents):
    servo = servo_of(incidents, Stop(1600.0, True, "strained", "pushes"), slack_us=4.0)
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


def step(motor: StepMotor, times: list[float]) -> None:
    for time in times:
        motor.step_edge(time, True)
        motor.step_edge(time + 5, False)


def ramp(top: float, acceleration: float, count: int, down: bool = True) -> list[float]:
    """Return times of ``count`` steps: from rest up to ``top`` steps/s, and down to rest again."""
    times, time = [], 0.0
    for number in range(count):
        reached = min(number, count - 1 - number) if down else number
        speed = min(top, max(140.0, (2 * acceleration * reached) ** 0.5))
        time += 1e6 / speed
        times.append(time)
    return times


FULL_RUN = ramp(3_000, 15_000, 500, down=False)


@pytest.mark.parametrize(("forward", "end"), [(True, 200), (False, -200)])
def test_a_stepper_follows_a_ramp(stepper, incidents, forward, end):
    stepper.direction_edge(forward)
    step(stepper, ramp(2_000, 19_000, 200))
    assert stepper.position == end
    assert not kinds(incidents)


def stop_dead(motor: StepMotor) -> None:
    step(motor, FULL_RUN)
    motor.advance(FULL_RUN[-1], FULL_RUN[-1] + 100_000)


def test_a_motor_whose_driver_was_reset_slips_and_may_be_stopped_dead(stepper, incidents):
    driver = Tmc2209(address=0)
    stepper.attach_driver(driver, driver.microsteps, None)
    half = len(FULL_RUN) // 2
    step(stepper, FULL_RUN[:half])
    driver.reset()
    step(stepper, FULL_RUN[half:])
    stepper.advance(FULL_RUN[-1], FULL_RUN[-1] + 100_000)
    assert stepper.lost_steps == len(FULL_RUN) - half
    assert not kinds(incidents)


def turn_round(motor: StepMotor) -> None:
    step(motor, FULL_RUN)
    motor.direction_edge(True)


LOSSES: dict[str, Callable[[StepMotor], None]] = {
    "too fast": lambda motor: step(motor, ramp(4_500, 15_000, 2_000)),
    "too sudden": lambda motor: step(motor, [1e6 + 500 * number for number in range(20)]),
    "too steep": lambda motor: step(motor, ramp(3_500, 60_000, 400)),
    "stopped dead": stop_dead,
    "turned round": turn_round,
}


@pytest.mark.parametrize("case", LOSSES)
def test_a_stepper_loses_steps(stepper, incidents, case):
    LOSSES[case](stepper)
    assert stepper.lost_steps > 0
    assert kinds(incidents) == ["lost-steps"]


@pytest.mark.parametrize(("harder", "loses"), [(1.0, False), (2.5, True)])
def test_a_rotor_loses_as_much_however_fine_its_steps_are(harder, loses):
    """Make a half turn with six-motor-record's motors, at ``harder`` times their acceleration."""
    losses = []
    for microsteps in (1, 2, 4):
        limits = StepperLimits(400 * microsteps, 48_000 * microsteps, 9.88e6 * microsteps * harder)
        move = stepper_move("arm", 0, 400 * microsteps, limits)
        weakest = 1.5 * 0.8 * microsteps
        rotor = Rotor(48_000 * weakest, 9.88e6 * weakest, microsteps)
        slips = [rotor.step(float(ticks / 2)) for ticks in rises_of(move)]
        losses.append(sum(slip is not None for slip in slips))
    assert bool(min(losses)) == bool(max(losses)) == loses
    assert max(losses) - min(losses) <= 3


def test_play_is_lost_whenever_the_motor_turns_round(incidents):
    motor = StepMotor("table", 0, Rotor(4_000.0, 20_000.0), incidents.report, play=5)
    for number, (steps, place) in enumerate(((20, 20), (-20, 5), (3, 5), (7, 10))):
        motor.direction_edge(steps > 0)
        step(motor, [1e6 * number + time for time in ramp(1_000, 10_000, abs(steps))])
        assert motor.position == place
    assert not kinds(incidents)


def test_an_end_stop_is_active_from_its_edge_on():
    forwards, backwards = StepperEndStop(10, 1, True), StepperEndStop(10, -1, False)
    assert [forwards.level(at) for at in (9.99, 10, 1e9)] == [False, True, True]
    assert [backwards.level(at) for at in (10.01, 10, -1e9)] == [True, False, False]
    narrow = StepperEndStop(10, 1, True, 4, 100)
    places = {9.99: False, 10: True, 14: True, 14.01: False, 110: True, 115: False, -90: True}
    assert {at: narrow.level(at) for at in places} == places
    narrow.stuck = True
    assert all(narrow.level(at) for at in places)
    narrow.stuck = False
    assert not any(narrow.level(at) for at in places)
