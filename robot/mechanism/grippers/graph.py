"""Robots that hold the cube in rotating grippers, as graphs.

Between transitions all grippers are closed; a configuration is the angle of each. A transition is
everything that happens at the same time:

- *turn*: grippers of one axis turn their layers; those of other axes hold the cube, or regrip;
- *regrip*: some grippers open, rotate and close again while others hold the cube still;
- *carry*: one gripper, or an opposite pair, rotates the whole cube; all others are open meanwhile,
  may rotate, and close.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from robot.mechanism.clearance import clear_place, with_clear_place
from robot.mechanism.durations import ImpossibleRobot
from robot.mechanism.graph import Configuration, Mechanism, State, Transition, weight_of
from robot.mechanism.grippers.homing import home_grippers
from robot.mechanism.grippers.jaws import (
    CARRIES,
    Angles,
    GripperMove,
    Hand,
    angles_after,
    carries_of,
    carry_act,
    regrip_acts,
    regrips_of,
    transition_of,
    turns_of,
)
from robot.mechanism.grippers.settings import GrippersSettings
from robot.mechanism.grippers.showing import widen
from robot.mechanism.registry import MECHANISMS, MechanismKind
from robot.settings.profile import RobotProfile
from solver.cube.orientation import Orientation


def build_grippers(profile: RobotProfile, robot: GrippersSettings) -> Mechanism:
    """The graph of a robot with grippers: one configuration for each set of angles at rest."""
    maker = GripperMoves(profile, robot)
    rests = [
        angles for angles in product(*(h.rotary.angles for h in maker.hands)) if maker.rests(angles)
    ]
    index = {angles: number for number, angles in enumerate(rests)}
    start = tuple(hand.rotary.start for hand in maker.hands)
    if start not in index:
        text = "at their start angles the grippers' jaws collide"
        raise ImpossibleRobot(profile, ("mechanism", "grippers"), text)
    best: dict[object, Transition] = {}
    for angles in rests:
        for step in maker.transitions(angles, index):
            key = (step.start, step.end, step.turns, step.rotation)
            if key not in best or weight_of(step) < weight_of(best[key]):
                best[key] = step
    mechanism = Mechanism(
        profile=profile,
        configurations=tuple(maker.configuration(angles) for angles in rests),
        transitions=tuple(best.values()),
        start=State(index[start], Orientation(0)),
    )
    return widen(mechanism, *_opening_less(profile, robot))


def _opening_less(
    profile: RobotProfile, robot: GrippersSettings
) -> tuple[RobotProfile, tuple[Hand, ...]]:
    """The robot and its grippers as they look at the cube: jaws open no further than they must."""
    grippers = dict(robot.grippers)
    for site, one in robot.grippers.items():
        if one.clear_part < 1:
            name = clear_place(one.open)
            if name not in profile.actuators[one.jaw].places:
                part = one.clear_part
                profile = with_clear_place(profile, one.jaw, one.closed, one.open, part)
            grippers[site] = one.model_copy(update={"open": name})
    looking = robot.model_copy(update={"grippers": grippers})
    return profile, tuple(Hand(profile, looking, site) for site in grippers)


class GripperMoves:
    """Everything the grippers can do from given angles."""

    def __init__(self, profile: RobotProfile, robot: GrippersSettings) -> None:
        self.robot = robot
        self.size = profile.cube.size
        self.hands = tuple(Hand(profile, robot, site) for site in robot.grippers)
        self.axes = sorted({hand.axis for hand in self.hands})

    def configuration(self, angles: Angles) -> Configuration:
        """Positions of all actuators at rest, and what the jaws hide."""
        positions: dict[str, str | int] = {}
        covered: dict[str, frozenset[int]] = {}
        for hand, angle in zip(self.hands, angles, strict=True):
            positions |= hand.position(angle)
            for site, stickers in hand.covered(angle, self.size).items():
                covered[site] = covered.get(site, frozenset()) | stickers
        return Configuration(positions, covered=covered)

    def rests(self, angles: Angles) -> bool:
        """Whether all jaws can be closed at these angles without colliding."""
        held = list(zip(self.hands, angles, strict=True))
        return not any(
            one.blocks(angle, other.axis) and other.blocks(other_angle, one.axis)
            for number, (one, angle) in enumerate(held)
            for other, other_angle in held[:number]
        )

    def transitions(self, angles: Angles, index: dict[Angles, int]) -> Iterator[Transition]:
        """Every transition from ``angles`` to angles in ``index``."""
        for axis in self.axes:
            yield from self._turns(axis, angles, index)
            yield from self._carries(axis, angles, index)
        yield from self._regrips(angles, index)

    def _turns(self, axis: str, angles: Angles, index: dict[Angles, int]) -> Iterator[Transition]:
        """Layers of ``axis`` turn; grippers elsewhere hold still or regrip."""
        turning = [
            [None, *turns_of(hand, angle)]
            if hand.axis == axis
            else self._meanwhile(hand, angle, axis)
            for hand, angle in zip(self.hands, angles, strict=True)
        ]
        for moves in product(*turning):
            if any(move is not None and move.hand.axis == axis for move in moves):
                after = angles_after(angles, moves)
                if after in index and self._holds(axis, moves):
                    yield from self._turn(axis, moves, (index[angles], index[after]))

    def _meanwhile(self, hand: Hand, angle: int, axis: str) -> list[GripperMove | None]:
        """What a gripper of another axis may do while layers of ``axis`` turn."""
        releases = self.robot.others == "release"
        still: list[GripperMove | None] = []
        if not releases and not hand.blocks(angle, axis):
            still = [None]
        if self.robot.regrip == "never" and not releases:
            return still
        reopened = [GripperMove(hand, angle, angle, 0)] if releases else []
        return [*still, *reopened, *regrips_of(hand, angle)]

    def _holds(self, axis: str, moves: tuple[GripperMove | None, ...]) -> bool:
        """Whether the cube is held while layers of ``axis`` turn, and shared jaws agree."""
        opened = [m.hand for m in moves if m is not None and m.hand.axis != axis]
        if not self._jaws_agree(opened):
            return False
        if self.robot.others == "release":
            return sum(hand.axis == axis for hand in self.hands) == 2
        still = [hand for hand, move in zip(self.hands, moves, strict=True) if move is None]
        if self.robot.regrip != "at-once":
            still = [hand for hand in still if hand.axis != axis]
        return len(still) >= self.robot.holders

    def _jaws_agree(self, opened: list[Hand]) -> bool:
        """Grippers whose jaws share an actuator open together."""
        jaws = {hand.jaw for hand in opened}
        return all(hand in opened for hand in self.hands if hand.jaw in jaws)

    def _turn(
        self, axis: str, moves: tuple[GripperMove | None, ...], ends: tuple[int, int]
    ) -> Iterator[Transition]:
        turning = [m for m in moves if m is not None and m.hand.axis == axis]
        opened = [m for m in moves if m is not None and m.hand.axis != axis]
        acts = [m.hand.turn(m.angle, m.other, m.quarters) for m in turning]
        begin = max((m.hand.open_us for m in opened if self._early(m, axis)), default=0)
        done = [act.later(begin) for act in acts if act is not None]
        if len(done) < len(acts):
            return
        clear = begin + max(act.end_us for act in acts if act is not None)
        not_before = {m.hand.site: clear for m in opened if self._late(m, axis)}
        regrips = regrip_acts(opened, not_before)
        if regrips is not None:
            turns = tuple((m.hand.site, m.quarters % 4) for m in turning)
            yield transition_of(ends, [*done, *regrips], turns=turns)

    def _early(self, move: GripperMove, axis: str) -> bool:
        """Whether a regripping gripper must be open before layers of ``axis`` turn."""
        if self.robot.others == "release":
            return True
        return self.robot.regrip == "clear" and move.hand.blocks(move.angle, axis)

    def _late(self, move: GripperMove, axis: str) -> bool:
        """Whether it must not close before they have turned."""
        if self.robot.others == "release":
            return True
        return self.robot.regrip == "clear" and move.hand.blocks(move.other, axis)

    def _regrips(self, angles: Angles, index: dict[Angles, int]) -> Iterator[Transition]:
        """Some grippers open, rotate and close; enough others hold the cube still."""
        options = [
            [None, *regrips_of(hand, angle)] for hand, angle in zip(self.hands, angles, strict=True)
        ]
        for moves in product(*options):
            opened = [move for move in moves if move is not None]
            after = angles_after(angles, moves)
            enough = len(moves) - len(opened) >= self.robot.holders
            if opened and enough and after in index and self._jaws_agree([m.hand for m in opened]):
                acts = regrip_acts(opened, {})
                if acts is not None:
                    yield transition_of((index[angles], index[after]), acts)

    def _carries(self, axis: str, angles: Angles, index: dict[Angles, int]) -> Iterator[Transition]:
        """The grippers of ``axis`` rotate the whole cube; all others are open meanwhile."""
        for quarters in CARRIES:
            options = [
                carries_of(hand, angle, quarters)
                if hand.axis == axis
                else [GripperMove(hand, angle, angle, 0), *regrips_of(hand, angle)]
                for hand, angle in zip(self.hands, angles, strict=True)
            ]
            for moves in product(*options):
                after = angles_after(angles, moves)
                if after in index:
                    yield from self._carry(axis, quarters, moves, (index[angles], index[after]))

    def _carry(
        self, axis: str, quarters: int, moves: tuple[GripperMove, ...], ends: tuple[int, int]
    ) -> Iterator[Transition]:
        carrying = [move for move in moves if move.hand.axis == axis]
        opened = [move for move in moves if move.hand.axis != axis]
        if not self._jaws_agree([move.hand for move in opened]):
            return
        begin = max(move.hand.open_us for move in opened)
        act = carry_act(axis, quarters, carrying)
        if act is None:
            return
        clear = begin + act.end_us
        regrips = regrip_acts(opened, {move.hand.site: clear for move in opened})
        if regrips is not None:
            rotation = (axis, quarters % 4)
            yield transition_of(ends, [act.later(begin), *regrips], rotation=rotation)


MECHANISMS["grippers"] = MechanismKind(
    build_grippers,
    home=home_grippers,
    words={
        "grip": "grip {gripper}",
        "release": "release {gripper}",
        "home": "home {gripper} to {to}",
    },
)
