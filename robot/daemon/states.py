"""The states of the daemon and which may follow which."""

from __future__ import annotations

from enum import StrEnum

from robot.faults import Refused


class RobotState(StrEnum):
    """What the robot is doing."""

    IDLE = "idle"
    HOMING = "homing"
    SCANNING = "scanning"
    SOLVING = "solving"
    TURNING = "turning"
    CHECKING = "checking"
    FAULT = "fault"
    MAINTENANCE = "maintenance"


WORKING = frozenset(
    {
        RobotState.HOMING,
        RobotState.SCANNING,
        RobotState.SOLVING,
        RobotState.TURNING,
        RobotState.CHECKING,
    }
)
"""States in which a job is under way."""

_RESTING = frozenset({RobotState.IDLE, RobotState.FAULT})

ALLOWED: dict[RobotState, frozenset[RobotState]] = {
    RobotState.IDLE: frozenset(
        {RobotState.HOMING, RobotState.SCANNING, RobotState.TURNING, RobotState.MAINTENANCE}
    )
    | _RESTING,
    RobotState.HOMING: frozenset({RobotState.SCANNING, RobotState.SOLVING, RobotState.TURNING})
    | _RESTING,
    RobotState.SCANNING: frozenset({RobotState.HOMING, RobotState.SOLVING}) | _RESTING,
    RobotState.SOLVING: frozenset({RobotState.SCANNING, RobotState.HOMING, RobotState.TURNING})
    | _RESTING,
    RobotState.TURNING: frozenset({RobotState.CHECKING, RobotState.HOMING}) | _RESTING,
    RobotState.CHECKING: frozenset({RobotState.HOMING, RobotState.SCANNING, RobotState.SOLVING})
    | _RESTING,
    RobotState.FAULT: frozenset({RobotState.HOMING, RobotState.IDLE, RobotState.MAINTENANCE}),
    RobotState.MAINTENANCE: _RESTING,
}


def check_transition(old: RobotState, new: RobotState) -> None:
    """Raise :class:`Refused` unless ``new`` may follow ``old``; the same state always may."""
    if new is not old and new not in ALLOWED[old]:
        raise Refused(f"{new} cannot follow {old}")
