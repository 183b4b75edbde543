"""Robots that hold the cube in rotating grippers, as graphs.

Between transitions all grippers are closed; a configuration is the angle of each. A transition
combines simultaneous motions:

- *turn*: grippers of one axis turn their layers; those of other axes hold the cube, or regrip;
- *regrip*: some grippers open, rotate and close again while others hold the cube still;
- *carry*: one gripper, or an opposite pair, rotates the whole cube; all others are open meanwhile,
  may rotate, and close.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from robot.mechanism.clearance import clear_place, with_clear_place
from robot.mechanism.graph import Mechanism, State, Transition, weight_of
from robot.mechanism.grippers import GrippersSettings
from robot.mechanism.grippers.homing import home_grippers
from robot.mechanism.grippers.jaws import (
    CARRIES,
    Angles,
    Gripper,
    GripperMove,
    angles_after,
    carries_of,
    carry_act,
    configuration_of,
    regrip_acts,
    regrips_of,
    transition_of,
    turns_of,
)
from robot.mechanism.grippers.showing import widen
from robot.mechanism.registry import MECHANISMS, MechanismKind
from robot.settings import BadProfile
from robot.settings.profile import RobotProfile
from solver.cube.orientation import Orientation


def build_grippers(profile: RobotProfile, robot: GrippersSettings) -> Mechanism:
    """Return the graph of a robot with grippers: one configuration for each set of rest angles."""
    maker = GripperMoves(profile, robot)
    rests = [
        angles
        for angles in product(*(h.rotary.angles for h in maker.grippers))
        if maker.rests(angles)
    ]
    index = {angles: number for number, angles in enumerate(rests)}
    start = tuple(gripper.rotary.start for gripper in maker.grippers)
    if start not in index:
        text = "at their start angles the grippers' jaws collide"
        raise BadProfile([profile.complaint(("mechanism", "grippers"), text)])
    best: dict[object, Transition] = {}
    for angles in rests:
        for step in maker.transitions(angles, index):
            key = (step.start, step.end, step.turns, step.rotation)
            if key not in best or weight_of(step) < weight_of(best[key]):
                best[key] = step
    mechanism = Mechanism(
        profile=profile,
        configurations=tuple(
            configuration_of(maker.grippers, angles, profile.cube.size) for angles in rests
        ),
        transitions=tuple(best.values()),
        start=State(index[start], Orientation(0)),
    )
    return widen(mechanism, *_opening_less(profile, robot))


def _opening_less(
    profile: RobotProfile, robot: GrippersSettings
) -> tuple[RobotProfile, tuple[Gripper, ...]]:
    """Return the robot and its grippers for scanning: their jaws open only as far as necessary."""
    grippers = dict(robot.grippers)
    for site, one in robot.grippers.items():
        if one.clear_part < 1:
            name = clear_place(one.open)
            if name not in profile.actuators[one.jaw].places:
                part = one.clear_part
                profile = with_clear_place(profile, one.jaw, one.closed, one.open, part)
            grippers[site] = one.model_copy(update={"open": name})
    looking = robot.model_copy(update={"grippers": grippers})
    return profile, tuple(Gripper(profile, looking, site) for site in grippers)


class GripperMoves:
    """All transitions of the grippers from given angles."""

    def __init__(self, profile: RobotProfile, robot: GrippersSettings) -> None:
        self.robot = robot
        self.grippers = tuple(Gripper(profile, robot, site) for site in robot.grippers)
        self.axes = sorted({gripper.axis for gripper in self.grippers})

    def rests(self, angles: Angles) -> bool:
        """Return true if all jaws can be closed at these angles without colliding."""
        held = list(zip(self.grippers, angles, strict=True))
        return not any(
            one.blocks(angle, other.axis) and other.blocks(other_angle, one.axis)
            for number, (one, angle) in enumerate(held)
            for other, other_angle in held[:number]
        )

    def transitions(self, angles: Angles, index: dict[Angles, int]) -> Iterator[Transition]:
        """Yield every transition from ``angles`` to angles in ``index``."""
        for axis in self.axes:
            yield from self._turns(axis, angles, index)
            yield from self._carries(axis, angles, index)
        yield from self._regrips(angles, index)

    def _turns(self, axis: str, angles: Angles, index: dict[Angles, int]) -> Iterator[Transition]:
        """Yield turns of layers of ``axis``; grippers elsewhere hold still or regrip."""
        turning = [
            [None, *turns_of(gripper, angle)]
            if gripper.axis == axis
            else self._meanwhile(gripper, angle, axis)
            for gripper, angle in zip(self.grippers, angles, strict=True)
        ]
        for moves in product(*turning):
            if any(move is not None and move.gripper.axis == axis for move in moves):
                after = angles_after(angles, moves)
                if after in index and self._holds(axis, moves):
                    yield from self._turn(axis, moves, (index[angles], index[after]))

    def _meanwhile(self, gripper: Gripper, angle: int, axis: str) -> list[GripperMove | None]:
        """Return the moves of a gripper of another axis while layers of ``axis`` turn."""
        releases = self.robot.others == "release"
        still: list[GripperMove | None] = []
        if not releases and not gripper.blocks(angle, axis):
            still = [None]
        if self.robot.regrip == "never" and not releases:
            return still
        reopened = [GripperMove(gripper, angle, angle, 0)] if releases else []
        return [*still, *reopened, *regrips_of(gripper, angle)]

    def _holds(self, axis: str, moves: tuple[GripperMove | None, ...]) -> bool:
        """Return true if the cube is held while layers of ``axis`` turn, and shared jaws agree."""
        opened = [m.gripper for m in moves if m is not None and m.gripper.axis != axis]
        if not self._jaws_agree(opened):
            return False
        if self.robot.others == "release":
            return sum(gripper.axis == axis for gripper in self.grippers) == 2
        still = [
            gripper for gripper, move in zip(self.grippers, moves, strict=True) if move is None
        ]
        if self.robot.regrip != "at-once":
            still = [gripper for gripper in still if gripper.axis != axis]
        return len(still) >= self.robot.holders

    def _jaws_agree(self, opened: list[Gripper]) -> bool:
        """Return true if grippers whose jaws share an actuator open together."""
        jaws = {gripper.jaw for gripper in opened}
        return all(gripper in opened for gripper in self.grippers if gripper.jaw in jaws)

    def _turn(
        self, axis: str, moves: tuple[GripperMove | None, ...], ends: tuple[int, int]
    ) -> Iterator[Transition]:
        turning = [m for m in moves if m is not None and m.gripper.axis == axis]
        opened = [m for m in moves if m is not None and m.gripper.axis != axis]
        acts = [move.turn() for move in turning]
        early = [m.gripper.open_us for m in opened if self._stays_clear(m.gripper, m.angle, axis)]
        begin = max(early, default=0)
        done = [act.later(begin) for act in acts if act is not None]
        if len(done) < len(acts):
            return
        clear = begin + max(act.end_us for act in acts if act is not None)
        late = [m.gripper for m in opened if self._stays_clear(m.gripper, m.other, axis)]
        not_before = dict.fromkeys((gripper.site for gripper in late), clear)
        regrips = regrip_acts(opened, not_before)
        if regrips is not None:
            turns = tuple((m.gripper.site, m.quarters % 4) for m in turning)
            yield transition_of(ends, [*done, *regrips], turns=turns)

    def _stays_clear(self, gripper: Gripper, angle: int, axis: str) -> bool:
        """Return true if the jaws must not be closed at an angle while layers of ``axis`` turn."""
        if self.robot.others == "release":
            return True
        return self.robot.regrip == "clear" and gripper.blocks(angle, axis)

    def _regrips(self, angles: Angles, index: dict[Angles, int]) -> Iterator[Transition]:
        """Yield regrips: some grippers open, rotate and close; enough others hold the cube."""
        options = [
            [None, *regrips_of(gripper, angle)]
            for gripper, angle in zip(self.grippers, angles, strict=True)
        ]
        for moves in product(*options):
            opened = [move for move in moves if move is not None]
            after = angles_after(angles, moves)
            enough = len(moves) - len(opened) >= self.robot.holders
            if (
                opened
                and enough
                and after in index
                and self._jaws_agree([m.gripper for m in opened])
            ):
                acts = regrip_acts(opened, {})
                if acts is not None:
                    yield transition_of((index[angles], index[after]), acts)

    def _carries(self, axis: str, angles: Angles, index: dict[Angles, int]) -> Iterator[Transition]:
        """Yield rotations of the whole cube by the grippers of ``axis``; all others are open."""
        for quarters in CARRIES:
            options = [
                carries_of(gripper, angle, quarters)
                if gripper.axis == axis
                else [GripperMove(gripper, angle, angle, 0), *regrips_of(gripper, angle)]
                for gripper, angle in zip(self.grippers, angles, strict=True)
            ]
            for moves in product(*options):
                after = angles_after(angles, moves)
                if after in index:
                    yield from self._carry(axis, quarters, moves, (index[angles], index[after]))

    def _carry(
        self, axis: str, quarters: int, moves: tuple[GripperMove, ...], ends: tuple[int, int]
    ) -> Iterator[Transition]:
        carrying = [move for move in moves if move.gripper.axis == axis]
        opened = [move for move in moves if move.gripper.axis != axis]
        if not self._jaws_agree([move.gripper for move in opened]):
            return
        begin = max(move.gripper.open_us for move in opened)
        act = carry_act(axis, quarters, carrying)
        if act is None:
            return
        clear = begin + act.end_us
        regrips = regrip_acts(opened, {move.gripper.site: clear for move in opened})
        if regrips is not None:
            rotation = (axis, quarters % 4)
            yield transition_of(ends, [act.later(begin), *regrips], rotation=rotation)


MECHANISMS["grippers"] = MechanismKind(
    build_grippers,
    home=home_grippers,
)
