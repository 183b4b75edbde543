"""Goals that leave pieces free: a cross, one layer, orientations alone, or stickers with gaps.

A mask gives the right locations for every piece; a location is a slot with an orientation. It comes
from a name of :data:`PARTS`, or from a drawing of 54 facelets in which ``.`` or ``-`` stands for a
sticker that does not matter. A drawn sticker allows every piece that can show it there, so a face
of one colour leaves open where each of its pieces is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from solver.cube import legality
from solver.cube.cube import SLOTS, Cube
from solver.cube.facelets import FACES, OPPOSITE
from solver.cube.legality import CORNERS, EDGES
from solver.cube.orientation import Orientation, all_orientations, site_facelets, upright
from solver.cube.pieces import spin
from solver.cube.reading import GivenCube
from solver.errors import BadNotation, IllegalCube, InvalidRequest

GAPS = ".-_?*"
"""Letters of facelets that do not matter."""

_GAP = GAPS[0]
_CORNERS = len(CORNERS)


class Placement(NamedTuple):
    """A piece by its number among those of its kind, with its orientation in some slot."""

    piece: int
    orientation: int


@dataclass(frozen=True)
class Mask:
    """The pieces that a partial goal requires on a 3x3x3.

    ``text`` is a part's name or a drawing from which the goal can be read again. ``placements`` are
    the right ones for each of the 20 slots. ``example`` is one cube that fits.
    """

    text: str
    placements: tuple[frozenset[Placement], ...]
    example: Cube

    @classmethod
    def make(cls, text: str, placements: tuple[frozenset[Placement], ...]) -> Mask:
        """Return the mask of these placements; raises IllegalCube if no cube fits."""
        example = find_fitting(placements)
        if example is None:
            raise IllegalCube(
                "no turns lead to such a cube: its pieces cannot all be in these places",
                {"kind": "partial"},
            )
        return cls(text, placements, example)

    def is_met_by(self, cube: Cube) -> bool:
        """Return whether every slot of ``cube`` has a piece that is right there."""
        rows = map(tuple, cube.states.tolist())
        return all(row in right for row, right in zip(rows, self.placements, strict=True))

    @property
    def locations(self) -> tuple[int, ...]:
        """Bits of each of the 20 pieces: ``slot * ways + orientation`` of every right location."""
        found = [0] * len(SLOTS)
        for slot, right in enumerate(self.placements):
            ways, base = len(SLOTS[slot]), 0 if slot < _CORNERS else _CORNERS
            for piece, orientation in right:
                found[base + piece] |= 1 << ((slot - base) * ways + orientation)
        return tuple(found)

    @property
    def is_whole(self) -> bool:
        """True if a single cube fits."""
        return all(len(right) == 1 for right in self.placements)


# ---- parts with names ----------------------------------------------------------------------------


class NamedPart(NamedTuple):
    """A named part: its description, its right placements, and the face it is usually on.

    ``wanted`` gets a slot's name and the part's face, and returns the right placements.
    """

    about: str
    wanted: Callable[[str, str], frozenset[Placement]]
    face: str = "D"
    has_face: bool = True


@cache
def _all_of(slot: str) -> frozenset[Placement]:
    pieces, ways = (len(CORNERS), 3) if len(slot) == 3 else (len(EDGES), 2)
    return frozenset(Placement(*one) for one in product(range(pieces), range(ways)))


@cache
def _home(slot: str) -> frozenset[Placement]:
    names = CORNERS if len(slot) == 3 else EDGES
    return frozenset({Placement(names.index(slot), 0)})


def _showing(slot: str, faces: str) -> frozenset[Placement]:
    """Return the placements whose stickers at ``faces`` have one of the colours of ``faces``."""
    return frozenset(
        Placement(number, turns)
        for number, turns in _all_of(slot)
        if all(
            (shown in faces)
            for place, shown in zip(slot, _word(slot, number, turns), strict=True)
            if place in faces
        )
    )


def _word(slot: str, number: int, turns: int) -> str:
    return spin((CORNERS if len(slot) == 3 else EDGES)[number], turns)


def _home_if(is_wanted: Callable[[str, str], bool]) -> Callable[[str, str], frozenset[Placement]]:
    return lambda slot, face: _home(slot) if is_wanted(slot, face) else _all_of(slot)


def _want_oriented_edges(slot: str, face: str) -> frozenset[Placement]:
    """Return the edges that need no quarter turn of ``face`` or its opposite to come home."""
    if len(slot) == 3:
        return _all_of(slot)
    return frozenset(one for one in _all_of(slot) if _is_oriented(slot, one, face))


def _is_oriented(slot: str, one: Placement, face: str) -> bool:
    """Return whether the main sticker of an edge is on the main face of its slot.

    Main faces are two opposite ones, which no quarter turn of ``face`` exchanges: the first pair
    beside the axis or, for an edge or slot without these, ``face`` and its opposite.
    """
    axis = face + OPPOSITE[face]
    first = next(f for f in FACES if f not in axis)
    main = first + OPPOSITE[first]
    word = _word(slot, *one)
    return _main_at(slot, main, axis) == _main_at(word, main, axis)


def _main_at(word: str, main: str, axis: str) -> int:
    wanted = main if any(letter in main for letter in word) else axis
    return next(at for at, letter in enumerate(word) if letter in wanted)


def _want_oriented(slot: str, face: str) -> frozenset[Placement]:
    """Return the pieces that show the colours of an axis wherever they are on its faces."""
    axis = face + OPPOSITE[face]
    if len(slot) == 3:
        return _showing(slot, axis)
    side = next(f for f in FACES if f not in axis)
    across = next(f for f in FACES if f not in axis + side + OPPOSITE[side])
    return _want_oriented_edges(slot, across)


def _want_reduced(slot: str, face: str) -> frozenset[Placement]:
    """Return the oriented pieces, with edges of the middle layer only in that layer."""
    axis = face + OPPOSITE[face]
    return frozenset(
        one
        for one in _want_oriented(slot, face)
        if any(f in axis for f in slot) == any(f in axis for f in _word(slot, *one))
    )


def _is_in_two_layers(slot: str, face: str) -> bool:
    return OPPOSITE[face] not in slot


def _want_last_edges(slot: str, face: str) -> frozenset[Placement]:
    if _is_in_two_layers(slot, face):
        return _home(slot)
    return _showing(slot, OPPOSITE[face]) if len(slot) == 2 else _all_of(slot)


def _want_last_face(slot: str, face: str) -> frozenset[Placement]:
    return _home(slot) if _is_in_two_layers(slot, face) else _showing(slot, OPPOSITE[face])


PARTS: Mapping[str, NamedPart] = MappingProxyType(
    {
        "cross": NamedPart(
            "the four edges of a face",
            _home_if(lambda slot, face: len(slot) == 2 and face in slot),
        ),
        "face": NamedPart("nine stickers of one colour on a face", _showing),
        "layer": NamedPart("the first layer: a face and its sides", _home_if(lambda s, f: f in s)),
        "two-layers": NamedPart("the first two layers, from a face", _home_if(_is_in_two_layers)),
        "last-edges": NamedPart("two layers, and the last one's edges oriented", _want_last_edges),
        "last-face": NamedPart("two layers, and the last one's face", _want_last_face),
        "corners": NamedPart("all corners", _home_if(lambda s, _: len(s) == 3), has_face=False),
        "edges": NamedPart("all edges", _home_if(lambda s, _: len(s) == 2), has_face=False),
        "oriented-edges": NamedPart(
            "edges solvable without quarter turns of a face and its opposite",
            _want_oriented_edges,
            face="F",
        ),
        "oriented": NamedPart(
            "orientation only: the colours of a face and its opposite on these two",
            _want_oriented,
            face="U",
        ),
        "half-turns": NamedPart(
            "solvable by half turns, and quarter turns of a face and its opposite",
            _want_reduced,
            face="U",
        ),
    }
)
"""Parts of a 3x3x3 by name; a face may follow the name: ``cross U``."""

SHORT_NAMES = MappingProxyType(
    {
        "f2l": "two-layers",
        "first-layer": "layer",
        "first-two-layers": "two-layers",
        "oll": "last-face",
        "eo": "oriented-edges",
        "edges-oriented": "oriented-edges",
        "orientation": "oriented",
        "domino": "half-turns",
    }
)
"""Other names of parts that people use."""


def read_part(text: str, given: GivenCube) -> Mask | None:
    """Return the part of this name, words joined by ``-``, on a given cube; None if there is none.

    A letter after the name, as in ``cross-u``, is a face of the cube as given or, if it was given
    in letters other than URFDLB, one of its colours. Raises InvalidRequest for other letters, and
    for sizes other than 3.
    """
    name, _, letter = text.rpartition("-") if text[-2:-1] == "-" else (text, "", "")
    name, letter = SHORT_NAMES.get(name, name), letter.upper()
    part = PARTS.get(name)
    if part is None:
        return None
    _check_size(given.cube.size)
    if not part.has_face:
        if letter:
            raise InvalidRequest(f"{name!r} has no face", f"omit {letter!r}")
        return _make_part(name, "")
    return _make_part(name, _find_face(letter, given) if letter else part.face)


@cache
def _make_part(name: str, face: str) -> Mask:
    placements = tuple(PARTS[name].wanted(slot, face) for slot in SLOTS)
    return Mask.make(f"{name} {face}".strip(), placements)


def _find_face(letter: str, given: GivenCube) -> str:
    """Return the face that a letter means, named by its place on the cube as given."""
    if given.colours != FACES and letter in given.colours:
        return given.held.site_of(FACES[given.colours.index(letter)])
    if letter in FACES:
        return letter
    raise InvalidRequest(
        f"{letter!r} is neither a face nor a colour of this cube", f"use one of {FACES}"
    )


def _check_size(size: int) -> None:
    if size != 3:
        raise InvalidRequest("Only a 3x3x3 has goals that leave pieces free")


# ---- drawings with gaps --------------------------------------------------------------------------


def is_drawing(letters: str, size: int) -> bool:
    """Return whether ``letters``, without blanks, are facelets with gaps, or are meant to be.

    Names and moves have no full stops, so letters with one are a drawing of any length.
    """
    return (
        (len(letters) == 6 * size * size or _GAP in letters)
        and any(gap in letters for gap in GAPS)
        and all(letter.isalpha() or letter in GAPS for letter in letters)
    )


def read_drawing(letters: str, given: GivenCube) -> Mask:
    """Return the mask drawn by facelets with gaps, for the cube that was given.

    Letters are its colours. The drawing is held as its centres show; centres that are gaps follow
    from the others, or from the way in which the cube was given. Raises BadNotation, IllegalCube if
    no cube can show this, and InvalidRequest for sizes other than 3.
    """
    _check_size(given.cube.size)
    if len(letters) != 54:
        raise BadNotation(f"A drawing of a 3x3x3 has 54 facelets, not {len(letters)}.")
    letters = letters.upper().translate(str.maketrans(GAPS, _GAP * len(GAPS)))
    if given.colours != FACES and set(letters) <= {_GAP, *given.colours}:
        letters = letters.translate(str.maketrans(given.colours, FACES))
    if not set(letters) <= {_GAP, *FACES}:
        at = next(at for at, letter in enumerate(letters) if letter not in {_GAP, *FACES})
        raise BadNotation(
            f"Facelet {at + 1} is '{letters[at]}'; use the letters {FACES}, and '{_GAP}' for what"
            " does not matter."
        )
    shown = upright(letters, _find_holding(letters, given.held), 3)
    as_held = "".join(shown[place] for place in site_facelets(given.held, 3).tolist())
    drawn = as_held.translate(str.maketrans(given.held.faces, FACES))
    placements = []
    for slot, word in zip(SLOTS, legality.words_of(drawn, SLOTS, 3), strict=True):
        right = frozenset(one for one in _all_of(slot) if _looks_like(_word(slot, *one), word))
        if not right:
            kind = "corner" if len(slot) == 3 else "edge"
            raise IllegalCube(
                f"no {kind} is coloured {word}, which is drawn at {slot}",
                {"kind": "impossible-piece", "slot": slot, "shown": word},
            )
        placements.append(right)
    return Mask.make(drawn, tuple(placements))


def _looks_like(word: str, drawn: str) -> bool:
    return all(wanted in (_GAP, shown) for shown, wanted in zip(word, drawn, strict=True))


def _find_holding(letters: str, usual: Orientation) -> Orientation:
    """Return the orientation of a drawing, by its centres; ``usual`` if they allow it."""
    centres = "".join(letters[9 * face + 4] for face in range(len(FACES)))
    fitting = [held for held in all_orientations() if _looks_like(held.faces, centres)]
    if usual in fitting:
        return usual
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise IllegalCube(
            f"the centres {' '.join(centres)} do not show how the cube is held: draw two "
            "adjacent ones",
            {"kind": "centre", "shown": centres},
        )
    raise IllegalCube(
        f"the middle centres of U R F D L B are {' '.join(centres)}:"
        " no way to hold a cube shows these",
        {"kind": "centre", "shown": centres},
    )


# ---- cubes that fit ------------------------------------------------------------------------------

_TRIES = 100
"""Maximum attempts to draw a random cube that fits."""


class _Placed(NamedTuple):
    """Placed pieces, as bits, and figures for legality: the sum of their orientations, and whether
    an odd number of pairs is in the wrong order."""

    pieces: int = 0
    turned: int = 0
    is_odd: bool = False

    def add(self, one: Placement, ways: int) -> _Placed:
        later = (self.pieces >> one.piece).bit_count()
        return _Placed(
            self.pieces | 1 << one.piece,
            (self.turned + one.orientation) % ways,
            self.is_odd ^ bool(later % 2),
        )


def find_fitting(placements: Sequence[frozenset[Placement]]) -> Cube | None:
    """Return a legal cube with one of the ``placements`` in every slot; None if there is none."""
    solved = Cube.solved()
    if all(
        Placement(*row) in right
        for row, right in zip(solved.states.tolist(), placements, strict=True)
    ):
        return solved
    corners = _fill_slots(placements[:_CORNERS], 3)
    edges = _fill_slots(placements[_CORNERS:], 2)
    for is_odd in corners.keys() & edges.keys():
        return Cube(np.array([*corners[is_odd], *edges[is_odd]]))
    return None


def _fill_slots(
    placements: Sequence[frozenset[Placement]], ways: int
) -> dict[int, list[Placement]]:
    """Return pieces for all slots of a kind whose orientations cancel, by parity.

    Slot by slot, it keeps one path to every set of pieces with its sums, at most 4096 sets of 12
    edges. So it also finds out quickly if there is none. Free slots come last.
    """
    count = len(placements)
    free = [slot for slot, right in enumerate(placements) if len(right) == count * ways]
    known: dict[_Placed, list[Placement]] = {_Placed(): []}
    for right in (right for right in placements if len(right) < count * ways):
        after: dict[_Placed, list[Placement]] = {}
        for placed, path in known.items():
            for one in right:
                if not placed.pieces >> one.piece & 1:
                    after.setdefault(placed.add(one, ways), [*path, one])
        known = after
    found: dict[int, list[Placement]] = {}
    for placed, path in known.items():
        rest = [piece for piece in range(count) if not placed.pieces >> piece & 1]
        for order in (rest, [*rest[1::-1], *rest[2:]]):
            turns = [0] * (len(rest) - 1) + [-placed.turned % ways] if rest else []
            if not rest and placed.turned:
                continue
            filled = map(Placement, order, turns)
            taken = iter(path)
            pieces = [next(filled) if slot in free else next(taken) for slot in range(count)]
            parity = legality.permutation_parity(np.array([one.piece for one in pieces]))
            found.setdefault(parity, pieces)
        if len(found) == 2:
            break
    return found


def draw_fitting(
    placements: Sequence[frozenset[Placement]], rng: np.random.Generator
) -> Cube | None:
    """Return a random legal cube with one of the ``placements`` in every slot.

    None if a hundred attempts find none.
    """
    for _ in range(_TRIES):
        corners = _draw_slots(placements[:_CORNERS], 3, rng)
        edges = _draw_slots(placements[_CORNERS:], 2, rng)
        if corners and edges:
            with suppress(IllegalCube):
                return Cube(np.array([*corners, *edges]))
    return None


def _draw_slots(
    placements: Sequence[frozenset[Placement]], ways: int, rng: np.random.Generator
) -> list[Placement]:
    """Return random pieces for the slots of a kind, filled by least choice; empty if it fails."""
    found = [Placement(0, 0)] * len(placements)
    pieces, turned = 0, 0
    for slot in sorted(range(len(placements)), key=lambda slot: len(placements[slot])):
        right = sorted(one for one in placements[slot] if not pieces >> one.piece & 1)
        is_last = pieces.bit_count() == len(placements) - 1
        if is_last:
            right = [one for one in right if (turned + one.orientation) % ways == 0]
        if not right:
            return []
        found[slot] = right[rng.integers(len(right))]
        pieces |= 1 << found[slot].piece
        turned += found[slot].orientation
    return found
