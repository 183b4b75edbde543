"""Robots with a motor on each face, as graphs.

The cube never moves as a whole. With ``overlap_degrees`` the next axis may start while layers still
turn. A configuration states their axis and for how long they turn. Without overlap there is one.

Layers of two axes may both be off square by at most ``overlap_degrees``. So an axis starts when
the turns before it have at most that left, and late enough to have made at most that itself when
they come to rest. Between equal motors the second condition causes no wait, since each takes as
long for its first degrees as for its last ones. A quick motor waits for a slow one.
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
    """The axis whose layers still turn, and the microseconds until they are square and settled."""

    axis: str
    moving_us: int
    residual_us: int


REST = Ending("", 0, 0)

MOST_ENDINGS = 32
"""Maximum number of endings; above it, times are rounded up so that similar endings merge.

Each ending depends on the one before, so motors that differ by a few microseconds, each with its
own play, have thousands of endings. A robot's tables grow with the square of that, to gigabytes."""

QUARTERS = (1, 2, -1)


@dataclass(frozen=True)
class Spin:
    """Layers of one axis turned together.

    In microseconds from their start: ``begun_us`` until one has made ``overlap_degrees``,
    ``free_us`` until the next axis may start, ``square_us`` until all are square, and ``rest_us``
    until all have settled.
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
    """Return the graph of a robot with a motor on each of its faces."""
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
    """Return all endings and transitions, with times of endings rounded up to ``grid_us``; None if
    there are too many endings."""
    endings = [REST]
    steps: list[Transition] = []
    for number, ending in enumerate(endings):  # the loop appends to it
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
    """Return the ending after ``spin``, its begin, and the time when the next axis may start.

    A layer waits until layers of its own axis have settled. It waits for layers of another axis
    only until it cannot get too far while they still move, but the next axis waits until they
    have settled.
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
    # Rounding up is safe.
    moving_us, left_us = (-(-us // grid_us) * grid_us for us in (moving_us, left_us))
    return Ending(spin.axis, moving_us, left_us), begin, duration


def _spins(profile: RobotProfile, robot: DirectSettings) -> Iterator[Spin]:
    """Yield every way to turn one layer, or the two of an axis together."""
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
