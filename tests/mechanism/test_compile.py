"""Compiled cost models of all kinds of flippers and others, compared with plain shortest paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.mechanism.compile.closure import (
    FAR,
    path_closure,
    rotate_orientation,
    turns_layers,
    whole_rotation,
)
from robot.mechanism.compile.cost_model import compile_mechanism, cost_model
from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import SITE_AXIS, Mechanism, State, Transition, weight_of
from robot.mechanism.registry import build_mechanism
from robot.settings import load_profile, parse_profile, profile_path
from solver.cost import AXES, IMPOSSIBLE, composite_index, composite_of
from tests.rig.timed_turns import cost_of, in_order_of_cost

ROBOTS = [
    *("cubotino-uno", "mindcuber", "two-arm-2x2x2", "six-motor-record"),
    *("reference/a", "reference/b"),
]
OTHER_LAYER = str.maketrans("DLB", "URF")


@cache
def built(name: str) -> Mechanism:
    return build_mechanism(load_profile(name))


@cache
def reachable(name: str) -> list[State]:
    start = built(name).start

    def onward(state: State) -> Iterator[tuple[int, State]]:
        for step in built(name).steps_from(state.configuration):
            held = state.orientation
            yield 0, State(step.end, held.rotated(*step.rotation) if step.rotation else held)

    return [state for _, state in in_order_of_cost(start, onward)]


def fastest_us(mechanism: Mechanism, state: State, composites: list[int]) -> int | None:
    """Return the least time to perform composites in order, by Dijkstra's search."""
    goal = [dict(zip(AXES[t[0]], t[1:], strict=True)) for t in map(composite_of, composites)]
    start = (state.configuration, state.orientation, 0, (0, 0))

    def onward(here: Any) -> Iterator[tuple[int, Any]]:
        for step in mechanism.steps_from(here[0]) if here else ():
            after = _advance(here, step, goal, mechanism.size == 2)
            if after is None:
                continue
            if after[2] < len(goal):
                yield step.duration_us, after
            else:
                resting_us = mechanism.configurations[step.end].residual_motion_us
                yield step.duration_us + resting_us, ()

    return next((cost for cost, here in in_order_of_cost(start, onward) if not here), None)


def _advance(here: Any, step: Transition, goal: list[dict[str, int]], pocket: bool) -> Any:
    """Return the state after a step, or None if it makes a turn that is not due now.

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


@st.composite
def turns_from_states(draw: Any) -> tuple[str, State, list[int]]:
    """Draw a robot, a state it can reach, and one or two composites of different axes."""
    name = draw(st.sampled_from(ROBOTS))
    state = draw(st.sampled_from(reachable(name)))
    axes = draw(st.permutations(range(3)))[: draw(st.integers(1, 2))]
    columns = [3, 7, 11] if built(name).size == 2 else list(range(15))
    composites = [15 * axis + draw(st.sampled_from(columns)) for axis in axes]
    return name, state, composites


@settings(max_examples=20)
@given(turns_from_states())
def test_turns_cost_the_shortest_path_from_any_state(case):
    name, state, composites = case
    mechanism = built(name)
    expected = fastest_us(mechanism, state, composites)
    found = cost_of(compile_mechanism(mechanism).cost_model(state), composites)
    assert found == expected if expected is not None else found >= IMPOSSIBLE


@pytest.mark.parametrize("name", ["reference/c", "soltvvo"])
def test_turns_of_four_arms_cost_the_shortest_path(name):
    mechanism = built(name)
    model = cost_model(mechanism, mechanism.start)
    for composites in ([3, 15 + 7], [30 + 11, 3]):
        assert cost_of(model, composites) == fastest_us(mechanism, mechanism.start, composites)


# ---- paths without turns ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cubotino-uno", "two-arm", "two-arm-2x2x2", "six-motor"])
def test_no_path_is_shorter_and_none_turns_a_layer(name):
    """Check also that each path leads back to its start, and that slower steps are not taken."""
    steps = built(name).transitions
    slower = (replace(step, duration_us=step.duration_us + 1000) for step in steps)
    mechanism = replace(built(name), transitions=(*steps, *slower))
    closure = path_closure(mechanism)
    assert not any(turns_layers(step, mechanism.size) for step in closure.steps.values())
    onward: dict[int, list[tuple[int, int]]] = {}
    for step in steps:
        for held in range(ORIENTATIONS if not turns_layers(step, mechanism.size) else 0):
            after = rotate_orientation(held, whole_rotation(step, mechanism.size))
            onward.setdefault(ORIENTATIONS * step.start + held, []).append(
                (weight_of(step), ORIENTATIONS * step.end + after)
            )
    for configuration, far in enumerate(closure.from_zero):
        source = ORIENTATIONS * configuration
        expected = np.full(closure.nodes, FAR)
        for weight, node in in_order_of_cost(source, lambda node: onward.get(node, ())):
            expected[node] = weight
        assert (far == expected).all()
        for node in range(closure.nodes):
            at, weight = node, 0
            while (before := int(closure.before[configuration, at])) >= 0:
                weight += weight_of(closure.steps[before, at])
                at = before
            assert (at == source and weight == far[node]) if far[node] < FAR else at == node


U, F, B, D = ((0, 1, 0), (2, 1, 0), (2, 0, 1), (0, 0, 1))

BACK_WAY = """- {between: [open, flip], ms: 250}
      - {between: [open, back], ms: 250}"""
LID_AND_TIPPER = """positions: {open: open, close: hold}
    - actuator: tipper
      start: open
      positions: {open: open, flip: {rolls: x}}"""
TIPPER = """  tipper:
    kind: timed
    positions: [open, flip]
    travel:
      - {between: [open, flip], ms: 250}
  lid:
"""
VARIANTS = {
    "plain": [],
    "both ways": [
        ("flip: {rolls: x}}", 'flip: {rolls: x}, back: {rolls: "x\'"}}'),
        ("positions: [open, close, flip]", "positions: [open, close, flip, back]"),
        ("- {between: [open, flip], ms: 250}", BACK_WAY),
    ],
    "holds there": [("flip: {rolls: x}}", "flip: {rolls: x, then: hold}}")],
    "two arms": [
        ("positions: {open: open, close: hold, flip: {rolls: x}}", LID_AND_TIPPER),
        ("  lid:\n", TIPPER),
    ],
    "endless": [(", range_quarters: [-1, 1], start: 0", "")],
    "wide": [("range_quarters: [-1, 1]", "range_quarters: [-2, 2]")],
}


@cache
def variant(name):
    text = profile_path("reference/a").read_text()
    for old, new in VARIANTS[name]:
        assert old in text
        text = text.replace(old, new)
    return build_mechanism(parse_profile(text))


@cache
def compiled(name):
    return compile_mechanism(variant(name))


def turn_us(name, turn):
    model = compiled(name).cost_model(variant(name).start)
    return int(model.first[composite_index(*turn)].min())


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_costs_the_shortest_path(name):
    mechanism = variant(name)
    model = compiled(name).cost_model(mechanism.start)
    for turns in ([D, F], [(0, 2, 1), (1, 3, 0)]):
        composites = [composite_index(*turn) for turn in turns]
        assert cost_of(model, composites) == fastest_us(mechanism, mechanism.start, composites)


@pytest.mark.parametrize(
    ("name", "turn", "saved_us"),
    [
        # B comes down by one flip and F by three; backwards it is the other way round.
        ("both ways", B, 0),
        ("both ways", F, 2 * 500_000),
        # An arm that holds in its rolling position need not close.
        ("holds there", B, 2 * 250_000),
        # Two arms equal one if only one moves at a time.
        ("two arms", B, 0),
        # For a half turn the table need not go to the end of its range first.
        ("wide", (0, 0, 2), 400_000),
    ],
)
def test_a_variant_saves_what_a_person_reckons(name, turn, saved_us):
    assert turn_us(name, turn) == turn_us("plain", turn) - saved_us


def test_a_wider_range_never_costs_more_and_an_endless_table_needs_one_angle():
    for turn in (U, F, B, D, (0, 0, 2)):
        assert turn_us("endless", turn) <= turn_us("wide", turn) <= turn_us("plain", turn)
    assert len(variant("endless").configurations) == 3
    assert compiled("endless").states < compiled("plain").states
