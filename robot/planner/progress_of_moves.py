"""When each move of a plan is done: the one count of moves, for everybody who shows them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby

from solver.cost import merged_moves
from solver.cube.notation import Move
from solver.cube.orientation import Orientation
from solver.files import JsonMapping

_Turn = tuple[Move, int]
"""A turn of layers, as the cube sees it, and when it ends in us."""


def move_ends_us(
    operations: Sequence[JsonMapping], orientation: str, moves: Sequence[str]
) -> list[int]:
    """Return when the last turn of each of ``moves`` ends; never before that of the move before.

    ``moves`` are merged: a half turn that the robot makes by two quarters is one of them, and
    those of one axis may be done in any order. Where turns cannot be told apart as these moves
    (several turns that make a wide one), the moves share the turns evenly.
    """
    turns = list(_turns(operations, orientation))
    if not turns:
        end = max((_end_us(each) for each in operations), default=0)
        return [end] * len(moves)
    found: list[tuple[str, int]] = []
    for _, same_axis in groupby(turns, key=lambda turn: turn[0].axis):
        run = list(same_axis)
        ends = {_layers(str(move)): end for move, end in run}
        found += [(name, ends[_layers(name)]) for name in merged_moves(str(m) for m, _ in run)]
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
