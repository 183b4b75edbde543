"""Shortest ways between the states of a mechanism, against Dijkstra's search from each state."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import pytest

from robot.mechanism.compile.closure import FAR, path_closure, turns_layers
from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import weight_of
from robot.planner import build_mechanism
from robot.settings import load_profile


def distances(closure, source):
    onward = {}
    for (start, end), step in closure.steps.items():
        onward.setdefault(start, []).append((end, weight_of(step)))
    found, heap = {}, [(0, source)]
    while heap:
        far, node = heappop(heap)
        if node not in found:
            found[node] = far
            for end, weight in onward.get(node, ()):
                heappush(heap, (far + weight, end))
    return found


@pytest.mark.parametrize("name", ["cubotino-uno", "two-arm", "four-arm", "six-motor"])
def test_no_way_is_shorter(name):
    closure = path_closure(build_mechanism(load_profile(name)))
    for configuration, far in enumerate(closure.from_zero):
        expected = np.full(closure.nodes, FAR)
        for node, weight in distances(closure, ORIENTATIONS * configuration).items():
            expected[node] = weight
        assert (far == expected).all()


@pytest.mark.parametrize("name", ["cubotino-uno", "two-arm", "two-arm-2x2x2"])
def test_no_layer_is_turned_on_a_way(name):
    mechanism = build_mechanism(load_profile(name))
    steps = path_closure(mechanism).steps.values()
    assert steps
    assert all(not step.turns or mechanism.size == 2 for step in steps)
    assert not any(turns_layers(step, mechanism.size) for step in steps)


@pytest.mark.parametrize("name", ["cubotino-uno", "two-arm"])
def test_every_way_leads_back_to_where_it_began(name):
    closure = path_closure(build_mechanism(load_profile(name)))
    for configuration, far in enumerate(closure.from_zero):
        source = ORIENTATIONS * configuration
        for node in range(closure.nodes):
            at, weight = node, 0
            while (before := int(closure.before[configuration, at])) >= 0:
                weight += weight_of(closure.steps[before, at])
                at = before
            reached = far[node] < FAR
            assert (at == source and weight == far[node]) if reached else at == node
