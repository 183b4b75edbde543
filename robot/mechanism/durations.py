"""How long actuators take: from the very motion profiles that the firmware will follow."""

from __future__ import annotations

from dataclasses import replace

from robot.mechanism.impossible import moving
from robot.motion import StepperLimits, servo_slew, stepper_move
from robot.motion.limits import TICKS_PER_US
from robot.motion.schedule import MotionProfile, StepSegment
from robot.settings.actuators import RotationTimes, Servo, Stepper, Timed
from robot.settings.base import microseconds
from robot.settings.profile import RobotProfile
from solver.errors import CubistError


class NotDrivable(CubistError, RuntimeError):
    """A schedule was asked of an actuator that has no pins, only times."""


def travel_us(profile: RobotProfile, name: str, start: str, end: str, held: bool) -> int | None:
    """Microseconds, settling included, between two named positions; None if there is no way."""
    actuator = profile.actuators[name]
    if isinstance(actuator, Stepper):
        return travel_profile(profile, name, start, end, held).duration_us
    times = actuator.transition_us(start, end, held)
    return None if times is None else sum(times)


def rotation_us(profile: RobotProfile, name: str, quarters: int, held: bool) -> int:
    """Microseconds, settling included, that a stepper or timed actuator needs for quarter turns."""
    actuator = profile.actuators[name]
    if isinstance(actuator, Stepper):
        return rotation_profile(profile, name, 0, quarters, held).duration_us
    if not isinstance(actuator, Timed) or actuator.free is None:
        raise ValueError(f"{name} does not rotate")
    times = actuator.held if held and actuator.held is not None else actuator.free
    settle = microseconds(actuator.held_settle_ms) if held else 0
    return _stated_us(times, abs(quarters)) + settle


def angle_left_us(profile: RobotProfile, name: str, quarters: int, degrees: float) -> int:
    """Microseconds from when ``degrees`` of a layer's turn are left until it has settled."""
    if not degrees:
        return 0
    actuator = profile.actuators[name]
    if isinstance(actuator, Stepper) and actuator.steps_per_turn is not None:
        motion = rotation_profile(profile, name, 0, quarters, held=True)
        return _steps_left_us(motion, int(degrees * actuator.steps_per_turn / 360))
    return int(rotation_us(profile, name, quarters, held=True) * degrees / (90 * abs(quarters)))


def _steps_left_us(motion: MotionProfile, steps: int) -> int:
    """Microseconds from the first moment when no more than ``steps`` are left."""
    ticks, to_go = 0, abs(motion.end - motion.start)
    for run in motion.segments:
        if isinstance(run, StepSegment):
            for number in range(run.count):
                if to_go <= steps:
                    break
                ticks += run.interval_ticks + number * run.add_ticks
                to_go -= 1
    return motion.duration_us - -(-ticks // TICKS_PER_US)


def _stated_us(times: RotationTimes, quarters: int) -> int:
    """A half turn's time and a quarter's give the slope for longer rotations."""
    quarter, half = microseconds(times.quarter_ms), microseconds(times.half_ms)
    return quarter if quarters == 1 else half + (quarters - 2) * (half - quarter)


def travel_profile(
    profile: RobotProfile, name: str, start: str, end: str, held: bool
) -> MotionProfile:
    """The motion between two named positions of a servo or stepper."""
    actuator = profile.actuators[name]
    if isinstance(actuator, Servo):
        times = actuator.transition_us(start, end, held)
        if times is None:
            raise ValueError(f"{name} has no way from {start} to {end}")
        pulses = actuator.positions_us
        with moving(profile, name):
            return _servo_profile(name, actuator, pulses[start], pulses[end], times, held)
    if isinstance(actuator, Stepper):
        steps = actuator.positions_steps
        with moving(profile, name):
            return _stepper_profile(name, actuator, steps[start], steps[end] - steps[start], held)
    raise NotDrivable(_no_pins(profile, name))


def rotation_profile(
    profile: RobotProfile, name: str, start_steps: int, quarters: int, held: bool
) -> MotionProfile:
    """The motion of a stepper by quarter turns from a position in steps."""
    actuator = profile.actuators[name]
    if isinstance(actuator, Stepper) and actuator.steps_per_turn is not None:
        steps = quarters * actuator.steps_per_turn // 4
        with moving(profile, name):
            return _stepper_profile(name, actuator, start_steps, steps, held)
    raise NotDrivable(_no_pins(profile, name))


def _servo_profile(
    name: str, servo: Servo, start: int, end: int, times: tuple[int, int], held: bool
) -> MotionProfile:
    travel, settle = times
    beyond, back = 0, 0
    if held and servo.overshoot is not None:
        beyond, back = servo.overshoot.us, microseconds(servo.overshoot.back_ms)
    return servo_slew(
        name,
        start,
        end,
        travel,
        settle - back,
        ease_us=min(microseconds(servo.ease_ms), travel // 2),
        overshoot=(beyond, back),
    )


def _stepper_profile(
    name: str, stepper: Stepper, start_steps: int, steps: int, held: bool
) -> MotionProfile:
    """The motion; as long as the one the other way, which may have more play to take up."""
    there, back = (_stepper_move(name, stepper, start_steps, way, held) for way in (steps, -steps))
    missing = max(0, back.duration_us - there.duration_us)
    return replace(there, duration_us=there.duration_us + missing)


def _stepper_move(
    name: str, stepper: Stepper, start_steps: int, steps: int, held: bool
) -> MotionProfile:
    return stepper_move(
        name,
        start_steps,
        steps,
        stepper_limits(stepper, held),
        microseconds(stepper.settle_ms),
        overshoot_steps=stepper.overshoot_steps if held else 0,
        backlash_steps=stepper.backlash_steps,
    )


def stepper_limits(stepper: Stepper, held: bool) -> StepperLimits:
    """What the motor can do, alone or with the layer of a held cube."""
    loaded = stepper.held if held and stepper.held is not None else stepper
    return StepperLimits(
        start_speed=min(stepper.start_speed_steps_per_s, loaded.max_speed_steps_per_s),
        max_speed=loaded.max_speed_steps_per_s,
        acceleration=loaded.max_acceleration_steps_per_s2,
        jerk=stepper.max_jerk_steps_per_s3,
    )


def _no_pins(profile: RobotProfile, name: str) -> str:
    return (
        f"{name} of {profile.name} is only timed: this profile can be planned for, not driven; "
        "describe it as a servo or stepper with its pins"
    )
