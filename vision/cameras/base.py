"""The clock, the faults and the checks that all cameras share."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from enum import StrEnum

from solver.errors import CubistError
from vision.frame import Frame

Clock = Callable[[], int]
"""Function that returns microseconds since some fixed moment."""


def monotonic_us() -> int:
    """Return the system's monotonic clock in microseconds."""
    return time.monotonic_ns() // 1000


class CameraTrouble(StrEnum):
    """Kinds of camera faults; the values are stable names for programs."""

    ABSENT = "camera-absent"
    BUSY = "camera-busy"
    REFUSED = "camera-refused"
    SOFTWARE = "camera-software"
    FAILED = "camera-failed"
    VANISHED = "camera-vanished"
    BLACK = "camera-black"
    FROZEN = "camera-frozen"
    STALE = "camera-stale"
    EMPTY = "camera-empty"


class CameraError(CubistError):
    """A camera returns no usable picture: its name, the kind of ``trouble`` and what happened.

    ``camera`` is empty for a device that has no name yet.
    """

    code = "camera-fault"

    def __init__(self, camera: str, trouble: CameraTrouble, what: str) -> None:
        super().__init__(f"camera {camera}: {what}" if camera else what)
        self.trouble = trouble


class Unsettled(StrEnum):
    """Settings a camera could not find or lock in ``settle``; the values are stable names.

    A camera that may have such troubles lists them as ``unsettled`` until it settles again.
    """

    EXPOSURE = "exposure-not-locked"
    WHITE_BALANCE = "white-balance-not-locked"
    FOCUS = "focus-not-locked"
    LENS = "focus-not-found"


_BLACK = 10
"""Level of the brightest channel that a lit scene exceeds somewhere. A sensor's black is below."""

_BRIGHT_SHARE = 0.002
"""Minimum share of pixels above ``_BLACK``."""

_REPEATS = 2
"""Number of repeats of a picture that is a fault. A sensor's noise makes each one different."""


class CameraGuard:
    """Checks the frames of one camera as they arrive; keeps only the last checksum.

    ``max_age_us`` is the maximum age of a picture when it is checked.
    """

    def __init__(self, camera: str, clock: Clock, max_age_us: int = 500_000) -> None:
        self._camera = camera
        self._clock = clock
        self._max_age_us = max_age_us
        self._checksum: int | None = None
        self._repeats = 0

    def check(self, frame: Frame) -> Frame:
        """Return ``frame``. Raise :class:`CameraError` if it is old, black or a repeat."""
        age_us = self._clock() - frame.time_us
        if age_us > self._max_age_us:
            raise CameraError(
                self._camera, CameraTrouble.STALE, f"its picture is {age_us / 1e6:.1f} s old"
            )
        if (frame.image[::4, ::4].max(axis=2) > _BLACK).mean() < _BRIGHT_SHARE:
            raise CameraError(self._camera, CameraTrouble.BLACK, "its picture is black")
        checksum = zlib.crc32(frame.image[::2, ::2].tobytes())
        self._repeats = self._repeats + 1 if checksum == self._checksum else 0
        self._checksum = checksum
        if self._repeats >= _REPEATS:
            raise CameraError(
                self._camera, CameraTrouble.FROZEN, f"it returned one picture {_REPEATS + 1} times"
            )
        return frame
