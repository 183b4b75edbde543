"""Move sequences as people write them: ``R U2 F' Rw 3Rw2 2R x y z M E S``.

WCA notation for any size, with three additions in common use: a digit before a plain face turns
that inner slice alone (``2R``), small letters are wide turns (``r`` is ``Rw``), and M E S are the
middle slices of an odd cube, following L, D and F. Sequences are read left to right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from solver.cube.facelets import FACES, OPPOSITE, face_towards, rotation, vector
from solver.errors import BadNotation, shortened

MOST_MOVES = 20_000
"""Of a sequence that somebody wrote: performing them takes less than a second."""

METRICS = ("htm", "qtm", "axial", "axial-qtm")
"""Ways to count a sequence on cubes of any size; see :func:`length`."""

LAYERED_METRICS = ("obtm", *METRICS)
"""Ways to count a sequence on cubes of 4 and more layers."""

AXIS_FACE = {"x": "R", "y": "U", "z": "F"}
"""The face whose clockwise turn a whole-cube rotation follows."""

SLICE_FACE = {"M": "L", "E": "D", "S": "F"}
"""The face whose clockwise turn a middle slice follows."""

_AXIS = dict(zip("URFDLB", (0, 1, 2, 0, 1, 2), strict=True))
_QUARTERS = {"": 1, "2": 2, "'": 3, "2'": 2, "3": 3}
_SUFFIX = {1: "", 2: "2", 3: "'"}
_TOKEN = re.compile(r"([0-9]{0,3})([URFDLBurfdlbMESxyz])(w?)((?:2'|2|'|3)?)")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "′": "'"})


@dataclass(frozen=True, slots=True)
class Move:
    """Layers ``first``..``last`` counted from ``face``, turned ``quarters`` (1..3) clockwise.

    Layer 1 is outermost. ``last`` 0 means through to the opposite face (the whole cube turns when
    ``first`` is 1); ``first`` 0 means the middle layer, whatever the size.
    """

    face: str
    quarters: int = 1
    first: int = 1
    last: int = 1

    @property
    def axis(self) -> int:
        """0 for U and D, 1 for R and L, 2 for F and B."""
        return _AXIS[self.face]

    @property
    def quarter_turns(self) -> int:
        """Number of quarter turns this is worth: 1 or 2."""
        return 2 if self.quarters == 2 else 1

    @property
    def is_rotation(self) -> bool:
        """True if this turns the whole cube, on a cube of any size."""
        return self.first == 1 and self.last == 0

    @property
    def inverse(self) -> Move:
        """The move that takes this one back."""
        return Move(self.face, 4 - self.quarters, self.first, self.last)

    def layers(self, size: int) -> tuple[int, int]:
        """First and last layer turned on a cube of ``size``; BadNotation where there are none."""
        if self.first == 0:
            if size % 2 == 0:
                raise BadNotation(f"{self} needs a cube with a middle layer, not size {size}.")
            return (size + 1) // 2, (size + 1) // 2
        last = self.last or size
        if last > size:
            raise BadNotation(f"{self} turns layer {last}, but the cube has only {size}.")
        return self.first, last

    def __str__(self) -> str:
        return _stem(self) + _SUFFIX[self.quarters]


def _stem(move: Move) -> str:
    if move.first == 0:
        return next(name for name, face in SLICE_FACE.items() if face == move.face)
    if move.is_rotation:
        return next(name for name, face in AXIS_FACE.items() if face == move.face)
    if move.first > 1:
        return f"{move.first}{move.face}"
    if move.last == 1:
        return move.face
    return f"{'' if move.last == 2 else move.last}{move.face}w"


def signed_quarters(text: str) -> str:
    """Write moves of WCA notation in SiGN, whose wide turns are small: ``3Rw`` is ``3r``."""
    return re.sub("([URFDLB])w", lambda wide: wide[1].lower(), text)


def parse_moves(text: str) -> tuple[Move, ...]:
    """The moves of ``text``, at most :data:`MOST_MOVES`; spaces are optional.

    BadNotation says which character was wrong.
    """
    moves = tuple(islice(_tokens(text.translate(_APOSTROPHES)), MOST_MOVES + 1))
    if len(moves) > MOST_MOVES:
        raise BadNotation(f"more than {MOST_MOVES:,} moves; a shorter sequence does the same")
    return moves


def _tokens(text: str) -> Iterator[Move]:
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise _not_a_move(text, at)
        yield _move(match, text)
        at = match.end()


def _move(match: re.Match[str], text: str) -> Move:
    count, letter, wide, suffix = match.groups()
    quarters = _QUARTERS[suffix]
    if letter in "xyzMES":
        if count or wide:
            raise _not_a_move(text, match.start())
        face = AXIS_FACE.get(letter) or SLICE_FACE[letter]
        return Move(face, quarters, 1, 0) if letter in AXIS_FACE else Move(face, quarters, 0, 0)
    depth = int(count) if count else 0
    if count and depth < 1:
        raise _not_a_move(text, match.start())
    if wide or letter.islower():
        return Move(letter.upper(), quarters, 1, depth or 2)
    return Move(letter, quarters, depth or 1, depth or 1)


def _not_a_move(text: str, at: int) -> BadNotation:
    word = shortened(text[at:].split(maxsplit=1)[0])
    return BadNotation(
        f"'{word}' at character {at + 1} is not a move; moves are U R F D L B with an optional"
        " 2 or ', wide Rw or 3Rw, slices 2R M E S, rotations x y z."
    )


def face_turns(moves: Iterable[Move]) -> tuple[Move, ...]:
    """The same turns of a 3x3x3 as turns of its six faces, named by their centres.

    Rotations vanish into the naming of what follows: ``x U`` becomes ``F``, ``M`` becomes ``R L'``.
    """
    held = rotation("U", 0)
    turns: list[Move] = []
    for move in moves:
        for part in _outer_parts(move):
            if part.is_rotation:
                held = rotation(part.face, part.quarters) @ held
            else:
                turns.append(Move(face_towards(held.T @ vector(part.face)), part.quarters))
    return tuple(turns)


def _outer_parts(move: Move) -> tuple[Move, ...]:
    """A 3x3x3 move as outer turns and rotations in the frame of the person turning."""
    face, quarters = move.face, move.quarters
    same = Move(OPPOSITE[face], quarters)
    whole = Move(face, quarters, 1, 0)
    parts: dict[tuple[int, int], tuple[Move, ...]] = {
        (1, 1): (Move(face, quarters),),
        (1, 2): (same, whole),
        (1, 3): (whole,),
        (2, 2): (Move(face, 4 - quarters), same, whole),
        (3, 3): (Move(OPPOSITE[face], 4 - quarters),),
    }
    return parts[move.layers(3)]


def length(moves: Iterable[Move], metric: str = "htm", size: int = 3) -> int:
    """The length of ``moves`` in one of :data:`LAYERED_METRICS` on a cube of ``size``.

    ``htm``: a turn is 1, a rotation 0; the middle slice of a 3x3x3 is two turns of faces, other
    inner slices are 1. ``qtm``: a half turn counts twice.
    ``axial``: turns about one axis that follow one another count once together. ``axial-qtm``: such
    a group counts as its longest turn in quarters (``R2 L`` is 2). ``obtm`` (outer block turns):
    1 for up to ``size - 1`` layers from the outside, 2 for inner layers alone, 0 for a rotation.
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
    """Moves named by the axes before any rotation, whole-cube blocks as rotations."""
    held = rotation("U", 0)
    for move in moves:
        if move.layers(size) == (1, size):
            held = rotation(move.face, move.quarters) @ held
            yield Move(move.face, move.quarters, 1, 0)
        else:
            face = face_towards(held.T @ vector(move.face))
            yield Move(face, move.quarters, move.first, move.last)


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


FACE_TURNS = tuple(Move(face, quarters) for face in FACES for quarters in (1, 2, 3))
"""Moves by number; the first nine are those of the 2x2x2 with its corner DLB at rest."""


def moves_of(turns: Iterable[int]) -> tuple[Move, ...]:
    """The moves with those numbers, equal quarter turns in a row joined to half turns."""
    return join_half_turns(FACE_TURNS[turn] for turn in turns)


def join_half_turns(moves: Iterable[Move]) -> tuple[Move, ...]:
    """The moves with equal quarter turns in a row as half turns."""
    done: list[Move] = []
    for move in moves:
        if done and done[-1] == move and move.quarters != 2:
            done[-1] = replace(move, quarters=2)
        else:
            done.append(move)
    return tuple(done)
