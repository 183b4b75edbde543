"""Reading a cube from two pictures of opposite corners, which belong together in one of three ways.

Nobody has to turn the cube over in a certain way: of the three ways only one makes pieces that
exist, unless the cube is so nearly solved that the order of its colours has to tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from vision.decide.consistency import UNIQUE, repeated_face
from vision.decide.estimate import Decision, decide, same_cube
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.decide.schemes import scheme_costs
from vision.measure.colour_space import ColourReferences
from vision.measure.sticker_colours import StickerColours

_PLACES = {"U": "highest", "R": "right", "F": "left", "D": "highest", "B": "right", "L": "left"}
"""Places of the faces in their pictures, in the first of the three ways."""


_BETWEEN_PICTURES = tuple(product((0, 1, 2), (3, 4, 5)))
"""Faces, by number, of which each picture shows one."""


@dataclass(frozen=True, eq=False)
class PictureAssembly:
    """The likeliest ``way`` in which two pictures belong together, a number among ``ways``, and the
    log odds by which it leads those that make another cube.
    """

    ways: Sequence[StickerColours]
    way: int
    lead: float

    @property
    def colours(self) -> StickerColours:
        """The scan of a whole cube that the pictures make."""
        return self.ways[self.way]


def assemble(
    ways: Sequence[StickerColours],
    references: ColourReferences | None = None,
    scheme: str | None = None,
) -> PictureAssembly:
    """Find the way in which two pictures make a legal cube.

    ``ways`` as from :func:`vision.locate.two_corners.scan_corners`; ``references`` and ``scheme``
    as for :func:`vision.decide.reader.read_cube`.
    """
    decisions = [decide(colours, references) for colours in ways]
    costs = [_total_cost(decision, scheme) for decision in decisions]
    best = int(np.argmin(costs))
    others = [
        cost - costs[best]
        for cost, decision in zip(costs, decisions, strict=True)
        if not same_cube(decision.letters, decisions[best].letters)
    ]
    return PictureAssembly(ways, best, min(others, default=UNIQUE))


def read_corners(
    assembly: PictureAssembly,
    references: ColourReferences | None = None,
    scheme: str | None = None,
) -> CubeReading:
    """Decide the cube in two pictures as :func:`vision.decide.reader.read_cube` does.

    Raises :class:`Unreadable`, also if the pictures show no opposite corners of one cube.
    """
    try:
        reading = read_cube(assembly.colours, references, scheme)
    except Unreadable:
        _refuse_common_face(assembly.ways[0])
        raise
    if not reading.confident:
        _refuse_common_face(assembly.ways[0])
    if reading.corrections and not all("mirrored" in one for one in reading.corrections):
        # Faces around a corner cannot be turned or exchanged by themselves.
        raise Unreadable(
            "the two pictures make no cube together: photograph one cube, without turning a layer "
            "between the pictures",
            reading.doubtful,
        )
    if assembly.lead >= UNIQUE:
        return reading
    margin = min(reading.margin, assembly.lead)
    return replace(reading, margin=margin, confident=False, look_again=reading.look_again or "D")


def _total_cost(decision: Decision, scheme: str | None) -> float:
    """The cost of a decision with that of its colours' order on the cube."""
    against = scheme_costs(decision.model.mean, decision.features, scheme)
    return decision.cost + float(against(np.arange(6)[None])[0])


def _refuse_common_face(colours: StickerColours) -> None:
    """Raise :class:`Unreadable` if a face of the second picture is one of the first."""
    alike = repeated_face(colours, _BETWEEN_PICTURES)
    if alike is not None:
        raise Unreadable(
            f"both pictures show the same face: the {_PLACES[alike[0]]} one of the first is the "
            f"{_PLACES[alike[1]]} one of the second; turn the cube over until the opposite corner "
            "points at the camera, so that the second picture shows the three other faces"
        )
