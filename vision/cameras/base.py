"""The clock, the faults and the checks that all cameras share."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from enum import StrEnum

from solver.errors import CubistError
from vision.frame import Frame

Clock = Callable[[], int]
"""Tells microseconds since some fixed moment."""


def monotonic_us() -> int:
    """Microseconds of the system's steady clock."""
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
    """A camera that gives no usable picture: which camera, what kind of trouble, what happened.

    ``camera`` is empty for a device that has no name yet.
    """

    code = "camera-fault"

    def __init__(self, camera: str, trouble: CameraTrouble, what: str) -> None:
        super().__init__(f"camera {camera}: {what}" if camera else what)
        self.trouble = trouble


class Unsettled(StrEnum):
    """Something a camera could not find or lock in ``settle``; the values are stable names.

    A camera that may have such troubles lists them as ``unsettled``, until it settles again.
    """

    EXPOSURE = "exposure-not-locked"
    WHITE_BALANCE = "white-balance-not-locked"
    FOCUS = "focus-not-locked"
    LENS = "focus-not-found"


_BLACK = 10
"""Level of the brightest channel that a lit scene passes somewhere; sensors' black is below."""

_BRIGHT_SHARE = 0.002
"""Share of the pixels that must pass it."""

_REPEATS = 2
"""A sensor never gives the same picture twice: its noise differs. So many repeats are a fault."""


class CameraGuard:
    """Checks the frames of one camera as they come; keeps nothing but the last checksum.

    ``max_age_us`` is how much older than the moment of asking a picture may be.
    """

    def __init__(self, camera: str, clock: Clock, max_age_us: int = 500_000) -> None:
        self._camera = camera
        self._clock = clock
        self._max_age_us = max_age_us
        self._checksum: int | None = None
        self._repeats = 0

    def check(self, frame: Frame) -> Frame:
        """The frame itself; raises :class:`CameraError` for one that shows nothing or is old."""
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
