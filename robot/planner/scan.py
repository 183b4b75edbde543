"""Scan tours: the cheapest way to show the cameras every face of the cube.

A look costs the camera's settling and capture. The tour is a shortest path over (state of the
mechanism, parts of faces seen): dynamic programming over the sets of parts, between the states in
which some camera sees something.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.compile.closure import FAR, Weights
from robot.mechanism.compile.cost_model import node_of
from robot.mechanism.graph import CALM, Mechanism, State
from robot.planner.looks import CannotSee, FaceView, Places, find_places
from robot.planner.plan import Plan, make_plan
from robot.planner.retrace import path
from robot.planner.solve import ways
from solver.cube.facelets import FACES

MAX_BITS = 14
"""More parts than this make the tables of the tour too large."""

Came = dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]


@dataclass(frozen=True)
class ScanStep:
    """Perform ``plan`` (which may be empty), then take the ``looks``."""

    plan: Plan
    looks: tuple[FaceView, ...]


@dataclass(frozen=True)
class ScanPlan:
    """The steps of a tour and the state in which it leaves the robot."""

    steps: tuple[ScanStep, ...]
    end: State
    duration_us: int


def plan_scan(
    mechanism: Mechanism, start: State | None = None, faces: Iterable[str] = FACES
) -> ScanPlan:
    """The fastest tour from ``start`` that shows the cameras all that can be seen of ``faces``.

    It may be left after any step. Raises :class:`robot.planner.looks.CannotSee` when some face is
    never seen or cannot be brought before a camera.
    """
    start = mechanism.start if start is None else start
    mechanism = mechanism.looking
    places = find_places(mechanism, _reached(mechanism, node_of(start)), faces)
    if places.bits > MAX_BITS:
        raise CannotSee(
            f"{mechanism.name}: the grippers hide the cube in too many different ways to plan a "
            "tour; give a camera a freer view"
        )
    order = _tour(mechanism, places, node_of(start)) if places.faces else []
    return _plan_of(mechanism, places, start, order)


def _reached(mechanism: Mechanism, start: int) -> list[int]:
    """Nodes that can be reached without turning a layer."""
    closure = ways(mechanism)
    everywhere = np.arange(closure.nodes)
    reached: list[int] = np.flatnonzero(
        closure.between(np.array([start]), everywhere)[0] < FAR
    ).tolist()
    return reached


def _tour(mechanism: Mechanism, places: Places, start: int) -> list[int]:
    """Numbers of the places to look from, in order."""
    closure = ways(mechanism)
    looking = CALM * places.costs
    onward_costs = closure.between(places.nodes, places.nodes) + looking
    best: dict[int, Weights] = {}
    came: Came = {}
    first = closure.between(np.array([start]), places.nodes)[0] + looking
    _arrive(places, 0, first, np.full(len(looking), -1), best, came)
    for seen in range(1, 1 << places.bits):
        if seen in best and not places.complete(seen):
            onward = best[seen][:, None] + onward_costs
            chosen = onward.argmin(axis=0)
            costs = onward[chosen, np.arange(len(chosen))]
            _arrive(places, seen, costs, chosen, best, came)
    done = [seen for seen in best if places.complete(seen)]
    if not done:
        # Each place can be reached from the start, or it would not be one; but not from the others.
        names = ", ".join(face for face, _ in places.faces)
        raise CannotSee(
            f"{mechanism.name}: no single tour brings the faces {names} before a camera, though "
            "each can be brought there: some motion cannot be undone; check the actuators' travel"
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
    """Add what is seen at each place to ``seen``, where that takes less time than known."""
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
    closure = ways(mechanism)
    steps: list[ScanStep] = []
    state, duration = start, 0
    for place in order:
        plan = make_plan(mechanism, state, path(closure, node_of(state), int(places.nodes[place])))
        steps.append(ScanStep(plan, places.looks[place]))
        state = plan.end
        duration += plan.duration_us + int(places.costs[place])
    return ScanPlan(tuple(steps), state, duration)
