"""From a profile's actuators to what the microcontroller is told about them."""

from __future__ import annotations

from collections.abc import Mapping

from robot.link import ActuatorSetup, EndstopHoming, ServoSetup, StepperSetup, TurnCheckSetup
from robot.link.actuators import UNLIMITED_STEPS
from robot.mechanism.durations import NotDrivable, stepper_limits
from robot.mechanism.registry import build_mechanism
from robot.settings.actuators import Homing, Servo, Stepper
from robot.settings.mechanisms import FlipperSettings, Gripper, GrippersSettings, Turntable
from robot.settings.profile import RobotProfile

Positions = Mapping[str, str | int]

ONE_PLACE = 65_535
"""Steps between places of a sensor that has only one: no actuator travels so far."""

SERVO_HOME_MS = 800
"""Time a servo gets to reach its start position from wherever it was left."""


def actuator_setups(profile: RobotProfile) -> tuple[ActuatorSetup, ...]:
    """Every actuator, numbered on the wire in the order of the profile.

    Homing brings them to where the mechanism starts. Raises
    :class:`robot.mechanism.durations.NotDrivable` for an actuator of which only times are known.
    """
    mechanism = build_mechanism(profile)
    starts = mechanism.configurations[mechanism.start.configuration].positions
    setups: list[ActuatorSetup] = []
    for name, actuator in profile.actuators.items():
        if isinstance(actuator, Servo):
            setups.append(_servo(name, actuator, starts))
        elif isinstance(actuator, Stepper):
            setups.append(_stepper(name, actuator, starts, _part(profile, name)))
        else:
            raise NotDrivable(
                f"{name} of {profile.name} is only timed: describe it as a servo or stepper with "
                "its pins to drive this robot"
            )
    return tuple(setups)


def homing_order(profile: RobotProfile) -> tuple[str, ...]:
    """Actuators in the order in which to home them: what holds or rolls the cube before the rest.

    A lid goes up before the table turns below it; jaws close before grippers rotate.
    """
    mechanism = profile.mechanism
    first: list[str] = []
    if isinstance(mechanism, FlipperSettings):
        first = [arm.actuator for arm in mechanism.arms]
    elif isinstance(mechanism, GrippersSettings):
        first = [gripper.jaw for gripper in mechanism.grippers.values()]
    return tuple(dict.fromkeys([*first, *profile.actuators]))


def _servo(name: str, servo: Servo, starts: Positions) -> ServoSetup:
    low, high = servo.limits_us
    start = starts.get(name, next(iter(servo.positions_us)))
    return ServoSetup(
        name=name,
        pin=servo.pins.pulse,
        minimum_us=low,
        maximum_us=high,
        start_us=servo.positions_us[str(start)],
        home_ms=SERVO_HOME_MS,
        safe_off=False,
    )


def _part(profile: RobotProfile, name: str) -> Turntable | Gripper | None:
    """The part of a flipper or gripper robot that the actuator called ``name`` rotates."""
    mechanism = profile.mechanism
    if isinstance(mechanism, FlipperSettings):
        return mechanism.turntable if mechanism.turntable.actuator == name else None
    if isinstance(mechanism, GrippersSettings):
        return next((g for g in mechanism.grippers.values() if g.rotation == name), None)
    return None


def _stepper(
    name: str, stepper: Stepper, starts: Positions, part: Turntable | Gripper | None
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
        safe_off=False,
    )


def _start_steps(stepper: Stepper, start: str | int) -> int:
    if isinstance(start, str):
        return stepper.positions_steps[start]
    return start * (stepper.steps_per_turn or 0) // 4


def _range_steps(stepper: Stepper, part: Turntable | Gripper | None) -> tuple[int, int]:
    """Lowest and highest position that is ever wanted, or gone to beyond what is wanted."""
    below = stepper.overshoot_steps + stepper.backlash_steps
    if stepper.positions_steps:
        places = stepper.positions_steps.values()
        return min(places) - below, max(places) + stepper.overshoot_steps
    if part is None or part.range_quarters is None or stepper.steps_per_turn is None:
        return -UNLIMITED_STEPS, UNLIMITED_STEPS
    low, high = (quarters * stepper.steps_per_turn // 4 for quarters in part.range_quarters)
    return low - below, high + stepper.overshoot_steps


def _period_steps(stepper: Stepper, part: Turntable | Gripper | None) -> int | None:
    """After how many steps an endless part looks the same: tables and faces every quarter turn."""
    if stepper.steps_per_turn is None or (part is not None and part.range_quarters is not None):
        return None
    symmetry = part.symmetry if isinstance(part, Gripper) else 4
    return stepper.steps_per_turn // symmetry


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


def _homing(stepper: Stepper, homing: Homing | None) -> EndstopHoming | None:
    """Zero is ``offset_steps`` after the edge, so the edge is as many before zero."""
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
        active_high=homing.endstop_active == "high",
    )
