"""Calibrating steppers against simulated motors that lose steps and have play."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from robot.calibration.trials.stepper_trials import (
    SpeedRequest,
    SpeedTried,
    StepperRequest,
    StepsRequest,
    TurnRequest,
    measured_play,
    tried_speed,
    tried_steps,
    tried_turn,
)
from robot.calibration.trials.trial import Bench
from robot.machine.assembly import Machine
from robot.settings import RobotProfile, load_profile
from robot.twin.cube import CubeBody, scrambled
from tests.rig.simulated_run import SimulatedRun

STALL = 2400
"""Half as much again as the table of the profile is meant to do."""

TABLE = StepsRequest(actuator="table")

INDEX = {
    "direction": 1,
    "speed_steps_per_s": 200,
    "slow_speed_steps_per_s": 100,
    "backoff_steps": 20,
    "max_travel_steps": 900,
    "offset_steps": 10,
}


def flipper(homing: bool = False, play: int = 0, **table: Any) -> RobotProfile:
    """A flipper whose table is a stepper; ``table`` is what its profile says otherwise."""
    document = load_profile("mindcuber").model_dump(mode="json", exclude_unset=True)
    settings = document["actuators"]["table"]
    settings.update(table)
    if homing:
        settings["pins"]["endstop"] = 5
        settings.update(homing=INDEX, turn_check={"every_steps": 400})
    document["simulation"]["actuators"]["table"] = {
        "stall_speed_steps_per_s": STALL,
        "play_steps": play,
    }
    return RobotProfile.model_validate(document)


def trying(asked: SpeedRequest, robot: Machine, profile: RobotProfile) -> SpeedTried:
    return tried_speed(Bench(robot, profile), asked)


def robot_of(profile: RobotProfile, body: CubeBody | None = None) -> SimulatedRun:
    return SimulatedRun(profile, body or scrambled(3, 1))


@pytest.mark.parametrize("homing", [False, True])
def test_lost_steps_are_noticed_and_made_good(homing: bool) -> None:
    with robot_of(flipper(homing)) as r:
        cube = r.robot.body.held_upright().facelets()
        for speed, lost in ((STALL - 100, False), (STALL + 100, True), (STALL - 100, False)):
            asked = SpeedRequest(actuator="table", speed_steps_per_s=speed)
            tried = r.calibrate(partial(trying, asked))
            assert (tried.lost, tried.square) == (lost, True)
            assert tried.seen_by == ("sensor" if homing else "camera")
            assert tried.reached_steps_per_s == speed
        assert {violation.kind for violation in r.robot.violations} == {"lost-steps"}
        assert r.robot.body.held_upright().facelets() == cube


def test_what_no_camera_sees_is_for_a_person_to_judge() -> None:
    asked = SpeedRequest(actuator="table", held=True)
    with robot_of(flipper()) as r:
        tried = r.calibrate(partial(trying, asked))
        assert (tried.lost, tried.seen_by) == (None, None)
        assert r.robot.violations == []


@pytest.mark.parametrize(
    ("homing", "play"), [pytest.param(False, 0, marks=pytest.mark.long), (False, 20), (True, 12)]
)
def test_play_is_measured(homing: bool, play: int) -> None:
    with robot_of(flipper(homing, play)) as r:
        found = r.calibrate(lambda *on: measured_play(Bench(*on), StepperRequest(actuator="table")))
    assert found.play_steps is not None
    assert abs(found.play_steps - play) <= found.within_steps
    assert found.values == {"actuators.table.backlash_steps": found.play_steps}


@pytest.mark.parametrize(
    ("said", "found"), [(1600, 1600), pytest.param(800, 1600, marks=pytest.mark.long), (3200, 1600)]
)
def test_a_wrong_microstep_switch_is_found(said: int, found: int) -> None:
    with robot_of(flipper(play=8)) as r:
        wrong = flipper(play=8, steps_per_turn=said)
        tried = r.calibrate(lambda robot, _: tried_steps(Bench(robot, wrong), TABLE))
        assert tried.found_steps == found
        assert bool(tried.values) == (said != found)
        assert r.robot.violations == []


@pytest.mark.parametrize("inverted", [False, True])
def test_a_quarter_turn_shows_the_direction(inverted: bool) -> None:
    with robot_of(flipper(homing=True)) as r:
        before = r.robot.body.facelets()
        asked = TurnRequest(actuator="table", inverted=inverted)
        tried = r.calibrate(lambda *on: tried_turn(Bench(*on), asked))
        assert (tried.steps, tried.inverted) == (400, inverted)
        assert r.robot.body.facelets() == before
        assert r.robot.violations == []
