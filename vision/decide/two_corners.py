"""Reading a cube from two pictures of opposite corners, which belong together in one of three ways.

Nobody has to turn the cube over in a certain way: of the three ways only one makes pieces that
exist, unless the cube is so nearly solved that the order of its colours has to tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from vision.decide.arrangements import turned_cells
from vision.decide.consistency import UNIQUE
from vision.decide.estimate import Decision, decide, same_cube
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.decide.schemes import scheme_costs
from vision.measure.colour_space import ColourReferences, LightFeatures
from vision.measure.sticker_colours import StickerColours

_PLACES = ("highest", "right", "left")
"""Places of the faces U R F in a picture."""

_SAME_TINTS = 0.2
"""Largest mean difference of two looks at the same face, in log light beside its brightness."""


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
        _refuse_common_face(assembly)
        raise
    _refuse_common_face(assembly, reading.facelets if reading.confident else None)
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


def _refuse_common_face(assembly: PictureAssembly, facelets: str | None = None) -> None:
    """Raise :class:`Unreadable` if a face of the second picture is one of the first.

    ``facelets``: a cube read for sure. Faces to which it gives the same letters may look alike.
    """
    colours = assembly.colours
    for one, other, cells in _alike_faces(colours):
        if facelets is not None:
            first, second = (facelets[colours.face_slice(face)] for face in (one, other))
            if first == "".join(second[cell] for cell in cells):
                continue
        places = "URF".index(one), ("DBL".index(other) + assembly.way) % 3
        raise Unreadable(
            "both pictures show the same face: the {} one of the first is the {} one of the "
            "second; turn the cube over until the opposite corner points at the camera, so that "
            "the second picture shows the three other faces".format(*(_PLACES[i] for i in places)),
            look_again=other,
        )


def _alike_faces(colours: StickerColours) -> Iterator[tuple[str, str, list[int]]]:
    """Faces of both pictures that have the same colours, and the cells of the second that are
    those of the first. The pictures may differ in brightness.
    """
    features = LightFeatures.from_colours(colours).values
    tints = features - features.mean(axis=1, keepdims=True)
    for one, other in product("URF", "DBL"):
        first, second = (tints[colours.face_slice(face)] for face in (one, other))
        for cells in turned_cells(colours.size).tolist():
            if np.abs(first - second[cells]).mean() < _SAME_TINTS:
                yield one, other, cells
