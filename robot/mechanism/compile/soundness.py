"""Robots that run into a corner: found when the mechanism is built, not during a solve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from robot.mechanism.compile.closure import reachable_nodes, rotate_orientation
from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import Mechanism, State
from robot.settings import BadProfile
from solver.cost import AXES
from solver.cube.orientation import Orientation

Node = tuple[int, int]
"""Configuration and orientation."""


def check_turnable(mechanism: Mechanism) -> None:
    """Raise :class:`BadProfile` if some face cannot be turned, at once or later on.

    Every face of a 3x3x3 (one of each axis of a 2x2x2, whose layers can stand in for each other)
    must be within reach, by a quarter turn, from every state the robot can get into; of larger
    cubes also each number of layers up to half of them.
    """
    edges = {node: list(_edges(mechanism, node)) for node in _reachable(mechanism)}
    before: dict[Node, list[Node]] = {node: [] for node in edges}
    for node, steps in edges.items():
        for end, _, _ in steps:
            before[end].append(node)
    names = "URFDLB" if mechanism.size > 2 else AXES
    for faces, layers in product(names, range(1, mechanism.size // 2 + 1)):
        goals = [
            n
            for n, steps in edges.items()
            if any(face in faces and depth == layers for _, face, depth in steps if face)
        ]
        safe = _nodes_leading_to(goals, before)
        stuck = next((node for node in edges if node not in safe), None)
        if stuck is not None:
            reason = _reason(mechanism, faces, stuck, bool(goals), layers)
            raise BadProfile([mechanism.profile.complaint(("mechanism",), reason)])


def check_reachable(mechanism: Mechanism) -> None:
    """Raise :class:`BadProfile` if some actuator has a position that it can never get to."""
    reached = {configuration for configuration, _ in _reachable(mechanism)}
    been = {
        place for number in reached for place in mechanism.configurations[number].positions.items()
    }
    for configuration in mechanism.configurations:
        for actuator, place in configuration.positions.items():
            if (actuator, place) not in been:
                quarters = " quarter turns" if isinstance(place, int) else ""
                raise BadProfile(
                    [
                        mechanism.profile.complaint(
                            ("actuators", actuator),
                            f"{actuator} can never get to {place}{quarters}; "
                            "a way to it is missing, or something is always in the way",
                        )
                    ]
                )


def _edges(mechanism: Mechanism, node: Node) -> Iterator[tuple[Node, str, int]]:
    """Neighbours of a node, with the cube face that an odd turn on the way turns, if alone, and the
    number of layers turned."""
    orientation = Orientation(node[1])
    for step in mechanism.transitions:
        if step.start == node[0]:
            alone = len(step.turns) == 1 and step.turns[0][1] % 2 == 1
            face = orientation.face_at(step.turns[0][0]) if alone else ""
            yield (step.end, rotate_orientation(node[1], step.rotation)), face, step.layers


def _reachable(mechanism: Mechanism) -> set[Node]:
    """Return the states that the robot can get into from its start."""
    return {divmod(node, ORIENTATIONS) for node in reachable_nodes(mechanism)}


def _nodes_leading_to(goals: Iterable[Node], before: dict[Node, list[Node]]) -> set[Node]:
    """Nodes from which one of ``goals`` can be reached."""
    seen = set(goals)
    pending = list(seen)
    while pending:
        for node in before[pending.pop()]:
            if node not in seen:
                seen.add(node)
                pending.append(node)
    return seen


def _reason(mechanism: Mechanism, faces: str, stuck: Node, ever: bool, layers: int) -> str:
    what = " or ".join(faces) + (f" with {layers} layers" if layers > 1 else "")
    if not ever:
        return (
            f"nobody can ever turn the face {what} of the cube; check the "
            "ranges, the travel rows and who holds the cube"
        )
    state = State(stuck[0], Orientation(stuck[1]))
    places = mechanism.configurations[state.configuration].positions
    where = ", ".join(f"{name} at {place}" for name, place in places.items())
    return (
        f"with {where} and the cube held as {state.orientation.name} the face "
        f"{what} can no longer be turned; a range is too small or a way back is missing"
    )
