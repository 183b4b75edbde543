"""Servos and steppers as physical things, motions they cannot follow, and TMC2209 drivers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.motion.stepper import StepperLimits, stepper_move
from robot.twin.misadjustment import ServoTruth
from robot.twin.registry import Stop
from robot.twin.servo import ServoMotor
from robot.twin.stepper import Rotor, StepMotor, StepperEndStop
from robot.twin.tmc2209 import DriverLine, DriverStatus, GlobalStatus, Register, Tmc2209, crc8
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


LOSSES = {
    "too fast": ramp(4_500, 15_000, 2_000),
    "too sudden": [1e6 + 500 * number for number in range(20)],
    "too steep": ramp(3_500, 60_000, 400),
    "stopped dead": FULL_RUN,
    "turned round": FULL_RUN,
}


@pytest.mark.parametrize("case", LOSSES)
def test_a_stepper_loses_steps(stepper, incidents, case):
    step(stepper, LOSSES[case])
    if case == "stopped dead":
        stepper.advance(FULL_RUN[-1], FULL_RUN[-1] + 100_000)
    elif case == "turned round":
        stepper.direction_edge(True)
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


# The driver, queried over its wire as its data sheet describes


def datagram(*data: int) -> bytes:
    return bytes(data) + bytes([crc8(bytes(data))])


def read(line: DriverLine, address: int, register: Register) -> int | None:
    answer = line.answer(0.0, datagram(5, address, register))
    return int.from_bytes(answer[3:7], "big") if answer else None


def write(line: DriverLine, address: int, register: Register, value: int) -> None:
    assert not line.answer(0.0, datagram(5, address, register | 0x80, *value.to_bytes(4, "big")))


@pytest.fixture
def line() -> DriverLine:
    line = DriverLine()
    line.drivers += [Tmc2209(0), Tmc2209(2)]
    return line


def test_a_datagram_looks_as_in_the_data_sheet(line):
    assert datagram(5, 0, Register.IOIN).hex() == "0500066f"
    answer = line.answer(0.0, datagram(5, 0, Register.IFCNT))
    assert answer == datagram(5, 0xFF, Register.IFCNT, 0, 0, 0, 0)


def test_only_the_driver_of_that_address_takes_a_write_that_arrived_whole(line):
    write(line, 2, Register.CHOPCONF, 0x14000053)
    assert [read(line, one, Register.IFCNT) for one in (0, 2)] == [0, 1]
    assert read(line, 2, Register.CHOPCONF) == 0x14000053
    damaged = bytearray(datagram(5, 2, Register.CHOPCONF | 0x80, 0, 0, 0, 0))
    damaged[4] ^= 1
    line.answer(0.0, bytes(damaged))
    assert read(line, 2, Register.IFCNT) == 1
    assert read(line, 1, Register.IFCNT) is None


def test_microsteps_are_those_of_the_register_once_that_is_chosen(line):
    driver = line.drivers[1]
    assert driver.microsteps == 64, "by the pins that make address 2"
    write(line, 2, Register.CHOPCONF, 5 << 24 | 3)
    write(line, 2, Register.GCONF, 1 << 7)
    assert driver.microsteps == 8
    driver.reset()
    assert driver.microsteps == 64


def test_flags_stay_until_they_are_written_but_undervoltage(line):
    driver = line.drivers[0]
    driver.undervoltage = True
    driver.suffer(DriverStatus.GROUND_A)
    assert not driver.is_on
    every = GlobalStatus.RESET | GlobalStatus.DRIVER_ERROR | GlobalStatus.UNDERVOLTAGE
    assert read(line, 0, Register.GSTAT) == every
    write(line, 0, Register.GSTAT, 7)
    assert read(line, 0, Register.GSTAT) == GlobalStatus.UNDERVOLTAGE
    assert (read(line, 0, Register.DRV_STATUS) or 0) & DriverStatus.GROUND_A
    driver.mend()
    assert driver.is_on


@pytest.mark.parametrize(
    ("steps_per_s", "mode", "lag", "stalls"),
    [
        (1000, 0, 0.0, False),
        (1000, 0, 0.9, True),
        (1000, 1 << 2, 0.9, False),  # SpreadCycle
        (300, 0, 0.9, False),  # slower than TCOOLTHRS allows
    ],
)
def test_stallguard_needs_stealthchop_and_speed(line, steps_per_s, mode, lag, stalls):
    driver = line.drivers[0]
    for register, value in (
        (Register.GCONF, 1 << 7 | mode),
        (Register.CHOPCONF, 5 << 24 | 3),
        (Register.GSTAT, 7),
        (Register.SGTHRS, 60),
        (Register.TCOOLTHRS, 500),
    ):
        write(line, 0, register, value)
    for number in range(100):
        driver.step(1e6 / steps_per_s * number, lag)
    assert driver.diagnosis is stalls
    driver.pass_time(1e6)
    assert not driver.diagnosis, "a motor at rest does not stall"
