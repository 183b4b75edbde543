"""Improving the rest of a plan while its beginning is already being executed.

A plan may be cut between any two transitions. The cube and the mechanism's state there are known,
so the rest can be searched anew; when a faster way is found before the robot gets there, it
replaces the old rest, and the robot never notices: it ends the head exactly where the tail starts.

The plan for a large cube takes so long that its rest is cut again and again.
"""

from __future__ import annotations

import math
from dataclasses import replace

from robot.mechanism.graph import State
from robot.planner.plan import Plan, make_plan, moves_made, state_after
from robot.planner.solve import LAYERED_SIZES
from robot.planner.stopping import EARLIEST_S, USUAL_GAIN
from solver.search import AnyCube

HEAD_SHARE = 1 / 16
"""Part of a plan after which it is cut. Measured: after a later cut the rest is mostly as soon as
it can be, before an earlier one there is little time to search."""

LAYERED_HEAD_SHARE = 1 / 7
"""The same for cubes of 4 and more layers, of what is left each time."""

LEAST_LAYERED_HEAD_S = 8.0
"""So long a head of theirs at least."""

LAYERED_REST_GAIN = 0.003
"""Part of the rest that is saved by searching e times as long meanwhile: of four 4x4x4 one gained
4 %, and only by its first two cuts."""

REST_GAIN = 0.3
"""Part of what searching on would have saved that is still to be had with the head fixed."""

PAUSE_S = 0.08
"""What a cut costs: until the controller has noticed the end of the head and sent the tail."""


def split_at(plan: Plan, time_us: int) -> tuple[Plan, Plan] | None:
    """Head and tail of ``plan``, cut at the first transition that starts at ``time_us`` or later.

    None when no transition starts so late: nothing is left to improve. A cut is only made where
    all is at rest, so that head and tail can be executed as two schedules.
    """
    state = plan.start
    for number, (start_us, step) in enumerate(plan.timed()):
        resting = not plan.mechanism.configurations[state.configuration].residual_motion_us
        if number and start_us >= time_us and resting:
            return _cut(plan, number, state)
        state = state_after(plan.mechanism, state, step)
    return None


def where_to_cut_us(plan: Plan, *, again: bool = False) -> int | None:
    """When to cut ``plan`` for its rest to be searched meanwhile; None where that does not pay.

    It pays when the rest is expected to get faster by more than the cut costs. ``again``: the plan
    is itself the rest of one that was cut; the same then pays for large cubes alone.
    """
    is_layered = plan.mechanism.size in LAYERED_SIZES
    if plan.optimal or (again and not is_layered):
        return None
    head_s = plan.duration_us * (LAYERED_HEAD_SHARE if is_layered else HEAD_SHARE) / 1e6
    if is_layered:
        head_s = max(head_s, LEAST_LAYERED_HEAD_S)
    folds = math.log(1 + head_s / max(plan.search_s, EARLIEST_S))
    if is_layered:
        saved_s = LAYERED_REST_GAIN * folds * (plan.duration_us / 1e6 - head_s)
    else:
        saved_s = REST_GAIN * USUAL_GAIN * folds * plan.duration_us / 1e6
    return round(head_s * 1e6) if saved_s > PAUSE_S else None


def _cut(plan: Plan, number: int, state: State) -> tuple[Plan, Plan]:
    steps = plan.transitions[:number], plan.transitions[number:]
    head = make_plan(
        plan.mechanism, plan.start, steps[0], moves_made(plan.mechanism, plan.start, steps[0])
    )
    tail = make_plan(plan.mechanism, state, steps[1], moves_made(plan.mechanism, state, steps[1]))
    # What is searched for the tail meanwhile is searched on top of what was for the whole.
    return head, replace(tail, search_s=plan.search_s + head.duration_us / 1e6)


def turned(cube: AnyCube, plan: Plan) -> AnyCube:
    """``cube`` (in its own frame) after the turns of ``plan``."""
    return cube.apply(" ".join(moves_made(plan.mechanism, plan.start, plan.transitions)))
