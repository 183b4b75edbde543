"""Geometry and motions of grippers: the axes they block, the stickers they hide, their times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from robot.mechanism.durations import Rotary, near_ends_us, travel_us
from robot.mechanism.graph import (
    SITE_AXIS,
    ActuatorMotion,
    Configuration,
    Operation,
    Transition,
    signed_quarters,
)
from robot.mechanism.grippers import GripperSettings, GrippersSettings
from robot.settings import BadProfile
from robot.settings.base import AXIS_OF, Site
from robot.settings.profile import RobotProfile
from solver.cube.facelets import FACES, places, vector

SITES_OF_AXIS = {"x": "RL", "y": "UD", "z": "FB"}


@dataclass(frozen=True)
class Act:
    """An action of grippers in a transition, and its end."""

    motions: tuple[ActuatorMotion, ...]
    operations: tuple[Operation, ...]
    end_us: int

    def later(self, offset_us: int) -> Act:
        """Return a copy that starts later."""
        return Act(
            tuple(replace(m, offset_us=m.offset_us + offset_us) for m in self.motions),
            tuple(replace(each, start_us=each.start_us + offset_us) for each in self.operations),
            self.end_us + offset_us,
        )


class Gripper:
    """One gripper of the robot."""

    def __init__(self, profile: RobotProfile, robot: GrippersSettings, site: Site) -> None:
        settings = robot.grippers[site]
        self.site, self.axis = site, AXIS_OF[site]
        self.jaw = settings.jaw
        self._settings = settings
        self._profile, self._square_degrees = profile, robot.square_degrees
        self.rotary = Rotary(profile, settings)
        self._even = settings.jaws or _free_axis(robot, self.axis)
        self.open_us = self._jaw_us(profile, settings, opening=True)
        self.close_us = self._jaw_us(profile, settings, opening=False)

    def _jaw_us(self, profile: RobotProfile, settings: GripperSettings, opening: bool) -> int:
        ends = (settings.closed, settings.open) if opening else (settings.open, settings.closed)
        duration = travel_us(profile, settings.jaw, *ends, held=False)
        if duration is None:
            raise BadProfile(
                [
                    profile.complaint(
                        ("actuators", settings.jaw, "travel"),
                        f"gripper {self.site} cannot get from {ends[0]} to {ends[1]}: "
                        f"{settings.jaw} has no travel row for it",
                    )
                ]
            )
        return duration

    def jaws(self, angle: int) -> str:
        """Return the robot axis along which the closed jaws lie."""
        if angle % 2 == 0:
            return self._even
        return ({"x", "y", "z"} - {self.axis, self._even}).pop()

    def blocks(self, angle: int, axis: str) -> bool:
        """Return true if the closed jaws block layers that turn about ``axis``."""
        return self.jaws(angle) == axis != self.axis

    def covered_stickers(self, angle: int, size: int) -> dict[str, frozenset[int]]:
        """Return the stickers hidden at the two sites the closed jaws reach over."""
        if self._settings.covers == "nothing":
            return {}
        covers = self._settings.covers
        sites = SITES_OF_AXIS[self.jaws(angle)]
        return {site: _row_next_to(site, self.site, size, covers) for site in sites}

    def position(self, angle: int, closed: bool) -> dict[str, str | int]:
        """Return the gripper's positions in a configuration."""
        return {
            self.rotary.actuator: self.rotary.position(angle),
            self.jaw: self._settings.closed if closed else self._settings.open,
        }

    def near_square_us(self, motion: ActuatorMotion) -> tuple[int, int]:
        """Return the times at the start and end of a rotation while the cube is nearly square."""
        return near_ends_us(self._profile, motion, self._square_degrees)

    def release(self) -> Act:
        """Open the jaws."""
        return self._jaw_act("release", self._settings.closed, self._settings.open, self.open_us)

    def grip(self) -> Act:
        """Close the jaws."""
        return self._jaw_act("grip", self._settings.open, self._settings.closed, self.close_us)

    def _jaw_act(self, op: str, start: str, end: str, duration: int) -> Act:
        motion = ActuatorMotion(self.jaw, duration, start=start, end=end)
        return Act((motion,), (Operation(op, duration, fields={"gripper": self.site}),), duration)


def _free_axis(robot: GrippersSettings, axis: str) -> str:
    """Return the default axis of jaws at angle 0: one without grippers, if possible."""
    used = {AXIS_OF[site] for site in robot.grippers}
    free = [other for other in "yxz" if other != axis and other not in used]
    return free[0] if free else next(other for other in "yxz" if other != axis)


def _row_next_to(site: str, neighbour: str, size: int, covers: str) -> frozenset[int]:
    """Return the stickers of ``site`` (row by row from 1) in the row beside ``neighbour``."""
    block = size * size
    first = FACES.index(site) * block
    along = places(size)[first : first + block] @ vector(neighbour)
    beside = (np.flatnonzero(along == size - 1) + 1).tolist()
    return frozenset(beside[1:-1] if covers == "middle" and size > 2 else beside)


Angles = tuple[int, ...]
"""The angle of each gripper, in the order of the profile."""
CARRIES = (1, 2, -1, -2, 3, -3)
"""Quarters by which grippers may rotate the whole cube, if their range permits."""


@dataclass(frozen=True)
class GripperMove:
    """The rotation of one gripper in a transition: from angle to angle, by signed quarters."""

    gripper: Gripper
    angle: int
    other: int
    quarters: int

    def motion(self, *, held: bool) -> ActuatorMotion | None:
        """Return the rotation, with cube ``held`` or open jaws; None if a servo has no travel."""
        return self.gripper.rotary.motion(self.angle, self.other, self.quarters, held)

    def turn(self) -> Act | None:
        """Turn the held layer; None if a servo has no travel for it."""
        motion = self.motion(held=True)
        if motion is None:
            return None
        takes_us, way = motion.duration_us, signed_quarters(self.quarters)
        turned = Operation("turn", takes_us, site=self.gripper.site, quarter_turns=way)
        return Act((motion,), (turned,), takes_us)

    def swivel(self) -> Act | None:
        """Rotate with open jaws; None if a servo has no travel for it."""
        if self.quarters == 0:
            return Act((), (), 0)
        motion = self.motion(held=False)
        if motion is None:
            return None
        to = self.gripper.rotary.position(self.other)
        fields = {"gripper": self.gripper.site, "to": to}
        operation = Operation("home", motion.duration_us, fields=fields)
        return Act((motion,), (operation,), motion.duration_us)


def turns_of(gripper: Gripper, angle: int) -> list[GripperMove]:
    """Return every rotation with closed jaws."""
    return [GripperMove(gripper, angle, *to) for to in gripper.rotary.turns(angle)]


def regrips_of(gripper: Gripper, angle: int) -> list[GripperMove]:
    """Return every rotation with open jaws."""
    return [GripperMove(gripper, angle, *to) for to in gripper.rotary.returns(angle)]


def carries_of(gripper: Gripper, angle: int, quarters: int) -> list[GripperMove]:
    """Return the gripper's moves that rotate the cube by signed ``quarters`` about its robot axis.

    Opposite grippers must rotate the same way in space, half turns too, or they twist the cube.
    """
    wanted = quarters * SITE_AXIS[gripper.site][1]
    if gripper.rotary.endless:
        if quarters not in (1, 2, -1):
            return []
        return [GripperMove(gripper, angle, (angle + wanted) % gripper.rotary.looks, wanted)]
    return [move for move in turns_of(gripper, angle) if move.quarters == wanted]


def configuration_of(
    grippers: Iterable[Gripper], angles: Angles, size: int, holding: str | None = None
) -> Configuration:
    """Return the positions of all actuators, and the stickers that closed jaws hide.

    Only grippers of the axis ``holding`` are closed (None: all).
    """
    positions: dict[str, str | int] = {}
    covered: dict[str, frozenset[int]] = {}
    for gripper, angle in zip(grippers, angles, strict=True):
        closed = holding in (None, gripper.axis)
        positions |= gripper.position(angle, closed)
        for site, stickers in gripper.covered_stickers(angle, size).items() if closed else ():
            covered[site] = covered.get(site, frozenset()) | stickers
    return Configuration(positions, covered=covered)


def angles_after(angles: Angles, moves: Iterable[GripperMove | None]) -> Angles:
    """Return the angles of the grippers after their moves (None: no move)."""
    return tuple(
        angle if move is None else move.other for angle, move in zip(angles, moves, strict=True)
    )


def regrip_acts(opened: list[GripperMove], not_before: Mapping[Site, int]) -> list[Act] | None:
    """Return acts that open, rotate and close grippers, each not before ``not_before[site]``.

    Grippers that share a jaw actuator close together. None if a servo has no such travel.
    """
    swivels: list[Act] = []
    ready: dict[str, int] = {}
    for move in opened:
        swivel = move.swivel()
        if swivel is None:
            return None
        swivels.append(swivel.later(move.gripper.open_us))
        jaw = move.gripper.jaw
        closing = max(swivels[-1].end_us, not_before.get(move.gripper.site, 0))
        ready[jaw] = max(ready.get(jaw, 0), closing)
    first = {move.gripper.jaw: move.gripper for move in reversed(opened)}
    released = [gripper.release() for gripper in first.values()]
    gripped = [gripper.grip().later(ready[jaw]) for jaw, gripper in first.items()]
    return [*released, *swivels, *gripped]


def carry_act(axis: str, quarters: int, carrying: list[GripperMove]) -> Act | None:
    """Return the rotation of the whole cube by its grippers; None if one has no such travel."""
    found = [move.motion(held=True) for move in carrying]
    motions = [motion for motion in found if motion is not None]
    if len(motions) < len(found):
        return None
    end_us, way = max(motion.duration_us for motion in motions), signed_quarters(quarters)
    by = {"grippers": [move.gripper.site for move in carrying]}
    operation = Operation("rotate", end_us, axis=axis, quarter_turns=way, fields=by)
    return Act(tuple(motions), (operation,), end_us)


def transition_of(
    ends: tuple[int, int],
    acts: list[Act],
    turns: tuple[tuple[str, int], ...] = (),
    rotation: tuple[str, int] | None = None,
) -> Transition:
    """Return the transition of all ``acts``; it lasts until the last one ends."""
    return Transition(
        *ends,
        duration_us=max(act.end_us for act in acts),
        motions=tuple(motion for act in acts for motion in act.motions),
        operations=tuple(operation for act in acts for operation in act.operations),
        turns=turns,
        rotation=rotation,
    )
