"""What all cameras share: their clock and what can go wrong with them."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

from solver.errors import CubistError

Clock = Callable[[], int]
"""Tells microseconds since some fixed moment."""


def monotonic_us() -> int:
    """Microseconds of the system's steady clock."""
    return time.monotonic_ns() // 1000


class CameraTrouble(StrEnum):
    """Kinds of camera faults; the values are stable names for programs."""

    ABSENT = "camera-absent"
    BUSY = "camera-busy"
    VANISHED = "camera-vanished"
    BLACK = "camera-black"
    FROZEN = "camera-frozen"
    STALE = "camera-stale"
    EMPTY = "camera-empty"


class CameraFault(CubistError):
    """A camera gave no usable picture: which camera, what kind of trouble, what happened."""

    def __init__(self, camera: str, trouble: CameraTrouble, what: str) -> None:
        super().__init__(f"camera {camera}: {what}")
        self.camera = camera
        self.trouble = trouble
