"""The firmware process that a demo runs for each board of a robot."""

from __future__ import annotations

import math

from robot.computer.board_family import BoardSimulation, family_of, simulations
from robot.settings import RobotProfile
from robot.settings.checks import check_profile
from robot.simulate.processes import SimulationError

FASTEST_TOGETHER = 2.0
"""Times real time for a robot of several boards: the daemon starts them together by real time."""


def own_simulation(profile: RobotProfile) -> str:
    """Return the name of what simulates the profile's own board.

    An Arduino's is the firmware of this computer, see ``robot/computer/families/host.py``.
    """
    if profile.boards:
        return "host"
    return next((name for name, one in simulations().items() if one.is_for(profile)), "host")


def simulation_of(kind: str, profile: RobotProfile, board: str) -> BoardSimulation:
    """Return what runs as a board of a robot that is simulated as ``kind``.

    The Raspberry Pi among several boards is its own process whatever the others are.
    """
    own = family_of(profile.every_board[board].target).simulation_among
    return simulations()[own if profile.boards and own else kind]


def wire_to_board(kind: str, profile: RobotProfile) -> RobotProfile:
    """Return the robot wired to what runs as ``kind``.

    Raises :class:`SimulationError`, or ``FirmwareError``, when that cannot be.
    """
    known = simulations()
    if profile.boards:
        if not known[kind].runs_as_granted:
            granted = (name for name, one in known.items() if one.runs_as_granted)
            raise SimulationError(
                f"{profile.name} has several boards, which {kind} cannot simulate; choose from "
                f"{', '.join(granted)}"
            )
        for board in profile.every_board.values():
            family_of(board.target).refuse_beside_others(profile)
        return profile
    moved = known[kind].wire(profile)
    if moved is profile:
        return profile
    for path, text in check_profile(moved):
        place = ".".join(map(str, path))
        raise SimulationError(f"{profile.name} cannot be driven by {kind}: {place}: {text}")
    return moved


def fastest(profile: RobotProfile) -> float:
    """Return the highest speed of a simulation, in multiples of real time."""
    return FASTEST_TOGETHER if profile.boards else math.inf


def require_pace(profile: RobotProfile, speed: float) -> None:
    """Raise :class:`SimulationError` for a robot that cannot be simulated at this speed."""
    if speed > fastest(profile):
        raise SimulationError(
            f"{profile.name} has several boards, which start together within milliseconds of real "
            f"time: --speed {fastest(profile):g} at most"
        )
