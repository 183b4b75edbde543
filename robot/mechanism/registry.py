"""The kinds of mechanism: how each is built as a graph, homed, and put into words.

A kind is a folder beside this module. Its ``settings`` say what stands in a profile, its ``graph``
registers the rest here, and ``robot/twin`` has its simulation under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from robot.mechanism.compile.soundness import check_reachable, check_turnable
from robot.mechanism.graph import Mechanism
from robot.settings.base import Kinds
from robot.settings.mechanisms import BUILT_IN_MECHANISMS, MechanismSettings
from robot.settings.profile import RobotProfile
from solver.files import JsonMapping


@dataclass(frozen=True, slots=True)
class HomeActuator:
    """Home an actuator, which ends at its start."""

    actuator: str


@dataclass(frozen=True, slots=True)
class MoveActuator:
    """Move a homed actuator to a position in steps or microseconds of pulse."""

    actuator: str
    position: int


HomingStep = HomeActuator | MoveActuator


@dataclass(frozen=True)
class HomingRequest:
    """The state before homing: the usual ``order``, the ``places`` of actuators that are known
    to rest somewhere, which of these are ``away`` from their start, which actuators ``seek`` their
    place by a sensor, wherever they stand, and which a fault has ``caught`` in a turn."""

    order: Sequence[str]
    places: Mapping[str, int]
    away: Collection[str]
    seek: Collection[str] = ()
    caught: Collection[str] = ()


def home_in_order(
    profile: RobotProfile, mechanism: MechanismSettings, request: HomingRequest
) -> list[HomingStep]:
    """All actuators one after the other: right wherever no part can be in the way of another."""
    del profile, mechanism
    return [HomeActuator(name) for name in request.order]


Own = TypeVar("Own", bound=MechanismSettings)


@dataclass(frozen=True)
class MechanismKind(Generic[Own]):
    """The functions of a kind of mechanism.

    ``build`` makes the graph and may raise BadProfile. A graph that is ``sound`` by
    construction is not searched for dead ends. ``home`` says how to home a robot whose motion broke
    off. ``words`` are the kind's own operations for people, as templates of their fields.
    """

    build: Callable[[RobotProfile, Own], Mechanism]
    sound: bool = False
    home: Callable[[RobotProfile, Own, HomingRequest], list[HomingStep]] = home_in_order
    words: Mapping[str, str] = field(default_factory=dict)


MECHANISMS: Kinds[MechanismKind[Any]] = Kinds(
    "kind of mechanism", "robot.mechanism.{kind}.graph", BUILT_IN_MECHANISMS
)
"""Every kind of mechanism by the ``kind`` of its settings."""


def words_of(operation: JsonMapping) -> str:
    """A mechanism's own operation, as in JSON, in a person's words."""
    op = operation["op"]
    words = (kind.words[op] for kind in MECHANISMS.values() if op in kind.words)
    return next(words, op).format(**operation)


def build_mechanism(profile: RobotProfile) -> Mechanism:
    """The mechanism that ``profile`` describes, as a graph.

    Raises :class:`BadProfile` with the reason if it could not turn every face it must, or
    never get somewhere it has a position for.
    """
    kind = MECHANISMS[profile.mechanism.kind]
    graph = kind.build(profile, profile.mechanism)
    if not kind.sound:
        check_turnable(graph)
        check_reachable(graph)
    return graph
