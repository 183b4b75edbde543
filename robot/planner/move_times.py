"""Times of a plan's moves: the end of each, and their total if performed one at a time.

``move_ends_us`` is the only count of moves, and all displays use it.

A plan looks ahead: it ends a turn in a state from which the next one can begin soon. A greedy robot
performs each move in the fastest way from the state after the one before, and ignores the next
(``greedy_us``). The difference is the time that planning saves; the moves are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

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
from solver.cost import AXES, composite_index, merge_moves
from solver.cube.notation import Move, parse_moves
from solver.cube.orientation import Orientation
from solver.files import JsonMapping

_Turn = tuple[Move, int]
"""A turn of layers in the cube's frame, and its end in us."""


def move_ends_us(
    operations: Sequence[JsonMapping], orientation: str, moves: Sequence[str]
) -> list[int]:
    """Return the end of each move's last turn, in order; none is before that of the move before.

    ``moves`` are merged: a half turn that the robot makes in two quarters is one move, and moves of
    one axis may be done in any order. If the turns cannot be matched to the moves (several turns
    make up a wide one), the moves share the turns evenly.
    """
    turns = list(_turns(operations, orientation))
    if not turns:
        end = max((_end_us(each) for each in operations), default=0)
        return [end] * len(moves)
    found: list[tuple[str, int]] = []
    for _, same_axis in groupby(turns, key=lambda turn: turn[0].axis):
        run = list(same_axis)
        ends = {_layers(str(move)): end for move, end in run}
        found += [(name, ends[_layers(name)]) for name in merge_moves(str(m) for m, _ in run)]
    if [name for name, _ in found] == list(moves):
        return list(accumulate((end for _, end in found), max))
    count = len(moves)
    return [turns[max(0, number * len(turns) // count - 1)][1] for number in range(1, count + 1)]


def _turns(operations: Sequence[JsonMapping], orientation: str) -> list[_Turn]:
    held = Orientation.named(orientation)
    found = []
    for operation in operations:
        if operation["op"] == "rotate":
            held = held.rotated(operation["axis"], operation["quarter_turns"])
        elif operation["op"] == "turn":
            face, layers = held.face_at(operation["site"]), operation.get("layers", 1)
            move = Move(face, operation["quarter_turns"] % 4, 1, layers)
            found.append((move, _end_us(operation)))
    return found


def _layers(move: str) -> str:
    return move.rstrip("2'")


def _end_us(operation: JsonMapping) -> int:
    return int(operation["start_us"] + operation["duration_us"])


def greedy_us(mechanism: Mechanism, start: State, moves: Sequence[str]) -> int:
    """Return the microseconds that ``moves`` take one at a time from ``start``.

    Raise :class:`robot.planner.retrace.PlanningError` if the mechanism cannot perform one of them.
    """
    approach = plan_approach(mechanism, start)
    parsed = parse_moves(" ".join(moves))
    perform = _blocks_us if mechanism.size in LAYERED_SIZES else _composites_us
    return approach.duration_us + perform(mechanism, approach.end, parsed)


def _composites_us(mechanism: Mechanism, start: State, moves: Sequence[Move]) -> int:
    """Return the time of outer turns, by the compiled tables only: the robot may be waiting."""
    tables = compile_mechanism(mechanism)
    node, time_us = node_of(start), 0
    for move in _name_by_three_faces(moves) if mechanism.size == 2 else moves:
        quarters = [move.quarters if face == move.face else 0 for face in AXES[move.axis]]
        composite = composite_index(move.axis, *quarters)
        (end,) = best_ends(tables, node, [composite])
        axis, column = divmod(composite, 15)
        time_us += int(tables.rows[axis][node, column, tables.nodes[axis] == end].min()) // CALM
        node = end
    return time_us + int(residual_motion_us(mechanism, np.array([node])).sum()) * bool(moves)


def _name_by_three_faces(moves: Sequence[Move]) -> Iterator[Move]:
    """Yield the turns of U, R and F that change a 2x2x2 as ``moves`` do.

    Turning D turns U the same way and then the whole cube about D, so ``D R`` is ``U F``: the
    faces of later moves are renamed.
    """
    held = Orientation(0)
    for move in moves:
        face, axis = held.face_at(move.face), AXES[move.axis]
        first = next(pair[0] for pair in AXES if face in pair)
        if face != first:
            is_first = move.face == axis[0]
            held = held.rotated("yxz"[move.axis], move.quarters if is_first else -move.quarters)
        yield Move(first, move.quarters)


def _blocks_us(mechanism: Mechanism, start: State, moves: Sequence[Move]) -> int:
    """Return the time of turns of any number of layers."""
    turns = block_turns(mechanism)
    state, steps = start, list[Transition]()
    for move in moves:
        plan = turns.start(state).plan([move])
        steps += plan.transitions
        state = plan.end
    return make_plan(mechanism, start, steps).duration_us
