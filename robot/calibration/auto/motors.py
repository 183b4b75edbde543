"""A stepper motor measured by the cube it turns: direction, steps of a turn, play.

A stepper counts from wherever it stands. What can be wrong with it are its direction, by its wires,
the steps of a turn, by the microstep switches of its driver, and the play of what it drives. One
line of angles against steps, from both sides, shows all three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from robot.calibration.auto.finder import Finding
from robot.calibration.auto.rotations import Rotation
from robot.calibration.step import Session
from robot.calibration.trials.stepper_trials import SPEEDING, STEPPING
from robot.calibration.values import MICROSTEPS, STEPS_OFF
from robot.machine.confirmed_range import direction_key
from robot.settings import RobotProfile
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError
from solver.files import JsonMapping, JsonObject

SPEEDS = ("max_speed_steps_per_s", "max_acceleration_steps_per_s2")

SLOWER = 0.8
LEAST_SPEED = 0.4
"""A motor that loses steps is tried slower and slower, down to this part of its speed."""


@dataclass(frozen=True)
class MotorWiring:
    """Properties found of a stepper; ``misses``: the relative error of the measured steps."""

    inverted: bool
    turn_steps: int
    play_steps: int
    misses: float


def wiring_of(
    settings: Stepper, name: str, steps_per_degree: float, play_steps: float
) -> MotorWiring:
    """Identify a motor by measured steps to a degree, negative if it turns the wrong way.

    Raises :class:`CalibrationError` for steps that no switch of a driver makes.
    """
    turn = settings.steps_per_turn
    assert turn is not None
    measured = 360 * abs(steps_per_degree)
    thought = [turn * factor for factor in MICROSTEPS if (turn * factor) % 4 == 0]
    nearest = min(thought, key=lambda steps: abs(steps / measured - 1))
    misses = measured / nearest - 1
    if abs(misses) > STEPS_OFF:
        raise CalibrationError(
            f"{name} makes {measured:.0f} steps in a turn, which no microstep switch makes of "
            f"{turn}: set steps_per_turn in the profile by the motor and its gear"
        )
    return MotorWiring(
        inverted=settings.invert_direction != (steps_per_degree < 0),
        turn_steps=round(nearest),
        play_steps=round(play_steps),
        misses=misses,
    )


def let_turn(session: Session, names: Iterable[str]) -> None:
    """Allow motors to turn, in whichever direction: that is how their directions are found."""
    motors = {name: session.profile.actuators[name] for name in names}
    session.try_out({direction_key(name): one.is_inverted for name, one in motors.items()})


def motor_finding(rotation: Rotation) -> Finding:
    """Return direction, steps and play by a rotation's line, as a finding."""
    line, name, settings = rotation.line, rotation.name, rotation.actuator.stepper
    assert settings is not None
    found = wiring_of(settings, name, 1 / line.degrees_per_us, line.slack_us)
    return wiring_finding(name, settings, found, {"residual_degrees": line.residual_degrees})


def wiring_finding(
    name: str, settings: Stepper, found: MotorWiring, evidence: JsonObject
) -> Finding:
    """Return the properties found of a motor as a finding."""
    way = "the other way round" if found.inverted != settings.invert_direction else "the right way"
    backlash = f"actuators.{name}.backlash_steps"
    values: JsonObject = {
        direction_key(name): found.inverted,
        f"actuators.{name}.steps_per_turn": found.turn_steps,
        backlash: found.play_steps,
    }
    return Finding(
        "motor",
        f"{name}: turns {way}, {found.turn_steps} steps are a turn, {found.play_steps} of play",
        values,
        {backlash: 1 + found.turn_steps // 1000},
        evidence | {"steps_off_percent": round(100 * found.misses, 2)},
    )


def common_speeds(profile: RobotProfile, found: JsonMapping) -> Iterator[Finding]:
    """Limits at which motors are as fast, in turns, as they were meant to be among each other: two
    that turn the cube together must not differ. None makes more steps a second than in the profile,
    because the board may not be able to."""
    factors = {
        name: found[key] / motor.steps_per_turn
        for name, motor in profile.actuators_of(Stepper).items()
        if (key := f"actuators.{name}.steps_per_turn") in found and motor.steps_per_turn
    }
    most = max([1.0, *factors.values()])
    slower = {name: factor / most for name, factor in factors.items() if factor != most}
    if slower:
        values = _slower_limits(profile, slower)
        names = ", ".join(slower)
        yield Finding("motor", f"{names}: slower, by the steps that a turn has", values)


def _slower_limits(profile: RobotProfile, parts: Mapping[str, float]) -> JsonObject:
    """Return limits of motors at parts of their speed and acceleration."""
    values: JsonObject = {}
    for name, part in parts.items():
        settings = profile.actuators_of(Stepper)[name].model_dump(mode="json")
        changed = _limits(settings, part)
        if settings["held"] is not None:
            changed["held"] = settings["held"] | _limits(settings["held"], part)
        start = settings["start_speed_steps_per_s"]
        changed["start_speed_steps_per_s"] = min(start, changed[SPEEDS[0]])
        values |= {f"actuators.{name}.{key}": value for key, value in changed.items()}
    return values


def _limits(settings: JsonObject, part: float) -> JsonObject:
    found: JsonObject = {
        key: max(1, round(settings[key] * part)) for key in SPEEDS if key in settings
    }
    jerk = settings.get("max_jerk_steps_per_s3")
    return found if jerk is None else found | {"max_jerk_steps_per_s3": jerk * part}


def check_motors(session: Session) -> Iterator[Finding]:
    """Check that motors make whole turns, and lose no steps at their speed and acceleration.

    If one loses steps, all are slowed alike, because two that turn the cube together must not
    differ. A sensor judges, or the camera; if neither can, the limits stay. Raises
    :class:`CalibrationError`.
    """
    profile, part = session.calibrated, 1.0
    motors = [name for name, one in profile.actuators_of(Stepper).items() if one.steps_per_turn]
    for name in motors:
        yield _turn_of(session, name)
        finding, good = _speed_of(session, name)
        part = min(part, good)
        yield finding
    if part < 1:
        values = _slower_limits(profile, dict.fromkeys(motors, part * SLOWER))
        yield Finding("motor", f"all motors at {part * SLOWER:.0%} of their speed", values)


def _turn_of(session: Session, name: str) -> Finding:
    tried = session.perform(STEPPING, actuator=name)
    turn, found = tried.turn_steps, tried.found_steps
    if found is None:
        key, kept = f"actuators.{name}.steps_per_turn", "the camera cannot tell whole turns"
        return Finding("motor", f"{name}: {kept}", uncertain={key: kept})
    if found > turn or turn % found:
        raise CalibrationError(
            f"{name} seems to make {found} steps in a whole turn, and before {turn}"
        )
    # A cube may look the same after a part of a turn, too: the angles have told them apart.
    return Finding("motor", f"{name}: {turn} steps are a whole turn", evidence={"turns": 1})


def _speed_of(session: Session, name: str) -> tuple[Finding, float]:
    """Find the part of its speed and acceleration at which a motor loses no steps."""
    settings = session.calibrated.actuators_of(Stepper)[name]
    speed, acceleration = settings.max_speed_steps_per_s, settings.max_acceleration_steps_per_s2
    part = 1.0
    while part >= LEAST_SPEED:
        tried = session.perform(
            SPEEDING,
            actuator=name,
            speed_steps_per_s=speed * part,
            acceleration_steps_per_s2=acceleration * part,
        )
        if tried.lost is None:
            kept = "neither sensor nor camera tells whether it loses steps: as it was"
            keys = [f"actuators.{name}.{what}" for what in SPEEDS]
            return Finding("motor", f"{name}: {kept}", uncertain=dict.fromkeys(keys, kept)), 1.0
        if not tried.lost:
            text = f"{name}: no steps lost at {speed * part:.0f} steps/s"
            return Finding("motor", text, evidence={"seen_by": tried.seen_by}), part
        if not tried.square:
            raise CalibrationError(
                f"{name} lost steps at {speed * part:.0f} steps/s, which the profile says that it "
                "can, and could not be set back: set it square by hand, and see whether the motor "
                "is powered, or lower max_speed_steps_per_s and max_acceleration_steps_per_s2 in "
                "the profile"
            )
        part *= SLOWER
    slowest = speed * part / SLOWER
    raise CalibrationError(f"{name} loses steps even at {slowest:.0f} steps/s: is it powered?")
