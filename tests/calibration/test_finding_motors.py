"""Steppers find out which way they turn, in how many steps, and what play is behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.api.calibrations import Calibration
from robot.calibration.auto.finder import finder_for
from robot.calibration.auto.grippers import RingFinder
from robot.calibration.auto.motors import (
    MICROSTEPS,
    check_motors,
    common_speeds,
    let_turn,
    wiring_finding,
    wiring_of,
)
from robot.calibration.auto.rotations import Rotation
from robot.calibration.auto.stepwise_move import StepwiseMove
from robot.calibration.trials.stepper_trials import STEPPING
from robot.calibration.values import apply
from robot.settings import load_profile
from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError
from robot.twin.cube import scrambled
from robot.twin.misadjustment import parse_misadjustment
from solver.files import JsonObject
from tests.calibration.found import wrong_motors
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun

FOUR_ARM = load_profile("four-arm")
MINDCUBER = load_profile("mindcuber")
TABLE = MINDCUBER.actuators_of(Stepper)["table"]


@given(
    factor=st.sampled_from(MICROSTEPS),
    sign=st.sampled_from((1, -1)),
    off=st.floats(0.95, 1.05),
    inverted=st.booleans(),
)
@settings(max_examples=20)
def test_a_motor_is_known_by_its_steps_to_the_degree(
    factor: float, sign: int, off: float, inverted: bool
) -> None:
    motor = TABLE.model_copy(update={"invert_direction": inverted})
    found = wiring_of(motor, "table", sign * off * factor * 1600 / 360, 3.4)
    assert found.turn_steps == 1600 * factor
    assert found.inverted is (inverted != (sign < 0))
    assert found.play_steps == 3
    values = wiring_finding("table", motor, found, {}).values
    calibrated = apply(MINDCUBER, Calibration(robot="mindcuber", values=dict(values)))
    table = calibrated.actuators_of(Stepper)["table"]
    assert table.steps_per_turn == 1600 * factor


def test_motors_are_as_fast_among_each_other_as_they_were_meant_to_be() -> None:
    found = {
        "actuators.right.steps_per_turn": 3200,
        "actuators.left.steps_per_turn": 1600,
        "actuators.front.steps_per_turn": 800,
    }
    (finding,) = common_speeds(FOUR_ARM, found)
    values = dict(finding.values)
    calibrated = apply(FOUR_ARM, Calibration(robot="four-arm", values=found | values))
    motors = calibrated.actuators_of(Stepper)
    names = ("right", "left", "front")
    assert {motors[n].max_speed_steps_per_s / (motors[n].steps_per_turn or 1) for n in names} == {
        8000 / 3200
    }
    assert [motors[name].max_acceleration_steps_per_s2 for name in names] == [160000, 80000, 40000]
    held = [motors[name].held for name in names]
    assert [one and one.max_speed_steps_per_s for one in held] == [4000, 2000, 1000]
    assert list(common_speeds(FOUR_ARM, {"actuators.left.steps_per_turn": 1600})) == []


@pytest.mark.parametrize("turn", [1200, 2000, 1600 * 64])
def test_a_turn_that_no_switch_makes_is_not_guessed(turn: float) -> None:
    with pytest.raises(CalibrationError, match="no microstep switch makes of 1600"):
        wiring_of(TABLE, "table", turn / 360, 0)


@contextmanager
def robot(name: str, misadjusted: str) -> Iterator[tuple[SimulatedRun, SimulatedCalibration]]:
    truth = parse_misadjustment(misadjusted)
    with SimulatedRun(load_profile(name), scrambled(3, truth.seed), misadjusted=truth) as run:
        session = SimulatedCalibration(run)
        with session.maintenance():
            yield run, session


def found_until(name: str, misadjusted: str, stage: str) -> tuple[JsonObject, JsonObject]:
    """What a robot finds until the first finding of a stage, and which of it is not so."""
    values: JsonObject = {}
    with robot(name, misadjusted) as (run, session):
        suitable = finder_for(run.profile)
        assert suitable is not None
        for finding in suitable(session).find():
            values |= finding.values
            if finding.stage == stage:
                break
        assert run.robot.violations == []
    truth = parse_misadjustment(misadjusted)
    return values, wrong_motors(load_profile(name), truth, values)


@pytest.mark.parametrize(
    ("name", "seed", "motor"),
    [
        pytest.param("mindcuber", "3", "table", marks=pytest.mark.long),
        ("four-arm", "1", "right"),
        ("six-motor", "1", "up"),
    ],
)
def test_a_motor_is_found_by_the_cube_that_it_turns(name: str, seed: str, motor: str) -> None:
    values, wrong = found_until(name, seed, "motor")
    assert wrong == {}
    assert f"actuators.{motor}.invert_direction" in values
    usual = load_profile(name).actuators_of(Stepper)[motor]
    what = (
        values[f"actuators.{motor}.steps_per_turn"],
        values[f"actuators.{motor}.invert_direction"],
    )
    assert what != (usual.steps_per_turn, usual.invert_direction)


@pytest.mark.parametrize(("name", "motor"), [("mindcuber", "table"), ("six-motor", "up")])
def test_a_motor_that_does_not_turn_is_named(name: str, motor: str) -> None:
    with robot(name, "2") as (run, session):
        suitable = finder_for(run.profile)
        assert suitable is not None
        run.robot.jam(motor)
        with pytest.raises(CalibrationError, match=f"does not turn with {motor}"):
            for _ in suitable(session).find():
                pass


class ScriptedMotor(Rotation):
    """A motor whose driver makes ``factor`` of a thought step, and what it drives has play."""

    step_degrees = 2.0

    def __init__(self, factor: float, play: float) -> None:
        actuator = StepwiseMove(None, "table", TABLE)  # type: ignore[arg-type]
        super().__init__(actuator, {})
        self.factor, self.play, self.load, self.widest = factor, play, 0.0, 0.0
        actuator.wake = lambda first=None: None  # type: ignore[method-assign]
        actuator.go = self.turned_to  # type: ignore[method-assign]

    def turned_to(self, place: float) -> None:
        rotor = place * self.factor * 360 / 1600
        self.load = min(max(self.load, rotor - self.play), rotor + self.play)
        self.widest = max(self.widest, abs(self.load))

    def angle(self) -> float:
        return self.load

    def expect(self, degrees: float) -> None: ...

    def shift_zero(self, degrees: float) -> None: ...


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.0, -1.0, 2.0, -2.0])
@pytest.mark.parametrize("play", [0.0, 1.5, 3.0])
def test_a_motor_shows_its_steps_without_turning_far(factor: float, play: float) -> None:
    """However large its steps are: the face must stay in view, and layers nearly square."""
    motor = ScriptedMotor(factor, play)
    stride = motor._find_stride()
    assert stride * factor * 360 / 1600 == pytest.approx(2.0, rel=0.25)
    assert motor.widest < 6.5


def test_square_is_seen_although_jaws_hide_a_part_of_the_face() -> None:
    """The cube stood square before anything moved, so it is where it was in the first picture."""
    truth = parse_misadjustment("6")
    with robot("four-arm", "6") as (run, session):
        finder = RingFinder(session)
        tilting, near = finder._grippers["R"].rotation, finder._grippers["F"].jaws
        let_turn(session, [tilting.name])
        for site in ("F", "B", "L"):
            finder._grippers[site].jaws.open_wide()
        assert finder.watch.look() is not None
        tilting.find_line()
        jaws = FOUR_ARM.actuators_of(Servo)["front-jaw"]
        near.actuator.go(
            truth.servo("front-jaw", jaws, 1000 / 90).pulse(jaws.positions_us["closed"])
        )
        assert abs(tilting.set_square()) < 0.3
        assert run.robot.violations == []


class Loses:
    """A session whose motors lose steps down to a part of their speed; the camera sees whole turns
    after a part of one."""

    def __init__(self, good: float, square: bool = True, turn: float = 1.0) -> None:
        self.calibrated = self.profile = load_profile("six-motor")
        self.good, self.square, self.turn = good, square, turn
        self.asked: list[tuple[float, float]] = []

    def perform(self, trial: Any, **asked: Any) -> Any:
        motor = self.profile.actuators_of(Stepper)[asked["actuator"]]
        if trial is STEPPING:
            turn = motor.steps_per_turn
            return SimpleNamespace(turn_steps=turn, found_steps=round(self.turn * turn))
        part = asked["speed_steps_per_s"] / motor.max_speed_steps_per_s
        self.asked.append((part, asked["acceleration_steps_per_s2"]))
        lost = part > self.good + 1e-9
        return SimpleNamespace(lost=lost, square=self.square, seen_by="camera")


@pytest.mark.parametrize(
    ("good", "parts"), [(1.0, [1.0]), (0.8, [1.0, 0.8]), (0.5, [1.0, 0.8, 0.64, 0.512, 0.4096])]
)
def test_a_motor_that_loses_steps_is_tried_slower(good: float, parts: list[float]) -> None:
    session: Any = Loses(good)
    motor = session.profile.actuators_of(Stepper)["up"]
    list(check_motors(session))
    asked = session.asked[: len(parts)]
    assert [each for each, _ in asked] == pytest.approx(parts)
    accelerations = [motor.max_acceleration_steps_per_s2 * each for each in parts]
    assert [each for _, each in asked] == pytest.approx(accelerations)
    assert session.asked[len(parts)][0] == pytest.approx(1.0), "the next motor"


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"good": 0.4}, r"up loses steps even at \d+ steps/s: is it powered"),
        ({"good": 0.4, "square": False}, r"at \d+ steps/s.*square by hand.*lower max_speed"),
        ({"good": 1.0, "turn": 2.0}, r"\d+ steps"),
    ],
)
def test_a_motor_that_cannot_be_relied_on_is_named(how: dict[str, Any], why: str) -> None:
    session: Any = Loses(**how)
    with pytest.raises(CalibrationError, match=why):
        list(check_motors(session))


def test_a_cube_may_look_the_same_after_a_part_of_a_turn() -> None:
    session: Any = Loses(1.0, turn=0.5)
    assert all(one.values == {} for one in check_motors(session))


def test_all_motors_are_as_slow_as_the_worst_with_a_margin() -> None:
    session: Any = Loses(1.0)
    names = list(session.profile.actuators_of(Stepper))
    findings = list(check_motors(session))
    assert len(findings) == 2 * len(names)
    assert {tuple(one.values) for one in findings} == {()}
    session = Loses(0.8)
    *_, last = check_motors(session)
    assert last.text == "all motors at 64% of their speed"
    for name, motor in session.profile.actuators_of(Stepper).items():
        speed = last.values[f"actuators.{name}.max_speed_steps_per_s"]
        assert speed == round(motor.max_speed_steps_per_s * 0.64)
        start = last.values[f"actuators.{name}.start_speed_steps_per_s"]
        assert start == min(motor.start_speed_steps_per_s, speed)


@pytest.mark.parametrize(
    ("off", "is_one"), [(1.07912, True), (1.081, False), (0.921, True), (0.919, False)]
)
def test_steps_may_seem_a_little_off(off: float, is_one: bool) -> None:
    steps = off * 1600 / 360
    if is_one:
        found = wiring_of(TABLE, "table", steps, 3.6)
        assert (found.turn_steps, found.play_steps) == (1600, 4)
        assert found.misses == pytest.approx(off - 1)
        told = wiring_finding("table", TABLE, found, {"seen": 1})
        assert told.evidence == {"seen": 1, "steps_off_percent": round(100 * (off - 1), 2)}
        assert told.uncertain == {"actuators.table.backlash_steps": 2}
        assert told.text == "table: turns the right way, 1600 steps are a turn, 4 of play"
    else:
        with pytest.raises(CalibrationError, match=f"table makes {1600 * off:.0f} steps in a turn"):
            wiring_of(TABLE, "table", steps, 3.6)
    back = wiring_of(TABLE, "table", -1600 / 360, 0.0)
    assert "turns the other way round" in wiring_finding("table", TABLE, back, {}).text
