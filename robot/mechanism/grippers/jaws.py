"""Grippers as bodies: where their jaws are, whom they block, what they hide and how they move."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot.mechanism.durations import ImpossibleRobot, travel_us
from robot.mechanism.graph import ActuatorMotion, Operation, signed
from robot.mechanism.grippers.settings import GripperSettings, GrippersSettings
from robot.mechanism.rotary import Rotary
from robot.settings.base import AXIS_OF, Site
from robot.settings.profile import RobotProfile
from solver.cube.facelets import FACES, places, vector

SITES_OF_AXIS = {"x": "RL", "y": "UD", "z": "FB"}


@dataclass(frozen=True)
class Act:
    """Something one gripper does in a transition, with the time until it is over."""

    motions: tuple[ActuatorMotion, ...]
    operations: tuple[Operation, ...]
    end_us: int

    def later(self, offset_us: int) -> Act:
        """The same, started later."""
        return Act(
            tuple(replace(m, offset_us=m.offset_us + offset_us) for m in self.motions),
            tuple(replace(each, start_us=each.start_us + offset_us) for each in self.operations),
            self.end_us + offset_us,
        )


class Hand:
    """One gripper of the robot."""

    def __init__(self, profile: RobotProfile, robot: GrippersSettings, site: Site) -> None:
        settings = robot.grippers[site]
        self.site, self.axis = site, AXIS_OF[site]
        self.jaw = settings.jaw
        self._settings = settings
        self.rotary = Rotary(profile, settings)
        self._even = settings.jaws or _free_axis(robot, self.axis)
        self.open_us = self._jaw_us(profile, settings, opening=True)
        self.close_us = self._jaw_us(profile, settings, opening=False)

    def _jaw_us(self, profile: RobotProfile, settings: GripperSettings, opening: bool) -> int:
        ends = (settings.closed, settings.open) if opening else (settings.open, settings.closed)
        duration = travel_us(profile, settings.jaw, *ends, held=False)
        if duration is None:
            raise ImpossibleRobot(
                profile,
                ("actuators", settings.jaw, "travel"),
                f"gripper {self.site} cannot get from {ends[0]} to {ends[1]}: "
                f"{settings.jaw} has no travel row for it",
            )
        return duration

    def jaws(self, angle: int) -> str:
        """The robot axis along which the closed jaws lie."""
        if angle % 2 == 0:
            return self._even
        return ({"x", "y", "z"} - {self.axis, self._even}).pop()

    def blocks(self, angle: int, axis: str) -> bool:
        """Whether the closed jaws are in the way of layers turning about ``axis``."""
        return self.jaws(angle) == axis != self.axis

    def covered(self, angle: int, size: int) -> dict[str, frozenset[int]]:
        """Stickers hidden at the two sites the closed jaws reach over."""
        if self._settings.covers == "nothing":
            return {}
        covers = self._settings.covers
        sites = SITES_OF_AXIS[self.jaws(angle)]
        return {site: _row_next_to(site, self.site, size, covers) for site in sites}

    def position(self, angle: int, closed: bool = True) -> dict[str, str | int]:
        """What a configuration says about the gripper."""
        return {
            self.rotary.actuator: self.rotary.position(angle),
            self.jaw: self._settings.closed if closed else self._settings.open,
        }

    def turn(self, angle: int, other: int, quarters: int) -> Act | None:
        """Turn the layer that is held."""
        motion = self.rotary.motion(angle, other, quarters, held=True)
        if motion is None:
            return None
        operation = Operation(
            "turn", motion.duration_us, site=self.site, quarter_turns=signed(quarters)
        )
        return Act((motion,), (operation,), motion.duration_us)

    def carry(self, angle: int, other: int, quarters: int) -> ActuatorMotion | None:
        """Rotate with the whole cube in the jaws; the operation names the cube, not the gripper."""
        return self.rotary.motion(angle, other, quarters, held=True)

    def release(self) -> Act:
        """Open the jaws."""
        return self._jaw_act("release", self._settings.closed, self._settings.open, self.open_us)

    def grip(self) -> Act:
        """Close the jaws."""
        return self._jaw_act("grip", self._settings.open, self._settings.closed, self.close_us)

    def _jaw_act(self, op: str, start: str, end: str, duration: int) -> Act:
        motion = ActuatorMotion(self.jaw, duration, start=start, end=end)
        return Act((motion,), (Operation(op, duration, fields={"gripper": self.site}),), duration)

    def swivel(self, angle: int, other: int, quarters: int) -> Act | None:
        """Rotate with open jaws."""
        if quarters == 0:
            return Act((), (), 0)
        motion = self.rotary.motion(angle, other, quarters, held=False)
        if motion is None:
            return None
        fields = {"gripper": self.site, "to": self.rotary.position(other)}
        return Act(
            (motion,), (Operation("home", motion.duration_us, fields=fields),), motion.duration_us
        )


def _free_axis(robot: GrippersSettings, axis: str) -> str:
    """Where jaws lie at angle 0 unless the profile says: along an axis without grippers."""
    used = {AXIS_OF[site] for site in robot.grippers}
    free = [other for other in "yxz" if other != axis and other not in used]
    return free[0] if free else next(other for other in "yxz" if other != axis)


def _row_next_to(site: str, neighbour: str, size: int, covers: str) -> frozenset[int]:
    """Stickers of ``site`` (row by row from 1) in the row beside ``neighbour``."""
    block = size * size
    first = FACES.index(site) * block
    along = places(size)[first : first + block] @ vector(neighbour)
    beside = (np.flatnonzero(along == size - 1) + 1).tolist()
    return frozenset(beside[1:-1] if covers == "middle" and size > 2 else beside)
