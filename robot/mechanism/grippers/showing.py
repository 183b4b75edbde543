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
    Gripper,
    GripperMove,
    angles_after,
    carries_of,
    carry_act,
    configuration_of,
    regrips_of,
    transition_of,
)
from robot.settings.profile import RobotProfile

MOST_CONFIGURATIONS = 250
"""More would make the table of ways between them too large for a small computer."""

Opened = tuple[str, Angles]
"""The axis that holds the cube, and all angles."""


def widen(mechanism: Mechanism, profile: RobotProfile, grippers: tuple[Gripper, ...]) -> Mechanism:
    """``mechanism`` with the configurations added in which only one axis holds the cube.

    ``profile`` and ``grippers`` may open their jaws less than those of the mechanism itself.

    Left as it is where jaws hide nothing, or where there would be too many.
    """
    if not any(configuration.covered for configuration in mechanism.configurations):
        return mechanism
    rests = {_angles(grippers, c): n for n, c in enumerate(mechanism.configurations)}
    axes = sorted({gripper.axis for gripper in grippers})
    opened = list(product(axes, product(*(gripper.rotary.angles for gripper in grippers))))
    if len(rests) + len(opened) > MOST_CONFIGURATIONS:
        return mechanism
    index = {pose: len(rests) + number for number, pose in enumerate(opened)}
    steps: dict[object, Transition] = {}
    for pose in opened:
        for step in _transitions(grippers, pose, index, rests):
            key = (step.start, step.end, step.rotation)
            if key not in steps or weight_of(step) < weight_of(steps[key]):
                steps[key] = step
    size = mechanism.size
    wider = replace(
        mechanism,
        profile=profile,
        configurations=(
            *mechanism.configurations,
            *(configuration_of(grippers, angles, size, axis) for axis, angles in opened),
        ),
        transitions=(*mechanism.transitions, *steps.values()),
    )
    return replace(mechanism, wider=wider)


def _angles(grippers: tuple[Gripper, ...], configuration: Configuration) -> Angles:
    return tuple(gripper.rotary.angle(configuration.positions) for gripper in grippers)


def _transitions(
    grippers: tuple[Gripper, ...], pose: Opened, index: dict[Opened, int], rests: dict[Angles, int]
) -> Iterator[Transition]:
    """To and from rest, and rotations of the cube or of the open grippers in between."""
    axis, angles = pose
    others = [gripper for gripper in grippers if gripper.axis != axis]
    if {gripper.jaw for gripper in others} & {
        gripper.jaw for gripper in grippers if gripper.axis == axis
    }:
        return
    opening, closing = _jaws(others, opening=True), _jaws(others, opening=False)
    if angles in rests:
        yield transition_of((rests[angles], index[pose]), opening)
        yield transition_of((index[pose], rests[angles]), closing)
    for quarters in (0, *CARRIES):
        options = [
            _while_open(gripper, angle, axis, quarters)
            for gripper, angle in zip(grippers, angles, strict=True)
        ]
        for moves in product(*options):
            after = angles_after(angles, moves)
            acts = _acts(axis, quarters, moves)
            if acts is None:
                continue
            rotation = (axis, quarters % 4) if quarters else None
            yield transition_of((index[pose], index[axis, after]), acts, rotation=rotation)
            first, last = _near_square_us(axis, moves)
            if not last:
                continue
            # The cube begins to turn while jaws still open, or they close before it is at rest.
            if angles in rests:
                begun = [*opening, *_later(acts, max(act.end_us for act in opening), first)]
                ends = rests[angles], index[axis, after]
                yield transition_of(ends, begun, rotation=rotation)
            if after in rests:
                ends = index[pose], rests[after]
                yield transition_of(
                    ends, [*acts, *_close_before_rest(closing, acts, last)], rotation=rotation
                )


OPENING_LET_GO = 0.6
"""The part of the way to where jaws are clear after which they certainly hold nothing."""


def _later(acts: list[Act], clear_us: int, first_us: int) -> list[Act]:
    """A carry and what happens beside it, after jaws that are clear by then have opened."""
    begin = max(clear_us - first_us, round(OPENING_LET_GO * clear_us))
    carry, *others = acts
    return [carry.later(begin), *(act.later(clear_us) for act in others)]


def _close_before_rest(closing: list[Act], acts: list[Act], last_us: int) -> list[Act]:
    """Jaws that close as soon as the cube is nearly square; others' rotations must be over."""
    carry, *others = acts
    at_us = max([0, carry.end_us - last_us, *(act.end_us for act in others)])
    return [act.later(at_us) for act in closing]


def _near_square_us(axis: str, moves: tuple[GripperMove | None, ...]) -> tuple[int, int]:
    """Return the time at the begin and end of a rotation in which the cube is nearly square."""
    found = [
        move.gripper.near_square_us(motion)
        for move in moves
        if move is not None and move.gripper.axis == axis
        if (motion := move.motion(held=True)) is not None
    ]
    return (min(first for first, _ in found), min(last for _, last in found)) if found else (0, 0)


def _jaws(grippers: list[Gripper], opening: bool) -> list[Act]:
    """Every jaw actuator once."""
    first = {gripper.jaw: gripper for gripper in reversed(grippers)}
    return [gripper.release() if opening else gripper.grip() for gripper in first.values()]


def _while_open(gripper: Gripper, angle: int, axis: str, quarters: int) -> list[GripperMove | None]:
    if gripper.axis != axis:
        return [None, *regrips_of(gripper, angle)]
    return [*carries_of(gripper, angle, quarters)] if quarters else [None]


def _acts(axis: str, quarters: int, moves: tuple[GripperMove | None, ...]) -> list[Act] | None:
    """The cube's rotation first, then those of open grippers; None where there is no such way."""
    made = [move for move in moves if move is not None]
    carrying = [move for move in made if move.gripper.axis == axis]
    swivels = [move.swivel() for move in made if move not in carrying]
    acts = [act for act in swivels if act is not None]
    if len(acts) < len(swivels) or not made:
        return None
    if not carrying:
        return acts
    act = carry_act(axis, quarters, carrying)
    return None if act is None else [act, *acts]
