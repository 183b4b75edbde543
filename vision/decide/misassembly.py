"""Cubes that were put together wrongly: a piece flipped, twisted or exchanged by hand.

The turns of a cube reach one in twelve of the ways to put a 3x3x3 together: the twists of its
corners cancel, the flips of its edges cancel, and corners and edges are permuted with one parity.
The other eleven classes are explanations of a scan like any other, with a prior. A 2x2x2 and larger
even cubes have only the twists of their corners: any exchange of corners or wings can be turned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from solver.cube import legality
from solver.errors import IllegalCube
from vision.decide.assignment import Arrangement, Orbit, RankedArrangements, orbits
from vision.frame import Floats, Ints

MISASSEMBLED = 8.0
"""Log odds against a cube that was put together wrongly, 1 in 3000. In 1 of 250 rendered cubes a
reflection makes such a cube as likely as the true one by its colours alone: those stay sure. A
flipped edge of the real sets leads by 13 and more."""

_ANOTHER = 3.0
"""Further log odds against every fault after the first, as for pictures."""


@dataclass(frozen=True)
class WrongPiece:
    """A piece that seems to have been put in wrongly.

    ``piece`` is named by its colours, on even sizes by its place; ``fault`` is ``flipped``,
    ``twisted`` or ``exchanged``, then ``other`` is the piece it changed places with. No piece is
    named if any two may have been exchanged. ``stickers`` are those of the pieces.
    """

    fault: str
    piece: str | None
    other: str | None
    stickers: tuple[int, ...]

    def describe(self) -> str:
        """Say what is wrong."""
        if self.fault == "flipped":
            return f"edge {self.piece} is flipped"
        if self.fault == "twisted":
            return f"corner {self.piece} is twisted"
        if self.piece is None:
            return "two corners or two edges are exchanged"
        kind = "corners" if len(self.piece) == 3 else "edges"
        return f"{kind} {self.piece} and {self.other} are exchanged"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.fault == "exchanged":
            return "take out two edges and put each in the place of the other"
        return "take it out and turn it, or look at its stickers again"


@dataclass(frozen=True, eq=False)
class Misassembled:
    """The likeliest cube that no turns reach: ``letters`` int[6 * N * N], what is wrong with it,
    and the log odds ``prior`` against that before looking.
    """

    letters: Ints
    faults: tuple[WrongPiece, ...]
    prior: float


def likeliest_misassembled(sticker_cost: Floats, letters: Ints, size: int) -> Misassembled:
    """Return the cube put together wrongly that costs least, its prior included.

    ``letters`` int[6 * N * N] are those of the cheapest legal cube; wings and centres stay as they
    are there.
    """
    turning = [orbit for orbit in orbits(size) if orbit.kind in ("corner", "edge")]
    tables = [RankedArrangements(orbit.costs(sticker_cost), 1) for orbit in turning]
    best, prior = np.inf, 0.0
    found: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    for turns in product(*(range(orbit.turns) for orbit in turning)):
        for parities in product((0, 1), repeat=len(turning)):
            faults = sum(turn > 0 for turn in turns) + (len(set(parities)) > 1)
            if not faults:
                continue
            against = MISASSEMBLED + _ANOTHER * (faults - 1)
            ways = zip(tables, turns, parities, strict=True)
            total = against + sum(table.cost(turn, parity, 0) for table, turn, parity in ways)
            if total < best:
                best, found, prior = total, (turns, parities), against
    own = [t.arrangement(w, p, 0) for t, w, p in zip(tables, *found, strict=True)]
    shown = letters.copy()
    for orbit, arrangement in zip(turning, own, strict=True):
        shown[orbit.facelets] = orbit.patterns[arrangement.pieces * orbit.turns + arrangement.turns]
    return Misassembled(shown, tuple(_faults(turning, own)), prior)


def _faults(turning: list[Orbit], arrangements: list[Arrangement]) -> list[WrongPiece]:
    """Name what is wrong as the solver does for such a cube."""
    states = [np.stack([own.pieces, own.turns], axis=1).astype(np.uint8) for own in arrangements]
    corners, *edges = states
    checks: list[tuple[str, Callable[[], None]]] = [
        ("twisted", partial(legality.check_twist, corners)),
        *(("flipped", partial(legality.check_flip, own)) for own in edges),
        *(("exchanged", partial(legality.check_parity, corners, own)) for own in edges),
    ]
    found = []
    for fault, check in checks:
        try:
            check()
        except IllegalCube as error:
            facts = error.facts
            pieces = [facts["piece"]] if "piece" in facts else facts["pieces"]
            found.append(_assembly(fault, pieces, turning, arrangements))
    return found


def _assembly(
    fault: str, pieces: list[str], turning: list[Orbit], arrangements: list[Arrangement]
) -> WrongPiece:
    """The fault of these pieces, with the stickers where they are."""
    stickers: list[int] = []
    named = []
    for piece in pieces:
        names = legality.CORNERS if len(piece) == 3 else legality.EDGES
        which = 0 if len(piece) == 3 else 1
        slot = arrangements[which].pieces.tolist().index(names.index(piece))
        stickers += turning[which].facelets[slot].tolist()
        # The letters of an even cube are named only after its colours are known.
        named.append(piece if len(turning) > 1 else names[slot])
    first, second = [*named, None, None][:2]
    return WrongPiece(fault, first, second, tuple(stickers))
