"""The picture in a run's record that shows how the cube was read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from robot.daemon.ports import Look
from vision.drawing import png
from vision.explain import explain
from vision.frame import Frame
from vision.looks import CubeLooks
from vision.photos import decode_photo
from vision.reader import CubeReading, Unreadable
from vision.sticker_colours import FACES, StickerColours


def explanation(
    looks: Sequence[Look], colours: StickerColours, outcome: CubeReading | Unreadable
) -> bytes:
    """A PNG of a reading or refusal; with the pictures, the last of each face, if all are there."""
    last = {look.face: look for look in looks}
    seen = _seen(last.values(), colours) if set(last) == set(FACES) else None
    return png(explain(colours, outcome, seen))


def _seen(looks: Collection[Look], colours: StickerColours) -> CubeLooks:
    frames = {look.face: _frame(look) for look in looks}
    return CubeLooks(frames, {look.face: look.grid for look in looks}, colours)


def _frame(look: Look) -> Frame:
    return Frame(
        decode_photo(look.picture, f"look at {look.face}"), look.camera, look.colours.time_us
    )
