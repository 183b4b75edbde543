"""The approach: the path from the last picture of the cube to the first turn of a solve.

After a scan the robot may be unable to turn a layer, with a lid half open or jaws apart. The search
needs a start from which turns are possible, a *rest*. So the approach is planned first: the fastest
path to a rest (``plan_approach``). The search begins there.

Once the moves are known, the robot need not stop at that rest. There may be a faster path from the
state after the scan to the one in which the first turn begins (``skip_rest``). It compares three:

1. the fastest path of all, also over positions added for scanning,
2. one step out of the present position, then the fastest path between ordinary positions,
3. the approach, then the fastest path from its rest.

A board stores every different motion of a solve once, and has room for few. Some kinds of motion
are never needed in a solve. A path may use no more of these than the approach does, so the third
path always qualifies.

Example: CUBOTino's lid is "nearly open" after the last picture. The approach opens it the rest of
the way. If the first turn needs the lid closed, the lid closes at once instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache

import numpy as np

from robot.mechanism.compile.closure import FAR, path_closure, turns_layers
from robot.mechanism.compile.cost_model import node_of
from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import CALM, Mechanism, State, Transition, weight_of
from robot.planner.plan import Plan, make_plan, state_after
from robot.planner.retrace import PlanningError, path

MotionKind = tuple[str, str | None, str | None, int, bool]
"""The part of a motion that a board stores: actuator, start, end, quarters, turns a layer."""


def plan_approach(mechanism: Mechanism, start: State) -> Plan:
    """Return the fastest plan from ``start`` to a state in which turns can begin; often empty."""
    if start.configuration < len(mechanism.configurations):
        return make_plan(mechanism, start, ())
    closure = path_closure(mechanism.looking)
    rests = np.arange(ORIENTATIONS * len(mechanism.configurations))
    weights = closure.weights_between(np.array([node_of(start)]), rests)
    steps = path(closure, node_of(start), int(weights.argmin()))
    return make_plan(mechanism.looking, start, steps)


def skip_rest(approach: Plan, plan: Plan) -> Plan:
    """Return one plan for approach and solve, without the detour via the rest between them."""
    steps, size = plan.transitions, plan.mechanism.size
    turns = (number for number, step in enumerate(steps) if turns_layers(step, size))
    first = next(turns, len(steps))
    before_turn = make_plan(plan.mechanism, plan.start, steps[:first]).end
    led = fastest_path_to(plan.mechanism, approach, before_turn)
    return make_plan(approach.mechanism, approach.start, (*led, *steps[first:]), plan.moves)


def fastest_path_to(mechanism: Mechanism, approach: Plan, end: State) -> tuple[Transition, ...]:
    """Return the fastest path from the start of ``approach`` to ``end`` whose motions fit on a
    board."""
    wider, start = approach.mechanism, approach.start
    candidates: list[list[Transition]] = []
    with suppress(PlanningError):
        candidates.append(path(path_closure(wider), node_of(start), node_of(end)))
    for step in wider.steps_from(start.configuration):
        if step.end < len(mechanism.configurations):
            with suppress(PlanningError):
                rest = _path_at_rest(mechanism, state_after(wider, start, step), end)
                candidates.append([step, *rest])
    usual = _solve_kinds(mechanism)
    room = len(_motion_kinds(approach.transitions) - usual)
    allowed = [steps for steps in candidates if len(_motion_kinds(steps) - usual) <= room]
    allowed.append([*approach.transitions, *_path_at_rest(mechanism, approach.end, end)])
    return tuple(min(allowed, key=lambda steps: sum(weight_of(step) for step in steps)))


def bound_with_approach(bound_us: int | None, approach: Plan) -> int | None:
    """Convert a bound proven for plans from the approach's rest to one for plans from its start.

    Another path may lead to a better rest. But the robot can also get there from this rest by going
    back first, so a plan saves at most the time of that path back.
    """
    nodes = np.array([node_of(approach.end)]), np.array([node_of(approach.start)])
    back = path_closure(approach.mechanism).weights_between(*nodes).item()
    return None if bound_us is None or back >= FAR else max(0, bound_us - back // CALM)


def _path_at_rest(mechanism: Mechanism, start: State, end: State) -> list[Transition]:
    return path(path_closure(mechanism), node_of(start), node_of(end))


def _motion_kinds(steps: Iterable[Transition]) -> set[MotionKind]:
    return {
        (motion.actuator, motion.start, motion.end, motion.quarters, motion.held)
        for step in steps
        for motion in step.motions
    }


@lru_cache(maxsize=8)
def _solve_kinds(mechanism: Mechanism) -> set[MotionKind]:
    return _motion_kinds(mechanism.transitions)
