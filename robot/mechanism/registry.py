"""The kinds of mechanism: how to build each as a graph, to check it and to home it.

A kind is a folder beside this module. Its package has the settings in a profile, its ``graph``
registers the rest here, and ``robot/twin`` has its simulation under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Generic, TypeVar

from robot.mechanism.compile.closure import reachable_nodes, rotate_orientation
from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import Mechanism
from robot.settings import BadProfile
from robot.settings.base import Kinds
from robot.settings.mechanisms import BUILT_IN_MECHANISMS, MechanismSettings
from robot.settings.profile import RobotProfile
from solver.cost import AXES
from solver.cube.orientation import Orientation


@dataclass(frozen=True, slots=True)
class HomeActuator:
    """Home an actuator; it ends at its start position."""

    actuator: str


@dataclass(frozen=True, slots=True)
class MoveActuator:
    """Move a homed actuator to a position in steps or microseconds of pulse."""

    actuator: str
    position: int


HomingStep = HomeActuator | MoveActuator


@dataclass(frozen=True)
class HomingRequest:
    """The state before homing.

    ``order``: the usual one; ``places``: known positions of actuators; ``away``: those of them not
    at their start; ``seek``: actuators that find their position by a sensor, from anywhere;
    ``caught``: those that a fault stopped in a turn.
    """

    order: Sequence[str]
    places: Mapping[str, int]
    away: Collection[str]
    seek: Collection[str] = ()
    caught: Collection[str] = ()


def home_in_order(
    profile: RobotProfile, mechanism: MechanismSettings, request: HomingRequest
) -> list[HomingStep]:
    """Return steps that home all actuators in order: correct if no part can block another."""
    del profile, mechanism
    return [HomeActuator(name) for name in request.order]


Own = TypeVar("Own", bound=MechanismSettings)


@dataclass(frozen=True)
class MechanismKind(Generic[Own]):
    """The functions of a kind of mechanism.

    ``build`` makes the graph and may raise BadProfile. A graph that is ``sound`` by construction is
    not searched for dead ends. ``home`` returns the steps that home a robot whose motion was
    interrupted. The texts of a kind's own operations are in :mod:`robot.text.operations`.
    """

    build: Callable[[RobotProfile, Own], Mechanism]
    sound: bool = False
    home: Callable[[RobotProfile, Own, HomingRequest], list[HomingStep]] = home_in_order


MECHANISMS: Kinds[MechanismKind[Any]] = Kinds(
    "kind of mechanism", "robot.mechanism.{kind}.graph", BUILT_IN_MECHANISMS
)
"""Every kind of mechanism by the ``kind`` of its settings."""


def build_mechanism(profile: RobotProfile) -> Mechanism:
    """Return the mechanism that ``profile`` describes, as a graph.

    Raise :class:`BadProfile` with the reason if it cannot turn a face it must, or an actuator can
    never reach one of its positions.
    """
    kind = MECHANISMS[profile.mechanism.kind]
    graph = kind.build(profile, profile.mechanism)
    if not kind.sound:
        check_turnable(graph)
        check_reachable(graph)
    return graph


def check_turnable(mechanism: Mechanism) -> None:
    """Raise :class:`BadProfile` if from some state a face can never be turned any more.

    From every reachable state the robot must be able to get to a quarter turn of every face. For a
    2x2x2, whose opposite layers are equivalent, one face of each axis is enough. For larger cubes
    the same holds for each number of layers up to half of them.
    """
    before: dict[int, list[int]] = {node: [] for node in sorted(reachable_nodes(mechanism))}
    turning: dict[tuple[str, int], set[int]] = {}
    for node in before:
        configuration, held = divmod(node, ORIENTATIONS)
        for step in mechanism.steps_from(configuration):
            end = ORIENTATIONS * step.end + rotate_orientation(held, step.rotation)
            before[end].append(node)
            if len(step.turns) == 1 and step.turns[0][1] % 2:
                face = Orientation(held).face_at(step.turns[0][0])
                turning.setdefault((face, step.layers), set()).add(node)
    names = "URFDLB" if mechanism.size > 2 else AXES
    for faces, layers in product(names, range(1, mechanism.size // 2 + 1)):
        goals = set[int]().union(*(turning.get((face, layers), ()) for face in faces))
        safe = _nodes_leading_to(goals, before)
        stuck = next((node for node in before if node not in safe), None)
        if stuck is not None:
            reason = _reason(mechanism, faces, stuck, bool(goals), layers)
            raise BadProfile([mechanism.profile.complaint(("mechanism",), reason)])


def _nodes_leading_to(goals: Iterable[int], before: Mapping[int, Iterable[int]]) -> set[int]:
    """Return the nodes from which one of ``goals`` can be reached."""
    seen = set(goals)
    pending = list(seen)
    while pending:
        fresh = set(before[pending.pop()]) - seen
        seen |= fresh
        pending += fresh
    return seen


def _reason(mechanism: Mechanism, faces: str, stuck: int, ever: bool, layers: int) -> str:
    what = " or ".join(faces) + (f" with {layers} layers" if layers > 1 else "")
    if not ever:
        return (
            f"nothing can ever turn the face {what} of the cube; check the ranges, the travel "
            "rows and who holds the cube"
        )
    configuration, held = divmod(stuck, ORIENTATIONS)
    places = mechanism.configurations[configuration].positions
    where = ", ".join(f"{name} at {place}" for name, place in places.items())
    return (
        f"with {where} and the cube held as {Orientation(held).name} the face {what} can no "
        "longer be turned; a range is too small, or the travel back is missing"
    )


def check_reachable(mechanism: Mechanism) -> None:
    """Raise :class:`BadProfile` if some actuator has a position that it can never reach."""
    reached = {node // ORIENTATIONS for node in reachable_nodes(mechanism)}
    places = [set(configuration.positions.items()) for configuration in mechanism.configurations]
    been = set().union(*(places[number] for number in reached))
    complaints = []
    for actuator, place in sorted(set().union(*places) - been, key=str):
        quarters = " quarter turns" if isinstance(place, int) else ""
        text = (
            f"{actuator} can never reach {place}{quarters}; a travel row to it is missing, or "
            "something is always in the way"
        )
        complaints.append(mechanism.profile.complaint(("actuators", actuator), text))
    if complaints:
        raise BadProfile(complaints)
