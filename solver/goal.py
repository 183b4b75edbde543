"""The goal of a search: any arrangement instead of the solved cube.

Bringing ``cube`` to ``goal`` means solving another cube. Let S and G be the permutations that turn
a solved cube into ``cube`` and into ``goal``. Moves m bring S to G if ``S m = G``, which is
``(G^-1 S) m = 1``. So the search solves the cube G^-1 S instead. On it, every sticker is named by
the face on which the goal has it.

From 4 layers on, this works if the goal has the four centres of each colour and orbit together on
one face, as the solved cube does: equal centres are then interchangeable. If it does not, as with
stripes on a 4x4x4, the last of the goal's own moves are kept for the end. They are as few as
possible, so that the centres are together before them.

A pattern may have its colours exchanged as a whole if nothing tells them apart: cubes without fixed
centres are read anew after every motion. A state is meant in its own colours, in whatever way it is
held. Only :meth:`Goal.is_reached` decides that.

A goal of a 3x3x3 may leave pieces free (:mod:`solver.mask`). Then many cubes reach it, and
:mod:`solver.partial` searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np

from solver.cube import orbits
from solver.cube.cube import AnyCube, Cube, from_facelets, from_scramble
from solver.cube.facelets import FACES, slot_facelets
from solver.cube.legality import CORNERS, EDGES
from solver.cube.notation import Move, parse_moves
from solver.cube.orientation import Orientation, all_orientations, held_with, site_facelets, upright
from solver.cube.pieces import spin
from solver.cube.pocket import PocketCube, whole_rotations
from solver.cube.reading import GivenCube, are_cubies, read_state, scramble_in
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, InvalidRequest
from solver.mask import PARTS, Mask, is_drawing, read_drawing, read_part
from solver.patterns import PATTERNS, patterns_of

SOLVED = "solved"
"""The name of the usual goal."""


@dataclass(frozen=True)
class Goal:
    """An arrangement to reach.

    ``name`` is a pattern's name or empty. ``moves`` turn a solved cube into ``cube``. They are only
    needed from 4 layers on, where a search finds them if they are None. ``in_colours``: the goal
    was given in the cube's colours, so the same arrangement in other colours does not count. With
    ``mask``, only its placements matter, and ``cube`` is an example.
    """

    cube: AnyCube
    name: str = ""
    moves: tuple[Move, ...] | None = None
    in_colours: bool = False
    mask: Mask | None = None

    @classmethod
    def make_partial(cls, mask: Mask) -> Goal:
        """Return the goal of all cubes that fit; a single arrangement if only one fits."""
        is_whole = mask.is_whole
        return cls(mask.example, mask.text, in_colours=True, mask=None if is_whole else mask)

    @property
    def text(self) -> str:
        """The text that :func:`read_goal` reads as this goal, for a cube held upright.

        Only for goals in colours.
        """
        return self.cube.facelets() if self.mask is None else self.mask.text

    def is_reached(self, cube: AnyCube) -> bool:
        """Return whether ``cube`` shows the goal."""
        if isinstance(cube, Cube):
            return cube == self.cube if self.mask is None else self.mask.is_met_by(cube)
        if isinstance(cube, PocketCube):
            assert isinstance(self.cube, PocketCube)
            held = [self.cube * rotation for rotation in whole_rotations()]
            if self.in_colours:
                return cube in held
            return any(cube.relative == one.relative for one in held)
        write = "".join if self.in_colours else _rename
        return _write_any_way(cube, write) == _write_any_way(self.cube, write)

    def cube_to_solve(self, cube: AnyCube) -> AnyCube | None:
        """Return the cube whose solutions bring ``cube`` to the goal.

        None if the goal's centres are not together; see :meth:`take_back`.
        """
        named: AnyCube | None
        if isinstance(cube, StickerCube):
            assert isinstance(self.cube, StickerCube)
            named = _name_make_as_held(cube, self.cube)
        else:
            # Cube and goal are of the same one of the two kinds.
            named = self.cube.inverse * cube  # type: ignore[union-attr,operator]
        # In its own colours, a cube at the goal is named as solved, held as it is.
        is_named = self.in_colours and named is not None
        return from_scramble("", cube.size) if not is_named and self.is_reached(cube) else named

    def take_back(self) -> tuple[Goal, tuple[Move, ...]]:
        """Return the last goal before this one with its centres together, and the remaining moves.

        Needs ``moves``.
        """
        assert self.moves is not None and isinstance(self.cube, StickerCube)
        cube, count = self.cube, len(self.moves)
        while count > 0 and not _is_together(cube):
            count -= 1
            cube = cube.move(self.moves[count].inverse)
        # In other colours, the remaining moves would begin from another side.
        return Goal(cube, moves=self.moves[:count], in_colours=True), self.moves[count:]


def rename_moves(moves: tuple[Move, ...], solved: AnyCube) -> tuple[Move, ...]:
    """Return ``moves``, meant for an upright solved cube, renamed for the solved cube ``solved``.

    Its faces may be elsewhere: a turn of U turns the face where U is now.
    """
    letters, size = solved.facelets(), solved.size
    held = held_with("".join(letters[face * size * size] for face in range(len(FACES))))
    assert held is not None, "a solved cube is held in some way"
    return tuple(replace(move, face=held.site_of(move.face)) for move in moves)


def read_goal(text: str, given: GivenCube) -> Goal:
    """Read the goal for ``given``: the name of a pattern or part, a state, or moves.

    Letters of a state are colours of ``given``, wherever it has them; a state of a 3x3x3 may have
    gaps. Patterns, parts and moves from the solved cube are seen in the way in which the cube was
    given. Raises InvalidRequest for a pattern that this size does not have, BadNotation or
    IllegalCube for anything else that cannot be read.
    """
    size, words = given.cube.size, text.lower().replace("_", " ").split()
    name, letters = "-".join(words), "".join(text.split())
    if name == SOLVED:
        return _make_as_held("", given, SOLVED)
    if name in PATTERNS:
        pattern = patterns_of(size).get(name)
        if pattern is None:
            raise InvalidRequest(f"A cube of {size} layers has no pattern {name!r}.", _advice(size))
        if pattern.moves is not None:
            return _make_as_held(pattern.moves(size), given, name)
        assert pattern.facelets is not None
        drawn = read_state(pattern.facelets(size), size).cube
        if isinstance(drawn, StickerCube):
            drawn = _paint_as_held(drawn, given.held)
        return Goal(drawn, name)
    mask = read_drawing(letters, given) if is_drawing(letters, size) else read_part(name, given)
    if mask is not None:
        return Goal.make_partial(mask)
    if _is_state(text, size):
        return _make_in_colours(read_state(text, size), given)
    moves = scramble_in(text)
    try:
        return _make_as_held(text if moves is None else moves, given, "")
    except BadNotation as error:
        if get_close_matches(name, [*PATTERNS, *PARTS], 1) or name.replace("-", "").isalpha():
            text = f"There is no pattern {text!r}, and {str(error)[0].lower()}{str(error)[1:]}"
            raise InvalidRequest(text.rstrip("."), _advice(size)) from None
        raise


def goal_names(size: int) -> dict[str, str]:
    """Return the named goals for a cube size, with their descriptions."""
    patterns = {name: pattern.about for name, pattern in patterns_of(size).items()}
    return patterns | ({name: part.about for name, part in PARTS.items()} if size == 3 else {})


def _advice(size: int) -> str:
    return f"Name one of {', '.join(goal_names(size))}, or give a state or moves"


def _is_state(text: str, size: int) -> bool:
    words = text.split()
    letters = "".join(words)
    if size == 3 and are_cubies(words) and letters.isalpha() and letters.isupper():
        return True
    return len(letters) == 6 * size * size and letters.isalpha()


def _make_as_held(moves: str, given: GivenCube, name: str) -> Goal:
    """Return the goal that ``moves`` make of a solved cube held as ``given`` is."""
    size = given.cube.size
    made = from_scramble(moves, size)
    if isinstance(made, StickerCube):
        return Goal(_paint_as_held(made, given.held), name, parse_moves(moves, size))
    return Goal(made, name)


def _paint_as_held(cube: StickerCube, held: Orientation) -> StickerCube:
    """Rename stickers from their places to the colours that a cube held like this has there."""
    return StickerCube(cube.letters.translate(str.maketrans(FACES, held.faces)), cube.size)


def _make_in_colours(read: GivenCube, given: GivenCube) -> Goal:
    """Return the goal whose letters are colours of ``given``, seen in the way it is held."""
    letters, size = read.facelets, read.cube.size
    if read.colours != given.colours and set(read.colours) == set(given.colours):
        letters = letters.translate(
            str.maketrans(FACES, "".join(FACES[given.colours.index(c)] for c in read.colours))
        )
        read = read_state(letters, size)
    if size > 3:
        return Goal(read.cube, in_colours=True)
    turned = upright(letters, read.held, size)
    held = "".join(turned[place] for place in site_facelets(given.held, size))
    # Named like ``given``, and not by a corner of its own, which a 2x2x2 may have anywhere.
    named = held.translate(str.maketrans(given.held.faces, FACES))
    return Goal(from_facelets(named, size), in_colours=True)


# ---- cubes of 4 and more layers ------------------------------------------------------------------


def _write_any_way(cube: AnyCube, write: Callable[[list[str]], str]) -> str:
    """Return one text for a cube, the same for all 24 ways to hold it."""
    letters = np.array(list(cube.facelets()))
    held = (letters[site_facelets(one, cube.size)].tolist() for one in all_orientations())
    return min(map(write, held))


def _rename(letters: list[str]) -> str:
    """Name colours in the order in which they appear."""
    order = {letter: FACES[number] for number, letter in enumerate(dict.fromkeys(letters))}
    return "".join(order[letter] for letter in letters)


def _list_pieces(size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield orbit and facelets of every piece that has stickers on several faces.

    A corner or middle edge is yielded once for every way to read it.
    """
    for name in CORNERS + (EDGES if size % 2 else ()):
        for turns in range(len(name)):
            yield f"{len(name)}", slot_facelets(spin(name, turns), size)
    for offset in orbits.offsets(size):
        for pair in orbits.wing_slots(offset, size).tolist():
            yield f"wing {offset}", tuple(pair)


def _list_centres(size: int) -> Iterator[list[int]]:
    """Yield the facelets of every orbit of centres, whose equal colours are interchangeable."""
    if size % 2:
        yield orbits.fixed_slots(size).tolist()
    for row, column in orbits.centre_spots(size):
        yield orbits.centre_slots(row, column, size).tolist()


def _is_together(cube: StickerCube) -> bool:
    return all(_find_faces(cube, orbit) is not None for orbit in _list_centres(cube.size))


def _find_faces(cube: StickerCube, orbit: list[int]) -> dict[str, str] | None:
    """Return the face that has each colour of an orbit of centres; None if several have it."""
    faces: dict[str, str] = {}
    for facelet in orbit:
        face = _find_face(facelet, cube.size)
        if faces.setdefault(cube.letters[facelet], face) != face:
            return None
    return faces


def _find_face(facelet: int, size: int) -> str:
    return FACES[facelet // (size * size)]


def _name_make_as_held(cube: StickerCube, goal: StickerCube) -> StickerCube | None:
    """Name every sticker of ``cube`` by the face on which ``goal`` has it."""
    size, named = cube.size, [""] * len(cube.letters)
    for orbit in _list_centres(size):
        faces = _find_faces(goal, orbit)
        if faces is None:
            return None
        for facelet in orbit:
            named[facelet] = faces[cube.letters[facelet]]
    pieces = list(_list_pieces(size))
    places = {(kind, _read(goal, spots)): spots for kind, spots in pieces}
    for kind, spots in pieces:
        wanted = places[kind, _read(cube, spots)]
        for facelet, place in zip(spots, wanted, strict=True):
            named[facelet] = _find_face(place, size)
    return StickerCube("".join(named), size)


def _read(cube: StickerCube, spots: tuple[int, ...]) -> str:
    return "".join(cube.letters[spot] for spot in spots)
