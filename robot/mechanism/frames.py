"""The 24 orientations as tables, and composites of turns seen from each of them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from solver.cost import AXES, COMPOSITES, composite_index, composite_of
from solver.cube.orientation import Orientation, all_orientations

Table = NDArray[np.int64]

ORIENTATIONS = 24
AXIS_NAMES = "yxz"
"""The robot axis through the first face of each of ``solver.cost.AXES``."""


@cache
def compose_table() -> Table:
    """Return ``[a, b]``: the rotation from UF to a, then that from UF to b. int64[24, 24]."""
    return _frozen([[a.then(b).index for b in all_orientations()] for a in all_orientations()])


@cache
def between_table() -> Table:
    """Return ``[a, b]``: UF after the rotation that leads from a to b. int64[24, 24]."""
    return _frozen(np.argsort(compose_table(), axis=1))


@cache
def rotate_table() -> Table:
    """Return ``[axis, quarters, o]``: o after a rotation of the cube. int64[3, 4, 24]."""
    return _frozen(
        [
            [[o.rotated(axis, quarters).index for o in all_orientations()] for quarters in range(4)]
            for axis in AXIS_NAMES
        ]
    )


@cache
def reframe_table() -> Table:
    """Return ``[axis, quarters, o]``: o after a turn in the cube's own frame. int64[3, 4, 24]."""
    turned = [[Orientation(0).rotated(axis, q) for q in range(4)] for axis in AXIS_NAMES]
    return _frozen([[[q.then(o).index for o in all_orientations()] for q in row] for row in turned])


@cache
def seen_table() -> Table:
    """Return ``[o, t]``: the composite of *sites* for the cube's composite t. int64[24, 45]."""
    return _frozen([[_seen_composite(o, t) for t in range(COMPOSITES)] for o in all_orientations()])


@cache
def progress_table() -> Table:
    """Return ``[o, site]``: ``(axis, weight)`` of the cube face at a site. int64[24, 6, 2].

    Sites in the order URFDLB. A clockwise quarter of the face adds its weight, 4 for the axis's
    first face and 1 for its second, to the progress ``4 * qa + qb`` of a composite.
    """
    return _frozen(
        [[_axis_and_weight(o.face_at(site)) for site in "URFDLB"] for o in all_orientations()]
    )


def _axis_and_weight(face: str) -> tuple[int, int]:
    axis = next(number for number, faces in enumerate(AXES) if face in faces)
    return axis, 4 if AXES[axis][0] == face else 1


def _seen_composite(orientation: Orientation, composite: int) -> int:
    axis, first, second = composite_of(composite)
    site_axis, weight = _axis_and_weight(orientation.site_of(AXES[axis][0]))
    return composite_index(site_axis, *((first, second) if weight == 4 else (second, first)))


def _frozen(values: object) -> Table:
    table = np.asarray(values, dtype=np.int64)
    table.setflags(write=False)
    return table
