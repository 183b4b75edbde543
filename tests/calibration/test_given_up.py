"""Calibration that ends midway leaves no motor askew that only counts its steps, or says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from robot.calibration.auto.motors import let_turn
from robot.calibration.steps.positions import MOVING
from robot.link import LostPositions
from robot.machine.confirmed_range import ConfirmedRange, confirmable
from robot.machine.motion_controller import MotionController
from robot.settings import load_profile
from robot.settings.stepper import Stepper
from robot.text.faults import RobotError
from robot.twin.cube import scrambled
from robot.twin.misadjustment import Misadjustment
from tests.rig.simulated_calibration import SimulatedCalibration, SimulatedMotion
from tests.rig.simulated_run import SimulatedRun

SIX_MOTOR = load_profile("six-motor")
TURN = SIX_MOTOR.actuators_of(Stepper)["right"].steps_per_turn or 0
ASKEW = TURN // 20


@contextmanager
def calibrated(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[SimulatedRun, SimulatedCalibration, list[MotionController]]]:
    """A robot in maintenance that was wired otherwise, and what moves it, as it is made."""
    motions: list[MotionController] = []
    made = SimulatedMotion.__init__

    def noted(self: SimulatedMotion, *given: object) -> None:
        made(self, *given)  # type: ignore[arg-type]
        motions.append(self)

    monkeypatch.setattr(SimulatedMotion, "__init__", noted)
    with SimulatedRun(SIX_MOTOR, scrambled(3, 3), misadjusted=Misadjustment(3)) as run:
        yield run, SimulatedCalibration(run), motions


def turned(session: SimulatedCalibration, steps: int) -> None:
    """One motor has turned by some steps, and no trial brings it back."""
    let_turn(session, SIX_MOTOR.actuators_of(Stepper))
    session.perform(MOVING, actuator="right", to=None)
    session.perform(MOVING, actuator="right", to=steps)


def degrees(run: SimulatedRun) -> float:
    """Where the face truly is."""
    return run.robot._parts.motors["right"].position / TURN * 360


@pytest.mark.parametrize("steps", [ASKEW, -ASKEW, TURN // 4])
def test_its_motors_turn_back(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by what a profile takes for a quarter turn: it may be half of one."""
    with calibrated(monkeypatch) as (run, session, _):
        with session.maintenance():
            turned(session, steps)
            assert abs(degrees(run)) > 5
        assert abs(degrees(run)) < 2  # its play
        assert run.robot.violations == []


def test_what_is_too_far_away_stays_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with calibrated(monkeypatch) as (run, session, motions), session.maintenance():
        turned(session, TURN)
        away = degrees(run)
        assert motions[-1].bring_back(["right"]) == ("right",)
        assert degrees(run) == away


def test_nothing_turns_back_after_an_emergency_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    with calibrated(monkeypatch) as (run, session, motions), session.maintenance():
        turned(session, ASKEW)
        away = degrees(run)
        motions[-1].emergency_stop()
        assert motions[-1].bring_back(["right"]) == ("right",)
        assert degrees(run) == away


@pytest.mark.parametrize("calibrated_again", [False, True])
@pytest.mark.parametrize("names", [("right",), None])
def test_a_person_is_told_once(
    names: tuple[str, ...] | None, calibrated_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with calibrated(monkeypatch) as (run, session, _):
        with session.maintenance():
            pass
        known = ConfirmedRange(confirmable(SIX_MOTOR))
        motion = SimulatedMotion(run, SIX_MOTOR, known, [])
        motion.mark_positions_lost(LostPositions.of_calibration(names))
        with pytest.raises(RobotError) as raised:
            motion.home()
        all_of_them = ", ".join(SIX_MOTOR.actuators_of(Stepper))
        assert f"calibration broke off; {'right' if names else all_of_them} may" in str(
            raised.value
        )
        assert "square by hand, then start again" in raised.value.remedy
        motion.home()
        motion.close()
