"""Robots with a motor on each face, as graphs.

The cube never moves as a whole. A configuration says on which axis layers still turn, and for how
long, when the next axis may already start (``overlap_degrees``); without overlap there is only one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from robot.mechanism.direct.settings import DirectSettings
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
    for number, ending in enumerate(_growing(endings)):
        for spin in spins:
            after, begin, duration = _follow(ending, spin)
            if after not in endings:
                endings.append(after)
            steps.append(_transition(spin, (number, endings.index(after)), begin, duration))
    positions: dict[str, str | int] = dict.fromkeys(robot.motors.values(), 0)
    return Mechanism(
        profile=profile,
        configurations=tuple(
            Configuration(positions, residual_motion_us=residual_us) for _, residual_us in endings
        ),
        transitions=tuple(steps),
        start=State(0, Orientation(0)),
    )


def _growing(endings: list[Ending]) -> Iterator[Ending]:
    """The endings, including those found on the way."""
    position = 0
    while position < len(endings):
        yield endings[position]
        position += 1


def _follow(ending: Ending, spin: Spin) -> tuple[Ending, int, int]:
    """The ending after ``spin``, when it begins, and when the next axis may start.

    Layers of one axis wait for each other; those of another axis do not wait for what still moves,
    but the axis after them does.
    """
    axis, residual_us = ending
    begin = residual_us if axis == spin.axis else 0
    duration = max(begin + spin.free_us, residual_us)
    left = begin + spin.rest_us - duration
    return ((spin.axis, left) if left else REST), begin, duration


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
    motions = tuple(_motion(profile, robot.motors[site], quarters) for site, quarters in turned)
    free = max(
        motion.duration_us
        - angle_left_us(profile, motion.actuator, motion.quarters, robot.overlap_degrees)
        for motion in motions
    )
    return Spin(
        axis=axis,
        motions=motions,
        operations=tuple(
            Operation(
                "turn", motion.duration_us, site=site, quarter_turns=signed_quarters(quarters)
            )
            for motion, (site, quarters) in zip(motions, turned, strict=True)
        ),
        turns=tuple((site, quarters % 4) for site, quarters in turned),
        free_us=free,
        rest_us=max(motion.duration_us for motion in motions),
    )


def _motion(profile: RobotProfile, name: str, quarters: int) -> ActuatorMotion:
    duration = rotation_us(profile, name, quarters, held=True)
    return ActuatorMotion(name, duration, quarters=quarters, held=True)


def _transition(spin: Spin, ends: tuple[int, int], begin: int, duration: int) -> Transition:
    return Transition(
        *ends,
        duration_us=duration,
        motions=tuple(replace(motion, offset_us=begin) for motion in spin.motions),
        operations=tuple(replace(operation, start_us=begin) for operation in spin.operations),
        turns=spin.turns,
    )


MECHANISMS["direct"] = MechanismKind(build_direct, sound=True)
