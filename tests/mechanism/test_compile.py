"""Compiled cost models against plain shortest paths over the same transitions."""

from __future__ import annotations

import heapq
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.mechanism.compile.closure import FAR, microseconds_of
from robot.mechanism.compile.cost_model import (
    compile_mechanism,
    cost_model,
    number_rows,
    to_classes,
)
from robot.mechanism.graph import SITE_AXIS, Mechanism, State, Transition
from robot.mechanism.registry import build_mechanism
from robot.settings import load_profile
from solver.cost import AXES, IMPOSSIBLE, CostModel, composite_of

ROBOTS = ["cubotino-uno", "mindcuber", "two-arm-2x2x2", *(f"reference/{x}" for x in "abd")]
OTHER_LAYER = str.maketrans("DLB", "URF")


@cache
def built(name: str) -> Mechanism:
    return build_mechanism(load_profile(name))


@cache
def reachable(name: str) -> list[State]:
    """The states that some transitions lead to."""
    found = [built(name).start]
    for state in found:
        for step in built(name).transitions:
            if step.start == state.configuration:
                held = state.orientation
                held = held.rotated(*step.rotation) if step.rotation else held
                after = State(step.end, held)
                if after not in found:
                    found.append(after)
    return found


def fastest_us(mechanism: Mechanism, state: State, composites: list[int]) -> int | None:
    """The least time to perform composites in order, by a heap and nothing clever."""
    goal = [dict(zip(AXES[t[0]], t[1:], strict=True)) for t in map(composite_of, composites)]
    start = (state.configuration, state.orientation, 0, (0, 0))
    best: dict[Any, int] = {start: 0}
    heap: list[Any] = [(0, 0, start)]
    count, finish = 0, None
    while heap:
        time_us, _, here = heapq.heappop(heap)
        if time_us > best[here] or (finish is not None and time_us >= finish):
            continue
        for step in mechanism.transitions:
            if step.start != here[0]:
                continue
            after = _advance(here, step, goal, mechanism.size == 2)
            if after is None:
                continue
            total = time_us + step.duration_us
            if after[2] == len(goal):
                total += mechanism.configurations[step.end].residual_motion_us
                finish = min(total, total if finish is None else finish)
            elif total < best.get(after, total + 1):
                best[after] = total
                count += 1
                heapq.heappush(heap, (total, count, after))
    return finish


def _advance(here: Any, step: Transition, goal: list[dict[str, int]], pocket: bool) -> Any:
    """The state after a step; None if it turns what is not to be turned now.

    A composite is finished by the turn that completes it, never by a movement.
    """
    _, orientation, index, progress = here
    faces, done = list(goal[index]), list(progress)
    turned = {orientation.face_at(site): (site, quarters) for site, quarters in step.turns}
    both = len(turned) == 2 and sum(quarters for _, quarters in turned.values()) % 4 == 0
    if not set(turned) <= set(faces) and not (pocket and both):
        return None
    for face, (site, quarters) in turned.items():
        if pocket and face in "DLB":
            # Turning the layer of the corner at DLB turns the other one, and the frame.
            axis, sense = SITE_AXIS[site]
            orientation = orientation.rotated(axis, sense * quarters % 4)
        stands_for = face.translate(OTHER_LAYER) if pocket else face
        if stands_for in faces:
            done[faces.index(stands_for)] = (done[faces.index(stands_for)] + quarters) % 4
    if step.rotation is not None:
        orientation = orientation.rotated(*step.rotation)
    if turned and not (pocket and both) and done == list(goal[index].values()):
        return step.end, orientation, index + 1, (0, 0)
    return step.end, orientation, index, tuple(done)


def model_us(model: CostModel, composites: list[int]) -> int:
    """The time a cost model states: its matrices, multiplied."""
    costs, axis = model.first[composites[0]].astype("int64"), composites[0] // 15
    for composite in composites[1:]:
        costs = (costs[:, None] + model.turns.next[axis, composite].astype("int64")).min(axis=0)
        axis = composite // 15
    return int((costs + model.turns.final[axis]).min())


@st.composite
def turns_from_states(draw: Any) -> tuple[str, State, list[int]]:
    """A robot, a state it can get into, and one or two composites of different axes."""
    name = draw(st.sampled_from(ROBOTS))
    state = draw(st.sampled_from(reachable(name)))
    axes = draw(st.permutations(range(3)))[: draw(st.integers(1, 2))]
    columns = [3, 7, 11] if built(name).size == 2 else list(range(15))
    composites = [15 * axis + draw(st.sampled_from(columns)) for axis in axes]
    return name, state, composites


@settings(max_examples=25)
@given(turns_from_states())
def test_turns_cost_the_shortest_path_from_any_state(case: tuple[str, State, list[int]]) -> None:
    name, state, composites = case
    mechanism = built(name)
    expected = fastest_us(mechanism, state, composites)
    found = model_us(compile_mechanism(mechanism).cost_model(state), composites)
    assert found == expected if expected is not None else found >= IMPOSSIBLE


@pytest.mark.parametrize("name", ["reference/c", "soltvvo"])
def test_turns_of_four_arms_cost_the_shortest_path(name: str) -> None:
    mechanism = built(name)
    model = cost_model(mechanism, mechanism.start)
    for composites in ([3, 15 + 7], [30 + 11, 3]):
        assert model_us(model, composites) == fastest_us(mechanism, mechanism.start, composites)


@pytest.mark.parametrize("name", [name for name in ROBOTS if "2x2x2" not in name])
def test_the_model_has_the_form_the_search_expects(name: str) -> None:
    model = cost_model(built(name), built(name).start)
    size = model.turns.states
    assert model.first.shape == (45, size) and model.first.dtype == np.uint32
    assert model.turns.next.shape == (3, 45, size, size) and model.turns.final.shape == (3, size)
    for axis in range(3):
        assert (model.turns.next[axis, 15 * axis : 15 * axis + 15] == IMPOSSIBLE).all()
        others = np.delete(model.turns.next[axis], np.s_[15 * axis : 15 * axis + 15], axis=0)
        assert (others[:, 0].min(axis=-1) < IMPOSSIBLE).all()


def test_equal_rows_are_numbered_alike_in_the_order_in_which_they_appear() -> None:
    rows = np.array([[5, 1], [5, 2], [5, 1], [4, 1], [5, 2]], np.uint32)
    assert number_rows(rows).tolist() == [0, 1, 0, 2, 1]
    assert number_rows(np.zeros((0, 3), np.uint32)).tolist() == []


def test_a_class_costs_what_its_cheapest_member_does() -> None:
    costs = np.array([[9, 4, 7, 1], [2, 8, 3, 6]], np.uint32)
    assert to_classes(costs, np.array([1, 0, 1, 0])).tolist() == [[1, 7], [6, 2]]
    nothing = np.zeros((2, 0), np.uint32)
    assert to_classes(nothing, np.zeros(0, np.int64)).shape == (2, 0)


def test_times_are_weights_without_the_count_of_motions() -> None:
    weights = np.array([0, 4095, 4096, 4096 * 70_000 + 5, FAR, FAR + 7])
    times = microseconds_of(weights)
    assert times[:4].tolist() == [0, 0, 1, 70_000]
    assert (times[4:] == IMPOSSIBLE).all()
