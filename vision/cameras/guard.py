"""Pictures that are none: black, frozen or stale ones become named faults."""

from __future__ import annotations

import zlib

from vision.cameras.base import CameraFault, CameraTrouble, Clock
from vision.frame import Frame

_BLACK = 10
"""Level of the brightest channel that a lit scene passes somewhere; sensors' black is below."""

_BRIGHT_SHARE = 0.002
"""Share of the pixels that must pass it."""

_REPEATS = 2
"""A sensor never gives the same picture twice: its noise differs. So many repeats are a fault."""


class FrameGuard:
    """Checks the frames of one camera as they come; keeps nothing but the last checksum.

    ``max_age_us`` is how much older than the moment of asking a picture may be.
    """

    def __init__(self, camera: str, clock: Clock, max_age_us: int = 500_000) -> None:
        self._camera = camera
        self._clock = clock
        self._max_age_us = max_age_us
        self._checksum: int | None = None
        self._repeats = 0

    def checked(self, frame: Frame) -> Frame:
        """The frame itself; raises :class:`CameraFault` for one that shows nothing or is old."""
        self._check_age(frame)
        self._check_light(frame)
        self._check_new(frame)
        return frame

    def _check_age(self, frame: Frame) -> None:
        age_us = self._clock() - frame.time_us
        if age_us > self._max_age_us:
            raise CameraFault(
                self._camera, CameraTrouble.STALE, f"its picture is {age_us / 1e6:.1f} s old"
            )

    def _check_light(self, frame: Frame) -> None:
        part = frame.image[::4, ::4].max(axis=2)
        if (part > _BLACK).mean() < _BRIGHT_SHARE:
            raise CameraFault(self._camera, CameraTrouble.BLACK, "its picture is black")

    def _check_new(self, frame: Frame) -> None:
        checksum = zlib.crc32(frame.image[::2, ::2].tobytes())
        self._repeats = self._repeats + 1 if checksum == self._checksum else 0
        self._checksum = checksum
        if self._repeats >= _REPEATS:
            raise CameraFault(
                self._camera, CameraTrouble.FROZEN, f"it returned one picture {_REPEATS + 1} times"
            )
