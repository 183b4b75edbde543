"""The order of homing: the cube does not fall, and no part is in the way of another."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from robot.machine.board_configuration import actuator_setups, homing_order, homing_steps
from robot.mechanism.registry import MoveActuator
from robot.settings import RobotProfile, load_profile

OPEN, CLOSED, QUARTER = 1600, 1250, 400
"""Pulses and steps of four-arm."""
JAWS = "right-jaw left-jaw front-jaw back-jaw"


def steps_of(profile: RobotProfile, places: Mapping[str, int], caught: tuple[str, ...] = ()) -> str:
    """Return the actuators in the order in which they are homed, or moved to a position."""
    setups, order = actuator_setups(profile), homing_order(profile)
    return " ".join(
        f"{step.actuator}={step.position}" if isinstance(step, MoveActuator) else step.actuator
        for step in homing_steps(profile, setups, order, places, caught)
    )


def regrip(*arms: str) -> str:
    """Let go, turn back, close: one arm after the other."""
    return " ".join(f"{arm}-jaw=1534 {arm} {arm}-jaw=1307" for arm in arms)


@pytest.mark.parametrize(
    ("name", "places", "caught", "expected"),
    [
        # Without knowledge everything is homed once, what holds the cube first.
        ("cubotino-uno", {}, (), "lid holder"),
        ("crane", {}, (), "turntable squisher elevator flipper"),
        ("four-arm", {}, (), f"{JAWS} right left front back"),
        # Half a turn looks the same.
        (
            *("four-arm", {"front-jaw": CLOSED, "front": 2 * QUARTER}, ()),
            f"{JAWS} right left front back",
        ),
        # An open gripper turns back before it closes.
        (
            *("four-arm", {"right-jaw": OPEN, "right": QUARTER, "front-jaw": CLOSED}, ()),
            f"right {JAWS} left front back",
        ),
        # A closed one lets go to turn back, once all hold the cube.
        (
            *("four-arm", {"right-jaw": OPEN, "front": QUARTER, "front-jaw": CLOSED}, ()),
            f"right {JAWS} left back front-jaw={OPEN} front front-jaw={CLOSED}",
        ),
        # Servos of which nothing is known turn back before any jaw moves: one may carry the cube
        # askew, and another's open jaws stand beside it.
        ("two-arm", {}, (), "right down right-jaw down-jaw"),
        ("two-arm", {"right-jaw": 1200, "down-jaw": 1200}, (), "right-jaw down-jaw right down"),
        # Jaws caught half way close before anything turns.
        ("two-arm", {}, ("down-jaw", "right"), "down-jaw right down right-jaw"),
        # Arms that seek their place by a sensor let go of the cube meanwhile, one after the other:
        # the closed ones would turn a layer, and the cube must not fall.
        ("soltvvo", {}, (), f"{JAWS} {regrip('right', 'left', 'front', 'back')}"),
        (
            *("soltvvo", {"right": 0, "right-jaw": 1307}, ()),
            f"{JAWS} {regrip('right', 'left', 'front', 'back')}",
        ),
        # One caught in a turn is squared first, with its jaw closed.
        ("soltvvo", {}, ("left",), f"{JAWS} left {regrip('right', 'front', 'back')}"),
    ],
)
def test_everything_is_homed_in_an_order_that_is_safe(
    name: str, places: dict[str, int], caught: tuple[str, ...], expected: str
) -> None:
    assert steps_of(load_profile(name), places, caught) == expected


def test_grippers_that_share_their_jaws_turn_back_together() -> None:
    """Soltvvo as it would be with jaws that open in pairs, and nothing to home its arms by."""
    document = load_profile("soltvvo").model_dump(mode="json", exclude_unset=True)
    for site, other in (("L", "right-jaw"), ("B", "front-jaw")):
        del document["actuators"][document["mechanism"]["grippers"][site]["jaw"]]
        document["mechanism"]["grippers"][site]["jaw"] = other
    document["simulation"] = {}
    for arm in ("right", "left", "front", "back"):
        del document["actuators"][arm]["homing"], document["actuators"][arm]["turn_check"]
    steps = steps_of(RobotProfile.model_validate(document), {"right": 123})
    expected = "right-jaw front-jaw front back right-jaw=1534 right left right-jaw=1307"
    assert steps == expected
