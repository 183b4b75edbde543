"""Robot profiles: YAML read into checked, frozen models."""

from robot.settings.actuators import ActuatorSettings, Servo, Timed, TravelRow
from robot.settings.document import BadProfile, Complaint
from robot.settings.loader import (
    DEFAULT_PROFILE,
    list_profiles,
    load_profile,
    parse_profile,
    profile_file,
    profile_path,
    require_profiles,
)
from robot.settings.mechanisms import MechanismSettings
from robot.settings.profile import CameraSettings, RobotProfile, View
from robot.settings.stepper import Stepper

__all__ = [
    "DEFAULT_PROFILE",
    "ActuatorSettings",
    "BadProfile",
    "CameraSettings",
    "Complaint",
    "MechanismSettings",
    "RobotProfile",
    "Servo",
    "Stepper",
    "Timed",
    "TravelRow",
    "View",
    "list_profiles",
    "load_profile",
    "parse_profile",
    "profile_file",
    "profile_path",
    "require_profiles",
]
