"""Reading a cube from two pictures of opposite corners, which can be combined in three ways.

A person may turn the cube over in any way: only one of the three combinations has pieces that
exist, unless the cube is so nearly solved that the order of its colours has to decide.
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
from vision.frame import Floats
from vision.measure.colour_space import ColourReferences
from vision.measure.sticker_colours import StickerColours

_PLACES = ("highest", "right", "left")
"""Positions of the faces U R F in a picture."""

_SAME_TINTS = 0.2
_NEAR_TINTS = 0.7
"""Maximum difference of two measurements of one sticker, in log light without brightness: usually,
and after the camera changed its white balance."""

_FLOOR = 0.05
"""Share of a picture's bright level below which a channel contains little evidence of a tint."""


@dataclass(frozen=True, eq=False)
class PictureAssembly:
    """The likeliest ``way`` to combine two pictures, as a number among ``ways``, and its log odds
    over the ways that make another cube.
    """

    ways: Sequence[StickerColours]
    way: int
    lead: float

    @property
    def colours(self) -> StickerColours:
        """The scan of the whole cube, combined from both pictures."""
        return self.ways[self.way]


def assemble(
    ways: Sequence[StickerColours],
    references: ColourReferences | None = None,
    scheme: str | None = None,
) -> PictureAssembly:
    """Find the way to combine two pictures into a legal cube.

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

    Raises :class:`Unreadable`, also if the pictures do not show opposite corners of one cube.
    """
    try:
        reading = read_cube(assembly.colours, references, scheme)
    except Unreadable:
        _refuse_common_face(assembly)
        raise
    if not reading.confident:
        _refuse_common_face(assembly)
    if reading.corrections and not reading.is_mirrored_only:
        # Faces around a corner cannot be turned or exchanged individually.
        raise Unreadable(
            "the two pictures make no cube together: photograph one cube, without turning a layer "
            "between the pictures",
            reading.doubtful,
        )
    if assembly.lead < UNIQUE:
        margin = min(reading.margin, assembly.lead)
        again = reading.look_again or "D"
        reading = replace(reading, margin=margin, confident=False, look_again=again)
    return _doubt_alike_faces(assembly, reading)


def _total_cost(decision: Decision, scheme: str | None) -> float:
    """Return the cost of a decision plus that of the order of its colours on the cube."""
    against = scheme_costs(decision.model.mean, decision.features, scheme)
    return decision.cost + float(against(np.arange(6)[None])[0])


def _refuse_common_face(assembly: PictureAssembly) -> None:
    """Raise :class:`Unreadable` if a face of the second picture is one of the first."""
    for one, other, _ in _alike_faces(assembly.colours, _SAME_TINTS):
        places = "URF".index(one), ("DBL".index(other) + assembly.way) % 3
        raise Unreadable(
            "both pictures show the same face: the {} one of the first is the {} one of the "
            "second; turn the cube over until the opposite corner points at the camera, so that "
            "the second picture shows the three other faces".format(*(_PLACES[i] for i in places)),
            look_again=other,
        )


def _doubt_alike_faces(assembly: PictureAssembly, reading: CubeReading) -> CubeReading:
    """Return the reading, not confident if both pictures may show one face in different tints.

    Faces of nearly solved cubes have one colour each. If the white balance changes between the
    pictures, such a face looks like a different one, and no piece contradicts.
    """
    size = reading.size
    for one, other, cells in _alike_faces(assembly.colours, _NEAR_TINTS):
        first, second = (reading.facelets[assembly.colours.face_slice(f)] for f in (one, other))
        told_apart = first != "".join(second[cell] for cell in cells)
        # Faces of four stickers are often alike by chance.
        if told_apart and (size > 2 or len({*first}) == len({*second}) == 1):
            names = tuple(f"{face}{n + 1}" for face in (one, other) for n in range(size**2))
            return replace(reading, margin=0.0, confident=False, doubtful=names, look_again=other)
    return reading


def _alike_faces(colours: StickerColours, limit: float) -> Iterator[tuple[str, str, list[int]]]:
    """Yield pairs of faces, one from each picture, whose stickers differ only in brightness, up to
    ``limit``, and the cells of the second that match those of the first.
    """
    tints = _tints(colours)
    for one, other in product("URF", "DBL"):
        first, second = (tints[colours.face_slice(face)] for face in (one, other))
        for cells in turned_cells(colours.size).tolist():
            if np.abs(first - second[cells]).mean(axis=1).max() < limit:
                yield one, other, cells


def _tints(colours: StickerColours) -> Floats:
    """Return log light without the brightness of each sticker, float64[6*N*N, 3]."""
    light = np.maximum(colours.linear_rgb.astype(np.float64), 0.0)
    half = len(light) // 2  # URF are in one picture, DLB in the other
    for part in (slice(half), slice(half, None)):
        light[part] /= max(float(np.quantile(light[part].max(axis=1), 0.9)), 1e-4)
    values = np.log(light + _FLOOR)
    return np.asarray(values - values.mean(axis=1, keepdims=True))
