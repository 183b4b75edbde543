"""Move sequences as people write them: ``R U2 F' Rw 3Rw2 2R x y z M E S (R U)3 [F: [R, U]]``.

WCA notation for any size, read from left to right, with other forms that are in common use:

- a digit before a plain face turns that inner slice alone (``2R``), a range before a wide turn
  those layers (``2-4Rw``), small letters are wide turns (``r`` is ``Rw``), and M E S are the middle
  slices of an odd cube, following L, D and F;
- ``R1 R2 R3`` are one, two and three quarter turns, ``Ri`` is ``R'``, and apostrophes and
  superscript digits may be any that keyboards or documents have;
- ``(R U)3`` repeats, ``(R U)'`` inverts, ``[A, B]`` is ``A B A' B'``, ``[A: B]`` is ``A B A'``;
- ``^(R U)`` are moves on the inverse cube (NISS): inverted, they follow all other moves;
- commas between moves and ``//`` with the rest of the line are skipped.

Blanks are optional. Without them, a digit may belong to the move before it or to the one after it:
``U3Rw`` is ``U3 Rw`` or ``U 3Rw``. If both make sense on the given cube, the text is rejected. Up
to 3 layers, the digit belongs to the move before it if the whole text can be read like that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from solver.cube.facelets import FACES, OPPOSITE, face_towards, rotation, vector
from solver.errors import BadNotation, shortened

MOST_MOVES = 20_000
"""Maximum moves of a sequence that somebody wrote: performing them takes less than a second."""

AXIS_FACE = {"x": "R", "y": "U", "z": "F"}
"""The face whose clockwise turn a whole-cube rotation follows."""

SLICE_FACE = {"M": "L", "E": "D", "S": "F"}
"""The face whose clockwise turn a middle slice follows."""

_AXIS = dict(zip("URFDLB", (0, 1, 2, 0, 1, 2), strict=True))
_SUFFIX = {1: "", 2: "2", 3: "'"}
_MOST_NESTED = 50
"""Maximum depth of nested brackets; nobody writes so many."""

_LIKE_ASCII = str.maketrans(
    {
        **dict.fromkeys("’‘`´′ʼʹ‛＇", "'"),
        **dict(zip("¹²³", "123", strict=True)),
        **dict.fromkeys("\ufeff\u200b", " "),
        "×": "*",
    }
)
_MOVE = re.compile(
    r"(?P<layers>[0-9]{1,3}(?:-[0-9]{1,3})?)?(?P<letter>[URFDLBurfdlbMESxyz])(?P<wide>w?)"
)
_ENDINGS = tuple(map(re.compile, ("", "['i]", "[123]", "[123]['i]", "'[123]")))
_LONGEST_WORD = len("100-200Rw2'")
_RUN = re.compile(r"[0-9A-Za-z'-]+")
_TIMES_OR_ROTATION = re.compile(r"x[0-9]|\s+x[3-9]")
_AFTER_GROUP = re.compile(r"(?P<back>'?)(?:\*?(?P<times>[0-9]{1,6}))?(?P<back_too>'?)")
_LAYERS = re.compile("[0-9-]*[URFDLBurfdlb]")


@dataclass(frozen=True, slots=True)
class Move:
    """Layers ``first``..``last`` counted from ``face``, turned ``quarters`` (1..3) clockwise.

    Layer 1 is outermost. ``last`` 0 means through to the opposite face (the whole cube turns if
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
        """The number of quarter turns that this is worth: 1 or 2."""
        return 2 if self.quarters == 2 else 1

    @property
    def is_rotation(self) -> bool:
        """True if this turns the whole cube, on a cube of any size."""
        return self.first == 1 and self.last == 0

    @property
    def inverse(self) -> Move:
        """The move that undoes this one."""
        return Move(self.face, 4 - self.quarters, self.first, self.last)

    def layers(self, size: int) -> tuple[int, int]:
        """Return the first and last layer turned; BadNotation if a cube of ``size`` lacks them."""
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
        alone = move.first == move.last
        return f"{move.first}{move.face}" if alone else f"{move.first}-{move.last}{move.face}w"
    if move.last == 1:
        return move.face
    return f"{'' if move.last == 2 else move.last}{move.face}w"


def signed_quarters(text: str) -> str:
    """Write moves of WCA notation in SiGN, whose wide turns are small: ``3Rw`` is ``3r``."""
    return re.sub("([URFDLB])w", lambda wide: wide[1].lower(), text)


def parse_moves(text: str, size: int = 3) -> tuple[Move, ...]:
    """Return the moves of ``text``, written for a cube of ``size``; at most :data:`MOST_MOVES`.

    Raises BadNotation with the wrong character, or with both readings of an ambiguous digit.
    """
    words = text.split()
    if len(words) <= MOST_MOVES and all(word in _FACE_TURNS for word in words):
        return tuple(_FACE_TURNS[word] for word in words)
    return tuple(_Sequence(text.translate(_LIKE_ASCII), size).read())


Moves = list[Move]


class _Sequence:
    """A reader of one text from left to right; ``_at`` is the next character."""

    def __init__(self, text: str, size: int) -> None:
        self._text = text
        self._size = size
        self._at = 0
        self._on_inverse: Moves = []

    def read(self) -> Moves:
        moves = self._moves_until("", 0)
        return _check_length(moves + _take_back(self._on_inverse))

    def _moves_until(self, ends: str, depth: int) -> Moves:
        """Return the moves before the next of the characters ``ends``, or before the text's end."""
        moves: Moves = []
        while (character := self._skip(commas="," not in ends)) and character not in ends:
            moves += self._next(character, depth)
            _check_length(moves)
        return moves

    def _skip(self, *, commas: bool) -> str:
        """Skip blanks and comments; return the next character, empty at the end."""
        text = self._text
        while self._at < len(text):
            if text.startswith("//", self._at):
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif text[self._at].isspace() or (commas and text[self._at] == ","):
                self._at += 1
            else:
                return text[self._at]
        return ""

    def _next(self, character: str, depth: int) -> Moves:
        if depth == _MOST_NESTED:
            raise BadNotation(f"more than {_MOST_NESTED} nested brackets")
        if character == "(":
            return self._group(depth)
        if character == "[":
            return self._pair(depth)
        if character == "^" and depth == 0 and self._text.startswith("(", self._at + 1):
            self._at += 1
            self._on_inverse += self._group(depth)
            return []
        return self._run()

    def _group(self, depth: int) -> Moves:
        opened = self._at
        self._at += 1
        moves = self._moves_until(")", depth + 1)
        self._close(")", opened)
        return self._repeat(moves)

    def _pair(self, depth: int) -> Moves:
        """Read ``[A, B]`` or ``[A: B]``."""
        opened = self._at
        self._at += 1
        first = self._moves_until(",:]", depth + 1)
        separator = self._skip(commas=False)
        if separator not in (",", ":"):
            raise BadNotation(
                f"the bracket at character {opened + 1} is neither [A, B] nor [A: B]: it has no"
                " comma and no colon"
            )
        self._at += 1
        second = self._moves_until(",:]", depth + 1)
        if self._skip(commas=False) in (",", ":"):
            raise BadNotation(
                f"the bracket at character {opened + 1} has more than two parts: write a "
                "commutator within another one as [F: [R, U]], and put spaces, not commas, "
                "between moves"
            )
        self._close("]", opened)
        moves = first + second + _take_back(first)
        return self._repeat(moves + _take_back(second) if separator == "," else moves)

    def _close(self, bracket: str, opened: int) -> None:
        if self._skip(commas=True) != bracket:
            raise BadNotation(f"the bracket at character {opened + 1} is not closed by '{bracket}'")
        self._at += 1

    def _repeat(self, moves: Moves) -> Moves:
        """Return the moves of a bracket, repeated and inverted as the text after it says."""
        if _TIMES_OR_ROTATION.match(self._text, self._at):
            raise BadNotation(
                f"'x' after the bracket at character {self._at + 1} may be a rotation or "
                "'times': write (R U)3 to repeat, and a space before a rotation"
            )
        match = _AFTER_GROUP.match(self._text, self._at)
        assert match is not None
        if match["times"] and (self._size > 3 or match["back"]):
            self._refuse_digit(match)
        times = int(match["times"] or 1)
        if times == 0 or (match["back"] and match["back_too"]):
            raise _not_a_move(self._text, self._at)
        _check_length(moves, times)
        self._at = match.end()
        return (_take_back(moves) if match["back"] or match["back_too"] else moves) * times

    def _refuse_digit(self, match: re.Match[str]) -> None:
        """Raise BadNotation if the digits after a bracket may belong to the move after them."""
        move = _LAYERS.match(self._text, match.end("times"))
        if move and not match["back_too"]:
            digits = match["times"]
            raise BadNotation(
                f"'{digits}{move[0]}' after the bracket at character {self._at + 1} may be "
                f"'{digits} {move[0]}' or the move '{digits}{move[0]}': put a space there"
            )

    def _run(self) -> Moves:
        """Read moves written without a blank between them."""
        match = _RUN.match(self._text, self._at)
        run = match[0] if match else ""
        readings = _readings(run, self._size)
        if not run or not readings:
            raise _not_a_move(self._text, self._at + _readable(run, self._size))
        if len(readings) > 1:
            one, other = (shortened(" ".join(words)) for words in readings)
            raise BadNotation(
                f"'{shortened(run)}' at character {self._at + 1} may be '{one}' or '{other}': "
                "put a space between the moves"
            )
        self._at += len(run)
        return [_move(word) for word in readings[0]]


def _check_length(moves: Moves, times: int = 1) -> Moves:
    if len(moves) * times > MOST_MOVES:
        raise _too_long()
    return moves


def _too_long() -> BadNotation:
    return BadNotation(f"more than {MOST_MOVES:,} moves; a shorter sequence does the same")


def _take_back(moves: Moves) -> Moves:
    return [move.inverse for move in reversed(moves)]


@dataclass(frozen=True, slots=True)
class _Reading:
    """One division of a run of characters into moves, from some position to the run's end."""

    word: str
    rest: _Reading | None
    slices: int
    """Number of moves with layer numbers that begin right after another move."""

    def words(self) -> list[str]:
        found: list[str] = []
        reading: _Reading | None = self
        while reading is not None and reading.word:
            found.append(reading.word)
            reading = reading.rest
        return found


def _readings(run: str, size: int) -> list[list[str]]:
    """Return the words of ``run``, in two readings if its digits are ambiguous.

    It is read backwards: ``best[at]`` holds at most two readings of the rest from there, the one
    with fewer moves of inner layers first. ``U3Rw`` has two at its beginning, as ``Rw`` and ``3Rw``
    are both moves, and ``U3`` and ``U`` lead to them.
    """
    if len(run) > MOST_MOVES * _LONGEST_WORD:
        raise _too_long()
    best: list[list[_Reading]] = [[] for _ in run] + [[_Reading("", None, 0)]]
    for at in range(len(run) - 1, -1, -1):
        found = [
            _Reading(run[at:end], rest, rest.slices + (at > 0 and run[at].isdigit()))
            for end in _word_ends(run, at, size)
            for rest in best[end]
        ]
        best[at] = sorted(found, key=lambda reading: reading.slices)[:2]
    readings = [reading.words() for reading in best[0]]
    if len(readings) > 1 and (size <= 3 or _counts_quarters(readings[0])):
        return readings[:1]
    return readings


def _word_ends(run: str, at: int, size: int) -> Iterator[int]:
    """Yield the positions at which a move that begins at ``at`` may end."""
    match = _MOVE.match(run, at)
    if match is None or not _is_block(match) or (at > 0 and _last_layer(match) > size):
        return
    endings = {
        ending.end() for ending in (one.match(run, match.end()) for one in _ENDINGS) if ending
    }
    yield from endings


def _is_block(match: re.Match[str]) -> bool:
    """Return whether layers, letter and ``w`` make sense together."""
    layers, letter, wide = match.group("layers", "letter", "wide")
    if letter in "xyzMES":
        return not layers and not wide
    if not layers:
        return True
    first, _, last = layers.partition("-")
    if last:
        return 1 <= int(first) < int(last) and bool(wide or letter.islower())
    return int(first) >= 1


def _last_layer(match: re.Match[str]) -> int:
    layers = match["layers"]
    return int(layers.rpartition("-")[2]) if layers else 1


def _counts_quarters(words: list[str]) -> bool:
    """Return whether ``words`` are like ``F3 R1 U3 D3 B1``: all with a number of quarter turns."""
    return all(word[-1] in "123" for word in words) and any(word[-1] == "1" for word in words)


def _readable(run: str, size: int) -> int:
    """Return the maximum number of characters from the start of ``run`` that are moves."""
    reached = {0}
    for at in range(len(run)):
        if at in reached:
            reached.update(_word_ends(run, at, size))
    return max(reached)


def _move(word: str) -> Move:
    match = _MOVE.match(word)
    assert match is not None
    layers, letter, wide = match.group("layers", "letter", "wide")
    ending = word[match.end() :]
    quarters = int(ending.strip("'i") or 1)
    if "'" in ending or "i" in ending:
        quarters = 4 - quarters
    if letter in AXIS_FACE:
        return Move(AXIS_FACE[letter], quarters, 1, 0)
    if letter in SLICE_FACE:
        return Move(SLICE_FACE[letter], quarters, 0, 0)
    first, _, last = (layers or "").partition("-")
    if last:
        return Move(letter.upper(), quarters, int(first), int(last))
    if wide or letter.islower():
        return Move(letter.upper(), quarters, 1, int(first or 2))
    return Move(letter, quarters, int(first or 1), int(first or 1))


def _not_a_move(text: str, at: int) -> BadNotation:
    word = shortened(text[at:].split(maxsplit=1)[0])
    return BadNotation(
        f"'{word}' at character {at + 1} is not a move; moves are U R F D L B with an optional"
        " 2 or ', wide Rw or 3Rw, slices 2R M E S, rotations x y z, and (R U)3 or [R, U] of them."
    )


def face_turns(moves: Iterable[Move]) -> tuple[Move, ...]:
    """Return the turns of a 3x3x3 as turns of its six faces, named by their centres.

    Rotations only rename the moves after them: ``x U`` becomes ``F``, ``M`` becomes ``R L'``.
    """
    held = AT_HOME
    turns: list[Move] = []
    for move in moves:
        for part in _outer_parts(move):
            if part.is_rotation:
                held = turn_whole(held, part)
            else:
                turns.append(Move(held[part.face], part.quarters))
    return tuple(turns)


Held = Mapping[str, str]
"""The face of the cube at each of six sites."""

AT_HOME: Held = {face: face for face in FACES}
"""Every face at its own site."""


def turn_whole(held: Held, move: Move) -> Held:
    """Return the faces at the sites after a rotation of the whole cube, which was ``held``."""
    return {site: held[origin] for site, origin in _origins(move.face, move.quarters).items()}


@cache
def _origins(face: str, quarters: int) -> Held:
    """Return the site from which a rotation brings a face to each site."""
    back = rotation(face, -quarters)
    return {site: face_towards(back @ vector(site)) for site in FACES}


@cache
def _outer_parts(move: Move) -> tuple[Move, ...]:
    """Return a 3x3x3 move as outer turns and rotations, in the frame of the person who turns."""
    face, quarters = move.face, move.quarters
    same = Move(OPPOSITE[face], quarters)
    whole = Move(face, quarters, 1, 0)
    parts: dict[tuple[int, int], tuple[Move, ...]] = {
        (1, 1): (Move(face, quarters),),
        (1, 2): (same, whole),
        (1, 3): (whole,),
        (2, 2): (Move(face, 4 - quarters), same, whole),
        (2, 3): (Move(face, 4 - quarters), whole),
        (3, 3): (Move(OPPOSITE[face], 4 - quarters),),
    }
    return parts[move.layers(3)]


FACE_TURNS = tuple(Move(face, quarters) for face in FACES for quarters in (1, 2, 3))
"""Moves by number; the first nine are those of the 2x2x2 with its corner DLB fixed."""

_FACE_TURNS = {str(move): move for move in FACE_TURNS}


def moves_of(turns: Iterable[int]) -> tuple[Move, ...]:
    """Return the moves with these numbers; equal quarter turns in a row become half turns."""
    return join_half_turns(FACE_TURNS[turn] for turn in turns)


def join_half_turns(moves: Iterable[Move]) -> tuple[Move, ...]:
    """Return the moves with equal quarter turns in a row as half turns."""
    done: list[Move] = []
    for move in moves:
        if done and done[-1] == move and move.quarters != 2:
            done[-1] = replace(move, quarters=2)
        else:
            done.append(move)
    return tuple(done)
