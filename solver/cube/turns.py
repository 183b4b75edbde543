"""Face turns by number, as the kernel's searches give them: U U2 U' R R2 R' F ... B' are 0..17."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from solver.cube.facelets import FACES
from solver.cube.notation import Move

FACE_TURNS = tuple(Move(face, quarters) for face in FACES for quarters in (1, 2, 3))
"""Moves by number; the first nine are those of the 2x2x2 with its corner DLB at rest."""


def moves_of(turns: Iterable[int]) -> tuple[Move, ...]:
    """The moves with those numbers, equal quarter turns in a row joined to half turns."""
    return joined(FACE_TURNS[turn] for turn in turns)


def joined(moves: Iterable[Move]) -> tuple[Move, ...]:
    """The moves with equal quarter turns in a row as half turns."""
    done: list[Move] = []
    for move in moves:
        if done and done[-1] == move and move.quarters != 2:
            done[-1] = replace(move, quarters=2)
        else:
            done.append(move)
    return tuple(done)
