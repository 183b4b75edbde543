"""Cube states as people write them: facelets, colours, a net, Singmaster's words, or moves.

A cube may be held in any of 24 ways. It keeps the frame in which it was given: the cube to solve
has its faces named by the places at which they were given. So moves that solve it are moves in that
frame, and so is a robot's plan. The *scheme* is the letters at U R F D L B: the middle centres of
an odd cube; on an even one it follows from the corner at DLB.

Example: ``FFFFFFFFF UUUUUUUUU RRRRRRRRR BBBBBBBBB DDDDDDDDD LLLLLLLLL`` has the scheme FURBDL. Face
F is at U and face R at F: it is held ``FR``, and is solved.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations

from solver.cube import legality
from solver.cube.cube import SINGMASTER_SLOTS, AnyCube, Cube, from_facelets
from solver.cube.facelets import FACES, OPPOSITE
from solver.cube.legality import CORNERS
from solver.cube.notation import parse_moves
from solver.cube.orientation import Orientation, held_with
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, IllegalCube, shortened

SCRAMBLE = "--scramble"
"""The prefix of moves from the solved cube, in texts that may also be a state."""

UPRIGHT = Orientation(0)

_UNSEEN = str.maketrans(dict.fromkeys("\ufeff\u200b", " "))
_LINES = str.maketrans(dict.fromkeys("|+", " "))
"""Lines of a drawn net."""


@dataclass(frozen=True, slots=True)
class GivenCube:
    """A cube as somebody gave it."""

    cube: AnyCube
    """The cube to solve, its faces named by the places at which they were given."""
    facelets: str
    """The letters URFDLB as they were given; colours are named by their faces."""
    held: Orientation
    """The faces at U and F as given, by those letters."""
    colours: str = FACES
    """The letters that were given for the faces U R F D L B."""


def read_state(text: str, size: int | None = None) -> GivenCube:
    """Read a state in any notation that people use.

    ``text`` is facelets in the order of Kociemba's drawing, or as a net of U, L F R B and D; in
    letters URFDLB, or in any six letters of colours, small or capital, with blanks anywhere; or the
    20 Singmaster words of a 3x3x3; or ``--scramble`` and moves. Without ``size``, the number of
    facelets determines it; it is 3 if there are none. Raises BadNotation or IllegalCube.
    """
    moves = scramble_in(text)
    if moves is not None:
        return _recognize(StickerCube.solved(size or 3).apply(moves).letters, size or 3)
    text = text.translate(_UNSEEN).strip()
    size = size or _size_of(text)
    if size == 3 and are_cubies(text.split()):
        cube = Cube.from_singmaster(text.upper())
        return GivenCube(cube, cube.facelets(), UPRIGHT)
    letters = _join_rows(text.translate(_LINES), size).upper()
    try:
        if set(letters) <= set(FACES):
            return _recognize(letters, size)
        return _read_colours(letters, size)
    except BadNotation as error:
        if not _are_of_other_size(letters, size) and _are_moves(text, size):
            advice = f"If these are moves, write them after {SCRAMBLE}."
            raise BadNotation(f"{error} {advice}") from None
        raise


def scramble_in(text: str) -> str | None:
    """Return the moves after :data:`SCRAMBLE`, without quotes; None if the text is no scramble."""
    text = text.translate(_UNSEEN).strip()
    if text.split()[:1] != [SCRAMBLE]:
        return None
    return _strip_quotes(text.removeprefix(SCRAMBLE).strip())


def parse_state(text: str, size: int | None = None) -> AnyCube:
    """Read a state as :func:`read_state` does, and return only the cube."""
    return read_state(text, size).cube


def _recognize(letters: str, size: int) -> GivenCube:
    """Return the cube that looks like ``letters`` URFDLB."""
    cube = from_facelets(letters, size)
    held = legality.held_by_centres(letters, size) if size % 2 else _held_by_corner(letters, size)
    if size <= 3 and held != UPRIGHT:
        cube = from_facelets(letters.translate(str.maketrans(held.faces, FACES)), size)
    return GivenCube(cube, letters, held)


def _held_by_corner(letters: str, size: int) -> Orientation:
    """Return the orientation of a legal cube in which its corner at DLB is at home."""
    [word] = legality.words_of(letters, ("DLB",), size)
    held = held_with("".join(OPPOSITE[face] for face in word) + word)
    assert held is not None, "a legal cube has only corners of its own"
    return held


def _size_of(text: str) -> int:
    """Return the layers of the cube with as many facelets as ``text`` has letters, else 3.

    Six letters are a cube of one layer only if they are its faces: any word may have six letters.
    """
    count = len("".join(text.translate(_LINES).split()))
    size = legality.layers_of(count) or 3
    return 3 if size == 1 and sorted(text) != sorted(FACES) else size


def _are_of_other_size(letters: str, size: int) -> bool:
    """Return whether these are facelets of another size, which moves seldom look like."""
    return legality.layers_of(len(letters)) not in (None, 1, size) and set(letters) <= set(FACES)


def _are_moves(text: str, size: int) -> bool:
    try:
        return bool(parse_moves(text, size))
    except BadNotation:
        return False


def are_cubies(words: list[str]) -> bool:
    """Return whether these are Singmaster's words, not facelets, which may also be in groups."""
    lengths = {len(word) for word in words}
    if len(words) == len(SINGMASTER_SLOTS):
        return lengths <= {2, 3}
    return lengths == {2, 3} or (lengths == {2} and 2 * len(words) != 6 * 3 * 3)


def _strip_quotes(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


def _join_rows(text: str, size: int) -> str:
    """Return the letters in the order U R F D L B.

    A net has U and D above and below F, and B beside R or, upside down, below D.
    """
    rows = ["".join(line.split()) for line in text.splitlines() if line.strip()]
    lengths = [len(row) for row in rows]
    around = [size] * size + [4 * size] * size + [size] * size
    below = [size] * size + [3 * size] * size + [size] * 2 * size
    if size == 1 or lengths not in (around, below):
        return "".join(rows)
    middle, down = rows[size : 2 * size], "".join(rows[2 * size : 3 * size])
    left, front, right, back = (
        "".join(row[face * size : (face + 1) * size] for row in middle) for face in range(4)
    )
    back = back or "".join(rows[3 * size :])[::-1]
    return "".join(rows[:size]) + right + front + down + left + back


def _read_colours(letters: str, size: int) -> GivenCube:
    """Return the cube whose facelets are in letters of colours; each colour stands for a face."""
    _check_colours(letters, size)
    for scheme in _schemes(letters, size):
        named = letters.translate(str.maketrans(scheme, FACES))
        words = legality.words_of(named, CORNERS, size) if size > 1 else CORNERS
        if set(map(frozenset, words)) == set(map(frozenset, CORNERS)):
            try:
                return replace(_recognize(named, size), colours=scheme)
            except IllegalCube as error:
                meant = ", ".join(f"{face} is {c}" for face, c in zip(FACES, scheme, strict=True))
                raise IllegalCube(f"{error.reason}; {meant}", error.facts) from None
    raise IllegalCube(
        "no cube has corners of these colours: are the faces in the order U R F D L B, and "
        "does every sticker have the colour given?",
        {"kind": "scheme"},
    )


def _check_colours(letters: str, size: int) -> None:
    """Raise BadNotation unless there are six letters, IllegalCube unless equally frequent."""
    counts = Counter(letters)
    if len(letters) != 6 * size * size:
        legality.check_letters(letters, size)
    strange = next((at for at, letter in enumerate(letters) if not letter.isalpha()), None)
    if strange is not None:
        raise BadNotation(
            f"Facelet {strange + 1} is '{letters[strange]}'; use the letters {FACES}, or one letter"
            " for each colour."
        )
    if len(counts) != len(FACES):
        raise BadNotation(
            f"The facelets show {len(counts)} different letters, "
            f"{shortened(' '.join(sorted(counts)))}; a cube has six colours. Use the letters "
            f"{FACES}, or one letter for each colour, in upper or lower case."
        )
    for letter, count in sorted(counts.items()):
        if count != size * size:
            raise IllegalCube(
                f"colour {letter} appears {count} times instead of {size * size}",
                {"kind": "count", "face": letter, "count": count},
            )


def _schemes(letters: str, size: int) -> list[str]:
    """Return the possible letters of colours at U R F D L B."""
    area = size * size
    if size % 2:
        centres = "".join(letters[area * face + area // 2] for face in range(len(FACES)))
        for letter, count in Counter(centres).items():
            if count > 1:
                faces = [FACES[at] for at, other in enumerate(centres) if other == letter]
                raise IllegalCube(
                    f"the middle centres of {' and '.join(faces)} are both {letter}",
                    {"kind": "centre", "shown": centres},
                )
        return [centres]
    [corner] = legality.words_of(letters, ("DLB",), size)
    others = sorted(set(letters) - set(corner))
    return ["".join(rest) + corner for rest in permutations(others)] if len(others) == 3 else []
