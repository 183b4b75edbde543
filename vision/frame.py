"""Cameras, the frames they deliver, and the array types of pictures and their evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""Pixels [H, W, 3], channels R G B."""

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture: ``image`` uint8[H, W, 3] in sRGB, channels R G B; ``time_us`` of capture."""

    image: Image
    camera: str
    time_us: int


class Camera(Protocol):
    """A source of frames. ``settle`` lets exposure and white balance adapt, then locks them."""

    name: str

    def settle(self) -> None:
        """Adapt to the light now in view, then lock exposure, gains and focus until ``close``."""

    def capture(self) -> Frame:
        """Take one picture. Raise ``vision.cameras.base.CameraError`` if that fails."""

    def close(self) -> None:
        """Release the camera. Idempotent."""
