"""Grippers that let go to show the cube: configurations with only one axis closed.

While an axis carries the cube all other grippers are open. For solving that is one transition, from
rest to rest; for looking the robot may stop there, with the stickers free that closed jaws hide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from robot.mechanism.graph import Configuration, Mechanism, Transition, weight_of
from robot.mechanism.grippers.jaws import (
    CARRIES,
    Act,
    Angles,
    GripperMove,
    Hand,
    angles_after,
    carries_of,
    carry_act,
    regrips_of,
    transition_of,
)

MOST_CONFIGURATIONS = 250
"""More would make the table of ways between them too large for a small computer."""

Opened = tuple[str, Angles]
"""The axis that holds the cube, and all angles."""


def widen(mechanism: Mechanism, hands: tuple[Hand, ...]) -> Mechanism:
    """``mechanism`` with the configurations added in which only one axis holds the cube.

    Left as it is where jaws hide nothing, or where there would be too many.
    """
    if not any(configuration.covered for configuration in mechanism.configurations):
        return mechanism
    rests = {_angles(hands, c): n for n, c in enumerate(mechanism.configurations)}
    axes = sorted({hand.axis for hand in hands})
    opened = list(product(axes, product(*(hand.rotary.angles for hand in hands))))
    if len(rests) + len(opened) > MOST_CONFIGURATIONS:
        return mechanism
    index = {pose: len(rests) + number for number, pose in enumerate(opened)}
    steps: dict[object, Transition] = {}
    for pose in opened:
        for step in _transitions(hands, pose, index, rests):
            key = (step.start, step.end, step.rotation)
            if key not in steps or weight_of(step) < weight_of(steps[key]):
                steps[key] = step
    size = mechanism.size
    wider = replace(
        mechanism,
        configurations=(
            *mechanism.configurations,
            *(_configuration(hands, pose, size) for pose in opened),
        ),
        transitions=(*mechanism.transitions, *steps.values()),
    )
    return replace(mechanism, wider=wider)


def _angles(hands: tuple[Hand, ...], configuration: Configuration) -> Angles:
    return tuple(hand.rotary.angle(configuration.positions) for hand in hands)


def _configuration(hands: tuple[Hand, ...], pose: Opened, size: int) -> Configuration:
    axis, angles = pose
    positions: dict[str, str | int] = {}
    covered: dict[str, frozenset[int]] = {}
    for hand, angle in zip(hands, angles, strict=True):
        positions |= hand.position(angle, closed=hand.axis == axis)
        for site, stickers in hand.covered(angle, size).items() if hand.axis == axis else ():
            covered[site] = covered.get(site, frozenset()) | stickers
    return Configuration(positions, covered=covered)


def _transitions(
    hands: tuple[Hand, ...], pose: Opened, index: dict[Opened, int], rests: dict[Angles, int]
) -> Iterator[Transition]:
    """To and from rest, and rotations of the cube or of the open grippers in between."""
    axis, angles = pose
    others = [hand for hand in hands if hand.axis != axis]
    if {hand.jaw for hand in others} & {hand.jaw for hand in hands if hand.axis == axis}:
        return
    if angles in rests:
        yield transition_of((rests[angles], index[pose]), _jaws(others, opening=True))
        yield transition_of((index[pose], rests[angles]), _jaws(others, opening=False))
    for quarters in (0, *CARRIES):
        options = [
            _while_open(hand, angle, axis, quarters)
            for hand, angle in zip(hands, angles, strict=True)
        ]
        for moves in product(*options):
            ends = index[pose], index[axis, angles_after(angles, moves)]
            yield from _rotate(axis, quarters, moves, ends)


def _jaws(hands: list[Hand], opening: bool) -> list[Act]:
    """Every jaw actuator once."""
    first = {hand.jaw: hand for hand in reversed(hands)}
    return [hand.release() if opening else hand.grip() for hand in first.values()]


def _while_open(hand: Hand, angle: int, axis: str, quarters: int) -> list[GripperMove | None]:
    if hand.axis != axis:
        return [None, *regrips_of(hand, angle)]
    return [*carries_of(hand, angle, quarters)] if quarters else [None]


def _rotate(
    axis: str, quarters: int, moves: tuple[GripperMove | None, ...], ends: tuple[int, int]
) -> Iterator[Transition]:
    """The cube, open grippers, or both at once."""
    made = [move for move in moves if move is not None]
    carrying = [move for move in made if move.hand.axis == axis]
    swivels = [m.hand.swivel(m.angle, m.other, m.quarters) for m in made if m not in carrying]
    acts = [act for act in swivels if act is not None]
    if len(acts) < len(swivels) or not made:
        return
    if not carrying:
        yield transition_of(ends, acts)
        return
    act = carry_act(axis, quarters, carrying)
    if act is not None:
        yield transition_of(ends, [act, *acts], rotation=(axis, quarters % 4))
