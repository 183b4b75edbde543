"""A mechanism as a finite graph: configurations, and transitions that move actuators and cube.

The graph is in the robot's frame and independent of the cube's orientation: every transition is
possible in all 24. A state of robot and cube together is a :class:`State`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from robot.settings.profile import RobotProfile
from solver.cube.orientation import Orientation
from solver.files import JsonMapping, JsonObject


@dataclass(frozen=True, slots=True)
class Operation:
    """One timed operation of the robot, as it is costed, planned and shown to people.

    ``op`` is ``turn`` (``site``, ``quarter_turns``), ``rotate`` (``axis``, ``quarter_turns``),
    ``look`` (``site``) or a mechanism's own (``lid``, ``grip``, ``release``, ``home``, ...) with
    its ``fields``. ``quarter_turns`` is 1, 2 or -1, clockwise seen from outside the site, or as the
    R (x), U (y), F (z) turn for an axis. A turn moves ``layers`` layers from the site inwards.
    Times are in microseconds from the start of the plan, or of the transition that contains the
    operation.
    """

    op: str
    duration_us: int
    site: str | None = None
    axis: str | None = None
    quarter_turns: int | None = None
    layers: int = 1
    fields: JsonMapping = field(default_factory=dict)
    start_us: int = 0

    @property
    def end_us(self) -> int:
        """The end of the operation."""
        return self.start_us + self.duration_us

    def as_dict(self) -> JsonObject:
        """Return the operation as in the JSON of ``cubist solve --robot``."""
        named = {"op": self.op, "site": self.site, "axis": self.axis}
        out: JsonObject = {key: value for key, value in named.items() if value is not None}
        if self.quarter_turns is not None:
            out["quarter_turns"] = self.quarter_turns
        if self.layers > 1:
            out["layers"] = self.layers
        return (
            out | dict(self.fields) | {"start_us": self.start_us, "duration_us": self.duration_us}
        )


CALM = 4096
"""Factor of the time in a weight: microseconds times this, plus the number of motions. Weights
order paths by time, then by motions."""

SITE_AXIS = {
    "U": ("y", 1),
    "R": ("x", 1),
    "F": ("z", 1),
    "D": ("y", -1),
    "L": ("x", -1),
    "B": ("z", -1),
}
"""The robot axis of each site, and the sign of a clockwise turn of the site about it."""


@dataclass(frozen=True, slots=True)
class ActuatorMotion:
    """The motion of one actuator, starting ``offset_us`` after the start of its transition.

    It goes between named positions ``start`` and ``end``, or by ``quarters`` (signed, clockwise
    seen from outside the site it drives, or from below for a table). ``held``: it turns a layer of
    a held cube. ``duration_us`` comes from the actuator's motion profile and includes settling.
    """

    actuator: str
    duration_us: int
    start: str | None = None
    end: str | None = None
    quarters: int = 0
    held: bool = False
    offset_us: int = 0

    @property
    def end_us(self) -> int:
        """The end of the motion, from the start of the transition."""
        return self.offset_us + self.duration_us


@dataclass(frozen=True, slots=True)
class Transition:
    """A change from configuration ``start`` to ``end`` (indexes) in ``duration_us``.

    ``turns``: turned sites, ``(site, clockwise quarters 1..3)``, all on one axis. At each of them
    ``layers`` layers turn, from the site inwards, at most half of the cube's. ``rotation``: the
    whole cube turns about a robot axis, ``(axis, quarters 1..3)``. With ``turns`` it is their axis:
    turning more than half of the layers equals turning the others back, and the cube as a whole.
    The next transition may start after ``duration_us``.
    """

    start: int
    end: int
    duration_us: int
    motions: tuple[ActuatorMotion, ...]
    operations: tuple[Operation, ...]
    turns: tuple[tuple[str, int], ...] = ()
    rotation: tuple[str, int] | None = None
    layers: int = 1


@dataclass(frozen=True, slots=True)
class Configuration:
    """The actuators' positions: ``positions[actuator]`` is a position's name or a quarter count.

    ``residual_motion_us``: time for which parts still move when the next transition may already
    start. ``covered``: robot sites whose stickers the mechanism hides, with the numbers of the
    hidden ones (row by row from 1).
    """

    positions: Mapping[str, str | int]
    residual_motion_us: int = 0
    covered: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """A configuration of the mechanism and the orientation of the cube in it."""

    configuration: int
    orientation: Orientation


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The mechanism of the robot ``profile``; ``start`` is its state after homing.

    ``wider``: the same mechanism with more configurations after its own, in which it turns no
    layers but shows the cube better (None: there are none).
    """

    profile: RobotProfile
    configurations: tuple[Configuration, ...]
    transitions: tuple[Transition, ...]
    start: State
    wider: Mechanism | None = None

    @property
    def looking(self) -> Mechanism:
        """The graph for scanning the cube."""
        return self.wider or self

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.profile.name

    @property
    def size(self) -> int:
        """The number of layers of the cube."""
        return self.profile.cube.size

    def steps_from(self, configuration: int) -> list[Transition]:
        """Return the transitions that start in a configuration."""
        return self._steps.get(configuration, [])

    @cached_property
    def _steps(self) -> dict[int, list[Transition]]:
        found: dict[int, list[Transition]] = {}
        for step in self.transitions:
            found.setdefault(step.start, []).append(step)
        return found

    @property
    def sites(self) -> frozenset[str]:
        """The robot sites at which some transition turns layers."""
        return frozenset(site for step in self.transitions for site, _ in step.turns)


def weight_of(step: Transition) -> int:
    """Return the weight: time first, then motions, so that the calmer of two equal paths wins."""
    return step.duration_us * CALM + len(step.motions)


def signed_quarters(quarters: int) -> int:
    """Return quarter turns as written in operations: 1, 2 or -1 (0 for none)."""
    return {0: 0, 1: 1, 2: 2, 3: -1}[quarters % 4]
