"""Grippers that let go to show the cube: configurations with only one axis closed.

While the grippers of one axis carry the cube, all others are open. In a solve this is part of one
transition from rest to rest. In a scan the robot may stop there, as open jaws hide no stickers.
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
"""Maximum number of configurations; more make the table of paths too large for a small computer."""

Opened = tuple[str, Angles]
"""The axis whose grippers hold the cube, and all angles."""


def widen(mechanism: Mechanism, profile: RobotProfile, grippers: tuple[Gripper, ...]) -> Mechanism:
    """Return ``mechanism`` with added configurations in which only one axis holds the cube.

    ``profile`` and ``grippers`` may open their jaws less than those of the mechanism itself. Return
    ``mechanism`` unchanged if jaws hide nothing, or if there would be too many configurations.
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
    """Yield transitions to and from rest, and rotations of the cube or of open grippers between."""
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
            # The cube starts to turn while jaws still open, or they close before it has stopped.
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
"""Fraction of the opening time of jaws after which they certainly hold nothing."""


def _later(acts: list[Act], clear_us: int, first_us: int) -> list[Act]:
    """Delay a carry and the acts beside it until the jaws, clear at ``clear_us``, permit them."""
    begin = max(clear_us - first_us, round(OPENING_LET_GO * clear_us))
    carry, *others = acts
    return [carry.later(begin), *(act.later(clear_us) for act in others)]


def _close_before_rest(closing: list[Act], acts: list[Act], last_us: int) -> list[Act]:
    """Delay closing until the cube is nearly square and the other rotations have ended."""
    carry, *others = acts
    at_us = max([0, carry.end_us - last_us, *(act.end_us for act in others)])
    return [act.later(at_us) for act in closing]


def _near_square_us(axis: str, moves: tuple[GripperMove | None, ...]) -> tuple[int, int]:
    """Return the times at the start and end of a rotation in which the cube is nearly square."""
    found = [
        move.gripper.near_square_us(motion)
        for move in moves
        if move is not None and move.gripper.axis == axis
        if (motion := move.motion(held=True)) is not None
    ]
    return (min(first for first, _ in found), min(last for _, last in found)) if found else (0, 0)


def _jaws(grippers: list[Gripper], opening: bool) -> list[Act]:
    """Return the opening or closing of every jaw actuator, once each."""
    first = {gripper.jaw: gripper for gripper in reversed(grippers)}
    return [gripper.release() if opening else gripper.grip() for gripper in first.values()]


def _while_open(gripper: Gripper, angle: int, axis: str, quarters: int) -> list[GripperMove | None]:
    if gripper.axis != axis:
        return [None, *regrips_of(gripper, angle)]
    return [*carries_of(gripper, angle, quarters)] if quarters else [None]


def _acts(axis: str, quarters: int, moves: tuple[GripperMove | None, ...]) -> list[Act] | None:
    """Return the cube's rotation, then those of open grippers; None if one is not possible."""
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
