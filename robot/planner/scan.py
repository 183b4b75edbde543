"""Scan tours: the cheapest way to show the cameras every face of the cube.

A picture costs the camera's settling and capture time. The tour is a shortest path over (state of
the mechanism, parts of faces seen). Dynamic programming finds it over the sets of parts, between
the states in which some camera sees something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.compile.closure import FAR, Weights, path_closure
from robot.mechanism.compile.cost_model import node_of
from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import CALM, Mechanism, State
from robot.planner.plan import Plan, make_plan
from robot.planner.retrace import PlanningError, path
from robot.settings.base import microseconds
from solver.cube.facelets import FACES
from solver.cube.orientation import Orientation, site_facelets

Stickers = frozenset[int]


@dataclass(frozen=True, slots=True)
class FaceView:
    """A picture to take: ``face`` of the cube is at ``site`` of the robot, before ``camera``.

    ``orientation`` is that of the cube. ``hidden`` are the stickers of the *site*, numbered row by
    row from 1, that something covers.
    """

    camera: str
    site: str
    face: str
    orientation: Orientation
    hidden: Stickers = frozenset()

    def shown_facelets(self, size: int) -> Stickers:
        """Return the numbers of the visible facelets, as in the cube's facelet string."""
        block = size * size
        first = FACES.index(self.site) * block
        facelets = site_facelets(self.orientation, size)[first : first + block].tolist()
        return frozenset(f for number, f in enumerate(facelets, 1) if number not in self.hidden)


@dataclass(frozen=True, eq=False)
class Places:
    """The nodes in which a camera sees part of a wanted face.

    ``nodes`` int64[P]; ``looks``: pictures at each; ``parts`` int64[P]: set of the parts seen
    there, as bits; ``costs`` int64[P]: microseconds that the pictures take; ``faces``: each wanted
    face with the stickers of its parts by bit.
    """

    nodes: NDArray[np.int64]
    looks: tuple[tuple[FaceView, ...], ...]
    parts: NDArray[np.int64]
    costs: NDArray[np.int64]
    faces: tuple[tuple[str, dict[int, Stickers]], ...]

    @property
    def bits(self) -> int:
        """The number of parts."""
        return sum(len(parts) for _, parts in self.faces)

    def complete(self, seen: int) -> bool:
        """Return true if the parts in ``seen`` show every visible sticker of every face."""
        return all(_union(parts, seen) == _union(parts, -1) for _, parts in self.faces)


def _union(parts: dict[int, Stickers], seen: int) -> Stickers:
    return frozenset().union(*(shown for bit, shown in parts.items() if seen >> bit & 1))


def find_places(mechanism: Mechanism, nodes: Iterable[int], faces: Iterable[str]) -> Places:
    """Return those of ``nodes`` in which the cameras see part of ``faces``.

    Raise :class:`PlanningError` if no node shows some face.
    """
    wanted = [face for face in FACES if face in set(faces)]
    everywhere = {
        node: looks for node in nodes if (looks := tuple(_looks(mechanism, node, wanted)))
    }
    parts = _parts(mechanism, wanted, everywhere.values())
    bit_of = {(face, shown): bit for face, sets in parts for bit, shown in sets.items()}
    masks = {
        node: sum(
            1 << bit_of[key]
            for key in {(look.face, look.shown_facelets(mechanism.size)) for look in looks}
            if key in bit_of
        )
        for node, looks in everywhere.items()
    }
    good = [node for node, mask in masks.items() if mask]
    return Places(
        nodes=np.array(good, dtype=np.int64),
        looks=tuple(everywhere[node] for node in good),
        parts=np.array([masks[node] for node in good], dtype=np.int64),
        costs=np.array([_look_us(mechanism, everywhere[node]) for node in good], dtype=np.int64),
        faces=parts,
    )


def _looks(mechanism: Mechanism, node: int, wanted: list[str]) -> Iterator[FaceView]:
    number, held = divmod(node, ORIENTATIONS)
    configuration, orientation = mechanism.configurations[number], Orientation(held)
    places = configuration.positions
    for camera in mechanism.profile.cameras:
        for view in camera.views:
            face = orientation.face_at(view.site)
            is_seen = all(str(places.get(name)) in allowed for name, allowed in view.when.items())
            if is_seen and face in wanted:
                hidden = configuration.covered.get(view.site, frozenset()) | frozenset(view.hidden)
                yield FaceView(camera.name, view.site, face, orientation, hidden)


def _parts(
    mechanism: Mechanism, wanted: list[str], looks: Iterable[tuple[FaceView, ...]]
) -> tuple[tuple[str, dict[int, Stickers]], ...]:
    """Return the largest visible parts of each wanted face, numbered consecutively.

    A part is left out if another picture shows the same stickers and more.
    """
    shown: dict[str, set[Stickers]] = {face: set() for face in wanted}
    for look in (look for there in looks for look in there):
        shown[look.face].add(look.shown_facelets(mechanism.size))
    missing = [face for face, sets in shown.items() if not any(sets)]
    if missing:
        raise PlanningError(
            f"{mechanism.name}: no camera ever sees the faces {', '.join(missing)}; "
            "check the cameras' views, what hides them and how the cube gets there",
            code="cannot-see",
        )
    bit = 0
    found = []
    for face, sets in shown.items():
        most = sorted((s for s in sets if not any(s < other for other in sets)), key=sorted)
        found.append((face, {bit + number: stickers for number, stickers in enumerate(most)}))
        bit += len(most)
    return tuple(found)


def _look_us(mechanism: Mechanism, looks: tuple[FaceView, ...]) -> int:
    """Return the time of the slowest camera: all take their pictures at the same time."""
    names = {look.camera for look in looks}
    return max(
        microseconds(camera.settle_ms + camera.capture_ms)
        for camera in mechanism.profile.cameras
        if camera.name in names
    )


MAX_BITS = 14
"""Maximum number of parts in a tour; more make its tables too large."""

Came = dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]


@dataclass(frozen=True)
class ScanStep:
    """One step of a tour: perform ``plan`` (which may be empty), then take the ``looks``."""

    plan: Plan
    looks: tuple[FaceView, ...]

    @property
    def moves(self) -> bool:
        """True if the robot moves before the looks."""
        return bool(self.plan.transitions)


@dataclass(frozen=True)
class ScanPlan:
    """The steps of a tour and the state in which it leaves the robot."""

    steps: tuple[ScanStep, ...]
    end: State
    duration_us: int


def plan_scan(
    mechanism: Mechanism, start: State | None = None, faces: Iterable[str] = FACES
) -> ScanPlan:
    """Return the fastest tour from ``start`` that shows all visible stickers of ``faces``.

    The caller may stop after any step. Raise ``PlanningError`` if no camera ever sees some face, or
    the robot cannot bring it before one.
    """
    start = mechanism.start if start is None else start
    mechanism = mechanism.looking
    places = find_places(mechanism, _reachable_nodes(mechanism, node_of(start)), faces)
    if places.bits > MAX_BITS:
        raise PlanningError(
            f"{mechanism.name}: the grippers hide the cube in too many different ways to plan a "
            "tour; give a camera a freer view",
            code="cannot-see",
        )
    order = _tour(mechanism, places, node_of(start)) if places.faces else []
    return _plan_of(mechanism, places, start, order)


def _reachable_nodes(mechanism: Mechanism, start: int) -> list[int]:
    """Return the nodes that can be reached without turning a layer."""
    closure = path_closure(mechanism)
    everywhere = np.arange(closure.nodes)
    reached: list[int] = np.flatnonzero(
        closure.weights_between(np.array([start]), everywhere)[0] < FAR
    ).tolist()
    return reached


def _tour(mechanism: Mechanism, places: Places, start: int) -> list[int]:
    """Return the numbers of the places at which to take pictures, in order."""
    closure = path_closure(mechanism)
    looking = CALM * places.costs
    onward_costs = closure.weights_between(places.nodes, places.nodes) + looking
    best: dict[int, Weights] = {}
    came: Came = {}
    first = closure.weights_between(np.array([start]), places.nodes)[0] + looking
    _arrive(places, 0, first, np.full(len(looking), -1), best, came)
    for seen in range(1, 1 << places.bits):
        if seen in best and not places.complete(seen):
            here = np.flatnonzero(best[seen] < FAR)
            onward = onward_costs[here]
            onward += best[seen][here, None]
            chosen = onward.argmin(axis=0)
            costs = onward[chosen, np.arange(len(chosen))]
            _arrive(places, seen, costs, here[chosen], best, came)
    done = [seen for seen in best if places.complete(seen)]
    if not done:
        # Every place is reachable from the start, so one of them must lead to no other.
        names = ", ".join(face for face, _ in places.faces)
        raise PlanningError(
            f"{mechanism.name}: no single tour brings the faces {names} before a camera, though "
            "each can be brought there: some motion cannot be undone; check the actuators' travel",
            code="cannot-see",
        )
    return _retrace(min(done, key=lambda seen: int(best[seen].min())), best, came)


def _arrive(
    places: Places,
    seen: int,
    costs: Weights,
    chosen: NDArray[np.int64],
    best: dict[int, Weights],
    came: Came,
) -> None:
    """Add the parts seen at each place to ``seen``, and record those reached faster than before."""
    after = places.parts | seen
    useful = (after != seen) & (costs < FAR)
    for target in np.unique(after[useful]).tolist():
        here = np.flatnonzero(useful & (after == target))
        row = best.setdefault(target, np.full(len(costs), FAR))
        before = came.setdefault(target, (np.full(len(costs), -1), np.full(len(costs), -1)))
        faster = here[costs[here] < row[here]]
        row[faster] = costs[faster]
        before[0][faster] = seen
        before[1][faster] = chosen[faster]


def _retrace(seen: int, best: dict[int, Weights], came: Came) -> list[int]:
    place = int(best[seen].argmin())
    order: list[int] = []
    while place >= 0:
        order.append(place)
        sets, places = came[seen]
        seen, place = int(sets[place]), int(places[place])
    return order[::-1]


def _plan_of(mechanism: Mechanism, places: Places, start: State, order: list[int]) -> ScanPlan:
    closure = path_closure(mechanism)
    steps: list[ScanStep] = []
    state, duration = start, 0
    for place in order:
        plan = make_plan(mechanism, state, path(closure, node_of(state), int(places.nodes[place])))
        steps.append(ScanStep(plan, places.looks[place]))
        state = plan.end
        duration += plan.duration_us + int(places.costs[place])
    return ScanPlan(tuple(steps), state, duration)
