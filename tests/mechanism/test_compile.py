"""What single turns cost, from every way to hold the cube, and the parts that the tables are of."""

from __future__ import annotations

from functools import cache
from heapq import heappop, heappush
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.mechanism.compile import cost_model
from robot.mechanism.compile.closure import FAR, microseconds_of, turns_layers, whole_rotation
from robot.mechanism.compile.cost_model import Compiled, compile_mechanism, numbered, to_classes
from robot.mechanism.graph import Mechanism, State, weight_of
from robot.mechanism.registry import build_mechanism
from robot.settings import load_profile
from solver.cost import AXES, IMPOSSIBLE
from solver.cube.orientation import Orientation

SENSE = dict(zip("URFDLB", "yxzyxz", strict=True))
NONE = (0, 0)


@cache
def rotated(orientation: int, axis: str, quarters: int) -> int:
    return Orientation(orientation).rotated(axis, quarters).index


@cache
def face_at(orientation: int, site: str) -> str:
    return Orientation(orientation).face_at(site)


def weights_from(mechanism: Mechanism, axis: int, node: int) -> dict[tuple[int, int], int]:
    """``{(composite of the axis, node just after it): weight}``, by Dijkstra's search."""
    found: dict[tuple[int, int], int] = {}
    onward = [
        [step for step in mechanism.transitions if step.start == number and step.layers < 2]
        for number in range(len(mechanism.configurations))
    ]
    begin = (node // 24, node % 24, NONE, NONE)
    best: dict[Any, int] = {begin: 0}
    heap, count = [(0, 0, begin)], 0
    while heap:
        weight, _, here = heappop(heap)
        if weight > best[here]:
            continue
        for step in onward[here[0]]:
            after, turned = _after(mechanism, step, axis, here)
            if after is None:
                continue
            total = weight + weight_of(step)
            if turned:
                end = 24 * after[0] + after[1]
                first, second = after[2]
                key = (4 * first + second - 1, end)
                if first or second:
                    found[key] = min(total, found.get(key, total))
                if after[3] == NONE:
                    continue
            if total < best.get(after, total + 1):
                best[after] = total
                count += 1
                heappush(heap, (total, count, after))
    return found


def _after(mechanism: Mechanism, step: Any, axis: int, here: Any) -> tuple[Any, bool]:
    """The state after a step, and whether it turned; no state where it turns another axis.

    A state: configuration, orientation, progress, and progress of the sites' own faces.
    """
    _, orientation, done, raw = here
    pocket = mechanism.size == 2
    if not turns_layers(step, mechanism.size):
        rotation = whole_rotation(step, mechanism.size)
        held = orientation if rotation is None else rotated(orientation, *rotation)
        return (step.end, held, done, raw), False
    held, done, raw = orientation, list(done), list(raw)
    for site, quarters in step.turns:
        face = face_at(held, site)
        if face not in AXES[axis]:
            return None, False
        which = AXES[axis].index(face)
        raw[which] = (raw[which] + quarters) % 4
        if pocket and which:
            # The frame of the corner at DLB turns with it: it is the other layer that has turned.
            sense = 1 if site in "URF" else -1
            held = rotated(held, SENSE[site], sense * quarters % 4)
            which = 0
        done[which] = (done[which] + quarters) % 4
    held = held if step.rotation is None else rotated(held, *step.rotation)
    return (step.end, held, tuple(done), tuple(raw)), True


@pytest.mark.parametrize(
    ("name", "nodes"), [("mindcuber", 72), ("reference/b", 72), ("two-arm-2x2x2", 120)]
)
def test_every_turn_costs_what_the_shortest_way_takes_from_however_the_cube_is_held(
    name: str, nodes: int
) -> None:
    mechanism = build_mechanism(load_profile(name))
    compiled = compile_mechanism(mechanism)
    rng = np.random.default_rng(1)
    for axis in range(3):
        assert compiled.rows[axis].shape == (nodes, 15, len(compiled.nodes[axis]))
        for node in rng.choice(nodes, 1):
            expected = np.full((15, nodes), FAR)
            for (composite, end), weight in weights_from(mechanism, axis, int(node)).items():
                expected[composite, end] = weight
            assert (compiled.rows[axis][node] == expected[:, compiled.nodes[axis]]).all()


def test_equal_rows_are_numbered_alike_in_the_order_in_which_they_appear() -> None:
    rows = np.array([[5, 1], [5, 2], [5, 1], [4, 1], [5, 2]], np.uint32)
    assert numbered(rows).tolist() == [0, 1, 0, 2, 1]
    assert numbered(np.zeros((0, 3), np.uint32)).tolist() == []
    assert numbered(rows.astype(np.uint32)).dtype == np.int64


def test_a_class_costs_what_its_cheapest_member_does() -> None:
    costs = np.array([[9, 4, 7, 1], [2, 8, 3, 6]], np.uint32)
    assert to_classes(costs, np.array([1, 0, 1, 0])).tolist() == [[1, 7], [6, 2]]
    assert to_classes(costs, np.array([0, 1, 2, 3])).tolist() == costs.tolist()
    nothing = np.zeros((2, 0), np.uint32)
    assert to_classes(nothing, np.zeros(0, np.int64)).shape == (2, 0)
    assert [cost_model._count(np.array(one, np.int64)) for one in ([], [0], [2, 0, 1])] == [0, 1, 3]


def test_times_are_weights_without_the_count_of_what_moves() -> None:
    weights = np.array([0, 4095, 4096, 4096 * 70_000 + 5, FAR, FAR + 7])
    times = microseconds_of(weights)
    assert times.dtype == np.uint32
    assert times[:4].tolist() == [0, 0, 1, 70_000]
    assert (times[4:] == IMPOSSIBLE).all()


class Standing:
    """As much of a mechanism as classes need: what still moves in each configuration."""

    size, name = 3, "made up"

    def __init__(self, *residual_motion_us: int) -> None:
        self.configurations = [SimpleNamespace(residual_motion_us=us) for us in residual_motion_us]


def test_the_matrices_have_room_for_the_axis_with_most_classes() -> None:
    """Three nodes after a turn on the first axis, two of one class; one node on the others."""
    mechanism: Any = Standing(0, 300)
    nodes = (np.array([0, 3, 24]), np.array([5]), np.array([30]))
    classes = (np.array([0, 0, 1]), np.array([0]), np.array([0]))
    rows = tuple(np.full((48, 15, len(there)), FAR) for there in nodes)
    for axis, there in enumerate(nodes):
        for start in range(48):
            for composite in range(15):
                for number in range(len(there)):
                    us = 1000 * axis + 100 * start + 5 * composite + number
                    rows[axis][start, composite, number] = 4096 * us
    made = Compiled(SimpleNamespace(mechanism=mechanism), nodes, rows, classes)  # type: ignore[arg-type]
    assert made.states == 2
    turns = made.turn_costs
    assert (turns.name, turns.next.shape) == ("made up", (3, 45, 2, 2))
    # From either class of the first axis to the one class of the second.
    assert turns.next[0, 15 + 3, :, 0].tolist() == [1015, 1000 + 2400 + 15]
    assert (turns.next[0, 15:, :, 1] == IMPOSSIBLE).all()
    # From the second axis to both classes of the first: the nearer of two nodes.
    assert turns.next[1, 4, 0].tolist() == [520, 522]
    assert (turns.next[1, :, 1] == IMPOSSIBLE).all()
    assert turns.next[1, 30, 0, 0] == 2500 and turns.next[2, 15, 0, 0] == 1000 + 3000
    for axis in range(3):
        assert (turns.next[axis, 15 * axis : 15 * axis + 15] == IMPOSSIBLE).all()
    assert turns.final.tolist() == [[0, 300], [0, 0], [300, 0]]
    first = made.cost_model(State(1, Orientation(2))).first
    assert first.shape == (45, 2)
    assert first[2].tolist() == [2610, 2612]
    assert first[15 + 2].tolist() == [1000 + 2610, IMPOSSIBLE]
    assert first[44, 0] == 2000 + 2600 + 70


def test_nodes_differ_by_what_still_moves_and_by_what_follows() -> None:
    """Of four nodes after the first axis, one still moves and one costs more from there on."""
    mechanism: Any = Standing(0, 300)
    nodes = (np.array([0, 1, 2, 24]), np.array([5, 6]), np.array([7]))
    rows = tuple(np.full((48, 15, len(there)), 4096 * 100) for there in nodes)
    assert [one.tolist() for one in cost_model._refine(mechanism, rows, nodes)] == [
        *([0, 0, 0, 1], [0, 0], [0]),
    ]
    rows[2][1, 7, 0] += 4096
    assert [one.tolist() for one in cost_model._refine(mechanism, rows, nodes)] == [
        *([0, 1, 0, 2], [0, 0], [0]),
    ]
    # Two nodes of the second axis that lead to different classes of the first differ as well.
    rows[0][6, 3, 1] -= 4096
    assert [one.tolist() for one in cost_model._refine(mechanism, rows, nodes)] == [
        *([0, 1, 0, 2], [0, 1], [0]),
    ]
    assert cost_model.residual_motion_us(mechanism, np.array([23, 24, 47, 0])).tolist() == [
        0,
        300,
        300,
        0,
    ]
    assert cost_model.node_of(State(2, Orientation(5))) == 53


def test_only_states_that_can_be_got_into_are_nodes() -> None:
    step = SimpleNamespace
    mechanism: Any = SimpleNamespace(
        size=3,
        start=State(1, Orientation(0)),
        configurations=[None] * 4,
        transitions=[
            step(start=1, end=2, rotation=("y", 1)),
            step(start=2, end=2, rotation=("y", 2)),
            step(start=3, end=1, rotation=None),
        ],
    )
    turned = Orientation(0).rotated("y", 1)
    expected = sorted([24, 48 + turned.index, 48 + turned.rotated("y", 2).index])
    assert cost_model._reachable(mechanism).tolist() == expected
    mechanism.size = 2
    assert cost_model._reachable(mechanism).tolist() == list(range(96))
