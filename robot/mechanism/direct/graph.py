"""Robots with a motor on each face, as graphs.

The cube never moves as a whole. A configuration says on which axis layers still turn, and for how
long, when the next axis may already start (``overlap_degrees``); without overlap there is only one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from robot.mechanism.direct import DirectSettings
from robot.mechanism.durations import angle_left_us, rotation_us
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

Ending = tuple[str, int]
"""Axis on which layers still turn and for how many microseconds; ``("", 0)``: all are at rest."""

REST: Ending = ("", 0)
QUARTERS = (1, 2, -1)


@dataclass(frozen=True)
class Spin:
    """Layers of one axis turned together: until the next axis may start, and until all rest."""

    axis: str
    motions: tuple[ActuatorMotion, ...]
    operations: tuple[Operation, ...]
    turns: tuple[tuple[str, int], ...]
    free_us: int
    rest_us: int


def build_direct(profile: RobotProfile, robot: DirectSettings) -> Mechanism:
    """The graph of a robot with a motor on each of its faces."""
    spins = list(_spins(profile, robot))
    endings = [REST]
    steps: list[Transition] = []
    for number, ending in enumerate(endings):  # which grow meanwhile
        for spin in spins:
            after, begin, duration = _follow(ending, spin)
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
    positions: dict[str, str | int] = dict.fromkeys(robot.motors.values(), 0)
    return Mechanism(
        profile=profile,
        configurations=tuple(
            Configuration(positions, residual_motion_us=residual_us) for _, residual_us in endings
        ),
        transitions=tuple(steps),
        start=State(0, Orientation(0)),
    )


def _follow(ending: Ending, spin: Spin) -> tuple[Ending, int, int]:
    """The ending after ``spin``, when it begins, and when the next axis may start.

    Layers of one axis wait for each other; those of another axis do not wait for what still moves,
    but the axis after them does.
    """
    axis, residual_us = ending
    begin = residual_us if axis == spin.axis else 0
    duration = max(begin + spin.free_us, residual_us)
    left = begin + spin.rest_us - duration
    return ((spin.axis, left) if left > 0 else REST), begin, duration


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
    motions, operations, free_us = [], [], 0
    for site, quarters in turned:
        name = robot.motors[site]
        takes_us = rotation_us(profile, name, quarters, held=True)
        left_us = angle_left_us(profile, name, quarters, robot.overlap_degrees)
        free_us = max(free_us, takes_us - left_us)
        motions.append(ActuatorMotion(name, takes_us, quarters=quarters, held=True))
        way = signed_quarters(quarters)
        operations.append(Operation("turn", takes_us, site=site, quarter_turns=way))
    return Spin(
        axis=axis,
        motions=tuple(motions),
        operations=tuple(operations),
        turns=tuple((site, quarters % 4) for site, quarters in turned),
        free_us=free_us,
        rest_us=max(motion.duration_us for motion in motions),
    )


MECHANISMS["direct"] = MechanismKind(build_direct, sound=True)
