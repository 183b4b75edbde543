"""Stickers too bright for one exposure: looked at again with less light, and merged."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from vision.frame import Camera, Frame
from vision.measure.sticker_colours import FaceColours, merge_looks
from vision.measure.stickers import measure_face

DARKER = (0.4, 0.16)
"""Exposures tried one after the other, as parts of the locked one, while stickers clip."""


@runtime_checkable
class BracketingCamera(Camera, Protocol):
    """A camera whose exposure can be changed for one picture."""

    def capture_at(self, factor: float) -> Frame:
        """A picture with ``factor`` times the locked exposure."""


def measure(
    camera: Camera, frame: Frame, quads: ArrayLike, size: int | None = None, *, fit: float = 1.0
) -> FaceColours:
    """The colours in a picture just taken, with darker ones merged in while stickers clip.

    ``quads``, ``size`` and ``fit`` as for :func:`vision.measure.stickers.measure_face`; the view
    must not have moved since ``frame``. Raises :class:`CameraFault`.
    """
    looks = [measure_face(frame, quads, size, fit=fit)]
    if isinstance(camera, BracketingCamera):
        for factor in DARKER:
            if not (looks[-1].saturated & looks[-1].valid).any():
                break
            looks.append(measure_face(camera.capture_at(factor), quads, size, fit=fit))
    return merge_looks(looks)
