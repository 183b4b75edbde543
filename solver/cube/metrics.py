"""The length of a sequence of moves, in the metrics that people and robots count in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from solver.cube.notation import AT_HOME, Move, turn_whole
from solver.errors import BadNotation

METRICS = ("htm", "qtm", "axial", "axial-qtm")
"""Metrics for cubes of any size; see :func:`length`."""

LAYERED_METRICS = ("obtm", *METRICS)
"""Metrics for cubes of 4 and more layers."""


def length(moves: Iterable[Move], metric: str = "htm", size: int = 3) -> int:
    """Return the length of ``moves`` in one of :data:`LAYERED_METRICS` on a cube of ``size``.

    ``htm``: a turn is 1, a rotation 0; the middle slice of a 3x3x3 is two turns of faces, other
    inner slices are 1. ``qtm``: a half turn counts twice. ``axial``: consecutive turns about one
    axis count as one. ``axial-qtm``: such a group counts as its longest turn in quarters (``R2 L``
    is 2). ``obtm`` (outer block turns): 1 for up to ``size - 1`` layers from the outside, 2 for
    inner layers alone, 0 for a rotation.
    """
    turns = [move for move in _name_by_start(moves, size) if not move.is_rotation]
    if metric == "htm":
        return sum(_weight(move, size) for move in turns)
    if metric == "qtm":
        return sum(_weight(move, size) * move.quarter_turns for move in turns)
    if metric == "obtm":
        return sum(1 if _is_outer(move, size) else 2 for move in turns)
    groups = _axis_groups(turns)
    if metric == "axial":
        return len(groups)
    if metric == "axial-qtm":
        return sum(map(_longest_turn, groups))
    raise BadNotation(f"'{metric}' is not a metric; use one of {', '.join(LAYERED_METRICS)}.")


def _name_by_start(moves: Iterable[Move], size: int) -> Iterator[Move]:
    """Yield moves named by the axes before any rotation, whole-cube blocks as rotations."""
    held = AT_HOME
    for move in moves:
        if move.layers(size) == (1, size):
            held = turn_whole(held, move)
            yield Move(move.face, move.quarters, 1, 0)
        else:
            yield Move(held[move.face], move.quarters, move.first, move.last)


def _weight(move: Move, size: int) -> int:
    first, last = move.layers(size)
    is_middle_slice = size == 3 and first == last == 2
    return 2 if is_middle_slice else 1


def _is_outer(move: Move, size: int) -> bool:
    first, last = move.layers(size)
    return first == 1 or last == size


def _axis_groups(turns: Iterable[Move]) -> list[list[Move]]:
    groups: list[list[Move]] = []
    for move in turns:
        if groups and groups[-1][0].axis == move.axis:
            groups[-1].append(move)
        else:
            groups.append([move])
    return groups


def _longest_turn(group: list[Move]) -> int:
    totals: dict[tuple[str, int, int], int] = {}
    for move in group:
        block = (move.face, move.first, move.last)
        totals[block] = totals.get(block, 0) + move.quarter_turns
    return max(totals.values())
