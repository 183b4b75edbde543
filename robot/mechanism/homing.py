"""How to home a robot whose motion broke off, without letting go of the cube or bending a jaw."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from robot.settings.mechanisms import MechanismSettings
from robot.settings.profile import RobotProfile


@dataclass(frozen=True, slots=True)
class HomeActuator:
    """Home an actuator, which ends at its start."""

    actuator: str


@dataclass(frozen=True, slots=True)
class MoveActuator:
    """Move a homed actuator to a position in steps or microseconds of pulse."""

    actuator: str
    position: int


HomingStep = HomeActuator | MoveActuator


@dataclass(frozen=True)
class HomingRequest:
    """What is known before homing: the usual ``order``, the ``places`` of actuators that are known
    to rest somewhere, and which of these are ``away`` from their start."""

    order: Sequence[str]
    places: Mapping[str, int]
    away: Collection[str]


def home_in_order(
    profile: RobotProfile, mechanism: MechanismSettings, request: HomingRequest
) -> list[HomingStep]:
    """All actuators one after the other: right wherever no part can be in the way of another."""
    del profile, mechanism
    return [HomeActuator(name) for name in request.order]
