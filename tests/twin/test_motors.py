"""Servos and steppers as physical things: what they follow and what they cannot."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from robot.settings import Stepper, load_profile
from robot.settings.profile import SimulatedActuator
from robot.twin.registry import Build
from robot.twin.servo import ServoMotor
from robot.twin.stepper import Rotor, StepMotor, StepperEndStop, wire_stepper
from robot.twin.violations import Incidents


@pytest.fixture
def incidents() -> Incidents:
    return Incidents()


@pytest.fixture
def stepper(incidents: Incidents) -> StepMotor:
    return StepMotor("arm", 0, Rotor(4_000.0, 20_000.0), incidents.report)


def kinds(incidents: Incidents) -> list[str]:
    return [violation.kind for violation in incidents.violations]


def step(motor: StepMotor, times: list[float]) -> None:
    for time in times:
        motor.step_edge(time, True)
        motor.step_edge(time + 5, False)


def ramp(top: float, acceleration: float, count: int, down: bool = True) -> list[float]:
    """Times of ``count`` steps: from rest up to ``top`` steps/s, and down to rest again."""
    times, time = [], 0.0
    for number in range(count):
        reached = min(number, count - 1 - number) if down else number
        speed = min(top, max(140.0, (2 * acceleration * reached) ** 0.5))
        time += 1e6 / speed
        times.append(time)
    return times


def test_servo_moves_at_its_own_speed(incidents: Incidents) -> None:
    servo = ServoMotor("lid", 1500.0, (500, 2500), 1000.0, incidents.report)
    servo.pulse_edge(0, True)
    servo.pulse_edge(2000, False)
    servo.advance(2000, 102_000)
    assert servo.position == pytest.approx(1600)
    assert servo.moving
    servo.pulse_edge(102_000, True)
    servo.pulse_edge(103_550, False)
    servo.advance(103_550, 200_000)
    assert servo.position == pytest.approx(1550)
    assert not servo.moving


def test_servo_without_pulses_goes_limp(incidents: Incidents) -> None:
    servo = ServoMotor("lid", 1500.0, (500, 2500), 1000.0, incidents.report)
    servo.pulse_edge(0, True)
    servo.pulse_edge(2500, False)
    servo.advance(2500, 4500)
    held = servo.position
    servo.advance(200_000, 900_000)
    assert servo.position == held
    assert not servo.moving


@pytest.mark.parametrize(("width", "kind"), [(150.0, "bad-pulse"), (2600.0, "past-limits")])
def test_pulses_that_are_wrong(incidents: Incidents, width: float, kind: str) -> None:
    servo = ServoMotor("lid", 1500.0, (500, 2500), 1000.0, incidents.report)
    servo.pulse_edge(0, True)
    servo.pulse_edge(width, False)
    assert kinds(incidents) == [kind]


def test_a_reset_in_a_pulse_is_no_pulse(incidents: Incidents) -> None:
    servo = ServoMotor("lid", 1500.0, (500, 2500), 1000.0, incidents.report)
    servo.pulse_edge(0, True)
    servo.reset()
    servo.pulse_edge(100, False)
    assert servo.target is None
    assert not kinds(incidents)


@pytest.mark.parametrize(("forward", "end"), [(True, 200), (False, -200)])
def test_stepper_follows_a_ramp(
    stepper: StepMotor, incidents: Incidents, forward: bool, end: int
) -> None:
    stepper.direction_edge(forward)
    step(stepper, ramp(2_000, 19_000, 200))
    assert stepper.position == end
    assert not kinds(incidents)


def losses() -> dict[str, Callable[[StepMotor], None]]:
    def too_fast(motor: StepMotor) -> None:
        step(motor, ramp(4_500, 15_000, 2_000))

    def too_sudden(motor: StepMotor) -> None:
        step(motor, [1e6 + 500 * number for number in range(20)])

    def too_steep(motor: StepMotor) -> None:
        step(motor, ramp(3_500, 60_000, 400))

    def stopped_dead(motor: StepMotor) -> None:
        times = ramp(3_000, 15_000, 500, down=False)
        step(motor, times)
        motor.advance(times[-1], times[-1] + 100_000)

    def turned_round(motor: StepMotor) -> None:
        step(motor, ramp(3_000, 15_000, 500, down=False))
        motor.direction_edge(True)

    def not_enabled(motor: StepMotor) -> None:
        motor.enable_edge(True)
        step(motor, [10_000.0])

    cases = (too_fast, too_sudden, too_steep, stopped_dead, turned_round, not_enabled)
    return {case.__name__: case for case in cases}


@pytest.mark.parametrize("case", losses().values(), ids=losses().keys())
def test_stepper_loses_steps(
    stepper: StepMotor, incidents: Incidents, case: Callable[[StepMotor], None]
) -> None:
    case(stepper)
    assert stepper.lost_steps > 0
    assert kinds(incidents) == ["lost-steps"]


def test_a_lost_step_by_request_is_silent(stepper: StepMotor, incidents: Incidents) -> None:
    stepper.direction_edge(True)
    stepper.lose_steps(2)
    step(stepper, ramp(1_000, 10_000, 10))
    assert stepper.position == 8
    stepper.jammed = True
    step(stepper, [1e6, 1.01e6])
    assert (stepper.position, stepper.lost_steps) == (8, 4)
    assert not kinds(incidents)


def test_a_motor_that_jams_in_full_run_is_at_rest(stepper: StepMotor, incidents: Incidents) -> None:
    """Only what was asked for is wrong with it: that it stops dead is no news."""
    times = ramp(3_000, 15_000, 500, down=False)
    step(stepper, times)
    stepper.jammed = True
    step(stepper, [times[-1] + 330])
    stepper.advance(times[-1], times[-1] + 100_000)
    assert (stepper.lost_steps, kinds(incidents)) == (1, [])


def test_play_is_lost_whenever_the_motor_turns_round(incidents: Incidents) -> None:
    motor = StepMotor("table", 0, Rotor(4_000.0, 20_000.0), incidents.report, play=5)
    places = []
    for start, forward, count in (
        (0.0, True, 20),
        (1e6, False, 20),
        (2e6, True, 3),
        (3e6, True, 7),
    ):
        motor.direction_edge(forward)
        step(motor, [start + time for time in ramp(1_000, 10_000, count)])
        places.append(motor.position)
    assert places == [20, 5, 5, 10]
    assert not kinds(incidents)


@pytest.mark.parametrize(("more", "steps"), [({}, 0.0), ({"power_on_steps": 37}, 37.0)])
def test_a_stepper_stands_where_it_was_left(
    incidents: Incidents, more: dict[str, int], steps: float
) -> None:
    settings = load_profile("six-motor").actuators_of(Stepper)["up"]
    physics = SimulatedActuator.model_validate(more)
    wired = wire_stepper("up", settings, physics, None, Build(), incidents.report)
    assert wired.motor.position == steps


def test_an_end_stop_is_active_from_its_edge_on() -> None:
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


def test_a_worn_end_stop_is_active_at_every_other_step_near_its_edges() -> None:
    worn = StepperEndStop(10, 1, True, 10)
    worn.chatter = 2
    places = {8: False, 9: False, 10: True, 11: False, 12: True, 13: True, 18: True, 19: False}
    assert {at: worn.level(at) for at in places} == places
    assert [worn.level(at) for at in (20, 21, 22, 23)] == [True, False, False, False]
