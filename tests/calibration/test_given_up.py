"""Calibration that ends midway leaves no motor askew that only counts its steps, or says so."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from robot.calibration.auto.motors import let_turn
from robot.calibration.steps.positions import MOVING
from robot.link import LostPositions
from robot.machine.confirmed_range import ConfirmedRange, confirmable
from robot.settings import load_profile
from robot.settings.stepper import Stepper
from robot.text.faults import RobotError, Stopped
from robot.twin.cube import scrambled
from robot.twin.misadjustment import BUILT_AS_DRAWN, Misadjustment
from tests.rig.simulated_calibration import SimulatedCalibration, SimulatedMotion
from tests.rig.simulated_run import SimulatedRun

SIX_MOTOR, FOUR_ARM = load_profile("six-motor"), load_profile("four-arm")
TURN = SIX_MOTOR.actuators_of(Stepper)["right"].steps_per_turn or 0
ASKEW = TURN // 20


@contextmanager
def robot() -> Iterator[tuple[SimulatedRun, SimulatedCalibration]]:
    """A robot that was wired otherwise than its profile says."""
    with SimulatedRun(SIX_MOTOR, scrambled(3, 3), misadjusted=Misadjustment(3)) as run:
        yield run, SimulatedCalibration(run)


def turned(session: SimulatedCalibration, steps: int) -> None:
    """One motor has turned by some steps, and no trial brings it back."""
    let_turn(session, SIX_MOTOR.actuators_of(Stepper))
    session.perform(MOVING, actuator="right", to=None)
    session.perform(MOVING, actuator="right", to=steps)


def degrees(run: SimulatedRun) -> float:
    """Where the face truly is."""
    return run.robot._parts.motors["right"].position / TURN * 360


@pytest.mark.parametrize("steps", [ASKEW, -ASKEW, TURN // 4])
def test_its_motors_turn_back(steps: int) -> None:
    """Also by what a profile takes for a quarter turn: it may be half of one."""
    with robot() as (run, session):
        with session.maintenance():
            turned(session, steps)
            assert abs(degrees(run)) > 5
        assert abs(degrees(run)) < 2  # its play
        assert run.robot.violations == []


def test_what_is_too_far_away_stays_and_is_named() -> None:
    with robot() as (run, session), session.maintenance():
        turned(session, TURN)
        away = degrees(run)
        assert session.motion.bring_back(["right"]) == ("right",)
        assert degrees(run) == away


def test_nothing_turns_back_after_an_emergency_stop() -> None:
    with robot() as (run, session), session.maintenance():
        turned(session, ASKEW)
        away = degrees(run)
        session.motion.emergency_stop()
        assert session.motion.bring_back(["right"]) == ("right",)
        assert degrees(run) == away


@pytest.mark.parametrize("names", [("right",), None])
def test_a_person_is_told_once(names: tuple[str, ...] | None) -> None:
    with robot() as (run, _):
        known = ConfirmedRange(confirmable(SIX_MOTOR))
        motion = SimulatedMotion(run, SIX_MOTOR, known, [])
        motion.mark_positions_lost(LostPositions.of_calibration(names))
        with pytest.raises(RobotError) as raised:
            motion.home()
        all_of_them = ", ".join(SIX_MOTOR.actuators_of(Stepper))
        assert f"{'right' if names else all_of_them} may" in str(raised.value)
        assert "square by hand" in raised.value.remedy
        motion.home()
        motion.close()


JAWS = ("front-jaw", "back-jaw", "left-jaw")
STEPS = 20


def test_a_first_pulse_leaves_the_others_and_homing_brings_all_to_their_start() -> None:
    """Each part that gets its first pulse leaves the others as they are: they may hold the cube.
    What is unknown again is taken to be at its start."""
    with SimulatedRun(FOUR_ARM, scrambled(3, 1), misadjusted=BUILT_AS_DRAWN) as run:
        session = SimulatedCalibration(run)
        with session.maintenance():
            let_turn(session, ["right"])
            session.perform(MOVING, actuator="right", to=None)
            session.perform(MOVING, actuator="right", to=STEPS)
            places = {"right": STEPS}
            for number, jaws in enumerate(JAWS):
                first = 1600 + 10 * number
                places[jaws] = first + 5
                session.perform(MOVING, actuator=jaws, to=places[jaws], begin_at=first)
            motion = session.motion
            with session.contact.trusting(tuple(FOUR_ARM.actuators)):
                assert {name: motion.position(name) for name in places} == places
                starts = {name: 1250 if "jaw" in name else 0 for name in FOUR_ARM.actuators}
                motion.home()
                assert {name: motion.position(name) for name in starts} == starts
                motion.jog("right", 0)
                motion.assume_start_positions()
                motion.home()
                assert {name: motion.position(name) for name in starts} == starts
        assert run.robot.violations == []


@pytest.mark.parametrize("alone", [False, True])
def test_a_stop_before_does_not_take_the_place_of_asking(
    alone: bool,
) -> None:
    with robot() as (run, _):
        motion = SimulatedMotion(run, SIX_MOTOR, ConfirmedRange(confirmable(SIX_MOTOR)), [])
        motion.mark_positions_lost(LostPositions.of_calibration(("right",)))
        begin = partial(motion.home_alone, "right", 0) if alone else motion.home
        stop = threading.Event()
        stop.set()
        motion.begin(stop)
        with pytest.raises(Stopped):
            begin()
        assert motion.has_lost_positions
        motion.begin(threading.Event())
        with pytest.raises(RobotError, match="calibration broke off; right may have"):
            begin()
        begin()
        motion.close()


def test_what_is_lost_is_passed_on_to_what_moves_next() -> None:
    with robot() as (run, _):
        contact = ConfirmedRange(confirmable(SIX_MOTOR))
        first, heir = (SimulatedMotion(run, SIX_MOTOR, contact, []) for _ in range(2))
        first.pass_losses_on(heir)
        assert not heir.has_lost_positions
        first.mark_positions_lost(LostPositions.of_calibration(("right",)))
        first.pass_losses_on(heir)
        heir.mark_positions_lost(LostPositions.of_calibration(("up",)))
        with pytest.raises(RobotError) as raised:
            heir.home()
        assert {"up", "right"} <= set(raised.value.remedy.replace(",", "").split())
        heir.close()


def test_the_words_for_a_lost_motor_do_not_grow() -> None:
    with robot() as (run, _):
        motion = SimulatedMotion(run, SIX_MOTOR, ConfirmedRange(confirmable(SIX_MOTOR)), [])
        motion.mark_positions_lost(LostPositions.of_calibration(("right",)))
        with pytest.raises(RobotError):
            motion.home()
        motion._ledger.home_first("right")  # as if it was moving when that fault came
        motion.home()
        motion.close()
