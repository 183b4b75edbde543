"""Whether the camera sees something where it was before: less than its noise has changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot.machine.interfaces import Scanner

STILL_PICTURES = 5
NOISE_FACTOR = 3.0
LEAST_CHANGE = 0.2
"""Mean change of grey levels that is more than noise, at least."""

Grey = NDArray[np.float32]


class Stillness:
    """The picture of a robot at rest, to compare later ones with. Raises ``MotionFault``."""

    def __init__(self, scanner: Scanner) -> None:
        scanner.settle()
        self._scanner = scanner
        pictures = np.stack([scanner.glance()[1] for _ in range(STILL_PICTURES)])
        self._first: Grey = pictures.mean(axis=0)
        noise = np.abs(pictures - self._first).mean(axis=(1, 2)).max()
        self._threshold = max(LEAST_CHANGE, NOISE_FACTOR * float(noise))

    def change(self) -> float:
        """Mean change of grey levels since then."""
        return float(np.abs(self._scanner.glance()[1] - self._first).mean())

    def disturbed(self) -> bool:
        """Whether something is not where it was."""
        return self.change() > self._threshold
