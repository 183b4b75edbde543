"""How far calibrated values of a simulated robot are from the truth, which only it knows."""

from __future__ import annotations

from collections.abc import Mapping

from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.twin.misadjustment import BUILT_AS_DRAWN, Misadjustment
from robot.twin.registry import degree_us, parts_of
from solver.files import JsonMapping


def position_errors(
    profile: RobotProfile, truth: Misadjustment | None, values: JsonMapping
) -> Mapping[str, float]:
    """Degrees of the shaft by which each servo position in calibrated ``values`` is off, by key.

    ``truth``: how the robot was built; None: as drawn. Steppers count from where they are switched
    on or homed, so their positions are right by definition.
    """
    per_degree = degree_us(profile, parts_of(profile).rotations)
    found: dict[str, float] = {}
    for name, settings in profile.actuators_of(Servo).items():
        servo = (truth or BUILT_AS_DRAWN).servo(name, settings, per_degree)
        for position, place in settings.positions_us.items():
            key = f"actuators.{name}.positions_us.{position}"
            if key in values:
                found[key] = (servo.shaft(values[key]) - place) / per_degree
    return found
