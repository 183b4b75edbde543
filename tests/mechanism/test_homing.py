from __future__ import annotations

import pytest

from robot.machine.board_configuration import actuator_setups, homing_order, homing_steps
from robot.mechanism.registry import HomeActuator, MoveActuator
from robot.settings import load_profile

OPEN, CLOSED = 1600, 1250
QUARTER = 400


def steps_of(name, places):
    profile = load_profile(name)
    return homing_steps(profile, actuator_setups(profile), homing_order(profile), places)


@pytest.mark.parametrize("name", ["four-arm", "two-arm", "soltvvo", "cubotino-uno", "six-motor"])
def test_without_knowledge_everything_is_homed_once_in_the_usual_order(name):
    order = homing_order(load_profile(name))
    assert steps_of(name, {}) == [HomeActuator(actuator) for actuator in order]


def test_an_open_gripper_turns_back_before_it_closes():
    steps = steps_of("four-arm", {"right-jaw": OPEN, "right": QUARTER, "front-jaw": CLOSED})
    assert steps[0] == HomeActuator("right")
    assert steps.index(HomeActuator("right")) < steps.index(HomeActuator("right-jaw"))
    assert len(steps) == 8


def test_a_closed_gripper_lets_go_to_turn_back_once_all_hold_the_cube():
    steps = steps_of("four-arm", {"front-jaw": CLOSED, "front": QUARTER, "right-jaw": OPEN})
    assert steps[-3:] == [
        MoveActuator("front-jaw", OPEN),
        HomeActuator("front"),
        MoveActuator("front-jaw", CLOSED),
    ]
    assert {step.actuator for step in steps[:-3]} >= {"right-jaw", "left-jaw", "back-jaw"}


def test_half_a_turn_looks_the_same():
    assert steps_of("four-arm", {"front-jaw": CLOSED, "front": 2 * QUARTER}) == steps_of(
        "four-arm", {}
    )


def test_grippers_that_share_their_jaws_turn_back_together():
    turned = actuator_setups(load_profile("soltvvo"))
    right = next(setup for setup in turned if setup.name == "right")
    steps = steps_of("soltvvo", {"right": right.start + 123})
    assert [step.actuator for step in steps[-4:]] == ["sides", "right", "left", "sides"]
