"""Measures a stepper motor by the cube it turns: direction, steps per turn, play.

A stepper counts from any position. Three properties may differ from the profile: its direction
(wires), its steps per turn (microstep switches of the driver), and the play of what it drives. One
line of angles against steps, approached from both sides, shows all three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from robot.calibration.auto.finder import Finding
from robot.calibration.auto.rotations import Rotation
from robot.calibration.step import Session
from robot.calibration.trials.stepper_trials import BOARD_RATE, SPEEDING, STEPPING, SpeedTried
from robot.calibration.values import MICROSTEPS, STEPS_OFF
from robot.machine.confirmed_range import direction_key
from robot.settings import RobotProfile
from robot.settings.base import MAX_ACCELERATION
from robot.settings.board_table import STEPS_PER_S
from robot.settings.stepper import Stepper
from robot.text.faults import CalibrationError
from solver.files import JsonMapping, JsonObject

SPEEDS = ("start_speed_steps_per_s", "max_speed_steps_per_s")
ACCELERATION = "max_acceleration_steps_per_s2"

SLOWER = 0.9
LEAST_SPEED = 0.4
"""Minimum fraction of its speed to which a motor that loses steps is slowed."""

MUCH_PLAY_DEGREES = 0.5
"""Minimum play to report: about this much in each of four motors makes plans 6 % longer."""

HARDER = 1.05
"""Factor from the kept acceleration to the one at which a motor must lose no steps.

A motor that is only just strong enough makes some turns and loses steps in others. The torque falls
short: a higher acceleration up to the same speed needs more torque at every speed, and the board
can make the steps."""

AS_FAR = 0.25
"""Maximum relative error of a small turn of a motor with a sensor. A wrong microstep switch doubles
or halves the turn."""

BOARD_MARGIN = 0.98
"""Fraction of the board's speed that is used: intervals are whole ticks of its clock."""


@dataclass(frozen=True)
class MotorWiring:
    """The measured properties of a stepper. ``misses``: relative error of the measured steps."""

    inverted: bool
    turn_steps: int
    play_steps: int
    misses: float


def wiring_of(
    settings: Stepper, name: str, steps_per_degree: float, play_steps: float
) -> MotorWiring:
    """Identify a motor's wiring by its measured steps per degree, negative if it turns backwards.

    Raise :class:`CalibrationError` if no microstep switch explains the steps.
    """
    turn = settings.steps_per_turn
    assert turn is not None
    measured = 360 * abs(steps_per_degree)
    thought = [turn * factor for factor in MICROSTEPS if (turn * factor) % 4 == 0]
    nearest = min(thought, key=lambda steps: abs(steps / measured - 1))
    misses = measured / nearest - 1
    if abs(misses) > STEPS_OFF:
        raise CalibrationError(
            f"{name} makes {measured:.0f} steps per turn, which no microstep setting gives from "
            f"{turn}: set steps_per_turn in the profile to match the motor and its gear"
        )
    return MotorWiring(
        inverted=settings.invert_direction != (steps_per_degree < 0),
        turn_steps=round(nearest),
        play_steps=round(play_steps),
        misses=misses,
    )


def let_turn(session: Session, names: Iterable[str]) -> None:
    """Allow motors to turn before their directions are known, because turning shows them."""
    motors = {name: session.profile.actuators[name] for name in names}
    session.try_out({direction_key(name): one.is_inverted for name, one in motors.items()})


def motor_finding(rotation: Rotation) -> Finding:
    """Return the direction, steps and play given by a rotation's line, as a finding."""
    line, name, settings = rotation.line, rotation.name, rotation.actuator.stepper
    assert settings is not None
    found = wiring_of(settings, name, 1 / line.degrees_per_us, line.slack_us)
    return wiring_finding(name, settings, found, {"residual_degrees": line.residual_degrees})


def homed_motor_finding(rotation: Rotation, turned: float, seen: float) -> Finding:
    """Return the direction of a motor that homes by a sensor as a finding.

    ``turned`` and ``seen``: degrees by the profile and by the camera. Raise
    :class:`CalibrationError` if they differ too much.
    """
    name, stepper = rotation.name, rotation.actuator.stepper
    assert stepper is not None
    if abs(seen / turned - 1) > AS_FAR:
        raise CalibrationError(
            f"{name} turned the cube by {seen:+.1f} degrees instead of {turned:+.1f}: run `cubist "
            f"calibrate stepper direction {name}` and `cubist calibrate stepper steps {name}`"
        )
    return Finding(
        "motor",
        f"{name}: homed by its sensor, direction and steps as in the profile",
        {direction_key(name): stepper.is_inverted},
        evidence={"turned_degrees": round(seen, 2), "by_profile_degrees": round(turned, 2)},
    )


def wiring_finding(
    name: str, settings: Stepper, found: MotorWiring, evidence: JsonObject
) -> Finding:
    """Return the measured properties of a motor as a finding."""
    way = "the other way round" if found.inverted != settings.invert_direction else "the right way"
    backlash = f"actuators.{name}.backlash_steps"
    values: JsonObject = {
        direction_key(name): found.inverted,
        f"actuators.{name}.steps_per_turn": found.turn_steps,
        backlash: found.play_steps,
    }
    degrees = 360 * found.play_steps / found.turn_steps
    loose = f"{name} has {degrees:.1f} degrees of play, so turns overshoot and come back"
    is_loose = degrees >= MUCH_PLAY_DEGREES and found.play_steps > settings.backlash_steps
    return Finding(
        "motor",
        f"{name}: turns {way}, {found.turn_steps} steps per turn, {found.play_steps} steps of play",
        values,
        {backlash: 1 + found.turn_steps // 1000},
        evidence | {"steps_off_percent": round(100 * found.misses, 2)},
        f"{loose}: tighten the part it drives" if is_loose else "",
    )


def common_speeds(profile: RobotProfile, found: JsonMapping) -> Iterator[Finding]:
    """Scale the limits of motors to their steps per turn, so that they turn as fast as in the
    profile: two that turn the cube together must not differ.

    ``found``: all values found so far, which include the steps per turn.
    """
    factors = {
        name: found[key] / motor.steps_per_turn
        for name, motor in profile.actuators_of(Stepper).items()
        if (key := f"actuators.{name}.steps_per_turn") in found and motor.steps_per_turn
    }
    others = {name: factor for name, factor in factors.items() if factor != 1}
    if others:
        values = _limits_at(profile, others)
        for name, factor in others.items():
            overshoot = profile.actuators_of(Stepper)[name].overshoot_steps
            if overshoot:
                values[f"actuators.{name}.overshoot_steps"] = round(overshoot * factor)
        names = ", ".join(others)
        text = (
            f"{names}: limits scaled to the steps per turn, so that turns are as fast as in the "
            "profile"
        )
        yield Finding("motor", text, values)


def fit_to_board(session: Session, found: JsonObject) -> Iterator[Finding]:
    """Slow all motors alike if the board cannot make the steps of those that turn together.

    Only drivers set to more steps per turn than in the profile demand more from the board.
    ``found``: all values found so far.
    """
    before, calibrated = (
        one.actuators_of(Stepper) for one in (session.profile, session.calibrated)
    )
    motors = {name: one for name, one in calibrated.items() if one.steps_per_turn}
    finer = [
        name
        for name, one in motors.items()
        if one.max_speed_steps_per_s > before[name].max_speed_steps_per_s
    ]
    values: JsonObject = {}
    part = 1.0
    while finer and (share := session.perform(BOARD_RATE).share) < 1:
        part *= share * BOARD_MARGIN
        values = {}
        for name, one in motors.items():
            fastest = round(one.max_speed_steps_per_s * part)
            values[f"actuators.{name}.{SPEEDS[1]}"] = fastest
            if one.held is not None:
                held = min(one.held.max_speed_steps_per_s, fastest)
                values[f"actuators.{name}.held"] = one.held.model_dump() | {SPEEDS[1]: held}
        session.try_out(found | values)
    if values:
        text = (
            f"all motors limited to {part:.0%} of their speed: the board can make no more steps "
            "per second"
        )
        turns = ", ".join(f"{name} {before[name].steps_per_turn}" for name in finer)
        to_do = f"set the drivers' microstep switches to fewer steps per turn ({turns})"
        yield Finding("motor", text, values, slower=f"{text}: {to_do}")


def _limits_at(profile: RobotProfile, parts: Mapping[str, float]) -> JsonObject:
    """Return a profile's limits of motors, each multiplied by the motor's factor in ``parts``."""
    values: JsonObject = {}
    for name, part in parts.items():
        settings = profile.actuators_of(Stepper)[name].model_dump(mode="json")
        changed = _limits(settings, part)
        if settings["held"] is not None:
            changed["held"] = settings["held"] | _limits(settings["held"], part)
        values |= {f"actuators.{name}.{key}": value for key, value in changed.items()}
    return values


def _limits(settings: JsonObject, part: float) -> JsonObject:
    slowest, fastest = STEPS_PER_S
    found: JsonObject = {
        key: max(slowest, min(fastest, round(settings[key] * part)))
        for key in SPEEDS
        if key in settings
    }
    found[ACCELERATION] = max(1, round(settings[ACCELERATION] * part))
    jerk = settings.get("max_jerk_steps_per_s3")
    return found if jerk is None else found | {"max_jerk_steps_per_s3": jerk * part}


def check_motors(session: Session) -> Iterator[Finding]:
    """Check that motors make whole turns, and lose no steps at their speed and slightly more than
    their acceleration.

    If one loses steps, slow all of them alike, because two that turn the cube together must not
    differ. A sensor or the camera decides. If neither can, the limits stay. Raise
    :class:`CalibrationError`.
    """
    profile, good = session.calibrated, dict[str, float]()
    motors = [name for name, one in profile.actuators_of(Stepper).items() if one.steps_per_turn]
    for name in motors:
        yield _turn_of(session, name)
        finding, good[name] = _speed_of(session, name)
        yield finding
    part = min(good.values(), default=1.0)
    if part < 1:
        weak = ", ".join(name for name in motors if good[name] < 1)
        slower = (
            f"the motors turn at {part:.0%} of the speed they should, because steps were lost "
            f"({weak}): raise the driver current or the voltage, check that the motor turns "
            "easily, then calibrate again"
        )
        values = _limits_at(profile, dict.fromkeys(motors, part))
        text = f"all motors at {part:.0%} of their speed"
        yield Finding("motor", text, values, slower=slower)


def _turn_of(session: Session, name: str) -> Finding:
    tried = session.perform(STEPPING, actuator=name)
    turn, found = tried.turn_steps, tried.found_steps
    if found is None:
        key, kept = f"actuators.{name}.steps_per_turn", "the camera cannot recognize whole turns"
        return Finding("motor", f"{name}: {kept}", uncertain={key: kept})
    if found > turn or turn % found:
        raise CalibrationError(
            f"{name} seems to make {found} steps per turn, but made {turn} before"
        )
    # A cube may look the same after a part of a turn. The measured angles rule that out.
    return Finding("motor", f"{name}: {turn} steps are a whole turn", evidence={"turns": 1})


def _speed_of(session: Session, name: str) -> tuple[Finding, float]:
    """Find the fraction of its speed and acceleration at which a motor loses no steps, not even at
    slightly higher acceleration."""
    settings = session.calibrated.actuators_of(Stepper)[name]
    speed, acceleration = settings.max_speed_steps_per_s, settings.max_acceleration_steps_per_s2

    def try_at(part: float) -> SpeedTried:
        return session.perform(
            SPEEDING,
            actuator=name,
            speed_steps_per_s=speed * part,
            acceleration_steps_per_s2=min(MAX_ACCELERATION, acceleration * part * HARDER),
        )

    part = 1.0
    while (tried := try_at(part)).lost:
        if not tried.square:
            raise CalibrationError(
                f"{name} lost steps at {speed * part:.0f} steps/s, which the profile allows, and "
                "could not return: set it square by hand, and check that the motor is powered, or "
                "lower max_speed_steps_per_s and max_acceleration_steps_per_s2 in the profile"
            )
        if part * SLOWER < LEAST_SPEED:
            slowest = speed * part
            raise CalibrationError(
                f"{name} loses steps even at {slowest:.0f} steps/s: is it powered?"
            )
        part *= SLOWER
    if tried.lost is None:
        kept = "neither a sensor nor the camera shows whether it loses steps: unchanged"
        keys = [f"actuators.{name}.{what}" for what in (SPEEDS[1], ACCELERATION)]
        return Finding("motor", f"{name}: {kept}", uncertain=dict.fromkeys(keys, kept)), 1.0
    text = f"{name}: no steps lost at {speed * part:.0f} steps/s"
    return Finding("motor", text, evidence={"seen_by": tried.seen_by}), part
