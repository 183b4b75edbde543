"""Cubes that were assembled wrongly: a piece flipped, twisted or exchanged by hand.

Turns reach one in twelve of the ways to assemble a 3x3x3: the twists of its corners cancel, the
flips of its edges cancel, and corners and edges have the same parity. The other eleven classes are
explanations of a scan like any other, with a prior. A 2x2x2 and larger even cubes have only the
twists of their corners: turns can exchange any corners or wings.
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
from vision.reasons import Reason

MISASSEMBLED = 8.0
"""Log odds against a cube that was assembled wrongly, 1 in 3000. In 1 of 250 rendered cubes a
reflection makes such a cube as likely as the true one by its colours alone; these stay sure. A
flipped edge in real sets of pictures leads by 13 and more."""

_ANOTHER = 3.0
"""Further log odds against every fault after the first, as for pictures."""


@dataclass(frozen=True)
class WrongPiece:
    """A piece that seems to have been inserted wrongly.

    ``piece`` is named by its colours, on even sizes by its position. ``fault`` is ``flipped``,
    ``twisted`` or ``exchanged``; in the last case ``other`` is the piece it was exchanged with. No
    piece is named if any two may have been exchanged. ``stickers`` are those of the pieces.
    ``certain``: the fault is in this piece. Otherwise turning any piece of its kind would repair
    the cube, and this is the one whose colours contradict that least.
    """

    fault: str
    piece: str | None
    other: str | None
    stickers: tuple[int, ...]
    certain: bool = True

    @property
    def code(self) -> str:
        """The code of the fault (:data:`vision.reasons.REASONS`)."""
        if self.fault == "exchanged":
            if self.piece is None:
                return "two-exchanged"
            return "corners-exchanged" if len(self.piece) == 3 else "edges-exchanged"
        plain = "edge-flipped" if self.fault == "flipped" else "corner-twisted"
        return plain if self.certain else f"{plain}-perhaps"

    @property
    def remedy(self) -> Reason:
        """The remedy, for a person."""
        return Reason.of("exchange-pieces" if self.fault == "exchanged" else "turn-piece")


@dataclass(frozen=True, eq=False)
class Misassembled:
    """The likeliest cube that no turns reach: ``letters`` int[6 * N * N], its ``faults``, and the
    ``prior`` log odds against them.
    """

    letters: Ints
    faults: tuple[WrongPiece, ...]
    prior: float


def likeliest_misassembled(sticker_cost: Floats, letters: Ints, size: int) -> Misassembled:
    """Return the cheapest cube that was assembled wrongly, including its prior.

    ``letters`` int[6 * N * N] are those of the cheapest legal cube. Its wings and centres are kept.
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
    named = _faults(turning, own, sticker_cost)
    return Misassembled(shown, tuple(named), prior)


def _faults(
    turning: list[Orbit], arrangements: list[Arrangement], sticker_cost: Floats
) -> list[WrongPiece]:
    """Return the faults that the solver reports for such a cube, with pieces to repair it."""
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
            slots, certain = _slots_to_blame(fault, error, turning, arrangements, sticker_cost)
            found.append(_wrong_piece(fault, slots, certain, turning, arrangements))
    return found


_Slot = tuple[int, int]
"""The number of an orbit, and of a slot in it."""


def _slots_to_blame(
    fault: str,
    error: IllegalCube,
    turning: list[Orbit],
    arrangements: list[Arrangement],
    sticker_cost: Floats,
) -> tuple[list[_Slot], bool]:
    """Return the slots of the pieces that the solver names, and True. If it names none, return the
    slot of the piece that is cheapest to turn, and False.
    """
    facts = error.facts
    pieces = facts["pieces"] if fault == "exchanged" else [facts["piece"]]
    if None not in pieces:
        slots = []
        for piece in pieces:
            which, names = (0, legality.CORNERS) if len(piece) == 3 else (1, legality.EDGES)
            slots.append((which, arrangements[which].pieces.tolist().index(names.index(piece))))
        return slots, True
    which = int(fault == "flipped")
    orbit, own = turning[which], arrangements[which]
    rows = np.arange(len(own.pieces))
    back = (own.turns - own.turns.sum()) % orbit.turns
    costs = orbit.costs(sticker_cost)
    dearer = costs[rows, own.pieces, back] - costs[rows, own.pieces, own.turns]
    return [(which, int(dearer.argmin()))], False


def _wrong_piece(
    fault: str,
    slots: list[_Slot],
    certain: bool,
    turning: list[Orbit],
    arrangements: list[Arrangement],
) -> WrongPiece:
    """Return the fault of the pieces in these slots."""
    stickers: list[int] = []
    named: list[str] = []
    for which, slot in slots:
        names = (legality.CORNERS, legality.EDGES)[which]
        stickers += turning[which].facelets[slot].tolist()
        # The letters of an even cube get their names only after its colours are known.
        named.append(names[int(arrangements[which].pieces[slot]) if len(turning) > 1 else slot])
    first, second = [*named, None, None][:2]
    return WrongPiece(fault, first, second, tuple(stickers), certain)
