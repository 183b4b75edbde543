"""Robots with a motor on each face, as graphs.

The cube never moves as a whole. A configuration says on which axis layers still turn, and for how
long, when the next axis may already start (``overlap_degrees``); without overlap there is only one.

Layers of two axes bear being off square together by ``overlap_degrees``, but no more. So an axis
starts when no more than that is left of the turns before it, and late enough to have made no more
than that itself when those come to rest. Between equal motors the second is no wait, as each needs
as long for its first degrees as for its last ones. A quick motor waits for a slow one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from robot.mechanism.direct import DirectSettings
from robot.mechanism.durations import (
    SQUARE_DEGREES,
    angle_left_us,
    angle_made_us,
    rotation_us,
)
from robot.mechanism.graph import (
    ActuatorMotion,
    Configuration,
    Mechanism,
    Operation,
    State,
    Transition,
    signed_quarters,
)
from robot.mechanism.registry import MECHANISMS, MechanismKind
from robot.settings.base import AXIS_OF, Site
from robot.settings.profile import RobotProfile
from solver.cube.orientation import Orientation


class Ending(NamedTuple):
    """The axis on which layers still turn, and for how many microseconds until they are square, and
    until they have settled.
    """

    axis: str
    moving_us: int
    residual_us: int


REST = Ending("", 0, 0)

MOST_ENDINGS = 32
"""Endings from which on those that differ little count as the latest of them.

Motors that differ by a few microseconds, each with its own play, end in thousands of ways, as each
ending depends on the one before. Tables of a robot grow with the square of that: to gigabytes."""

QUARTERS = (1, 2, -1)


@dataclass(frozen=True)
class Spin:
    """Layers of one axis turned together.

    Microseconds from their start until one has made ``overlap_degrees``, until the next axis may
    start, until all are square, and until all have settled.
    """

    axis: str
    motions: tuple[ActuatorMotion, ...]
    operations: tuple[Operation, ...]
    turns: tuple[tuple[str, int], ...]
    begun_us: int
    free_us: int
    square_us: int
    rest_us: int


def build_direct(profile: RobotProfile, robot: DirectSettings) -> Mechanism:
    """The graph of a robot with a motor on each of its faces."""
    spins = list(_spins(profile, robot))
    grid_us = 1
    while (graph := _graph(spins, grid_us)) is None:
        grid_us *= 2
    endings, steps = graph
    positions: dict[str, str | int] = dict.fromkeys(robot.motors.values(), 0)
    return Mechanism(
        profile=profile,
        configurations=tuple(
            Configuration(positions, residual_motion_us=ending.residual_us) for ending in endings
        ),
        transitions=tuple(steps),
        start=State(0, Orientation(0)),
    )


def _graph(spins: list[Spin], grid_us: int) -> tuple[list[Ending], list[Transition]] | None:
    """Return all endings and transitions, with times of endings in whole ``grid_us``; None if those
    are too many endings."""
    endings = [REST]
    steps: list[Transition] = []
    for number, ending in enumerate(endings):  # which grow meanwhile
        for spin in spins:
            after, begin, duration = _follow(ending, spin, grid_us)
            if after not in endings:
                endings.append(after)
            step = Transition(
                number,
                endings.index(after),
                duration,
                motions=tuple(replace(motion, offset_us=begin) for motion in spin.motions),
                operations=tuple(replace(one, start_us=begin) for one in spin.operations),
                turns=spin.turns,
            )
            steps.append(step)
        if len(endings) > MOST_ENDINGS:
            return None
    return endings, steps


def _follow(ending: Ending, spin: Spin, grid_us: int) -> tuple[Ending, int, int]:
    """The ending after ``spin``, when it begins, and when the next axis may start.

    Layers of one axis wait for each other; those of another axis only until they cannot get too far
    while others still move, but the axis after them waits until these rest.
    """
    if ending.axis == spin.axis:
        begin = ending.residual_us
    else:
        begin = max(0, ending.moving_us - spin.begun_us)
    duration = max(begin + spin.free_us, ending.residual_us)
    left_us = begin + spin.rest_us - duration
    if left_us <= 0:
        return REST, begin, duration
    moving_us = max(0, begin + spin.square_us - duration)
    # Later than they do never does harm.
    moving_us, left_us = (-(-us // grid_us) * grid_us for us in (moving_us, left_us))
    return Ending(spin.axis, moving_us, left_us), begin, duration


def _spins(profile: RobotProfile, robot: DirectSettings) -> Iterator[Spin]:
    """Every way to turn one layer, or the two of an axis together."""
    for axis in sorted({AXIS_OF[site] for site in robot.motors}):
        sites = [site for site in robot.motors if AXIS_OF[site] == axis]
        for chosen in product(*((0, *QUARTERS) for _ in sites)):
            turned = [(site, q) for site, q in zip(sites, chosen, strict=True) if q]
            if turned and (robot.together or len(turned) == 1):
                yield _spin(profile, robot, axis, turned)


def _spin(
    profile: RobotProfile, robot: DirectSettings, axis: str, turned: list[tuple[Site, int]]
) -> Spin:
    motions, operations = [], []
    begun_us, free_us, square_us = [], [], []
    for site, quarters in turned:
        name = robot.motors[site]
        takes_us = rotation_us(profile, name, quarters, held=True)
        begun_us.append(angle_made_us(profile, name, quarters, robot.overlap_degrees))
        free_us.append(takes_us - angle_left_us(profile, name, quarters, robot.overlap_degrees))
        square_us.append(takes_us - angle_left_us(profile, name, quarters, SQUARE_DEGREES))
        motions.append(ActuatorMotion(name, takes_us, quarters=quarters, held=True))
        way = signed_quarters(quarters)
        operations.append(Operation("turn", takes_us, site=site, quarter_turns=way))
    return Spin(
        axis=axis,
        motions=tuple(motions),
        operations=tuple(operations),
        turns=tuple((site, quarters % 4) for site, quarters in turned),
        begun_us=min(begun_us),
        free_us=max(free_us),
        square_us=max(square_us),
        rest_us=max(motion.duration_us for motion in motions),
    )


MECHANISMS["direct"] = MechanismKind(build_direct, sound=True)
