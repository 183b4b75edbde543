"""From the settings of a mechanism to its physical parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from robot.settings import DirectSettings, FlipperSettings, GrippersSettings, RobotProfile
from robot.settings.actuators import Servo, Stepper
from robot.settings.mechanisms import Arm as ArmSettings
from robot.settings.mechanisms import Gripper as GripperSettings
from robot.settings.mechanisms import Roll as RollSettings
from robot.settings.mechanisms import Turntable
from robot.twin.cube import NORMALS, CubeBody
from robot.twin.direct import DirectDrive
from robot.twin.flipper import Arm, ArmPlace, Flipper, Roll
from robot.twin.grippers import Gripper, GripperMechanism
from robot.twin.pose import Pose
from robot.twin.twisting import OPPOSITE, Slipping, TwistingCube
from robot.twin.violations import Reporter

Scale = Callable[[float], float]

AXES = {"x": "R", "y": "U", "z": "F"}
CORNER_CUTTING_DEGREES = 10.0
"""How far a layer may be off square when one that crosses it moves: any cube bears this."""


class Mechanism(Protocol):
    """The parts that touch the cube, of whatever kind."""

    slips: Slipping

    @property
    def body(self) -> CubeBody:
        """The cube they touch."""

    def update(self, positions: Mapping[str, float]) -> None:
        """The motors are now at ``positions``, in the units the mechanism was built for."""

    def place(self, actuator: str, position: float) -> str | None:
        """Name of the calibrated place an actuator is at, if any."""

    def interrupted(self) -> None:
        """The firmware was reset: what was under way stays as it is, or falls back."""

    def set_square(self) -> None:
        """A person sets cube and layers square by hand, each to what is nearest."""

    def pose(self) -> Pose:
        """How far the stickers are from where they are booked."""


def build_mechanism(profile: RobotProfile, body: CubeBody, report: Reporter) -> Mechanism:
    """The parts of the profile's mechanism around ``body``."""
    settings = profile.mechanism
    tolerance = profile.simulation.tolerance_degrees / 90
    if isinstance(settings, FlipperSettings):
        arms = [_arm(arm, profile) for arm in settings.arms]
        return Flipper(body, settings.turntable.actuator, arms, tolerance, report)
    if isinstance(settings, GrippersSettings):
        cube = TwistingCube(body, tolerance, report)
        sites = tuple(settings.grippers)
        grippers = [
            _gripper(site, gripper, sites, profile) for site, gripper in settings.grippers.items()
        ]
        return GripperMechanism(cube, grippers, tolerance, report)
    cutting = max(CORNER_CUTTING_DEGREES, settings.overlap_degrees + CORNER_CUTTING_DEGREES / 2)
    cube = TwistingCube(body, cutting / 90, report)
    return DirectDrive(cube, {name: site for site, name in settings.motors.items()})


def scales_of(profile: RobotProfile) -> dict[str, Scale]:
    """For each motor that rotates something: from its pulse or steps to quarter turns."""
    settings = profile.mechanism
    if isinstance(settings, FlipperSettings):
        return {settings.turntable.actuator: _rotation_scale(settings.turntable, profile)}
    if isinstance(settings, GrippersSettings):
        grippers = settings.grippers.values()
        return {gripper.rotation: _rotation_scale(gripper, profile) for gripper in grippers}
    return {name: _steps_scale(name, profile) for name in settings.motors.values()}


def start_places(profile: RobotProfile) -> dict[str, str]:
    """Where servos stand when the robot is switched on: as it was put away."""
    settings = profile.mechanism
    if isinstance(settings, DirectSettings):
        return {}
    if isinstance(settings, FlipperSettings):
        places = {arm.actuator: arm.start for arm in settings.arms}
        rotations = {settings.turntable.actuator: settings.turntable.start}
    else:
        grippers = settings.grippers.values()
        places = {gripper.jaw: gripper.closed for gripper in grippers}
        rotations = {gripper.rotation: gripper.start for gripper in grippers}
    return places | {name: at for name, at in rotations.items() if isinstance(at, str)}


def _rotation_scale(part: Turntable | GripperSettings, profile: RobotProfile) -> Scale:
    """Linear between a servo's calibrated places; by the steps of a turn for a stepper."""
    name = part.actuator if isinstance(part, Turntable) else part.rotation
    motor = profile.actuators[name]
    if not isinstance(motor, Servo):
        return _steps_scale(name, profile)
    known = sorted((motor.positions_us[place], angle) for place, angle in part.angles.items())
    pulses, angles = zip(*known, strict=True)
    return lambda position: float(np.interp(position, pulses, angles))


def _steps_scale(name: str, profile: RobotProfile) -> Scale:
    motor = profile.actuators[name]
    if not isinstance(motor, Stepper) or motor.steps_per_turn is None:
        raise ValueError(f"{name}: only servos and rotary steppers can be simulated")
    per_quarter = motor.steps_per_turn / 4
    return lambda position: position / per_quarter


def _places_of(name: str, profile: RobotProfile) -> Mapping[str, int]:
    motor = profile.actuators[name]
    if isinstance(motor, Servo):
        return motor.positions_us
    if isinstance(motor, Stepper):
        return motor.positions_steps
    raise ValueError(f"{name}: only servos and steppers can be simulated")


def _arm(arm: ArmSettings, profile: RobotProfile) -> Arm:
    at = _places_of(arm.actuator, profile)
    places = []
    for name, role in arm.positions.items():
        if isinstance(role, RollSettings):
            places.append(ArmPlace(name, at[name], role.then, _roll(role.rolls)))
        else:
            places.append(ArmPlace(name, at[name], role))
    return Arm(arm.actuator, places)


def _gripper(
    site: str, settings: GripperSettings, sites: tuple[str, ...], profile: RobotProfile
) -> Gripper:
    at = _places_of(settings.jaw, profile)
    places = [
        ArmPlace(settings.open, at[settings.open], "open"),
        ArmPlace(settings.closed, at[settings.closed], "hold"),
    ]
    across = AXES[settings.jaws] if settings.jaws else _free_direction(site, sites)
    width = {"nothing": 0.0, "middle": 1 / profile.cube.size, "row": 1.0}[settings.covers]
    jaws = Arm(settings.jaw, places)
    return Gripper(site, settings.rotation, jaws, NORMALS[across], width)


def _free_direction(site: str, sites: tuple[str, ...]) -> str:
    """Across the gripper's axis and, if there is such a direction, away from all neighbours."""
    directions = [axis for axis in "URF" if axis not in {site, OPPOSITE[site]}]
    free = [axis for axis in directions if axis not in sites and OPPOSITE[axis] not in sites]
    return (free or directions)[0]


def _roll(text: str) -> Roll:
    """``x``, ``x2`` or ``x'`` as an axis and clockwise quarters."""
    return NORMALS[AXES[text[0]]], {"": 1, "2": 2, "'": -1}[text[1:]]
