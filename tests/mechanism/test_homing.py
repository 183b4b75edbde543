"""The order of homing: nothing falls, and no part is in the way of another."""

from __future__ import annotations

import pytest

from robot.machine.board_configuration import actuator_setups, homing_order, homing_steps
from robot.mechanism.registry import HomeActuator, MoveActuator
from robot.settings import RobotProfile, load_profile

OPEN, CLOSED = 1600, 1250
QUARTER = 400


def steps_of(name, places):
    profile = load_profile(name)
    return homing_steps(profile, actuator_setups(profile), homing_order(profile), places)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("four-arm", ["right-jaw", "left-jaw", "front-jaw", "back-jaw"]),
        ("cubotino-uno", ["lid"]),
        ("crane", ["turntable", "squisher", "elevator"]),
        ("six-motor", []),
    ],
)
def test_without_knowledge_everything_is_homed_once_what_holds_the_cube_first(name, first):
    order = list(homing_order(load_profile(name)))
    assert order[: len(first)] == first
    assert steps_of(name, {}) == [HomeActuator(actuator) for actuator in order]


def test_servos_of_which_nothing_is_known_turn_back_before_any_jaw_moves():
    """One may carry the cube askew, and another's open jaws stand beside it."""
    steps = steps_of("two-arm", {})
    assert [step.actuator for step in steps] == ["right", "down", "right-jaw", "down-jaw"]
    known = steps_of("two-arm", {"right-jaw": 1200, "down-jaw": 1200})
    assert [step.actuator for step in known] == ["right-jaw", "down-jaw", "right", "down"]


def test_jaws_caught_half_way_close_before_anything_turns():
    profile = load_profile("two-arm")
    setups, order = actuator_setups(profile), homing_order(profile)
    steps = homing_steps(profile, setups, order, {}, ["down-jaw", "right"])
    assert [step.actuator for step in steps] == ["down-jaw", "right", "down", "right-jaw"]


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


def pairs_that_share_jaws():
    """Soltvvo as it would be with jaws that open in pairs, and nothing to home its arms by."""
    document = load_profile("soltvvo").model_dump(mode="json", exclude_unset=True)
    for site, other in (("L", "right-jaw"), ("B", "front-jaw")):
        del document["actuators"][document["mechanism"]["grippers"][site]["jaw"]]
        document["mechanism"]["grippers"][site]["jaw"] = other
    document["simulation"] = {}
    for arm in ("right", "left", "front", "back"):
        del document["actuators"][arm]["homing"], document["actuators"][arm]["turn_check"]
    return RobotProfile.model_validate(document)


def test_grippers_that_share_their_jaws_turn_back_together():
    profile = pairs_that_share_jaws()
    setups = actuator_setups(profile)
    right = next(setup for setup in setups if setup.name == "right")
    steps = homing_steps(profile, setups, homing_order(profile), {"right": right.start + 123})
    assert [step.actuator for step in steps[-4:]] == ["right-jaw", "right", "left", "right-jaw"]


@pytest.mark.parametrize("places", [{}, {"right": 0, "right-jaw": 1307}])
def test_arms_that_seek_their_place_let_go_of_the_cube_meanwhile(places):
    """One after the other: the closed ones would turn a layer, and the cube must not fall."""
    steps = steps_of("soltvvo", places)
    jaws = [name for name in load_profile("soltvvo").actuators if name.endswith("-jaw")]
    assert {step.actuator for step in steps[:4]} == set(jaws)
    let_go = ("right-jaw", "left-jaw", "front-jaw", "back-jaw")
    for number, jaw in enumerate(let_go):
        arm = HomeActuator(jaw.removesuffix("-jaw"))
        expected = [MoveActuator(jaw, 1534), arm, MoveActuator(jaw, 1307)]
        assert steps[4 + 3 * number : 7 + 3 * number] == expected
    assert len(steps) == 16


def test_an_arm_caught_in_a_turn_is_squared_before_its_jaw_opens():
    profile = load_profile("soltvvo")
    order = ("left", *(name for name in homing_order(profile) if name != "left"))
    steps = homing_steps(profile, actuator_setups(profile), order, {}, ["left"])
    assert steps[0] == HomeActuator("left")
    moved = [step.actuator for step in steps if isinstance(step, MoveActuator)]
    assert "left-jaw" not in moved and "right-jaw" in moved
