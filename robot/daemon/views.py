"""What the pictures of a scan show where a face of the cube is expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from robot.daemon.ports import Look
from robot.daemon.sight import decoded
from vision.view import OddView, face_in_view


def odd_view(look: Look, size: int) -> OddView | None:
    """What a look shows instead of one face of a cube of ``size`` layers; None: such a face.

    A face of which the robot itself hides a part may be one, for all that can be told.
    """
    if not look.whole:
        return None
    try:
        face_in_view(decoded(look.picture), size, look.grid)
    except OddView as odd:
        return odd
    return None


def usual_oddity(looks: Sequence[Look], size: int) -> OddView | None:
    """What is odd about most of the looks in which anything is."""
    found = [odd for look in looks if (odd := odd_view(look, size)) is not None]
    if not found:
        return None
    (trouble, _), *_ = Counter(odd.trouble for odd in found).most_common(1)
    return next(odd for odd in found if odd.trouble == trouble)
