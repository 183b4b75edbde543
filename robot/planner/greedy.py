"""What the moves of a plan take when each is done the fastest way by itself.

A plan looks ahead: it ends a turn where the next one begins soon. A greedy robot performs each
move the fastest way from where the one before has left the mechanism, and never thinks of the next.
The difference is what planning saves; the moves are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot.mechanism.compile.cost_model import (
    compile_mechanism,
    node_of,
    residual_motion_us,
)
from robot.mechanism.graph import CALM, Mechanism, State, Transition
from robot.planner.approach import plan_approach
from robot.planner.block_turns import block_turns
from robot.planner.plan import make_plan
from robot.planner.retrace import best_ends
from robot.planner.solve import LAYERED_SIZES
from solver.cost import AXES, composite_index
from solver.cube.notation import Move, parse_moves


def greedy_us(mechanism: Mechanism, start: State, moves: Sequence[str]) -> int:
    """Microseconds of ``moves``, one at a time, from ``start`` on.

    Raises ``PlanningError`` when the mechanism cannot perform one of them.
    """
    approach = plan_approach(mechanism, start)
    parsed = parse_moves(" ".join(moves))
    perform = _blocks_us if mechanism.size in LAYERED_SIZES else _composites_us
    return approach.duration_us + perform(mechanism, approach.end, parsed)


def _composites_us(mechanism: Mechanism, start: State, moves: Sequence[Move]) -> int:
    """Of outer layers, by the compiled tables alone: the robot may be waiting."""
    tables = compile_mechanism(mechanism)
    node, time_us = node_of(start), 0
    for move in moves:
        quarters = [move.quarters if face == move.face else 0 for face in AXES[move.axis]]
        composite = composite_index(move.axis, *quarters)
        (end,) = best_ends(tables, node, [composite])
        axis, column = divmod(composite, 15)
        time_us += int(tables.rows[axis][node, column, tables.nodes[axis] == end].min()) // CALM
        node = end
    return time_us + int(residual_motion_us(mechanism, np.array([node])).sum()) * bool(moves)


def _blocks_us(mechanism: Mechanism, start: State, moves: Sequence[Move]) -> int:
    """Of any number of layers."""
    turns = block_turns(mechanism)
    state, steps = start, list[Transition]()
    for move in moves:
        plan = turns.start(state).plan([move])
        steps += plan.transitions
        state = plan.end
    return make_plan(mechanism, start, steps).duration_us
