"""The states of the daemon and which may follow which."""

from __future__ import annotations

from enum import StrEnum

from robot.faults import Refused


class State(StrEnum):
    """What the robot is doing."""

    IDLE = "idle"
    HOMING = "homing"
    SCANNING = "scanning"
    SOLVING = "solving"
    TURNING = "turning"
    CHECKING = "checking"
    FAULT = "fault"
    MAINTENANCE = "maintenance"


WORKING = frozenset({State.HOMING, State.SCANNING, State.SOLVING, State.TURNING, State.CHECKING})
"""States in which a job is under way."""

_RESTING = frozenset({State.IDLE, State.FAULT})

ALLOWED: dict[State, frozenset[State]] = {
    State.IDLE: frozenset({State.HOMING, State.SCANNING, State.TURNING, State.MAINTENANCE})
    | _RESTING,
    State.HOMING: frozenset({State.SCANNING, State.SOLVING, State.TURNING}) | _RESTING,
    State.SCANNING: frozenset({State.HOMING, State.SOLVING}) | _RESTING,
    State.SOLVING: frozenset({State.SCANNING, State.HOMING, State.TURNING}) | _RESTING,
    State.TURNING: frozenset({State.CHECKING, State.HOMING}) | _RESTING,
    State.CHECKING: frozenset({State.HOMING, State.SCANNING, State.SOLVING}) | _RESTING,
    State.FAULT: frozenset({State.HOMING, State.IDLE, State.MAINTENANCE}),
    State.MAINTENANCE: _RESTING,
}


def check_transition(old: State, new: State) -> None:
    """Raise :class:`Refused` unless ``new`` may follow ``old``; the same state always may."""
    if new is not old and new not in ALLOWED[old]:
        raise Refused(f"{new} cannot follow {old}")
