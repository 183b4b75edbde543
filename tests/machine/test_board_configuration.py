"""Boards and panel as a profile configures them: actuators, and pins of the panel."""

import pytest

from robot.link.actuators import UNLIMITED_STEPS
from robot.machine.assembly import panel_pins
from robot.machine.board_configuration import actuator_setups, homing_order
from robot.panel.panel import Input, Output, PanelPins
from robot.settings import RobotProfile, load_profile, parse_profile, profile_path
from robot.settings.profile import PanelSettings
from solver.errors import InvalidRequest


def setups_of(profile):
    return {setup.name: setup for setup in actuator_setups(profile)}


def one_of(name, actuator, **changes):
    """What the board is told of a stepper some of whose settings are others."""
    document = load_profile(name).model_dump(mode="json")
    document["actuators"][actuator] |= changes
    return setups_of(RobotProfile.model_validate(document))[actuator]


@pytest.mark.parametrize(
    ("name", "actuator", "period"),
    [("mindcuber", "table", 400), ("four-arm", "right", 800), ("six-motor", "up", 200)],
)
def test_endless_steppers_look_the_same_after_their_symmetry(name, actuator, period):
    setup = setups_of(load_profile(name))[actuator]
    assert setup.period_steps == period
    assert (setup.minimum_steps, setup.maximum_steps) == (-UNLIMITED_STEPS, UNLIMITED_STEPS)


@pytest.mark.parametrize(("level", "active_high"), [("high", True), ("low", False), (None, False)])
def test_a_limited_table_has_its_range_and_its_end_stop(level, active_high):
    text = profile_path("mindcuber").read_text()
    text = text.replace(
        "{actuator: table} ", "{actuator: table, range_quarters: [-1, 2], start: 1}"
    )
    active = f"endstop_active: {level}, " if level else ""
    homing = (
        f"homing: {{{active}direction: -1, speed_steps_per_s: 800, slow_speed_steps_per_s: 100, "
        "backoff_steps: 40, max_travel_steps: 2000, offset_steps: 30}\n    steps_per_turn: 1600"
    )
    text = text.replace("steps_per_turn: 1600", homing).replace(
        "enable: 4}", "enable: 4, endstop: 7}"
    )
    setup = setups_of(parse_profile(text))["table"]
    assert (setup.minimum_steps, setup.maximum_steps, setup.start_steps) == (-400, 800, 400)
    assert setup.period_steps is None
    assert (setup.homing.pin, setup.homing.edge_position, setup.homing.direction) == (7, -30, -1)
    assert setup.homing.active_high is active_high


def test_what_is_only_timed_cannot_be_driven():
    with pytest.raises(InvalidRequest, match="only says how long"):
        actuator_setups(load_profile("reference/a"))


def test_what_holds_the_cube_is_homed_first():
    assert homing_order(load_profile("cubotino-uno")) == ("lid", "holder")
    jaws = ("right-jaw", "left-jaw", "front-jaw", "back-jaw")
    assert homing_order(load_profile("soltvvo"))[:4] == jaws
    assert set(homing_order(load_profile("four-arm"))) == set(load_profile("four-arm").actuators)


@pytest.mark.parametrize(
    ("changes", "low", "high"),
    [
        ({}, 0, 6000),
        ({"overshoot_steps": 7}, -7, 6007),
        ({"backlash_steps": 5}, -5, 6000),
        ({"overshoot_steps": 7, "backlash_steps": 5}, -12, 6007),
    ],
)
def test_room_is_left_for_overshoot_and_play(changes, low, high):
    places = {"down": 0, "row-1": 2000, "row-2": 4000, "row-3": 6000}
    found = one_of("crane", "elevator", positions_steps=places, **changes)
    assert (found.minimum_steps, found.maximum_steps) == (low, high)
    assert found.backlash_steps == changes.get("backlash_steps", 0)


PINS = ("start_button", "led", "buzzer", "estop", "left_pad", "right_pad")
PANEL = {f"{name}_gpio": number for number, name in enumerate(PINS, 1)}


@pytest.mark.parametrize("inverted", [False, True])
def test_pins_of_the_panel_rest_where_they_do_not_act(inverted):
    """A broken wire of the emergency stop stops, too."""
    levels = {"start_button": "high", "led": "low", "buzzer": "low", "estop": "low", "pads": "low"}
    other = {f"{name}_active": level for name, level in levels.items()} if inverted else {}
    pull, push = ("down", "up") if inverted else ("up", "down")
    assert panel_pins(PanelSettings(**PANEL, **other)) == PanelPins(
        start_button=Input(1, inverted, pull),
        led=Output(2, not inverted),
        buzzer=Output(3, not inverted),
        estop=Input(4, not inverted, pull),
        pads=(Input(5, not inverted, push), Input(6, not inverted, push)),
    )
    assert panel_pins(PanelSettings()) == PanelPins()
