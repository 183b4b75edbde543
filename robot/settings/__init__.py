"""Robot profiles: YAML read into checked, frozen models."""

from robot.settings.actuators import Actuator, Servo, Stepper, Timed, Travel
from robot.settings.errors import BadProfile, Complaint, UnknownProfile
from robot.settings.loader import (
    DEFAULT_PROFILE,
    list_profiles,
    load_profile,
    parse_profile,
    profile_path,
)
from robot.settings.mechanisms import (
    Arm,
    DirectSettings,
    FlipperSettings,
    Gripper,
    GrippersSettings,
    Roll,
    Turntable,
)
from robot.settings.profile import CameraSettings, RobotProfile, View

__all__ = [
    "DEFAULT_PROFILE",
    "Actuator",
    "Arm",
    "BadProfile",
    "CameraSettings",
    "Complaint",
    "DirectSettings",
    "FlipperSettings",
    "Gripper",
    "GrippersSettings",
    "RobotProfile",
    "Roll",
    "Servo",
    "Stepper",
    "Timed",
    "Travel",
    "Turntable",
    "UnknownProfile",
    "View",
    "list_profiles",
    "load_profile",
    "parse_profile",
    "profile_path",
]
