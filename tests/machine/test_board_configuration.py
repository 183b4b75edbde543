"""Boards as a profile configures them: actuators, drivers, pins, and a safe order of homing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from robot.link.actuators import UNLIMITED_STEPS
from robot.machine.assembly import panel_pins
from robot.machine.board_configuration import actuator_setups, homing_order, homing_steps
from robot.machine.tmc2209 import driver_setup
from robot.mechanism.registry import MoveActuator
from robot.panel.panel import Input, Output, PanelPins
from robot.settings import RobotProfile, load_profile
from robot.settings.profile import PanelSettings
from robot.settings.stepper import Stepper
from solver.errors import InvalidRequest
from tests.rig.profiles import changed


def setups_of(profile):
    return {setup.name: setup for setup in actuator_setups(profile)}


@pytest.mark.parametrize(
    ("name", "actuator", "period"),
    [("mindcuber", "table", 400), ("four-arm", "right", 800), ("six-motor", "up", 200)],
)
def test_endless_steppers_look_the_same_after_their_symmetry(name, actuator, period):
    setup = setups_of(load_profile(name))[actuator]
    assert setup.period_steps == period
    assert (setup.minimum_steps, setup.maximum_steps) == (-UNLIMITED_STEPS, UNLIMITED_STEPS)


@pytest.mark.parametrize(("name", "home_ms"), [("cubotino", 800), ("cubotino-pocket", 1000)])
def test_a_servo_is_homed_no_faster_than_its_profile_says_it_can(name, home_ms):
    assert setups_of(load_profile(name))["holder"].home_ms == home_ms


HOMING = {
    "direction": -1,
    "speed_steps_per_s": 800,
    "slow_speed_steps_per_s": 100,
    "backoff_steps": 40,
    "max_travel_steps": 2000,
}


@pytest.mark.parametrize(("level", "active_high"), [("high", True), ("low", False), (None, False)])
def test_a_limited_table_has_its_range_and_its_end_stop(level, active_high):
    homing = HOMING | {"offset_steps": 30} | ({"endstop_active": level} if level else {})
    table = {"range_quarters": [-1, 2], "start": 1}
    changes = {f"mechanism.turntable.{key}": value for key, value in table.items()}
    changes |= {"actuators.table.homing": homing, "actuators.table.pins.endstop": 7}
    setup = setups_of(changed("mindcuber", changes))["table"]
    assert (setup.minimum_steps, setup.maximum_steps, setup.start_steps) == (-400, 800, 400)
    assert setup.period_steps is None
    assert (setup.homing.pin, setup.homing.edge_position, setup.homing.direction) == (7, -30, -1)
    assert setup.homing.active_high is active_high


def test_what_is_only_timed_cannot_be_driven():
    with pytest.raises(InvalidRequest, match="only gives the times of motions"):
        actuator_setups(load_profile("reference/a"))


PINS = ("start_button", "led", "buzzer", "estop", "left_pad", "right_pad")
PANEL = {f"{name}_gpio": number for number, name in enumerate(PINS, 1)}


@pytest.mark.parametrize("inverted", [False, True])
def test_pins_of_the_panel_rest_where_they_do_not_act(inverted):
    """Check also that a broken wire of the emergency stop stops the robot."""
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


GCONF, IHOLD_IRUN, TCOOLTHRS, SGTHRS, CHOPCONF = 0x00, 0x10, 0x14, 0x40, 0x6C
MOTOR: dict[str, Any] = {
    "kind": "stepper",
    "pins": {"step": 2, "direction": 3, "endstop": 4},
    "steps_per_turn": 1600,
    "max_speed_steps_per_s": 4000,
    "max_acceleration_steps_per_s2": 40_000,
}
DRIVER: dict[str, Any] = {"kind": "tmc2209", "address": 0, "run_ma": 900, "microsteps": 8}


def registers(driver: dict[str, Any], **motor: Any) -> dict[int, int]:
    stepper = Stepper.model_validate(MOTOR | motor | {"driver": DRIVER | driver})
    assert stepper.driver is not None
    return dict(driver_setup(stepper, stepper.driver, 0.11).registers)


@pytest.mark.parametrize(("mode", "chops"), [("stealthchop", 0), ("spreadcycle", 1)])
def test_the_third_bit_of_the_driver_s_first_register_is_spreadcycle(mode, chops):
    assert registers({"mode": mode})[GCONF] >> 2 & 1 == chops


@pytest.mark.parametrize("milliamperes", [100, 580, 900, 1200, 1700])
def test_the_current_is_what_the_data_sheet_makes_of_the_scale(milliamperes):
    """Use I = (CS + 1) / 32 * Vfs / (Rsense + 20 mOhm) / sqrt 2, rounded down."""
    found = registers({"run_ma": milliamperes})
    scale, is_fine = found[IHOLD_IRUN] >> 8 & 31, bool(found[CHOPCONF] >> 17 & 1)
    volts = 0.18 if is_fine else 0.325
    flows = 1000 * (scale + 1) / 32 * volts / 0.13 / 2**0.5
    assert milliamperes - 1000 * volts / 32 / 0.13 / 2**0.5 <= flows <= milliamperes + 1
    assert is_fine == (milliamperes <= 979)


def test_stallguard_is_on_for_a_motor_that_homes_by_it():
    homing = HOMING | {"by": "stall", "slow_speed_steps_per_s": 800}
    found = registers({"stall_threshold": 60}, homing=homing)
    at_speed = 12_000_000 * 8 / 256 / 800
    assert found[SGTHRS] == 60
    assert at_speed < found[TCOOLTHRS] < 2 * at_speed
    assert registers({"stall_threshold": 60})[TCOOLTHRS] == 0


def test_the_way_from_the_stop_to_the_start_is_within_a_motors_range():
    right = next(one for one in actuator_setups(load_profile("four-arm-skr-pico")))
    assert right.homed_at == -460
    assert right.message().minimum <= -460


OPEN, CLOSED, QUARTER = 1600, 1250, 400
"""Pulses and steps of four-arm."""
JAWS = "right-jaw left-jaw front-jaw back-jaw"
FOUR_ARMS, JAWS_FIRST = f"{JAWS} right left front back", "right-jaw down-jaw right down"
TWO_JAWS = {"right-jaw": 1200, "down-jaw": 1200}


def steps_of(profile: RobotProfile, places: Mapping[str, int], caught: tuple[str, ...] = ()) -> str:
    """Return the actuators in the order in which they are homed, or moved to a position."""
    setups, order = actuator_setups(profile), homing_order(profile)
    return " ".join(
        f"{step.actuator}={step.position}" if isinstance(step, MoveActuator) else step.actuator
        for step in homing_steps(profile, setups, order, places, caught)
    )


def regrip(*arms: str) -> str:
    """Return the steps that open, turn back and close one arm after the other."""
    return " ".join(f"{arm}-jaw=1534 {arm} {arm}-jaw=1307" for arm in arms)


@pytest.mark.parametrize(
    ("name", "places", "caught", "expected"),
    [
        # Without knowledge everything is homed once, starting with the parts that hold the cube.
        ("cubotino-uno", {}, (), "lid holder"),
        ("crane", {}, (), "turntable squisher elevator flipper"),
        ("four-arm", {}, (), FOUR_ARMS),
        # Half a turn looks the same.
        ("four-arm", {"front-jaw": CLOSED, "front": 2 * QUARTER}, (), FOUR_ARMS),
        # An open gripper turns back before it closes.
        (
            *("four-arm", {"right-jaw": OPEN, "right": QUARTER, "front-jaw": CLOSED}, ()),
            f"right {JAWS} left front back",
        ),
        # A closed one opens to turn back, once all hold the cube.
        (
            *("four-arm", {"right-jaw": OPEN, "front": QUARTER, "front-jaw": CLOSED}, ()),
            f"right {JAWS} left back front-jaw={OPEN} front front-jaw={CLOSED}",
        ),
        # A layer left between two quarter turns is turned back first, not released.
        (
            *("four-arm", {"front": QUARTER // 3, "back": QUARTER, "back-jaw": CLOSED}, ()),
            f"{JAWS} right left front back-jaw={OPEN} back back-jaw={CLOSED}",
        ),
        ("two-arm", TWO_JAWS | {"right": 1170}, (), JAWS_FIRST),
        # Servos in unknown positions turn back before any jaw moves: one may carry the cube askew,
        # and another's open jaws stand beside it.
        ("two-arm", {}, (), "right down right-jaw down-jaw"),
        ("two-arm", TWO_JAWS, (), JAWS_FIRST),
        # Jaws caught half way close before anything turns.
        ("two-arm", {}, ("down-jaw", "right"), "down-jaw right down right-jaw"),
        # Arms that home by a sensor release the cube meanwhile, one after the other: the closed
        # ones would turn a layer, and the cube must not fall.
        *(
            ("soltvvo", places, (), f"{JAWS} {regrip('right', 'left', 'front', 'back')}")
            for places in ({}, {"right": 0, "right-jaw": 1307})
        ),
        # One caught in a turn is squared first, with its jaw closed.
        ("soltvvo", {}, ("left",), f"{JAWS} left {regrip('right', 'front', 'back')}"),
    ],
)
def test_everything_is_homed_in_an_order_that_is_safe(name, places, caught, expected):
    assert steps_of(load_profile(name), places, caught) == expected


def test_grippers_that_share_their_jaws_turn_back_together():
    """Use Soltvvo with jaws that open in pairs, and without anything to home its arms by."""
    document = load_profile("soltvvo").model_dump(mode="json", exclude_unset=True)
    for site, other in (("L", "right-jaw"), ("B", "front-jaw")):
        del document["actuators"][document["mechanism"]["grippers"][site]["jaw"]]
        document["mechanism"]["grippers"][site]["jaw"] = other
    document["simulation"] = {}
    for arm in ("right", "left", "front", "back"):
        del document["actuators"][arm]["homing"], document["actuators"][arm]["turn_check"]
    steps = steps_of(RobotProfile.model_validate(document), {"right": 100})
    expected = "right-jaw front-jaw front back right-jaw=1534 right left right-jaw=1307"
    assert steps == expected
