"""The configuration of a profile's actuators for the microcontroller."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from robot.link import ActuatorSetup, EndstopHoming, ServoSetup, StepperSetup, TurnCheckSetup
from robot.link.actuators import SERVO_SLOW_US, UNLIMITED_STEPS
from robot.machine.tmc2209 import driver_setup
from robot.mechanism.registry import MECHANISMS, HomingRequest, HomingStep, build_mechanism
from robot.motion.stepper import stepper_limits
from robot.settings.actuators import ActuatorSettings, Servo
from robot.settings.base import Kinds
from robot.settings.boards import BOARD_TARGETS
from robot.settings.mechanisms import RotatingPart
from robot.settings.profile import RobotProfile
from robot.settings.stepper import HomingSettings, Stepper

Positions = Mapping[str, str | int]
SetUp = Callable[[str, Any, Positions, RotatingPart | None], ActuatorSetup]

SET_UPS: Kinds[SetUp] = Kinds("actuator that a board can drive")
"""Functions that return an actuator's setup for the board, by kind. They take its name and
settings, the mechanism's start positions, and the part that it rotates."""

ONE_PLACE = 65_535
"""Steps between the positions of a sensor that has only one. No actuator travels that far."""

SERVO_HOME_MS = 800
"""Minimum time for a servo to reach its start position from wherever it was left."""


def actuator_setups(profile: RobotProfile) -> tuple[ActuatorSetup, ...]:
    """Return all actuators in the profile's order, in which each board numbers its own.

    Homing brings them to the mechanism's start positions. Raise ``InvalidRequest`` for a robot with
    known times only.
    """
    profile.require_drivable()
    mechanism = build_mechanism(profile)
    starts = mechanism.configurations[mechanism.start.configuration].positions
    setups: list[ActuatorSetup] = []
    for name, actuator in profile.actuators.items():
        part = profile.mechanism.rotated_by(name)
        setup = SET_UPS[actuator.kind](name, actuator, starts, part)
        setups.append(_with_driver(setup, actuator, profile))
    return tuple(setups)


def _with_driver(
    setup: ActuatorSetup, actuator: ActuatorSettings, profile: RobotProfile
) -> ActuatorSetup:
    """Return a stepper's setup with that of its driver, if the profile describes one."""
    board = profile.board_of(actuator)
    if not isinstance(actuator, Stepper) or actuator.driver is None or board is None:
        return setup
    assert isinstance(setup, StepperSetup)
    sense_ohm = BOARD_TARGETS[board.target].sense_ohm
    return replace(setup, driver=driver_setup(actuator, actuator.driver, sense_ohm))


def homing_order(profile: RobotProfile) -> tuple[str, ...]:
    """Return the actuators in their homing order: those that hold or roll the cube come first.

    A lid goes up before the table turns below it; jaws close before grippers rotate.
    """
    return tuple(dict.fromkeys([*profile.mechanism.homed_first, *profile.actuators]))


def homing_steps(
    profile: RobotProfile,
    setups: Sequence[ActuatorSetup],
    order: Sequence[str],
    places: Mapping[str, int],
    caught: Collection[str] = (),
) -> list[HomingStep]:
    """Return the steps that home all actuators of ``order``.

    ``places``: known positions at rest. ``caught``: actuators that a fault stopped in a turn."""
    away = {
        setup.name
        for setup in setups
        if setup.name in places and setup.way_to_start(places[setup.name])
    }
    seek = {one.name for one in setups if isinstance(one, StepperSetup) and not one.counts_only}
    request = HomingRequest(order, places, away, seek, caught)
    return MECHANISMS[profile.mechanism.kind].home(profile, profile.mechanism, request)


def _servo(name: str, servo: Servo, starts: Positions, _part: RotatingPart | None) -> ServoSetup:
    low, high = servo.limits_us
    start = str(starts.get(name, next(iter(servo.positions_us))))
    ways = (servo.listed_us(place, start, held=False) for place in servo.positions_us)
    longest_us = max((way[0] for way in ways if way is not None), default=0)
    return ServoSetup(
        name=name,
        pin=servo.pins.pulse,
        minimum_us=low,
        maximum_us=high,
        start_us=servo.positions_us[start],
        home_ms=max(SERVO_HOME_MS, math.ceil(longest_us / 1000)),
        safe_off=False,
        slow_us=max(SERVO_SLOW_US, servo.slowness),
    )


def _stepper(
    name: str, stepper: Stepper, starts: Positions, part: RotatingPart | None
) -> StepperSetup:
    low, high = _range_steps(stepper, part)
    return StepperSetup(
        name=name,
        step_pin=stepper.pins.step,
        direction_pin=stepper.pins.direction,
        limits=stepper_limits(stepper, held=False),
        enable_pin=stepper.pins.enable,
        minimum_steps=low,
        maximum_steps=high,
        start_steps=_start_steps(stepper, starts.get(name, 0)),
        period_steps=_period_steps(stepper, part),
        backlash_steps=stepper.backlash_steps,
        homing=_homing(stepper, stepper.homing),
        check=_turn_check(stepper),
        invert_direction=stepper.invert_direction,
        self_locking=stepper.self_locking,
        safe_off=False,
    )


def _start_steps(stepper: Stepper, start: str | int) -> int:
    if isinstance(start, str):
        return stepper.positions_steps[start]
    return start * (stepper.steps_per_turn or 0) // 4


def _range_steps(stepper: Stepper, part: RotatingPart | None) -> tuple[int, int]:
    """Return the lowest and highest position of any motion, with overshoot and play."""
    below = stepper.overshoot_steps + stepper.backlash_steps
    if stepper.positions_steps:
        places = stepper.positions_steps.values()
        return min(places) - below, max(places) + stepper.overshoot_steps
    if part is None or part.range_quarters is None or stepper.steps_per_turn is None:
        return -UNLIMITED_STEPS, UNLIMITED_STEPS
    low, high = (quarters * stepper.steps_per_turn // 4 for quarters in part.range_quarters)
    low, high = low - below, high + stepper.overshoot_steps
    if stepper.homing is None:
        return low, high
    # Homing ends at the edge, and the path from there to the start has to be allowed.
    edge = -stepper.homing.offset_steps
    return min(low, edge - stepper.backlash_steps), max(high, edge)


def _period_steps(stepper: Stepper, part: RotatingPart | None) -> int | None:
    """Return the steps after which an endless part looks the same, such as a quarter turn."""
    if stepper.steps_per_turn is None or (part is not None and part.range_quarters is not None):
        return None
    return stepper.steps_per_turn * (part.looks if part is not None else 1) // 4


def _turn_check(stepper: Stepper) -> TurnCheckSetup | None:
    check = stepper.turn_check
    if check is None or stepper.pins.endstop is None:
        return None
    return TurnCheckSetup(
        pin=stepper.pins.endstop,
        every_steps=check.every_steps or ONE_PLACE,
        at_steps=check.at_steps,
        active_high=stepper.sensor_active_high,
    )


def _homing(stepper: Stepper, homing: HomingSettings | None) -> EndstopHoming | None:
    """Return the homing setup. Zero is ``offset_steps`` after the edge of the end stop."""
    if homing is None or stepper.pins.endstop is None:
        return None
    return EndstopHoming(
        pin=stepper.pins.endstop,
        direction=homing.direction,
        speed=homing.speed_steps_per_s,
        slow_speed=homing.slow_speed_steps_per_s,
        backoff_steps=homing.backoff_steps,
        max_travel_steps=homing.max_travel_steps,
        edge_position=-homing.offset_steps,
        active_high=stepper.sensor_active_high,
    )


SET_UPS.update({"servo": _servo, "stepper": _stepper})
