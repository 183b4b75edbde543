"""Mechanisms that cannot be built from the actuators they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from robot.settings.actuators import Servo, Stepper, Timed
from robot.settings.checks import Finding, positions_of
from robot.settings.document import Path
from robot.settings.mechanisms import (
    Arm,
    DirectSettings,
    FlipperSettings,
    Gripper,
    GrippersSettings,
    Roll,
    Turntable,
)
from robot.settings.profile import RobotProfile

AXIS_OF = {"U": "y", "D": "y", "R": "x", "L": "x", "F": "z", "B": "z"}
OPPOSITE = {"U": "D", "D": "U", "R": "L", "L": "R", "F": "B", "B": "F"}


def check_geometry(profile: RobotProfile) -> Iterator[Finding]:
    """Every reason why the mechanism of ``profile`` could not exist."""
    mechanism = profile.mechanism
    if isinstance(mechanism, FlipperSettings):
        yield from _check_flipper(mechanism, profile)
    elif isinstance(mechanism, GrippersSettings):
        yield from _check_grippers(mechanism, profile)
    else:
        yield from _check_direct(mechanism, profile)


def _check_flipper(flipper: FlipperSettings, profile: RobotProfile) -> Iterator[Finding]:
    yield from _check_rotation(("mechanism", "turntable"), "actuator", flipper.turntable, profile)
    for index, arm in enumerate(flipper.arms):
        yield from _check_arm(("mechanism", "arms", index), arm, profile)
    roles = [role for arm in flipper.arms for role in arm.positions.values()]
    rolls = [role for role in roles if isinstance(role, Roll)]
    if "hold" not in roles and not any(roll.then == "hold" for roll in rolls):
        yield ("mechanism", "arms"), "no position holds the cube, so no layer can be turned"
    if not any(roll.rolls[0] != "y" for roll in rolls):
        yield ("mechanism", "arms"), "no position rolls the cube, so four faces cannot be turned"


def _check_rotation(
    path: Path, key: str, part: Turntable | Gripper, profile: RobotProfile
) -> Iterator[Finding]:
    """``part`` rotates by the actuator named at ``key``, over the angles it has been given."""
    name = part.actuator if isinstance(part, Turntable) else part.rotation
    actuator = profile.actuators.get(name)
    if actuator is None:
        yield (*path, key), _missing(name, profile)
    elif isinstance(actuator, Servo):
        yield from _check_servo_angles(path, name, part, actuator)
    else:
        yield from _check_motor_angles(path, (key, name), part, actuator)


def _missing(name: str, profile: RobotProfile) -> str:
    return f"no actuator named {name}; there is {', '.join(sorted(profile.actuators))}"


def _check_servo_angles(
    path: Path, name: str, part: Turntable | Gripper, servo: Servo
) -> Iterator[Finding]:
    if len(part.angles) < 2:
        yield (*path, "angles"), f"{name} is a servo: name two or more positions and their angles"
    for position in sorted(set(part.angles) - set(servo.positions_us)):
        known = ", ".join(sorted(servo.positions_us))
        yield (*path, "angles", position), f"{name} has no such position; it has {known}"
    if len(set(part.angles.values())) < len(part.angles):
        yield (*path, "angles"), "two positions have the same angle"
    in_order = sorted(part.angles, key=part.angles.__getitem__)
    pulses = [servo.positions_us[one] for one in in_order if one in servo.positions_us]
    if pulses not in (sorted(pulses), sorted(pulses, reverse=True)):
        text = f"the pulses {pulses} of {name} neither rise nor fall from angle to angle"
        yield (*path, "angles"), text
    if part.range_quarters is not None:
        yield (*path, "range_quarters"), "a servo's range is given by angles; leave this out"
    if part.start not in part.angles:
        yield (*path, "start"), f"must be one of the angles' names: {', '.join(part.angles)}"


def _check_motor_angles(
    path: Path, named: tuple[str, str], part: Turntable | Gripper, motor: Stepper | Timed
) -> Iterator[Finding]:
    key, name = named
    if part.angles:
        yield (*path, "angles"), f"{name} is no servo: give range_quarters or nothing"
    yield from _check_rotates((*path, key), name, motor)
    low, high = part.range_quarters or (-8, 8)
    if high - low < 1:
        yield (*path, "range_quarters"), "cannot reach a second angle: the range is empty"
    if isinstance(part.start, str) or not low <= part.start <= high:
        yield (*path, "start"), f"must be a number of quarter turns in {low}..{high}"


def _check_rotates(path: Path, name: str, motor: Stepper | Timed) -> Iterator[Finding]:
    rotates = motor.steps_per_turn if isinstance(motor, Stepper) else motor.free
    if rotates is None:
        key = "steps_per_turn" if isinstance(motor, Stepper) else "free"
        yield path, f"{name} does not rotate: it has no {key}"


def _check_arm(path: Path, arm: Arm, profile: RobotProfile) -> Iterator[Finding]:
    yield from _check_positions(path, "actuator", arm.actuator, profile)
    actuator = profile.actuators.get(arm.actuator)
    known = positions_of(actuator) if actuator is not None else set(arm.positions)
    for name in sorted(set(arm.positions) - known):
        text = f"{arm.actuator} has no such position; it has {', '.join(sorted(known)) or 'none'}"
        yield (*path, "positions", name), text
    if arm.start not in arm.positions:
        yield (*path, "start"), f"must be one of {', '.join(arm.positions)}"
    elif isinstance(arm.positions[arm.start], Roll):
        yield (*path, "start"), "must not be a position that rolls the cube"


def _check_positions(
    path: Path, key: str, name: str, profile: RobotProfile, needed: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """The actuator called ``name`` exists and knows the positions that ``needed`` gives by key."""
    actuator = profile.actuators.get(name)
    if actuator is None:
        yield (*path, key), _missing(name, profile)
        return
    known = positions_of(actuator)
    for role, position in (needed or {}).items():
        if position not in known:
            text = f"{name} has no position {position}; it has {', '.join(sorted(known)) or 'none'}"
            yield (*path, role), text


def _check_grippers(robot: GrippersSettings, profile: RobotProfile) -> Iterator[Finding]:
    place: Path = ("mechanism", "grippers")
    for site, gripper in robot.grippers.items():
        path: Path = (*place, site)
        yield from _check_rotation(path, "rotation", gripper, profile)
        needed = {"open": gripper.open, "closed": gripper.closed}
        yield from _check_positions(path, "jaw", gripper.jaw, profile, needed)
        if gripper.jaws == AXIS_OF[site]:
            yield (*path, "jaws"), f"jaws at {site} lie across its axis, not along {gripper.jaws}"
    sites = set(robot.grippers)
    if len({AXIS_OF[site] for site in sites}) < 2:
        yield place, "all grippers are on one axis: four faces can never be turned"
    paired = any(OPPOSITE[site] in sites for site in sites)
    if robot.others == "release" and (profile.cube.size > 2 or not paired):
        text = "only a 2x2x2 can be held by two opposite grippers alone: write hold"
        yield ("mechanism", "others"), text
    if robot.others == "hold" and robot.holders >= len(sites):
        text = f"with {robot.holders} of {len(sites)} grippers holding still none is left to turn"
        yield ("mechanism", "holders"), text


def _check_direct(robot: DirectSettings, profile: RobotProfile) -> Iterator[Finding]:
    place: Path = ("mechanism", "motors")
    for site, name in robot.motors.items():
        actuator = profile.actuators.get(name)
        if actuator is None:
            yield (*place, site), _missing(name, profile)
        elif isinstance(actuator, Servo):
            yield (*place, site), f"{name} is a servo, which cannot turn for ever"
        else:
            yield from _check_rotates((*place, site), name, actuator)
    names = list(robot.motors.values())
    for site, name in robot.motors.items():
        if names.count(name) > 1:
            yield (*place, site), f"{name} cannot drive two faces"
    missing = [site for site in "URFDLB" if site not in robot.motors]
    if profile.cube.size == 3 and len(missing) > 1:
        text = f"nobody can turn {', '.join(missing)}; a 3x3x3 needs five motors or more"
        yield place, text
    if len({AXIS_OF[site] for site in robot.motors}) < 3:
        yield place, "a cube needs a motor on each of its three axes"
