"""What grippers do in one transition, each on its own and put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from robot.mechanism.graph import SITE_AXIS, Operation, Transition, signed
from robot.mechanism.grippers.jaws import Act, Hand
from robot.settings.base import Site

Angles = tuple[int, ...]
"""The angle of each gripper, in the order of the profile."""
CARRIES = (1, 2, -1, -2, 3, -3)
"""Quarters by which the whole cube may be rotated; the range decides."""


@dataclass(frozen=True)
class GripperMove:
    """What one gripper does in a transition: to which angle, by how many quarters."""

    hand: Hand
    angle: int
    other: int
    quarters: int


def turns_of(hand: Hand, angle: int) -> list[GripperMove]:
    """Every way to turn what the closed gripper holds."""
    return [
        GripperMove(hand, angle, other, quarters) for other, quarters in hand.rotary.turns(angle)
    ]


def regrips_of(hand: Hand, angle: int) -> list[GripperMove]:
    """Every way to rotate with open jaws."""
    return [
        GripperMove(hand, angle, other, quarters) for other, quarters in hand.rotary.returns(angle)
    ]


def carries_of(hand: Hand, angle: int, quarters: int) -> list[GripperMove]:
    """The gripper's part in rotating the cube by signed ``quarters`` about its robot axis.

    Opposite grippers must go the same way round in space, a half turn too, or they twist the cube.
    """
    wanted = quarters * SITE_AXIS[hand.site][1]
    if hand.rotary.endless:
        useful = quarters in (1, 2, -1)
        return (
            [GripperMove(hand, angle, (angle + wanted) % hand.rotary.looks, wanted)]
            if useful
            else []
        )
    return [move for move in turns_of(hand, angle) if move.quarters == wanted]


def angles_after(angles: Angles, moves: Iterable[GripperMove | None]) -> Angles:
    """Where the grippers are after their moves (None: it stayed)."""
    return tuple(
        angle if move is None else move.other for angle, move in zip(angles, moves, strict=True)
    )


def regrip_acts(opened: list[GripperMove], not_before: Mapping[Site, int]) -> list[Act] | None:
    """Open, rotate, close; a gripper closes no earlier than ``not_before`` its site says.

    Grippers that share a jaw actuator close together. None where a servo knows no such way.
    """
    swivels: list[Act] = []
    ready: dict[str, int] = {}
    for move in opened:
        swivel = move.hand.swivel(move.angle, move.other, move.quarters)
        if swivel is None:
            return None
        swivels.append(swivel.later(move.hand.open_us))
        jaw = move.hand.jaw
        closing = max(swivels[-1].end_us, not_before.get(move.hand.site, 0))
        ready[jaw] = max(ready.get(jaw, 0), closing)
    first = {move.hand.jaw: move.hand for move in reversed(opened)}
    released = [hand.release() for hand in first.values()]
    gripped = [hand.grip().later(ready[jaw]) for jaw, hand in first.items()]
    return [*released, *swivels, *gripped]


def carry_act(axis: str, quarters: int, carrying: list[GripperMove]) -> Act | None:
    """The whole cube rotated by the grippers that carry it; None where one knows no such way."""
    found = [move.hand.carry(move.angle, move.other, move.quarters) for move in carrying]
    motions = [motion for motion in found if motion is not None]
    if len(motions) < len(found):
        return None
    end_us = max(motion.duration_us for motion in motions)
    by = {"grippers": [move.hand.site for move in carrying]}
    operation = Operation("rotate", end_us, axis=axis, quarter_turns=signed(quarters), fields=by)
    return Act(tuple(motions), (operation,), end_us)


def transition_of(
    ends: tuple[int, int],
    acts: list[Act],
    turns: tuple[tuple[str, int], ...] = (),
    rotation: tuple[str, int] | None = None,
) -> Transition:
    """The transition in which all ``acts`` happen, lasting until the last is over."""
    return Transition(
        *ends,
        duration_us=max(act.end_us for act in acts),
        motions=tuple(motion for act in acts for motion in act.motions),
        operations=tuple(operation for act in acts for operation in act.operations),
        turns=turns,
        rotation=rotation,
    )
