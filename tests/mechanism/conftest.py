"""A plain shortest-path search over transitions, to hold the compiled tables against."""

from __future__ import annotations

import heapq

import pytest

from solver.cost import AXES, composite_of

OTHER_LAYER = str.maketrans("DLB", "URF")
SENSE = {
    "U": ("y", 1),
    "R": ("x", 1),
    "F": ("z", 1),
    "D": ("y", -1),
    "L": ("x", -1),
    "B": ("z", -1),
}


def fastest_us(mechanism, state, composites):
    """Least time to perform composites in order; None if impossible. A heap and nothing clever."""
    goal = [dict(zip(AXES[t[0]], t[1:], strict=True)) for t in map(composite_of, composites)]
    start = (state.configuration, state.orientation, 0, (0, 0))
    best, heap, count = {start: 0}, [(0, 0, start)], 0
    finish = None
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
                owed = mechanism.configurations[step.end].residual_motion_us
                finish = min(total + owed, finish if finish is not None else total + owed)
            elif total < best.get(after, total + 1):
                best[after] = total
                count += 1
                heapq.heappush(heap, (total, count, after))
    return finish


def _rotates(turned):
    """Whether both layers of a 2x2x2 turn together: then the cube is only rotated."""
    return len(turned) == 2 and sum(quarters for _, quarters in turned.values()) % 4 == 0


def _advance(here, step, goal, pocket):
    """The state after a step; None if it turns what is not to be turned now.

    A composite is finished by the turn that completes it, never by a movement.
    """
    _, orientation, index, done = here
    faces = list(goal[index])
    done = list(done)
    turned = {}
    for site, quarters in step.turns:
        turned[orientation.face_at(site)] = site, quarters
    if not set(turned) <= set(faces) and not (pocket and _rotates(turned)):
        return None
    for face, (site, quarters) in turned.items():
        if pocket and face in "DLB":
            # Turning the layer of the corner at DLB turns the other one, and the frame.
            axis, sense = SENSE[site]
            orientation = orientation.rotated(axis, sense * quarters % 4)
        stands_for = face.translate(OTHER_LAYER) if pocket else face
        if stands_for in faces:
            done[faces.index(stands_for)] = (done[faces.index(stands_for)] + quarters) % 4
    if step.rotation is not None:
        orientation = orientation.rotated(*step.rotation)
    if turned and not (pocket and _rotates(turned)) and done == list(goal[index].values()):
        return step.end, orientation, index + 1, (0, 0)
    return step.end, orientation, index, tuple(done)


def model_us(model, composites):
    """What a cost model says the composites cost: its matrices, multiplied."""
    costs = model.first[composites[0]].astype("int64")
    axis = composites[0] // 15
    for composite in composites[1:]:
        costs = (costs[:, None] + model.turns.next[axis, composite].astype("int64")).min(axis=0)
        axis = composite // 15
    return int((costs + model.turns.final[axis]).min())


@pytest.fixture(scope="session")
def fastest():
    return fastest_us


@pytest.fixture(scope="session")
def modelled():
    return model_us
